"""Dimensions, equations (3) to (6), acceptance, feedback and the figures of a run."""
