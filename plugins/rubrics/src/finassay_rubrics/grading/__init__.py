"""Answers graded by a rubric: programs first, meaning by a judge, one route for each convention, four figures."""
