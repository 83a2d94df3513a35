"""How much is done at once and in a minute, over all threads and, where a folder is given, all processes of a run."""

import json
import random
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from attrs import define, field
from filelock import FileLock, Timeout

MINUTE: Final = 60.0
POLL: Final = 0.05
"""Seconds between two looks whether a place has become free."""


@define
class Limiter:
    """The places of one provider. `concurrency` and `per_minute` are None where there is no limit."""

    provider: str
    concurrency: int | None = None
    per_minute: int | None = None
    folder: Path | None = None
    """Where processes of one run agree; None if this process is alone."""
    sleep: Callable[[float], None] = time.sleep
    clock: Callable[[], float] = time.time
    _places: threading.BoundedSemaphore | None = field(init=False, default=None)
    _lock: threading.Lock = field(init=False, factory=threading.Lock)
    _starts: list[float] = field(init=False, factory=list)

    def __attrs_post_init__(self) -> None:
        if self.concurrency is not None and self.folder is None:
            self._places = threading.BoundedSemaphore(self.concurrency)

    @contextmanager
    def place(self) -> Iterator[None]:
        """Held during one try. Waits as long as it must."""
        if self.folder is not None and (self.concurrency is not None or self.per_minute is not None):
            self.folder.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            self.folder.mkdir(exist_ok=True, mode=0o700)
        with self._free_place():
            self._await_start()
            yield

    @contextmanager
    def _free_place(self) -> Iterator[None]:
        if self._places is not None:
            with self._places:
                yield
        elif self.concurrency is not None and self.folder is not None:
            lock = self._lock_of_a_place(self.folder, self.concurrency)
            try:
                yield
            finally:
                lock.release()
        else:
            yield

    def _lock_of_a_place(self, folder: Path, concurrency: int) -> FileLock:
        """A file lock for each place: it falls free by itself when a process dies."""
        while True:
            for number in random.sample(range(concurrency), concurrency):
                lock = FileLock(folder / f"{self.provider}.{number}.lock", thread_local=False)
                try:
                    lock.acquire(timeout=0)
                    return lock
                except Timeout:
                    continue
            self.sleep(POLL * (1 + random.random()))

    def _await_start(self) -> None:
        while self.per_minute is not None:
            wait = self._start_or_wait(self.per_minute)
            if wait <= 0:
                return
            self.sleep(min(wait, MINUTE))

    def _start_or_wait(self, per_minute: int) -> float:
        """0 if a call may start now, which is then counted; else the seconds until one may."""
        with self._lock, self._shared():
            now = self.clock()
            starts = [s for s in self._recorded() if now - MINUTE < s <= now]
            if len(starts) >= per_minute:
                return max(POLL, min(starts[-per_minute:]) + MINUTE - now)
            self._record([*starts, now])
            return 0.0

    @contextmanager
    def _shared(self) -> Iterator[None]:
        if self.folder is None:
            yield
            return
        with FileLock(self.folder / f"{self.provider}.minute.lock"):
            yield

    def _recorded(self) -> list[float]:
        if self.folder is None:
            return self._starts
        try:
            return sorted(float(s) for s in json.loads((self.folder / f"{self.provider}.minute").read_text()))
        except (OSError, ValueError, TypeError):
            return []

    def _record(self, starts: list[float]) -> None:
        if self.folder is None:
            self._starts = starts
        else:
            (self.folder / f"{self.provider}.minute").write_text(json.dumps(starts))
