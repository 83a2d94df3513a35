"""Embeddings: texts as vectors, for finding tasks that are alike."""

from collections.abc import Sequence
from typing import Protocol, runtime_checkable


@runtime_checkable
class Embedding(Protocol):
    """Turns texts into vectors of one length. Called from one thread."""

    id: str
    version: str
    """Changes whenever the same text would get another vector."""

    def embed(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        """A vector of unit length for each text, in order; a zero vector for a text without any content. Raises `ProviderError`."""
        ...
