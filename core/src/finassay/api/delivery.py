"""What an agent handed over, and the package that is graded."""

from collections.abc import Callable, Mapping
from datetime import date
from pathlib import Path
from typing import Any, Literal, Protocol, TypeVar, cast

from attrs import Factory, evolve, field, frozen

from finassay.api.conversation import Conversation
from finassay.api.strategy import Observable
from finassay.api.task import Task

T = TypeVar("T")


@frozen
class DeliveredFile:
    """One file in `deliver/` after a turn. `path` is relative, with `/`, never absolute and never with `..`."""

    path: str
    sha256: str
    size: int


@frozen
class Rejected:
    """Something in `deliver/` that was not taken: a link, a FIFO, a file over the limit. Counts as not delivered."""

    path: str
    """As it may be shown: control characters replaced."""
    reason: str


@frozen
class Delivery:
    """The whole tree in `deliver/` after one turn."""

    turn: int
    files: tuple[DeliveredFile, ...] = ()
    rejected: tuple[Rejected, ...] = ()

    def file(self, path: str) -> DeliveredFile | None:
        return next((f for f in self.files if f.path == path), None)


@frozen
class LogEvent:
    """One entry of the execution log L: what an agent did, as its own program reports it. Detects violations; never earns a score."""

    turn: int
    kind: Literal["tool-call", "tool-result", "usage", "error", "note"]
    data: Mapping[str, Any]
    """tool-call: `id`, `name`, `input`. tool-result: `id`, `output`, `is_error`, `exit_code`. usage: token counts, `cost_usd` or None."""
    seconds: float = 0.0
    """Since the start of the turn."""


@frozen
class TurnFacts:
    """What the harness measured about a turn."""

    turn: int
    seconds: float
    cut: bool = False
    failed_attempts: int = 0


class Blobs(Protocol):
    """Delivered bytes by content hash."""

    def path(self, sha256: str) -> Path:
        """A read-only file holding these bytes. Raises `KeyError` if they are not stored."""
        ...


EndReason = Literal[
    "satisfied",
    "user_walked_away",
    "agent_gave_up",
    "turn_limit",
    "resource_limit",
    "agent_error",
    "integrity_violation",
    "simulator_void",
    "environment_error",
    "cancelled",
]


@frozen
class Package:
    """Everything that grading may look at. Checks are pure functions of it.

    D, the deliverable, is `conversation` (the agent's messages) and `deliveries`. `log` is L. `end_reason` is None while a
    session is graded turn by turn.
    """

    task: Task
    conversation: Conversation
    deliveries: tuple[Delivery, ...]
    blobs: Blobs
    log: tuple[LogEvent, ...] = ()
    turns: tuple[TurnFacts, ...] = ()
    end_reason: EndReason | None = None
    sandbox: str = "local"
    """Id of the sandbox in which delivered code may be run again."""
    runner: "CodeRunner | None" = None
    """Runs delivered code; None where the evaluator may not run any."""
    channel_readable: tuple[Path, ...] = ()
    confirmed: frozenset[str] = frozenset()
    """Items that the user told in words which the phrase matcher does not know, by the second check that was made in the session."""
    _facts: dict[Any, Any] = field(factory=dict, eq=False, repr=False)

    @property
    def cutoff(self) -> date:
        return self.task.conditions.cutoff

    @property
    def observables(self) -> Mapping[str, Observable]:
        """Item id to the test by which trades can show it."""
        return self.task.observables

    @property
    def tree(self) -> Delivery:
        """The files present after the last turn; empty if nothing was ever delivered."""
        return self.deliveries[-1] if self.deliveries else Delivery(turn=0)

    def path(self, file: DeliveredFile) -> Path:
        """The stored bytes of a delivered file."""
        return self.blobs.path(file.sha256)

    def until(self, turn: int) -> "Package":
        """The package as it stood after a turn, for the score by turn."""
        return evolve(
            self,
            conversation=self.conversation.until(turn),
            deliveries=tuple(d for d in self.deliveries if d.turn <= turn),
            log=tuple(e for e in self.log if e.turn <= turn),
            turns=tuple(t for t in self.turns if t.turn <= turn),
            end_reason=None,
            facts={},
        )

    def fact(self, compute: Callable[["Package"], T]) -> T:
        """`compute(self)`, computed once per package: how checks share the tables they read and the curves they rebuild."""
        if compute not in self._facts:
            self._facts[compute] = compute(self)
        return cast(T, self._facts[compute])


@frozen
class RunResult:
    """What came of running delivered code."""

    exit_code: int | None
    """None if it was stopped by the time limit."""
    stdout: str
    stderr: str
    seconds: float
    written: Mapping[str, Path] = Factory(dict)
    """Files it wrote, also with the same bytes, by path relative to the copy; valid until the runner is closed."""


class CodeRunner(Protocol):
    """Runs one delivered program in a writable copy of a tree, in a clean sandbox without network."""

    def run(self, files: Mapping[str, Path], argv: tuple[str, ...], *, seconds: float) -> RunResult:
        """`files` maps relative paths to stored bytes; `argv` is run in the copy's root. `{python}` stands for the interpreter."""
        ...
