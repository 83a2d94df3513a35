"""Standard metrics: what they are called, what they are made of, what a question asks for, and the script that computes it.

`table` holds the definitions, `formula` the arithmetic over statement lines, `terms` reads definitions and names out of text, `ask` says what a
question asks for (`Ask`), `script` writes the Python that computes a formula from quoted inputs.
"""
