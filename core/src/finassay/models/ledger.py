"""What calls to models cost: RUN/ledger.jsonl, a line a call, without prompt and key. Budgets are kept by it.

Several threads and processes append; each reads what the others wrote, so that a budget holds over all of them. Calls in flight when a
budget is used up still end: it can be passed by what they cost.
"""

import json
import os
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from attrs import define, field, frozen

from finassay.api.errors import BudgetError, InvalidFileError
from finassay.api.scorecard import Spending
from finassay.api.usage import Usage
from finassay.records.convert import from_json, to_json

NAME: Final = "ledger.jsonl"
SCHEMA_VERSION: Final = 1
MAX_LINE: Final = 100_000


@frozen
class Entry:
    """One call. None is unknown, never zero."""

    role: str
    """`simulator`, `judge`, `agent`, …"""
    model: str
    session: str = ""
    turn: int | None = None
    about: str = ""
    """A dimension's id, or what else the caller named."""
    stage: str = ""
    """Of a component that works in stages: `context`, `draft`, `review`, …"""
    attempt: int | None = None
    """From 1: the try at what the stage makes."""
    input_tokens: int | None = None
    cached_tokens: int | None = None
    output_tokens: int | None = None
    reasoning_tokens: int | None = None
    cost_usd: float | None = None
    bound_usd: float | None = None
    """Where the cost is unknown: what it was at most. Counts towards budgets, and nowhere else."""
    prices: str = ""
    """What the cost rests on: a table with its version, `settings`, or `provider`."""
    stored: bool = False
    """Answered from the run's store: nothing was spent."""
    finish: str = ""
    failed: str = ""
    """Class of the error of a call that gave no reply; its cost is unknown and not counted."""
    seconds: float | None = None
    when: str = ""
    schema_version: int = SCHEMA_VERSION


