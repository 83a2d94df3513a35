"""Researcher family `statements-a`: label matching on the text lines of filings."""
