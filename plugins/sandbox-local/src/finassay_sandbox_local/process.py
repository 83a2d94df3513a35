"""Programs with bounded output: what every sandbox needs.

Nothing here trusts the program: a line that never ends is cut, standard error keeps only its tail, and a child that holds the pipe
after the program is gone does not keep the reader.
"""

import contextlib
import fcntl
import json
import math
import os
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final

from attrs import frozen

from finassay.api.errors import SandboxError
from finassay.api.sandbox import MAX_LINE_BYTES
from finassay_sandbox_local import supervise
from finassay_sandbox_local.keyrings import join_own_keyring

STDERR_TAIL: Final = 16_384
CUT_MARK: Final = b" [line cut]"
PIPE_BYTES: Final = 2**20
"""Room of a program's output. Some programs end without waiting until what they wrote has been taken: a large pipe holds it."""
LOOK_SECONDS: Final = 0.2
"""How often a reader looks whether a program ended whose pipe somebody else still holds."""


class _Launcher:
    """Starts every program from one thread that lives as long as the harness.

    The kernel sends the parent-death signal, by which a box ends with the harness, when the *thread* ends that started the program.
    A turn's thread must not take along what shall outlive the turn.
    """

    def __init__(self) -> None:
        self._pool: ThreadPoolExecutor | None = None
        self._lock = threading.Lock()
        os.register_at_fork(after_in_child=self._forget)

    def _forget(self) -> None:
        self._pool, self._lock = None, threading.Lock()

    def __call__(self, argv: Sequence[str], **how: Any) -> subprocess.Popen[bytes]:
        with self._lock:
            self._pool = self._pool or ThreadPoolExecutor(1, thread_name_prefix="finassay-launcher")
            future = self._pool.submit(_popen, argv, how)
        return future.result()


def _popen(argv: Sequence[str], how: Mapping[str, Any]) -> subprocess.Popen[bytes]:
    join_own_keyring()  # of this thread, which does nothing else: the program inherits it, and shares it with no other
    return subprocess.Popen(list(argv), **how)


_launch = _Launcher()


@frozen
class Supervision:
    """What the supervisor between the harness and the program shall do (see `supervise`)."""

    rlimits: Sequence[tuple[int, int]] = ()
    cgroup: Path | None = None
    limit: int | None = None


