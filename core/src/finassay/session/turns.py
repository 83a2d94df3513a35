"""One agent turn under the harness's clock."""

import threading
import time
from collections.abc import Callable

from attrs import frozen

from finassay.api.agent import Agent, AgentTurn, TurnContext, Usage
from finassay.api.delivery import LogEvent
from finassay.api.errors import AgentError
from finassay.api.sandbox import Box

MAX_MESSAGE = 2_000_000
MAX_LOG_EVENTS = 20_000
MAX_LOG_TEXT = 20_000
GRACE_SECONDS = 10.0
"""After the box was stopped, how long an adapter may take to return what it has before it is left behind."""


@frozen
class TurnOutcome:
    """What came of a turn. `error` is None for a turn that ended or was cut."""

    text: str
    usage: Usage
    seconds: float
    cut: bool
    log: tuple[LogEvent, ...]
    error: BaseException | None = None


class _TurnLog:
    """Collects log events, bounded, from whatever thread they come."""

    def __init__(self) -> None:
        self._events: list[LogEvent] = []
        self._lock = threading.Lock()

    def __call__(self, event: LogEvent) -> None:
        with self._lock:
            if len(self._events) < MAX_LOG_EVENTS:
                self._events.append(LogEvent(event.turn, event.kind, _bounded(event.data), event.seconds))

    def taken(self) -> tuple[LogEvent, ...]:
        with self._lock:
            return tuple(self._events)


def _bounded(value: object) -> dict[str, object]:
    return {str(k)[:100]: _bounded_value(v, 4) for k, v in list(value.items())[:50]} if isinstance(value, dict) else {}


def _bounded_value(value: object, depth: int) -> object:
    if isinstance(value, str):
        return value if len(value) <= MAX_LOG_TEXT else value[:MAX_LOG_TEXT] + "…"
    if value is None or isinstance(value, int | float | bool):
        return value
    if depth and isinstance(value, dict):
        return {str(k)[:100]: _bounded_value(v, depth - 1) for k, v in list(value.items())[:50]}
    if depth and isinstance(value, list | tuple):
        return [_bounded_value(v, depth - 1) for v in value[:100]]
    return str(value)[:MAX_LOG_TEXT]


def run_turn(agent: Agent, box: Box | None, message: str, turn: int, seconds: float, redact: Callable[[str], str]) -> TurnOutcome:
    """Let the agent act for at most `seconds`; then every process in its box is stopped and the turn is marked cut.

    The adapter runs in a thread of its own, because nothing else can end a call that ignores its deadline; one that does not return
    within the grace after the stop is left behind and the turn ends with what was logged.
    """
    log, stopped = _TurnLog(), threading.Event()
    result: list[AgentTurn | BaseException] = []

    def act() -> None:
        try:
            result.append(agent.send(message, TurnContext(turn, seconds, log, stopped.is_set)))
        except BaseException as error:  # somebody else's code: classified by the loop
            result.append(error)

    started = time.monotonic()
    worker = threading.Thread(target=act, name=f"agent-turn-{turn}", daemon=True)
    worker.start()
    worker.join(seconds)
    if worker.is_alive():
        stopped.set()
        if box is not None:
            box.stop()
        worker.join(GRACE_SECONDS)
    elapsed = time.monotonic() - started
    outcome = result[0] if result else AgentTurn("")
    cut = stopped.is_set()
    if isinstance(outcome, BaseException):
        error = None if cut and isinstance(outcome, AgentError) else outcome
        return TurnOutcome("", Usage(), elapsed, cut, log.taken(), error)
    return TurnOutcome(redact(outcome.text[:MAX_MESSAGE]), outcome.usage, elapsed, cut, log.taken())
