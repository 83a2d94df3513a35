"""Sandbox in Linux namespaces."""
