"""Measuring: how well rubrics, their values and their grading agree with experts."""
