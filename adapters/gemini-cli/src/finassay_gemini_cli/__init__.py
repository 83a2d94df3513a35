"""Gemini CLI as an agent."""
