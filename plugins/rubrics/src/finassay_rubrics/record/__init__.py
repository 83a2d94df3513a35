"""What is stored of a rubric, and how it is read and written."""
