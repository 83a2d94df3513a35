"""Pages to read about a run and its sessions."""
