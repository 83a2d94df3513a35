"""Chat models of Anthropic."""
