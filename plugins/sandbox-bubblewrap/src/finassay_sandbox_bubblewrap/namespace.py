"""Ending a whole PID namespace by its first process, without a look at every process of the machine."""

import contextlib
import json
import os
import select
import signal
import weakref
from typing import Final, Self

TOLD_SECONDS: Final = 0.5
"""How long bubblewrap may take to tell what it started; it does so before the program begins."""
END_SECONDS: Final = 15.0
TOLD_BYTES: Final = 4096


class Namespace:
    """The PID namespace of one program, held by a descriptor of its first process, so that its number may be given out again."""

    def __init__(self, held: int) -> None:
        self._held = held
        self._let_go = weakref.finalize(self, os.close, held)

    @classmethod
    def told(cls, report: int, parent: int) -> Self | None:
        """The namespace that bubblewrap, running as `parent`, tells of on `report` (its `--info-fd`), which is closed here.

        None where it tells none in time, or where the process that it tells is gone or not its own child.
        """
        try:
            first = _read(report)
        finally:
            os.close(report)
        if first is None:
            return None
        try:
            held = os.pidfd_open(first)
        except OSError:
            return None
        if _parent(first) != parent:  # gone since, and its number given out again
            os.close(held)
            return None
        return cls(held)

    def end(self) -> bool:
        """Kill its first process and wait until it is gone: the kernel lets it go only after everything else in the namespace.

        False if that takes too long.
        """
        if self._let_go.alive:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._held, signal.SIGKILL)
            poller = select.poll()
            poller.register(self._held, select.POLLIN)
            if not poller.poll(END_SECONDS * 1000):
                return False
            self._let_go()
        return True


def _read(report: int) -> int | None:
    told, poller = b"", select.poll()
    poller.register(report, select.POLLIN | select.POLLHUP)
    while len(told) < TOLD_BYTES and poller.poll(TOLD_SECONDS * 1000):
        chunk = os.read(report, TOLD_BYTES)
        if not chunk:
            break
        told += chunk
        with contextlib.suppress(ValueError, KeyError, TypeError):
            return int(json.loads(told)["child-pid"])
    return None


def _parent(pid: int) -> int | None:
    with contextlib.suppress(OSError, ValueError, IndexError), open(f"/proc/{pid}/stat", "rb") as stream:
        return int(stream.read().rpartition(b")")[2].split()[1])
    return None
