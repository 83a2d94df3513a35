"""Stage 1, the task bank: queries to value-free signatures, clusters of them to tasks, criteria by two families, screened by a person, frozen."""
