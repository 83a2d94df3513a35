"""The judge `model`: grades meaning with one language model, or with a panel of several families."""
