"""Standard metrics: what they are called, what they are made of, what a question asks for, and the script that computes it.

`table` holds the definitions, `formula` the arithmetic over statement lines, `terms` reads definitions and names out of text, `ask` says what a
question asks for (`Ask`): which quantity (`wanted`), which years and what of them (`when`), whose (`entities`), and what makes it another question
(`clear`). `ground` finds the filings and cells, `script` writes the Python that computes a formula from quoted inputs, `draft` makes criteria of it.
"""