@define
class Ledger:
    """The ledger of a run, in a file; without one only in memory."""

    path: Path | None = None
    _lock: threading.RLock = field(init=False, factory=threading.RLock)
    _offset: int = field(init=False, default=0)
    _run: float = field(init=False, default=0.0)
    _sessions: dict[str, float] = field(init=False, factory=dict)
    _memory: list[Entry] = field(init=False, factory=list)
    _followed: dict[tuple[str, str], list[Usage]] = field(init=False, factory=dict)

    def add(self, entry: Entry) -> None:
        """Append a call, in one write."""
        with self._lock:
            if (entry.session, entry.role) in self._followed and not entry.failed and not entry.stored:
                self._followed[entry.session, entry.role].append(usage_of(entry))
            if self.path is None:
                self._memory.append(entry)
                self._count(entry)
                return
            self.path.parent.mkdir(parents=True, exist_ok=True)
            line = json.dumps(to_json(entry), ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
            descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
            try:
                size = os.fstat(descriptor).st_size
                torn = size > 0 and os.pread(descriptor, 1, size - 1) != b"\n"
                os.write(descriptor, b"\n" + line if torn else line)
            finally:
                os.close(descriptor)

    @contextmanager
    def following(self, session: str, role: str) -> Iterator[Callable[[], list[Usage]]]:
        """A function that tells what calls of this process, of one role for one session, have used since it was asked before."""

        def since() -> list[Usage]:
            with self._lock:
                used, self._followed[session, role] = self._followed[session, role], []
            return used

        with self._lock:
            self._followed[session, role] = []
        try:
            yield since
        finally:
            with self._lock:
                del self._followed[session, role]

    def spent(self, session: str | None = None) -> float:
        """Dollars spent by the run, or for one session: known costs, and bounds of unknown ones."""
        with self._lock:
            self._catch_up()
            return self._run if session is None else self._sessions.get(session, 0.0)

    def entries(self) -> list[Entry]:
        """Every call. Raises `InvalidFileError` for a malformed line."""
        return list(self._memory) if self.path is None else list(read_ledger(self.path))

    def _catch_up(self) -> None:
        if self.path is None or not self.path.exists():
            return
        with open(self.path, "rb") as stream:
            stream.seek(self._offset)
            for line in stream:
                if not line.endswith(b"\n"):
                    break  # another process is in the middle of it
                self._offset += len(line)
                if (entry := _parsed(line, str(self.path))) is not None:
                    self._count(entry)

    def _count(self, entry: Entry) -> None:
        cost = entry.cost_usd if entry.cost_usd is not None else (entry.bound_usd or 0.0)
        self._run += cost
        if entry.session:
            self._sessions[entry.session] = self._sessions.get(entry.session, 0.0) + cost


@frozen
class Budget:
    """What may be spent, in dollars; None is without limit."""

    run_usd: float | None = None
    session_usd: float | None = None

    def __bool__(self) -> bool:
        return self.run_usd is not None or self.session_usd is not None

    def check(self, ledger: Ledger, session: str) -> None:
        """Raises `BudgetError` if the money of the run, or of the session in hand, is spent."""
        if self.run_usd is not None and (spent := ledger.spent()) >= self.run_usd:
            raise RunBudgetError(
                f"the run's budget of ${self.run_usd:,.2f} is spent (${spent:,.2f})",
                hint="With a larger --budget the same command goes on.",
            )
        if self.session_usd is not None and session and (spent := ledger.spent(session)) >= self.session_usd:
            raise BudgetError(
                f"the budget of ${self.session_usd:,.2f} for session {session} is spent (${spent:,.2f})",
                hint="With a larger --session-budget the same command goes on.",
            )


class RunBudgetError(BudgetError):
    """The money of the whole run is spent: nothing more is begun."""


def read_ledger(path: Path) -> Iterator[Entry]:
    """The calls that a ledger holds; none if there is no such file. A torn line counts for nothing.

    Raises `InvalidFileError` for another malformed one.
    """
    if not path.exists():
        return
    with open(path, "rb") as stream:
        for number, line in enumerate(stream, start=1):
            if line.endswith(b"\n") and (entry := _parsed(line, f"{path}: line {number}")) is not None:
                yield entry


def _parsed(line: bytes, place: str) -> Entry | None:
    if not line.strip() or not line.endswith(b"}\n"):
        return None  # blank, or what a crash or a full disk left of a line
    try:
        data = json.loads(line[:MAX_LINE])
    except (ValueError, RecursionError) as error:
        raise InvalidFileError(f"{place}: is no call of a ledger: {error}") from error
    return from_json(Entry, data, place)


def usage_of(entry: Entry) -> Usage:
    """Tokens and money of a call; the money as it was priced."""
    return Usage(entry.input_tokens, entry.cached_tokens, entry.output_tokens, entry.reasoning_tokens, entry.cost_usd)


def sums(entries: Iterable[Entry]) -> list[Spending]:
    """By stage, role and model, in the order of each stage's first call. Failed and stored calls are counted, and add nothing to tokens and cost."""
    groups: dict[tuple[str, str, str], list[Entry]] = {}
    stages: dict[str, int] = {}
    for entry in entries:
        stages.setdefault(entry.stage, len(stages))
        groups.setdefault((entry.stage, entry.role, entry.model), []).append(entry)
    return [_sum(*key, groups[key]) for key in sorted(groups, key=lambda key: (stages[key[0]], key))]


def _sum(stage: str, role: str, model: str, entries: list[Entry]) -> Spending:
    paid = [e for e in entries if not e.stored and not e.failed]
    known = sum(e.cost_usd for e in paid if e.cost_usd is not None)
    unknown = sum(1 for e in paid if e.cost_usd is None)

    def total(name: str) -> Any:
        values = [getattr(e, name) for e in paid]
        return None if any(v is None for v in values) else sum(values)

    return Spending(
        role,
        model,
        len(paid),
        sum(1 for e in entries if e.stored),
        sum(1 for e in entries if e.failed),
        total("input_tokens"),
        total("cached_tokens"),
        total("output_tokens"),
        total("reasoning_tokens"),
        None if unknown else known,
        known,
        unknown,
        tuple(sorted({e.prices for e in paid if e.prices})),
        stage,
    )


def now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
