"""The desk of a researcher: sources under the cutoff and a place to compute, with everything that is asked taken down."""

import threading
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, date, datetime
from functools import partial
from typing import Any, TypeVar

from attrs import define, field

from finassay.api.errors import FinassayError
from finassay.api.research import Script
from finassay.api.source import Document, NotThereError, Passage, Source, SourceItem
from finassay.api.verdict import Json
from finassay_rubrics.generate.scripts import ScriptRunner

T = TypeVar("T")
Record = Callable[[Mapping[str, Any]], None]
MAX_QUERY = 400


@define
class RecordedDesk:
    """Implements `finassay.api.research.Desk` for one researcher.

    `sources` are guarded ones: nothing undated or later than the cutoff leaves them. `record` is told of each question and answer by
    digest. Documents that were opened are kept for the time of the desk.
    """

    cutoff: date
    sources: Mapping[str, Source]
    runner: ScriptRunner
    record: Record = lambda entry: None
    who: str = ""
    _opened: dict[tuple[str, str], Document] = field(init=False, factory=dict)
    _lock: threading.Lock = field(init=False, factory=threading.Lock)

    def search(self, query: str, limit: int = 10) -> Sequence[Passage]:
        found: list[Passage] = []
        for source in self.sources.values():
            found += self._asked("search", source.id, query, partial(source.search, query, self.cutoff, limit))
        return sorted(found, key=lambda p: -p.score)[:limit]

    def find(self, query: str, limit: int = 50) -> Sequence[SourceItem]:
        found: list[SourceItem] = []
        for source in self.sources.values():
            found += self._asked("find", source.id, query, partial(source.find, query, self.cutoff, limit))
        return found[:limit]

    def open(self, source: str, reference: str) -> Document:
        """Raises `NotThereError`, `SourceError`."""
        key = (source, reference)
        with self._lock:
            if key in self._opened:
                return self._opened[key]
        if source not in self.sources:
            raise NotThereError(f"there is no source {source!r}")
        (document,) = self._asked("open", source, reference, lambda: [self.sources[source].open(reference, self.cutoff)])
        with self._lock:
            self._opened[key] = document
        return document

    def run(self, code: str, inputs: Mapping[str, Json]) -> Script:
        """Raises `ScriptError`."""
        try:
            script = self.runner.run(code, inputs)
        except FinassayError as error:
            self._tell("run", "", "", error=str(error))
            raise
        self._tell("run", "", "", script=script.digest, output=script.output_digest)
        return script

    def _asked(self, what: str, source: str, about: str, call: Callable[[], Sequence[T]]) -> Sequence[T]:
        try:
            found = call()
        except FinassayError as error:
            self._tell(what, source, about, error=f"{type(error).__name__}: {error}")
            raise
        references = [_reference(f) for f in found]
        digests = [f.digest for f in found if isinstance(f, Document)]
        self._tell(what, source, about, found=references[:100], **({"digests": digests} if digests else {}))
        return found

    def _tell(self, what: str, source: str, about: str, **more: Any) -> None:
        entry = {
            "who": self.who,
            "what": what,
            "source": source,
            "about": about[:MAX_QUERY],
            "when": datetime.now(UTC).isoformat(timespec="seconds"),
        }
        self.record({**entry, **more})


def _reference(found: object) -> str:
    item = found.item if isinstance(found, Document | Passage) else found
    return item.reference if isinstance(item, SourceItem) else ""
