"""The judge `lexical`: stated rules over the words of a delivery, for work without a model."""
