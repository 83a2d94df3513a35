"""Finding and ending processes."""

import contextlib
import os
import signal
import time
from collections.abc import Callable, Sequence

from finassay.api.errors import SandboxError
from finassay_sandbox_local.supervise import family

END_SECONDS = 15.0


def marked(marker: str) -> list[int]:
    """Running processes whose environment holds the marker (`NAME=value`), wherever they were reparented to."""
    wanted, found = marker.encode(), []
    for name in os.listdir("/proc"):
        if name.isdigit() and int(name) != os.getpid():
            with contextlib.suppress(OSError), open(f"/proc/{name}/environ", "rb") as stream:
                if wanted in stream.read(1_048_576).split(b"\0"):
                    found.append(int(name))
    return found


def end(pids: Callable[[], Sequence[int]], seconds: float = END_SECONDS) -> None:
    """SIGKILL what `pids()` finds, again until it finds nothing that lives. Raises `SandboxError` if that takes too long."""
    deadline = time.monotonic() + seconds
    while found := [pid for pid in pids() if lives(pid)]:
        for pid in found:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        if time.monotonic() > deadline:
            raise SandboxError(f"{len(found)} processes could not be ended within {seconds:g} s")
        time.sleep(0.005)


def lives(pid: int) -> bool:
    """Whether it runs; a zombie does not."""
    with contextlib.suppress(OSError), open(f"/proc/{pid}/stat", "rb") as stream:
        return stream.read().rpartition(b")")[2].split()[:1] not in ([b"Z"], [b"X"])
    return False


__all__ = ["end", "family", "lives", "marked"]
