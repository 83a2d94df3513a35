"""One class for each dimension that a program grades or bounds."""
