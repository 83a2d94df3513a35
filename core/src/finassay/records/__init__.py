"""What is stored: schema versions, tasks, events of a session, scorecards, run folders."""
