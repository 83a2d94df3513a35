"""Sources: where researchers look things up. What was published after the cutoff, or is undated, is not there."""

from collections.abc import Mapping, Sequence
from datetime import date
from typing import Protocol, runtime_checkable

from attrs import Factory, frozen

from finassay.api.errors import FinassayError


class SourceError(FinassayError):
    """A source could not be searched or opened."""

    retry = True


class NotThereError(SourceError):
    """There is no such document, or not as of the cutoff: a caller is not told which."""

    retry = False


@frozen
class SourceItem:
    """A document as a source lists it."""

    source: str
    """Id of the source."""
    reference: str
    """By which the source opens it; stable, unique in the source."""
    title: str
    published: date | None
    """Date of publication. None is undated, and counts as after any cutoff."""
    published_basis: str = ""
    """What the date rests on: `filing index`, `cover`, `dateline`, `signature`, `auditor`, `given`."""
    publisher: str = ""
    """Issuer or publisher, in words."""
    url: str = ""
    period_end: date | None = None
    """End of the latest period that it reports, where it is known."""
    pages: int | None = None
    meta: Mapping[str, str] = Factory(dict)


@frozen
class Page:
    """One page, or section, exactly as extracted; quotes are slices of `text` by code points."""

    number: int | None
    """From 1; None where the document has no pages."""
    text: str
    digest: str
    """SHA-256 of `text` in UTF-8."""
    words: tuple[tuple[str, float, float, float, float], ...] = ()
    """(word, x0, top, x1, bottom) in points where the source is a PDF; else empty."""


@frozen
class Document:
    """An opened document."""

    item: SourceItem
    pages: tuple[Page, ...]
    digest: str
    """SHA-256 over the pages' digests."""


@frozen
class Passage:
    """Something found."""

    item: SourceItem
    page: int | None
    text: str
    """A bounded extract around what was found."""
    score: float


@runtime_checkable
class Source(Protocol):
    """A place to look things up as of a day. Called from several threads."""

    id: str

    def search(self, query: str, cutoff: date, limit: int = 10) -> Sequence[Passage]:
        """Passages that fit best, best first, of documents published on or before `cutoff`. Raises `SourceError`."""
        ...

    def find(self, query: str, cutoff: date, limit: int = 50) -> Sequence[SourceItem]:
        """Documents whose publisher or title fits, newest first. Raises `SourceError`."""
        ...

    def open(self, reference: str, cutoff: date) -> Document:
        """A whole document. Raises `NotThereError` for one that is unknown, undated or later than `cutoff`, `SourceError`."""
        ...
