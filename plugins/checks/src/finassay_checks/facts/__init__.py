"""Facts that several checks share (computed once per package)."""