class BoundedProcess:
    """A started program; implements `finassay.api.sandbox.BoxProcess`."""

    def __init__(
        self,
        argv: Sequence[str],
        *,
        environment: Mapping[str, str],
        cwd: str | Path,
        stdin: bytes | None,
        supervision: Supervision | None = None,
        pass_fds: Sequence[int] = (),
    ) -> None:
        self._status, told = os.pipe() if supervision else (-1, -1)
        if supervision:
            argv, pass_fds = _supervised(argv, supervision, told), (*pass_fds, told)
        try:
            self._popen = _launch(
                argv,
                cwd=cwd,
                env=dict(environment),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
                pass_fds=tuple(pass_fds),
                bufsize=0,
            )
        except (OSError, ValueError) as error:
            if supervision:
                os.close(self._status)
            raise SandboxError(f"{argv[0]} cannot be started: {error}") from error
        finally:
            if supervision:
                os.close(told)
        assert self._popen.stdout is not None
        with contextlib.suppress(OSError):  # refused where a user has many large pipes
            fcntl.fcntl(self._popen.stdout.fileno(), fcntl.F_SETPIPE_SZ, PIPE_BYTES)
        self._code: int | None = None
        self._tail = bytearray()
        self._waiting, self._reading = threading.Lock(), threading.Lock()
        self._killed = False
        self._writing = threading.Lock()
        assert self._popen.stdin is not None
        os.set_blocking(self._popen.stdin.fileno(), False)
        self._workers = [threading.Thread(target=self._drain, daemon=True)]
        if stdin is not None:
            self._workers.append(threading.Thread(target=self._feed, args=(stdin,), daemon=True))
        for worker in self._workers:
            worker.start()

    @property
    def pid(self) -> int:
        """Of the program, or of its supervisor."""
        return self._popen.pid

    def write(self, data: bytes) -> None:
        """Hand more to its open standard input; returns when it is written, or raises `SandboxError` when the program is gone."""
        stream, view = self._popen.stdin, memoryview(data)
        assert stream is not None
        with self._writing:
            try:
                poller = select.poll()
                poller.register(stream.fileno(), select.POLLOUT)
                while view:
                    if poller.poll(LOOK_SECONDS * 1000):
                        view = view[stream.write(view[:65536]) or 0 :]
                    elif self.wait(0) is not None:
                        raise BrokenPipeError
            except (OSError, ValueError) as error:  # ValueError: closed by `kill` or `close_input`
                with contextlib.suppress(OSError):
                    stream.close()
                raise SandboxError("the program takes no more input: it closed it, or is gone") from error

    def close_input(self) -> None:
        """End its standard input, after what is being written."""
        with self._writing, contextlib.suppress(OSError):
            assert self._popen.stdin is not None
            self._popen.stdin.close()

    def _feed(self, data: bytes) -> None:
        with contextlib.suppress(SandboxError):
            self.write(data)
        self.close_input()

    def _drain(self) -> None:
        assert self._popen.stderr is not None
        for chunk in self._chunks(self._popen.stderr.fileno()):
            self._tail += chunk
            del self._tail[:-STDERR_TAIL]
        self._popen.stderr.close()

    def _chunks(self, descriptor: int) -> Iterator[bytes]:
        """Bytes as they come, until the end, or until the program is gone and what it wrote has been read."""
        poller = select.poll()
        poller.register(descriptor, select.POLLIN | select.POLLHUP)
        left: int | None = None
        while True:
            if left is None and self.wait(0) is not None:
                left = fcntl.fcntl(descriptor, fcntl.F_GETPIPE_SZ)
            if not poller.poll(0 if left is not None else LOOK_SECONDS * 1000):
                if left is not None:
                    return
                continue
            chunk = os.read(descriptor, 65536 if left is None else min(65536, left))
            if not chunk:
                return
            yield chunk
            if left is not None:
                left -= len(chunk)
                if left <= 0:
                    return

    def lines(self) -> Iterator[bytes]:
        """Lines of standard output without their ends; one that is too long is cut and says so."""
        assert self._popen.stdout is not None
        with self._reading:
            if self._popen.stdout.closed:
                return
            try:
                yield from split(self._chunks(self._popen.stdout.fileno()))
            finally:
                if self._killed:
                    self._popen.stdout.close()

    def wait(self, seconds: float | None = None) -> int | None:
        if self._status < 0:
            try:
                return self._popen.wait(seconds)
            except subprocess.TimeoutExpired:
                return None
        deadline = None if seconds is None else time.monotonic() + seconds
        while self._code is None:
            if self._waiting.acquire(timeout=-1 if deadline is None else max(0.0, deadline - time.monotonic())):
                try:
                    self._hear(deadline)
                finally:
                    self._waiting.release()
            if deadline is not None and time.monotonic() >= deadline:
                break
        return self._code

    def _hear(self, deadline: float | None) -> None:
        """Read the exit status as the supervisor tells it; one that died without a word was killed."""
        if self._code is not None:
            return
        poller = select.poll()
        poller.register(self._status, select.POLLIN | select.POLLHUP)
        if poller.poll(None if deadline is None else math.ceil(max(0.0, deadline - time.monotonic()) * 1000)):
            told = os.read(self._status, 32).split()
            self._code = int(told[0]) if told else -signal.SIGKILL
            os.close(self._status)

    def stderr_tail(self) -> str:
        if self.wait(0) is not None:
            self._workers[0].join(2 * LOOK_SECONDS)
        return bytes(self._tail).decode("utf-8", "replace")

    def halt(self) -> None:
        """Stop it where it is (SIGSTOP)."""
        self._popen.send_signal(signal.SIGSTOP)

    def terminate(self, seconds: float) -> bool:
        """Ask the supervisor to end everything below it; whether it did, and ended itself, in time."""
        self._popen.terminate()
        try:
            self._popen.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        return True

    def kill(self) -> None:
        """End the program (or its supervisor) and release its pipes, at once or as soon as a reader lets go of them."""
        self._popen.kill()
        self._popen.wait()
        self.wait()
        self._killed = True
        for worker in self._workers:
            worker.join(2 * LOOK_SECONDS)
        self.close_input()
        if self._popen.stdout is not None and self._reading.acquire(blocking=False):
            self._popen.stdout.close()
            self._reading.release()


def _supervised(argv: Sequence[str], how: Supervision, status: int) -> list[str]:
    config = {
        "status": status,
        "parent": os.getpid(),
        "rlimits": [list(pair) for pair in how.rlimits],
        "cgroup": None if how.cgroup is None else str(how.cgroup),
        "limit": how.limit,
    }
    return [sys.executable, "-I", "-S", str(supervise.__file__), json.dumps(config), *argv]


def split(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """Lines without their ends, each cut at `MAX_LINE_BYTES`."""
    pending, dropping = bytearray(), False
    for chunk in chunks:
        *whole, rest = chunk.split(b"\n")
        for part in whole:
            if not dropping:
                pending += part
                yield _cut(pending)
            pending, dropping = bytearray(), False
        if not dropping:
            pending += rest
            if len(pending) > MAX_LINE_BYTES:
                yield _cut(pending)
                pending, dropping = bytearray(), True
    if pending and not dropping:
        yield _cut(pending)


def _cut(line: bytearray) -> bytes:
    clean = bytes(line[:-1]) if line.endswith(b"\r") else bytes(line)
    return clean if len(clean) <= MAX_LINE_BYTES else clean[: MAX_LINE_BYTES - len(CUT_MARK)] + CUT_MARK
