"""Runs: from names to objects, plan, execution, resume, grading."""
