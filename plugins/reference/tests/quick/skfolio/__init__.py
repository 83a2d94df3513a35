"""Stands in for skfolio in tests: its data sets only, read from the installed package's own files, without its slow import."""
