"""A chat model that answers from stored exchanges."""
