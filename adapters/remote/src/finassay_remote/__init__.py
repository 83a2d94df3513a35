"""Any agent behind HTTP, or on standard input and output as JSON lines."""
