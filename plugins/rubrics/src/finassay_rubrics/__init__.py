"""Rubrics for research queries: experts' guidance in, criteria with grounded values out, and answers graded by them."""
