"""Sandbox without isolation, and the process plumbing that other sandboxes share."""
