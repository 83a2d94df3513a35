"""Chat models of OpenAI and of compatible endpoints."""
