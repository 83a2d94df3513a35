"""A simulated user that a chat model plays."""
