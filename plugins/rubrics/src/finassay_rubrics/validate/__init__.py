"""Rules in code. Each takes a stage's product as JSON data and gives violations with place and reason; none reads anything else."""
