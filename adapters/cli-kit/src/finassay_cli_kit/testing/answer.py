"""From what the player says to what is sent."""

import threading
from collections.abc import Callable, Mapping, Sequence
from itertools import count
from typing import Any

from attrs import evolve, frozen

from finassay_cli_kit.testing.faults import Drip, Fault, Move, Status
from finassay_cli_kit.testing.request import ModelRequest
from finassay_cli_kit.testing.script import Player, is_fault
from finassay_cli_kit.testing.side import asks_for_itself, structured
from finassay_cli_kit.testing.steps import Reply, Say, Together, TokenCount, ToolStep, ToolUse
from finassay_cli_kit.testing.tools import NotOfferedError, Search, call


@frozen
class Answer:
    """What is sent: a reply, a JSON object, an error, or a fault."""

    status: int
    reply: Reply | None = None
    stream: bool = False
    json: Mapping[str, Any] | None = None
    message: str = ""
    fault: Fault | None = None
    drip: float = 0.0
    side: bool = False
    problem: str = ""

    @property
    def text(self) -> str:
        return self.reply.text if self.reply else self.message

    @property
    def tools(self) -> tuple[str, ...]:
        return tuple(use.name for use in self.reply.uses) if self.reply else ()

    @property
    def usage(self) -> TokenCount | None:
        return self.reply.usage if self.reply and self.fault is None else None


class Answerer:
    """Asks the player and makes an answer of its steps."""

    def __init__(self, player: Player, side: Callable[[ModelRequest], bool] | None) -> None:
        self._player = player
        self._side = side
        self._numbers = count(1)
        self._lock = threading.Lock()
        self._with_tools: set[str] = set()
        self._after_search: dict[str, Sequence[Move]] = {}

    def answer(self, request: ModelRequest, raw: bytes) -> Answer:
        """How `request` is answered; `raw` is its body, for the estimate of its tokens."""
        with self._lock:
            number = next(self._numbers)
            side = self._side(request) if self._side else asks_for_itself(request, request.conversation in self._with_tools)
            if request.tools and not side:
                self._with_tools.add(request.conversation)
            waiting = None if side else self._after_search.pop(request.conversation, None)
        base = Reply(f"{number:06d}", request.model, "", (), TokenCount(max(len(raw) // 4, 1), 1))
        if side:
            return Answer(200, _priced(evolve(base, text=structured(request))), request.stream, side=True)
        moves = waiting if waiting is not None and not request.starts_turn else self._player(request)
        if (fault := is_fault(moves)) is not None:
            return _faulty(fault, base, request)
        return self._reply(moves, base, request, searched=moves is waiting)

    def _reply(self, moves: Sequence[Move], base: Reply, request: ModelRequest, searched: bool) -> Answer:
        drip = max((move.seconds for move in moves if isinstance(move, Drip)), default=0.0)
        steps = [move.step if isinstance(move, Drip) else move for move in moves]
        said = [step for step in steps if isinstance(step, Say)]
        uses: list[ToolUse] = []
        try:
            for index, step in enumerate(_tool_steps(steps)):
                found = call(step, request, f"{base.id}{index:02d}")
                if isinstance(found, Search):
                    if searched:
                        raise NotOfferedError(f"{found.use.name} did not bring the tool for {step}")
                    with self._lock:
                        self._after_search[request.conversation] = moves
                    uses, said = [found.use], []
                    break
                uses.append(found)
        except NotOfferedError as error:
            return Answer(200, _priced(evolve(base, text=f"I cannot do that: {error}")), request.stream, problem=str(error))
        reply = evolve(base, text="\n\n".join(s.text for s in said), thinking="\n".join(s.thinking for s in said if s.thinking))
        told = next((step.usage for step in said if step.usage is not None), None)
        reply = evolve(reply, uses=tuple(uses))
        return Answer(200, evolve(reply, usage=told) if told else _priced(reply), request.stream, drip=drip)


def _tool_steps(steps: Sequence[object]) -> list[ToolStep]:
    found: list[ToolStep] = []
    for step in steps:
        if isinstance(step, Together):
            found += step.steps
        elif isinstance(step, ToolStep):
            found.append(step)
        elif not isinstance(step, Say):
            raise TypeError(f"a reply is made of steps, not of {step!r}")
    return found


def _faulty(fault: Fault, base: Reply, request: ModelRequest) -> Answer:
    if isinstance(fault, Status):
        return Answer(fault.code, message=fault.message or f"Scripted error {fault.code}.", fault=fault)
    return Answer(200, evolve(base, text=getattr(fault, "text", "")), request.stream, fault=fault)


def _priced(reply: Reply) -> Reply:
    """With the estimate of a token per four characters for what it says."""
    size = len(reply.text) + len(reply.thinking) + sum(len(use.text or str(dict(use.arguments))) for use in reply.uses)
    return evolve(reply, usage=evolve(reply.usage, output=size // 4 + 1, reasoning=len(reply.thinking) // 4))
