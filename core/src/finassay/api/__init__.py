"""The contract between the core and its plugins: domain words, Protocols, and the phrase matcher. No I/O."""
