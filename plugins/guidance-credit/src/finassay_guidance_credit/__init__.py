"""A credit desk's guidance for rubrics."""
