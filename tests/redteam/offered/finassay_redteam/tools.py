"""What the ways share: telling what came of them, and finding in whatever was read what had been planted."""

import contextlib
import ctypes
import json
import os
import re
import stat
import time
from collections.abc import Callable, Iterator
from typing import Any

MARK = re.compile(rb"RT[0-9a-f]{16}MARK")
"""Everything secret that the test planted looks like this."""
CAREFUL = bool(os.environ.get("CAREFUL"))
PATIENCE = 0.3 if CAREFUL else 1.0
"""Seconds for looking through one folder."""
libc = ctypes.CDLL(None, use_errno=True)
MACHINE = os.uname().machine
NUMBERS = {"x86_64": {"add_key": 248, "keyctl": 250, "init_module": 175, "kexec_load": 246, "bpf": 321, "perf_event_open": 298}}
NUMBERS["aarch64"] = {"add_key": 217, "keyctl": 219, "init_module": 105, "kexec_load": 104, "bpf": 280, "perf_event_open": 241}


class Way:
    """One attempt while it lasts."""

    def __init__(self) -> None:
        self.found: set[str] = set()
        self.worked: list[str] = []
        self.notes: list[str] = []

    def look(self, data: bytes | str, where: str = "") -> None:
        """Whatever was read: what in it was planted is a find."""
        raw = data if isinstance(data, bytes) else data.encode("utf-8", "surrogateescape")
        for match in MARK.findall(raw):
            self.found.add(match.decode() + (f" in {where}" if where else ""))

    def read(self, path: str, limit: int = 2**22) -> bytes:
        """The beginning of a file, looked at; empty if it cannot be read. Never waits for a pipe."""
        with contextlib.suppress(OSError):
            descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
            try:
                data = b""
                while len(data) < limit and (chunk := os.read(descriptor, min(2**20, limit - len(data)))):
                    data += chunk
            finally:
                os.close(descriptor)
            self.look(data, path)
            return data
        return b""

    def did(self, what: str) -> None:
        """Something went through that should not have."""
        self.worked.append(what[:300])

    def attempt(self, what: str, act: Callable[[], Any]) -> bool:
        """Whether it went through; an answer below zero with an error number did not."""
        ctypes.set_errno(0)
        try:
            answer = act()
        except Exception as error:
            self.notes.append(f"{what}: {type(error).__name__}: {error}"[:200])
            return False
        if isinstance(answer, int) and not isinstance(answer, bool) and answer < 0:
            self.notes.append(f"{what}: {os.strerror(ctypes.get_errno())}")
            return False
        self.did(what)
        return True


WAYS: dict[str, dict[str, Callable[[Way], None]]] = {}
"""Group to its ways, in order."""


def way(group: str, id: str, *, harmful: bool = False) -> Callable[[Callable[[Way], None]], Callable[[Way], None]]:
    """Register a way; a harmful one is left out where nothing protects the machine."""

    def register(act: Callable[[Way], None]) -> Callable[[Way], None]:
        if not (harmful and CAREFUL):
            WAYS.setdefault(group, {})[id] = act
        return act

    return register


def say(**line: Any) -> None:
    """One line of the kit's protocol."""
    os.write(1, json.dumps(line).encode() + b"\n")


def run(id: str, act: Callable[[Way], None]) -> None:
    """Try one way and tell what came of it."""
    tried, started = Way(), time.monotonic()
    say(type="tool-call", id=id, name=id, input={})
    try:
        act(tried)
    except Exception as error:
        tried.notes.append(f"{type(error).__name__}: {error}"[:300])
    told = {
        "found": sorted(tried.found)[:50],
        "worked": tried.worked[:20],
        "notes": tried.notes[-8:],
        "seconds": round(time.monotonic() - started, 2),
    }
    say(type="tool-result", id=id, output=json.dumps(told))


def in_child(act: Callable[[], Any], seconds: float = 5.0) -> Any:
    """What `act` gives in a child process, as JSON; None if it dies or takes too long."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        with contextlib.suppress(BaseException):
            os.close(reader)
            os.write(writer, json.dumps(act()).encode() + b"\n")
        os._exit(0)
    os.close(writer)
    deadline, told = time.monotonic() + seconds, b""
    os.set_blocking(reader, False)
    while time.monotonic() < deadline and not told.endswith(b"\n"):
        with contextlib.suppress(BlockingIOError):
            chunk = os.read(reader, 65536)
            if not chunk:
                break
            told += chunk
            continue
        time.sleep(0.01)
    os.close(reader)
    with contextlib.suppress(OSError):
        os.kill(child, 9)
    with contextlib.suppress(OSError):
        os.waitpid(child, 0)
    with contextlib.suppress(ValueError):
        return json.loads(told)
    return None


def processes() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def others() -> list[int]:
    """Processes that are neither this program's own nor the few that a sandbox starts with it."""
    return [pid for pid in processes() if pid not in (1, os.getpid()) and not _with_us(pid)]


def _with_us(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as stream:
            line = stream.read()
    except OSError:
        return True  # gone
    return b"finassay_redteam" in line or b"relay.py" in line


def of_the_harness(line: bytes) -> bool:
    """Whether a command is the harness's: the run's, not that which starts our own program."""
    return b"finassay.cli" in line or b"finassay\0run" in line


def walk(root: str, until: float, skip: tuple[str, ...] = ()) -> Iterator[tuple[str, os.stat_result]]:
    """Everything below a folder that is no folder itself, breadth first, until the time is over."""
    pending = [root]
    for folder in pending:
        if time.monotonic() > until:
            return
        try:
            entries = sorted(os.scandir(folder), key=lambda e: e.name)
        except OSError:
            continue
        for entry in entries:
            with contextlib.suppress(OSError):
                status = entry.stat(follow_symlinks=False)
                if not stat.S_ISDIR(status.st_mode):
                    yield entry.path, status
                elif entry.path not in skip and len(pending) < 50_000:
                    pending.append(entry.path)
