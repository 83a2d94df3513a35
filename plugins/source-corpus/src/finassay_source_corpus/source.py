"""The source `corpus`."""

import hashlib
import logging
import threading
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import ClassVar, Final, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from finassay.api.source import Document, NotThereError, Page, Passage, SourceError, SourceItem

log = logging.getLogger(__name__)
MAX_RESULTS: Final = 200


class CorpusOptions(BaseModel):
    """Which folder."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    folder: Path = Field(
        description="Folder of text, Markdown, HTML, PDF and JSON-lines files; documents.toml or documents.jsonl in it or beside it."
    )
    cache: Path | None = Field(default=None, description="Folder for the index; in the folder itself, or the user's cache, if left out.")

    @model_validator(mode="after")
    def _is_there(self) -> Self:
        if not self.folder.is_dir():
            raise ValueError(f"there is no folder {str(self.folder)!r}")
        return self


class CorpusSource:
    """Implements `finassay.api.source.Source`. The index is brought up to date at the first question, and stays so for the object's life."""

    api_version: ClassVar[int] = 1
    description: ClassVar[str] = "a folder of filings and other documents, indexed by page (SQLite FTS5, BM25)"
    Options: ClassVar[type[BaseModel]] = CorpusOptions
    id = "corpus"

    def __init__(self, options: CorpusOptions, /) -> None:
        self.options = options
        self._lock = threading.Lock()
        self._corpus: _Corpus | None = None

    def search(self, query: str, cutoff: date, limit: int = 10) -> Sequence[Passage]:
        return self._ready().search(query, cutoff, min(limit, MAX_RESULTS))

    def find(self, query: str, cutoff: date, limit: int = 50) -> Sequence[SourceItem]:
        return self._ready().find(query, cutoff, min(limit, MAX_RESULTS))

    def open(self, reference: str, cutoff: date) -> Document:
        return self._ready().open(reference, cutoff)

    def unseen(self, query: str = "") -> tuple[str, ...]:
        """References of documents that no cutoff lets through, undated or dated before they can have been written: those that a query would
        have found by all its words, or all of them."""
        return self._ready().unseen(query)

    def problems(self) -> tuple[str, ...]:
        """What lies in the folder and is not there, each with the reason."""
        return self._ready().problems

    def items(self) -> tuple[SourceItem, ...]:
        """Every document that can be read at all, by reference, the undated too: for whoever looks after the folder, never for a researcher."""
        return self._ready().items()

    def _ready(self) -> "_Corpus":
        with self._lock:
            if self._corpus is None:
                self._corpus = _Corpus(self.options)
            return self._corpus


class _Corpus:
    """A folder whose index is up to date."""

    def __init__(self, options: CorpusOptions) -> None:
        from finassay_source_corpus.folder import cache_folder, list_folder
        from finassay_source_corpus.index import VERSION, Index, bring_up_to_date
        from finassay_source_corpus.names import Named

        listing = list_folder(options.folder)
        self.index = Index((options.cache or cache_folder(options.folder)) / f"corpus-{VERSION}.sqlite")
        bring_up_to_date(self.index, listing, options.folder.resolve(), _told)
        self.rows = {row.entry.reference: row for row in self.index.rows()}
        self.by_id = {row.id: row for row in self.rows.values()}
        missing = [
            f"{reference}: named in {listing.metadata and listing.metadata.name}, but there is no such file"
            for reference in listing.missing
        ]
        self.problems = (*(f"{r.entry.reference}: {r.problem}" for r in self.rows.values() if r.problem), *missing)
        self.named = [
            Named(e.reference, tuple(n for n in (e.publisher, *e.names, row.registrant) if n), e.title, e.form, e.period, row.available)
            for row in self.rows.values()
            if (e := row.entry) and row.available is not None and not row.problem
        ]
        if undated := self.unseen(""):
            log.info(
                "%d of %d documents are undated, or dated before they can have been written, and so in no answer",
                len(undated),
                len(self.rows),
            )

    def search(self, query: str, cutoff: date, limit: int) -> list[Passage]:
        from finassay_source_corpus.index import unpacked
        from finassay_source_corpus.search import extract, hits

        with self.index.reading() as connection:
            found = hits(connection, query, cutoff, limit)
        return [
            Passage(self.by_id[hit.document].item(CorpusSource.id), hit.number, extract(unpacked(hit.text), query), round(hit.score, 6))
            for hit in found
        ]

    def find(self, query: str, cutoff: date, limit: int) -> list[SourceItem]:
        from finassay_source_corpus.names import chosen

        found = chosen(query, [n for n in self.named if n.published <= cutoff])
        return [self.rows[n.reference].item(CorpusSource.id) for n in found[: max(limit, 0)]]

    def open(self, reference: str, cutoff: date) -> Document:
        row = self.rows.get(reference)
        if row is None or row.problem or row.available is None or row.available > cutoff:
            raise NotThereError(f"corpus: no such document as of the cutoff: {reference[:200]}")
        pages = tuple(Page(p.number, p.text, _digest(p.text), p.words) for p in self.index.pages(row.id))
        if not pages:
            raise SourceError(f"corpus: the index changed while it was in use: {reference[:200]}")
        return Document(row.item(CorpusSource.id), pages, hashlib.sha256("\n".join(p.digest for p in pages).encode()).hexdigest())

    def unseen(self, query: str) -> tuple[str, ...]:
        if not query:
            return tuple(sorted(r.entry.reference for r in self.rows.values() if r.available is None and not r.problem))
        from finassay_source_corpus.search import unseen

        with self.index.reading() as connection:
            return tuple(unseen(connection, query))

    def items(self) -> tuple[SourceItem, ...]:
        return tuple(row.item(CorpusSource.id) for _, row in sorted(self.rows.items()) if not row.problem)


def _told(done: int, of: int) -> None:
    if done % 100 == 0 or done == of:
        log.info("indexed %d of %d documents", done, of)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
