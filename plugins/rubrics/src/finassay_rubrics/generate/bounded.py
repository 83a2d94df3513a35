"""Researchers bounded in time: one that does not return costs its obligation a place in the queue, and never the run."""

import contextvars
import threading
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from typing import Final, TypeVar

from attrs import define, field

from finassay.api.errors import FinassayError
from finassay.api.research import Assignment, Derivation, Desk, Draft, Question, Researcher, Script
from finassay.api.source import Document, Passage, SourceError, SourceItem
from finassay.api.verdict import Json

T = TypeVar("T")
SECONDS: Final = 1_800.0
"""How long a researcher may take for one obligation, or for one value."""


class TookTooLongError(FinassayError):
    """A researcher did not come back in time."""


class NoLongerError(SourceError):
    """The time of whoever asks is over: its desk is closed."""

    retry = False


@define
class LentDesk:
    """A desk for the time of one call; implements `finassay.api.research.Desk`. What is asked after the end is refused, and taken down nowhere."""

    desk: Desk
    over: bool = False
    cutoff: date = field(init=False)

    def __attrs_post_init__(self) -> None:
        self.cutoff = self.desk.cutoff

    def search(self, query: str, limit: int = 10) -> Sequence[Passage]:
        return self._open().search(query, limit)

    def find(self, query: str, limit: int = 50) -> Sequence[SourceItem]:
        return self._open().find(query, limit)

    def open(self, source: str, reference: str) -> Document:
        return self._open().open(source, reference)

    def run(self, code: str, inputs: Mapping[str, Json]) -> Script:
        return self._open().run(code, inputs)

    def _open(self) -> Desk:
        if self.over:
            raise NoLongerError("the desk is closed: the time for this is over")
        return self.desk


@define
class Bounded:
    """A researcher with a clock. Implements `finassay.api.research.Researcher`; raises `TookTooLongError` besides what the researcher raises.

    A call that runs out of time is left alone in its thread, with a closed desk. While it lasts its researcher is asked nothing more, since
    none has to stand two calls at once.
    """

    researcher: Researcher
    seconds: float = SECONDS
    id: str = field(init=False)
    family: str = field(init=False)
    version: str = field(init=False)
    _left: threading.Thread | None = field(init=False, default=None)

    def __attrs_post_init__(self) -> None:
        self.id, self.family, self.version = self.researcher.id, self.researcher.family, self.researcher.version

    @property
    def identity(self) -> Mapping[str, Json]:
        own = getattr(self.researcher, "identity", None)
        return own if isinstance(own, Mapping) else {}

    def write(self, assignment: Assignment, desk: Desk) -> Draft:
        return self._within(LentDesk(desk), lambda lent: self.researcher.write(assignment, lent))

    def derive(self, question: Question, desk: Desk) -> Derivation:
        return self._within(LentDesk(desk), lambda lent: self.researcher.derive(question, lent))

    def _within(self, desk: LentDesk, call: Callable[[Desk], T]) -> T:
        if self._left is not None and self._left.is_alive():
            raise TookTooLongError(f"{self.id} did not come back within {self.seconds:,.0f} s from an earlier call, and still has not")
        done: list[T] = []
        failed: list[BaseException] = []

        def work() -> None:
            try:
                done.append(call(desk))
            except BaseException as error:  # handed on below, whatever it is
                failed.append(error)

        thread = threading.Thread(target=contextvars.copy_context().run, args=(work,), name=f"researcher {self.id}", daemon=True)
        thread.start()
        thread.join(self.seconds)
        if thread.is_alive():
            desk.over, self._left = True, thread
            raise TookTooLongError(f"{self.id} did not come back within {self.seconds:,.0f} s")
        desk.over = True
        if failed:
            raise failed[0]
        return done[0]
