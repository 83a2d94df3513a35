"""Codex CLI as an agent."""
