"""Channels that are MCP servers."""
