"""Delivered files as tables, documents and code, without trusting any of it."""
