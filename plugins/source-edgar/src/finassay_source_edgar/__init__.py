"""EDGAR as a source."""
