"""A chat model that is a folder, and what a program needs that answers there."""

from finassay_models_mailbox.desk import Desk, Letter

__all__ = ["Desk", "Letter"]
