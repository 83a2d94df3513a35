"""Personas of three investors."""
