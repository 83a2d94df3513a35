"""One agent turn under the harness's clock."""

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from contextvars import copy_context
from queue import SimpleQueue

from attrs import frozen

from finassay.api.agent import Agent, AgentTurn, TurnContext
from finassay.api.delivery import LogEvent
from finassay.api.errors import AgentError, ResourceLimitError
from finassay.api.sandbox import Box
from finassay.api.usage import Usage
from finassay.session.room import Lookout

MAX_MESSAGE = 2_000_000
MAX_LOG_EVENTS = 20_000
MAX_LOG_TEXT = 20_000
MAX_LOG_CHARACTERS = 32 * 2**20
"""Of all events of a turn together; the texts of later ones are left out."""
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
        self._left = MAX_LOG_CHARACTERS
        self._lock = threading.Lock()

    def __call__(self, event: LogEvent) -> None:
        with self._lock:
            if len(self._events) < MAX_LOG_EVENTS:
                data = _bounded(event.data)
                self._left -= _characters(data)
                if self._left < 0:
                    data = {"left_out": "the log of this turn is full"}
                self._events.append(LogEvent(event.turn, event.kind, data, event.seconds))

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


def _characters(value: object) -> int:
    """Roughly how much room a bounded value takes."""
    if isinstance(value, dict):
        return sum(len(k) + _characters(v) for k, v in value.items())
    if isinstance(value, list):
        return sum(map(_characters, value))
    return len(value) if isinstance(value, str) else 8


class Halted(BaseException):
    """The program was told to stop: the turn in progress is given up and nothing more is recorded. No handler of errors catches it."""


class AgentThread:
    """The thread in which an adapter acts, because nothing else can end a call that ignores its deadline.

    One thread serves a whole session; a call that does not return is left behind with its thread, and the next turn gets another.
    """

    def __init__(self) -> None:
        self._calls: SimpleQueue[Callable[[], None] | None] | None = None
        self._over = threading.Lock()
        self.halted = False

    def run(self, call: Callable[[], None]) -> threading.Lock:
        """Start a call; the lock that is returned can be acquired once the call is over."""
        if self._calls is None:
            self._calls = SimpleQueue()
            threading.Thread(target=_serve, args=(self._calls,), name="agent", daemon=True).start()
        over = self._over = threading.Lock()
        over.acquire()
        context = copy_context()  # whom the call serves, for what it asks of the run's models

        def counted() -> None:
            context.run(call)
            _release(over)

        self._calls.put(counted)
        return over

    def halt(self) -> None:
        """Stop waiting for the call in progress, from another thread; whoever waits finds `halted` set."""
        self.halted = True
        _release(self._over)

    def leave(self) -> None:
        """Let the thread end once its call is over; it may be used again."""
        if self._calls is not None:
            self._calls.put(None)
            self._calls = None


def _release(lock: threading.Lock) -> None:
    with suppress(RuntimeError):  # released already: the call ended, or was halted, first
        lock.release()


def _serve(calls: "SimpleQueue[Callable[[], None] | None]") -> None:
    while (call := calls.get()) is not None:
        call()


def _watched(over: threading.Lock, until: float, lookout: Lookout | None) -> tuple[bool, str]:
    """Wait for a call, with a look at its workspace now and then: whether it ended by itself in time, and what there was too much of."""
    while True:
        left = max(0.0, until - time.monotonic())
        pause = left if lookout is None else lookout.pause(left)
        if over.acquire(timeout=pause):
            return True, ""
        if lookout is None or pause >= left:
            return False, ""
        if excess := lookout.excess():
            return False, excess


def run_turn(
    agent: Agent,
    box: Box | None,
    message: str,
    turn: int,
    seconds: float,
    redact: Callable[[str], str],
    thread: AgentThread,
    lookout: Lookout | None = None,
) -> TurnOutcome:
    """Let the agent act for at most `seconds`; then every process in its box is stopped and the turn is marked cut.

    Whatever still runs when the agent ends its turn by itself is stopped too: nothing may write while its delivery is taken. `lookout` ends
    a turn whose workspace gets too full; its error is then a `ResourceLimitError`.

    A call that does not return within the grace after the stop is left behind and the turn ends with what was logged. Raises `Halted`.
    """
    log, stopped = _TurnLog(), threading.Event()
    result: list[AgentTurn | BaseException] = []

    def act() -> None:
        try:
            result.append(agent.send(message, TurnContext(turn, seconds, log, stopped.is_set)))
        except BaseException as error:  # somebody else's code: classified by the loop
            result.append(error)

    started = time.monotonic()
    over = thread.run(act)
    over_in_time, excess = _watched(over, started + seconds, lookout if box is not None else None)
    if not over_in_time:
        stopped.set()
        if box is not None:
            box.stop()
        if not over.acquire(timeout=GRACE_SECONDS):
            thread.leave()
    if thread.halted:
        raise Halted
    elapsed = time.monotonic() - started
    if box is not None and not stopped.is_set():
        box.stop()
    outcome = result[0] if result else AgentTurn("")
    cut = stopped.is_set() and not excess
    if excess:
        text = redact(outcome.text[:MAX_MESSAGE]) if isinstance(outcome, AgentTurn) else ""
        usage = outcome.usage if isinstance(outcome, AgentTurn) else Usage()
        return TurnOutcome(text, usage, elapsed, cut, log.taken(), ResourceLimitError(excess))
    if isinstance(outcome, BaseException):
        error = None if cut and isinstance(outcome, AgentError) else outcome
        return TurnOutcome("", Usage(), elapsed, cut, log.taken(), error)
    return TurnOutcome(redact(outcome.text[:MAX_MESSAGE]), outcome.usage, elapsed, cut, log.taken())
