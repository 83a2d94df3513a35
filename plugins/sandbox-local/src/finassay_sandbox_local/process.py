"""Programs with bounded output and bounded resources: what every sandbox needs.

Nothing here trusts the program: a line that never ends is cut, standard error keeps only its tail, a child that holds the pipe after the
program is gone does not keep the reader, and a program that multiplies is stopped.
"""

import contextlib
import os
import resource
import select
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from finassay.api.errors import SandboxError
from finassay.api.sandbox import MAX_LINE_BYTES, Limits

STDERR_TAIL: Final = 16_384
CUT_MARK: Final = b" [line cut]"
WATCH_SECONDS: Final = 0.2
LINGER_SECONDS: Final = 1.0
"""How long to read on after the program ended, for children that still hold its output."""


def limited(argv: Sequence[str], limits: Limits) -> list[str]:
    """The command that starts `argv` under kernel limits. Uses `prlimit` where the machine has it, else Python."""
    pairs = [("as", limits.memory_bytes), ("fsize", limits.file_bytes), ("core", 0)]
    if os.geteuid() != 0 and limits.processes is not None:
        # The kernel counts all processes of a user, so the limit is on top of what already runs.
        pairs.append(("nproc", limits.processes + _own_processes()))
    wanted = [(name, value) for name, value in pairs if value is not None]
    program = shutil.which("prlimit")
    if program is not None:
        return [program, *(f"--{name}={value}" for name, value in wanted), "--", *argv]
    numbers = {"as": resource.RLIMIT_AS, "fsize": resource.RLIMIT_FSIZE, "core": resource.RLIMIT_CORE, "nproc": resource.RLIMIT_NPROC}
    code = "import os,resource,sys\nfor p in sys.argv[1].split(','):\n n,v=map(int,p.split(':')); resource.setrlimit(n,(v,v))\nos.execvp(sys.argv[2],sys.argv[2:])"
    return [sys.executable, "-I", "-c", code, ",".join(f"{numbers[name]}:{value}" for name, value in wanted), *argv]


def _own_processes() -> int:
    uid, count = os.getuid(), 0
    for entry in Path("/proc").iterdir() if Path("/proc").is_dir() else ():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                count += entry.stat().st_uid == uid
    return count


