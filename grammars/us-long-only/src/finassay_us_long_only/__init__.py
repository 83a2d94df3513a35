"""Grammar of long-only US equity strategies."""
