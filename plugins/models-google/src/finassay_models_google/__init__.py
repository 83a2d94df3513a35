"""Chat models of Google."""
