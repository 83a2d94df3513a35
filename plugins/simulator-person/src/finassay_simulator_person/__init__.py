"""A person, or any program, plays the user."""
