"""A simulated user without a model."""
