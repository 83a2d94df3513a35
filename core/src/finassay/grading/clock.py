"""How long grading may take: deliveries are hostile, and a check that somebody's text makes slow must not hold up the rest."""

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Final

CHECK_SECONDS: Final = 600.0
GRADING_SECONDS: Final = 1_800.0
_AGAIN = 5.0
"""A check may catch the first alarm as its own error; it is rung again until the check gives up."""


class CheckTimeoutError(Exception):
    """A check took longer than it may."""


class Clock:
    """The time of one grading, shared by its checks."""

    def __init__(self, seconds: float = GRADING_SECONDS, check_seconds: float = CHECK_SECONDS) -> None:
        self._left = seconds
        self._check_seconds = check_seconds
        self._spent: dict[str, float] = {}

    @contextmanager
    def limit(self, check: str = "") -> Iterator[None]:
        """Raises `CheckTimeoutError` inside the block once its time is over, at once if the grading's is.

        Blocks of one check share its time. What lies between blocks, such as waiting for a judge, costs nothing. Needs the process's main
        thread, which is where gradings run; elsewhere only the grading's own time is watched.
        """
        started = time.monotonic()
        spent = self._spent.get(check, 0.0) if check else 0.0
        try:
            with self._alarm(min(self._check_seconds - spent, self._left)):
                yield
        finally:
            took = time.monotonic() - started
            self._left -= took
            if check:
                self._spent[check] = spent + took

    @contextmanager
    def _alarm(self, seconds: float) -> Iterator[None]:
        if seconds <= 0:
            raise CheckTimeoutError("the time for grading this session was used up")
        if threading.current_thread() is not threading.main_thread():
            yield
            return

        def ring(number: int, frame: FrameType | None) -> None:
            raise CheckTimeoutError(f"took longer than {seconds:.0f} s")

        before = signal.signal(signal.SIGALRM, ring)
        started = time.monotonic()
        others, interval = signal.setitimer(signal.ITIMER_REAL, seconds, _AGAIN)
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)
            if others:  # somebody else's alarm goes on
                signal.setitimer(signal.ITIMER_REAL, max(0.001, others - (time.monotonic() - started)), interval)
