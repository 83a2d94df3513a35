"""Entry points to ids to objects: what is installed, chosen by name, loaded when named."""
