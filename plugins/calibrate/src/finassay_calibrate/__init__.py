"""Proof of the evaluator: clean deliveries that must pass, planted faults that must be found, judges and simulators under attack."""
