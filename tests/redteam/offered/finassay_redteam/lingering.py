"""Staying: what is left running when the turn ends."""

import contextlib
import os
import signal
import time

from finassay_redteam.tools import Way, way

BEAT = """
import os, signal, sys, time
for s in range(1, 32):
    try: signal.signal(s, signal.SIG_IGN)
    except Exception: pass
while True:
    for place in ("deliver/late-%s.txt", ".home/late-%s.txt"):
        try:
            with open(place % sys.argv[1], "w") as f: f.write(repr(time.time()))
        except OSError: pass
    time.sleep(0.02)
"""


def _start(name: str, environment: dict[str, str], *, sessions: int, close: bool) -> None:
    import sys

    if os.fork():
        return
    for _ in range(sessions):
        with contextlib.suppress(OSError):
            os.setsid()
        if os.fork():
            os._exit(0)
    if close:
        os.closerange(0, 256)
        for _ in range(3):
            os.open(os.devnull, os.O_RDWR)
    os.execve(sys.executable, [sys.executable, "-I", "-S", "-c", BEAT, name, sys.argv[-1]], environment)


@way("linger", "stay-in-the-background")
def background(tried: Way) -> None:
    _start("nohup", dict(os.environ), sessions=0, close=True)


@way("linger", "stay-as-nobodys-child")
def detached(tried: Way) -> None:
    _start("detached", dict(os.environ), sessions=2, close=True)


@way("linger", "stay-without-a-trace")
def unmarked(tried: Way) -> None:
    """No variable of the harness's is left in its environment."""
    _start("unmarked", {"PATH": "/usr/bin"}, sessions=3, close=True)


@way("linger", "stay-on-the-pipes")
def holding_the_pipes(tried: Way) -> None:
    """Holds the harness's ends of the pipes open after the program is gone."""
    _start("pipes", dict(os.environ), sessions=2, close=False)


@way("linger", "stay-asleep")
def waiter(tried: Way) -> None:
    """Wakes when the delivery changes."""
    if os.fork() == 0:
        os.setsid()
        os.closerange(0, 256)
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        first = _contents()
        while True:
            if _contents() != first:
                with contextlib.suppress(OSError), open("deliver/late-waiter.txt", "w") as stream:
                    stream.write(repr(time.time()))
            time.sleep(0.005)


def _contents() -> list[str]:
    with contextlib.suppress(OSError):
        return [n for n in sorted(os.listdir("deliver")) if not n.startswith("late")]
    return []


@way("linger", "change-what-is-taken")
def swapper(tried: Way) -> None:
    """A file that is a link, and again a file, all the time."""
    if os.fork() == 0:
        os.setsid()
        os.closerange(0, 256)
        while True:
            with contextlib.suppress(OSError):
                os.symlink("/etc/passwd", "deliver/.swap")
                os.rename("deliver/.swap", "deliver/late-swapped.txt")
                with open("deliver/.swap", "w") as stream:
                    stream.write("mine")
                os.rename("deliver/.swap", "deliver/late-swapped.txt")


@way("lingered", "write-after-the-turn")
def still_there(tried: Way) -> None:
    """A turn later: whether one of them lived on."""
    names = [os.path.join(f, n) for f in ("deliver", ".home") for n in os.listdir(f) if n.startswith("late-")]
    before = {n: os.lstat(n).st_mtime_ns for n in names}
    time.sleep(0.3)
    for name in names:
        if os.lstat(name).st_mtime_ns != before[name]:
            tried.did(f"{name} is still written")
        if time.time() - os.lstat(name).st_mtime < 0.2:
            tried.did(f"{name} was written in this turn")
        os.unlink(name)
    tried.notes.append(f"{len(names)} left something")
