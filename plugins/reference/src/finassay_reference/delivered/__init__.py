"""The code that is delivered: copied to `deliver/code` as it is and run there."""