class BoundedProcess:
    """A started program; implements `finassay.api.sandbox.BoxProcess`."""

    def __init__(self, argv: Sequence[str], *, environment: Mapping[str, str], cwd: str | Path, stdin: bytes) -> None:
        try:
            self._popen = subprocess.Popen(
                list(argv),
                cwd=cwd,
                env=dict(environment),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
        except OSError as error:
            raise SandboxError(f"{argv[0]} cannot be started: {error.strerror}") from error
        self._tail = bytearray()
        self._reading = threading.Lock()
        self._workers = [threading.Thread(target=self._drain, daemon=True), threading.Thread(target=self._feed, args=(stdin,), daemon=True)]
        for worker in self._workers:
            worker.start()

    @property
    def pid(self) -> int:
        return self._popen.pid

    def _feed(self, data: bytes) -> None:
        assert self._popen.stdin is not None
        with contextlib.suppress(OSError, ValueError):
            self._popen.stdin.write(data)
        with contextlib.suppress(OSError, ValueError):
            self._popen.stdin.close()

    def _drain(self) -> None:
        for chunk in self._chunks(self._popen.stderr):
            self._tail += chunk
            del self._tail[:-STDERR_TAIL]

    def _chunks(self, stream: object) -> Iterator[bytes]:
        """Bytes as they come, until the end, or until the program is gone and nothing more came for a while."""
        descriptor = stream.fileno()  # type: ignore[attr-defined]
        poller = select.poll()
        poller.register(descriptor, select.POLLIN | select.POLLHUP)
        quiet_since = None
        while True:
            if not poller.poll(200):
                if self._popen.poll() is not None:
                    quiet_since = quiet_since or time.monotonic()
                    if time.monotonic() - quiet_since > LINGER_SECONDS:
                        return
                continue
            quiet_since = None
            chunk = os.read(descriptor, 65536)
            if not chunk:
                return
            yield chunk

    def lines(self) -> Iterator[bytes]:
        """Lines of standard output without their ends; one that is too long is cut and says so."""
        with self._reading:
            yield from self._split()

    def _split(self) -> Iterator[bytes]:
        pending, dropping = bytearray(), False
        for chunk in self._chunks(self._popen.stdout):
            *whole, rest = chunk.split(b"\n")
            for part in whole:
                if not dropping:
                    pending += part
                    yield self._cut(pending)
                pending, dropping = bytearray(), False
            if not dropping:
                pending += rest
                if len(pending) > MAX_LINE_BYTES:
                    yield self._cut(pending)
                    pending, dropping = bytearray(), True
        if pending and not dropping:
            yield self._cut(pending)

    @staticmethod
    def _cut(line: bytearray) -> bytes:
        clean = bytes(line[:-1]) if line.endswith(b"\r") else bytes(line)
        return clean if len(clean) <= MAX_LINE_BYTES else clean[: MAX_LINE_BYTES - len(CUT_MARK)] + CUT_MARK

    def wait(self, seconds: float | None = None) -> int | None:
        try:
            return self._popen.wait(seconds)
        except subprocess.TimeoutExpired:
            return None

    def stderr_tail(self) -> str:
        return bytes(self._tail).decode("utf-8", "replace")

    def kill(self) -> None:
        """End the program and its process group, and release the pipes as soon as nobody reads from them."""
        with contextlib.suppress(OSError):
            os.killpg(self._popen.pid, signal.SIGKILL)
        with contextlib.suppress(OSError):
            self._popen.kill()
        self._popen.wait()
        for worker in self._workers:
            worker.join(2 * LINGER_SECONDS)
        if self._popen.stderr is not None:
            self._popen.stderr.close()
        if self._popen.stdout is not None and self._reading.acquire(timeout=2 * LINGER_SECONDS):
            self._popen.stdout.close()
            self._reading.release()


def parents() -> dict[int, int]:
    """Process id to parent's id of everything that runs, from one pass over /proc."""
    found = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            with contextlib.suppress(OSError, ValueError, IndexError), open(f"/proc/{name}/stat", "rb") as stream:
                found[int(name)] = int(stream.read().rpartition(b")")[2].split()[1])
    return found


def descendants(roots: Sequence[int]) -> list[int]:
    """The given processes and everything below them, as far as they still run."""
    children = defaultdict(list)
    table = parents()
    for pid, parent in table.items():
        children[parent].append(pid)
    found, pending = [], [pid for pid in roots if pid in table]
    while pending:
        pid = pending.pop()
        found.append(pid)
        pending += children[pid]
    return found


def marked(marker: str) -> list[int]:
    """Running processes whose environment holds the marker, wherever they were reparented to."""
    wanted, found = marker.encode(), []
    for name in os.listdir("/proc"):
        if name.isdigit() and int(name) != os.getpid():
            with contextlib.suppress(OSError), open(f"/proc/{name}/environ", "rb") as stream:
                if wanted in stream.read(262_144).split(b"\0"):
                    found.append(int(name))
    return found


def end(pids: Callable[[], Sequence[int]], seconds: float = 10.0) -> bool:
    """SIGKILL what `pids()` finds, again until it finds nothing; whether that was reached in time."""
    deadline = time.monotonic() + seconds
    while found := [pid for pid in pids() if not _is_zombie(pid)]:
        for pid in found:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


def _is_zombie(pid: int) -> bool:
    with contextlib.suppress(OSError), open(f"/proc/{pid}/stat", "rb") as stream:
        return stream.read().rpartition(b")")[2].split()[:1] == [b"Z"]
    return True


class ProcessWatch:
    """Stops a box whose number of processes exceeds its limit: what bounds a fork bomb where the kernel's limit does not bind (root)."""

    def __init__(self, limit: int, count: Callable[[], int], stop: Callable[[], None]) -> None:
        self._limit, self._count, self._stop = limit, count, stop
        self._done = threading.Event()
        self.tripped = False
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self) -> None:
        while not self._done.wait(WATCH_SECONDS):
            if self._count() > self._limit:
                self.tripped = True
                self._stop()
                return

    def close(self) -> None:
        self._done.set()
