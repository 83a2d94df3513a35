"""How a delivery is laid out: formats, forms of tables, spellings, reports."""
