"""Researcher family `statements-b`: token grids, checked by the statements' own sums."""
