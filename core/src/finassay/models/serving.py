"""Which session a call to a model serves. Set by whoever holds or grades a session; read by the ledger and the budgets."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from attrs import define, frozen


@define
class Serving:
    """The session in hand, and its turn as far as it is known."""

    session: str = ""
    turn: int | None = None
    again: int = 0
    """How often the session was held before and set aside: what was answered then is not answered again."""


@frozen
class Step:
    """What a call is part of, where a component works in stages."""

    stage: str = ""
    attempt: int | None = None
    """From 1: the try at what the stage makes."""


_NOBODY = Serving()
_NO_STEP = Step()
_STEP: ContextVar[Step] = ContextVar("finassay_step", default=_NO_STEP)
_SERVING: ContextVar[Serving] = ContextVar("finassay_serving", default=_NOBODY)
_ALONE: list[Serving] = []
"""What a process that serves one session at a time serves, also in threads that a component starts."""


def served() -> Serving:
    """What is served here; an empty session where nobody said."""
    found = _SERVING.get()
    return _ALONE[-1] if found is _NOBODY and _ALONE else found


@contextmanager
def serving(session: str, *, again: int = 0, alone: bool = False) -> Iterator[Serving]:
    """Calls in this block, of this thread, serve a session; with `alone` also those of threads that have no session of their own."""
    one = Serving(session, None, again)
    token = _SERVING.set(one)
    if alone:
        _ALONE.append(one)
    try:
        yield one
    finally:
        _SERVING.reset(token)
        if alone:
            _ALONE.remove(one)


def step() -> Step:
    """The stage and try that calls are made in here; blank where nobody said."""
    return _STEP.get()


@contextmanager
def at_step(stage: str | None = None, attempt: int | None = None) -> Iterator[None]:
    """Calls in this block belong to a stage, and to a try at it; what is not named stays as it is."""
    before = _STEP.get()
    token = _STEP.set(Step(before.stage if stage is None else stage, before.attempt if attempt is None else attempt))
    try:
        yield
    finally:
        _STEP.reset(token)
