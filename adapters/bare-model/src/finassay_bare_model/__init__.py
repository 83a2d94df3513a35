"""A chat model as an agent without tools."""
