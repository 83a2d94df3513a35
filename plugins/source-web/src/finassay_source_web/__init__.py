"""Web search as a source."""
