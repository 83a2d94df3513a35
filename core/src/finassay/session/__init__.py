"""The turn loop: one agent and one simulated user, within limits. Knows no registry and no configuration."""
