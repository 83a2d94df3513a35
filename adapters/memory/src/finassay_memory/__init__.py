"""An agent with a memory: any installed one, with notes that last from session to session."""
