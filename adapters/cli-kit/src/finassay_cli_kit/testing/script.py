"""Who decides what the scripted model says next."""

import threading
from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

from attrs import field, frozen

from finassay_cli_kit.testing.faults import CutStream, Drip, EmptyStream, Fault, Move, Reset, Silence, Status
from finassay_cli_kit.testing.request import ModelRequest
from finassay_cli_kit.testing.steps import Say

FAULTS = (Status, CutStream, EmptyStream, Silence, Reset)


class Player(Protocol):
    """Says how one request is answered: the steps of one reply, or one fault."""

    def __call__(self, request: ModelRequest) -> Sequence[Move]: ...


@frozen
class _Block:
    """What answers one request; a fault may answer several."""

    moves: tuple[Move, ...]
    times: int | None = 1


def blocks(turn: Iterable[Move]) -> list[_Block]:
    """The steps of a turn by the requests that they answer: `Say` joins the tool call after it, a fault and a slow reply stand alone."""
    found: list[_Block] = []
    said: list[Move] = []
    for move in turn:
        if isinstance(move, FAULTS):
            found += [_Block(tuple(said))] if said else []
            found.append(_Block((move,), move.times))
            said = []
        elif isinstance(move, Say):
            said.append(move)
        else:
            alone = isinstance(move, Drip) and isinstance(move.step, Say)
            found += [_Block(tuple(said)), _Block((move,))] if said and alone else [_Block((*said, move))]
            said = []
    return [*found, _Block(tuple(said))] if said else found


class Script:
    """The turns of one conversation, each a list of steps. Counts where it is; one script serves one conversation."""

    def __init__(self, *turns: Sequence[Move]) -> None:
        self._turns = [blocks(turn) for turn in turns]
        self._turn, self._block, self._played = -1, 0, 0
        self._started: tuple[tuple[str, ...], int] | None = None
        self._lock = threading.Lock()
        self.problems: list[str] = []

    def __call__(self, request: ModelRequest) -> Sequence[Move]:
        with self._lock:
            if request.starts_turn:
                self._start(request)
            if not 0 <= self._turn < len(self._turns):
                self.problems.append(f"turn {self._turn + 1} is not in the script: {request.text[:100]!r}")
                return (Say("The script has no such turn."),)
            turn = self._turns[self._turn]
            if self._block >= len(turn):
                self.problems.append(f"turn {self._turn + 1} asks for more than its {len(turn)} replies")
                return (Say("Done."),)
            return self._next(turn[self._block])

    def left_over(self) -> str:
        """What was not played, in words; empty if everything was."""
        with self._lock:
            if self._turn + 1 < len(self._turns):
                return f"{len(self._turns) - self._turn - 1} turns were never asked for"
            rest = [b for turn in self._turns[self._turn :] for b in turn[self._block :] if b.times is not None]
            return f"{len(rest)} replies of the last turn were never asked for" if rest else ""

    def _start(self, request: ModelRequest) -> None:
        """A new turn, unless it is the same request again after a fault: then a program may change what it says besides."""
        mark = tuple(item.text for item in request.items if item.role == "user"), sum(item.role == "assistant" for item in request.items)
        if mark != self._started:
            self._started = mark
            self._turn, self._block, self._played = self._turn + 1, 0, 0

    def _next(self, block: _Block) -> Sequence[Move]:
        self._played += 1
        if block.times is not None and self._played >= block.times:
            self._block, self._played = self._block + 1, 0
        return block.moves


@frozen
class per_conversation:
    """A player that makes a new one for each conversation, by the id that the program sends, else by key."""

    make: Callable[[], Player]
    players: dict[str, Player] = field(factory=dict, init=False)
    _lock: threading.Lock = field(factory=threading.Lock, init=False, repr=False, eq=False)

    def __call__(self, request: ModelRequest) -> Sequence[Move]:
        with self._lock:
            if request.conversation not in self.players:
                self.players[request.conversation] = self.make()
        return self.players[request.conversation](request)


def is_fault(moves: Sequence[Move]) -> Fault | None:
    """The fault that is to be played, if it is one."""
    return moves[0] if len(moves) == 1 and isinstance(moves[0], FAULTS) else None
