"""Kimi Code CLI as an agent."""
