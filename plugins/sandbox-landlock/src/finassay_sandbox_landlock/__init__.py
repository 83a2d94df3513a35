"""Sandbox by Landlock and seccomp."""
