"""Personas of investors, as data files."""
