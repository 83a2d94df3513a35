"""Rubrics in the forms of others: read into the record, written from it."""
