"""The researcher `model`: a chat model with tools, whose every quote, figure and script a program verifies."""
