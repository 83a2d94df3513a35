"""Runs the evaluator over clean and spoiled deliveries and counts."""
