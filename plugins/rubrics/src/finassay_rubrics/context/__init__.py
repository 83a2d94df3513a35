"""Stage 2, before any retrieval: a query taken apart into a value-free signature and verbatim bindings, with the cutoff written in by code."""
