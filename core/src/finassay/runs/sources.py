"""The cutoff, enforced by program: whatever a source says, nothing undated or later leaves here."""

import hashlib
from collections.abc import Callable, Iterable, Sequence
from datetime import date, timedelta
from itertools import islice
from typing import Final, TypeVar

from attrs import frozen

from finassay.api.errors import FinassayError
from finassay.api.source import Document, NotThereError, Page, Passage, Source, SourceError, SourceItem

T = TypeVar("T")
MAX_RESULTS: Final = 200
MAX_EXTRACT: Final = 5_000
"""Characters of a passage."""
MAX_PAGES: Final = 5_000
MAX_PAGE: Final = 1_000_000
REPORTING_LAG: Final = timedelta(days=5)
"""No annual or quarterly report appears sooner after its period's end: such a date belongs to something else on the page."""
_THERE_IS_NONE: Final = "no such document as of the cutoff"


def allowed(item: SourceItem, cutoff: date) -> bool:
    """Whether a document was public on the day of the cutoff, as far as its date can be believed."""
    if item.published is None or item.published > cutoff:
        return False
    return item.period_end is None or item.published > item.period_end + REPORTING_LAG or item.published_basis in ("filing index", "given")


@frozen
class GuardedSource:
    """A source that keeps to the cutoff and to bounds, and fails only in our words. Implements `finassay.api.source.Source`."""

    source: Source

    @property
    def id(self) -> str:
        return self.source.id

    def search(self, query: str, cutoff: date, limit: int = 10) -> Sequence[Passage]:
        limit = min(limit, MAX_RESULTS)
        found = self._asked(lambda: self.source.search(query, cutoff, limit))
        kept = [p for p in found if allowed(p.item, cutoff)]
        return [Passage(p.item, p.page, p.text[:MAX_EXTRACT], p.score) for p in kept[:limit]]

    def find(self, query: str, cutoff: date, limit: int = 50) -> Sequence[SourceItem]:
        limit = min(limit, MAX_RESULTS)
        return [item for item in self._asked(lambda: self.source.find(query, cutoff, limit)) if allowed(item, cutoff)][:limit]

    def open(self, reference: str, cutoff: date) -> Document:
        (document,) = self._asked(lambda: [self.source.open(reference, cutoff)])
        if not allowed(document.item, cutoff):
            raise NotThereError(f"{self.id}: {_THERE_IS_NONE}: {reference}")
        if len(document.pages) > MAX_PAGES or any(len(page.text) > MAX_PAGE for page in document.pages):
            raise SourceError(f"{self.id}: {reference} is too large to be opened")
        return digested(document.item, document.pages)

    def _asked(self, call: Callable[[], Sequence[T]]) -> list[T]:
        try:
            return list(islice(call(), MAX_RESULTS))
        except FinassayError:
            raise
        except Exception as error:  # somebody else's code
            raise SourceError(f"source {self.id} failed: {type(error).__name__}: {error}"[:500]) from error


def digested(item: SourceItem, pages: Iterable[Page]) -> Document:
    """The document with digests that were really computed."""
    own = tuple(Page(p.number, p.text, hashlib.sha256(p.text.encode("utf-8", "surrogatepass")).hexdigest(), p.words) for p in pages)
    return Document(item, own, hashlib.sha256("\n".join(p.digest for p in own).encode()).hexdigest())
