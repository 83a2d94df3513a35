"""Delivered code run again in the evaluator's sandbox: one choice of the entry script and one baseline run for every fact that needs it."""
