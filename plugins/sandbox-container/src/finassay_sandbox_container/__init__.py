"""Sandbox in containers of Docker or Podman."""
