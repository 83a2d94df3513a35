"""A folder of documents as a source."""
