"""`finassay rubric`: one module a command, imported when it runs."""
