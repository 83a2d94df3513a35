"""A program in a container; implements `finassay.api.sandbox.BoxProcess`."""

import contextlib
import queue
import signal
import threading
from collections.abc import Iterator
from typing import Final

from finassay.api.errors import SandboxError
from finassay_sandbox_container.engine import Attached, Engine
from finassay_sandbox_local.process import STDERR_TAIL, split

OUT, ERR = 1, 2
FRAME: Final = 65_536
QUEUED: Final = 64
"""Chunks of output that wait for the reader; then the program waits."""


class ContainerProcess:
    """One container with one program. What it writes comes in frames: kind, three zeros, length, bytes."""

    def __init__(self, engine: Engine, container: str, stdin: bytes | None) -> None:
        self.container = container
        self._engine = engine
        self._attached: Attached = engine.attach(container)
        try:
            engine.start(container)
        except SandboxError:
            self._attached.close()
            raise
        self._code: int | None = None
        self._ended, self._removed = threading.Event(), threading.Event()
        self._tail = bytearray()
        self._output: queue.Queue[bytes | None] = queue.Queue(QUEUED)
        self._writing = threading.Lock()
        self._open = True
        works = [self._read, self._await_end, *([] if stdin is None else [lambda: self._feed(stdin)])]
        self._workers = [threading.Thread(target=work, daemon=True) for work in works]
        for worker in self._workers:
            worker.start()

    def _read(self) -> None:
        while len(head := self._attached.exactly(8)) == 8:
            left = int.from_bytes(head[4:], "big")
            while left and (part := self._attached.read(min(left, FRAME))):
                left -= len(part)
                self._take(head[0], part)
        self._put(None)

    def _take(self, kind: int, part: bytes) -> None:
        if kind == OUT:
            self._put(part)
        elif kind == ERR:
            self._tail += part
            del self._tail[:-STDERR_TAIL]

    def _put(self, part: bytes | None) -> None:
        while not self._removed.is_set() or part is None:
            try:
                self._output.put(part, timeout=0.2)
                return
            except queue.Full:
                if part is None and self._removed.is_set():  # nobody reads any more
                    with contextlib.suppress(queue.Empty):
                        self._output.get_nowait()

    def _await_end(self) -> None:
        try:
            code = self._engine.wait(self.container)
        except SandboxError as error:  # the engine is gone, and with it what we could know
            code = 128 + signal.SIGKILL
            self._tail += f"\n{error}".encode()
        # An engine tells a signal as shells do.
        self._code = 128 - code if code - 128 in signal.valid_signals() else code
        self._ended.set()

    def _feed(self, data: bytes) -> None:
        with contextlib.suppress(SandboxError):
            self.write(data)
        self.close_input()

    def write(self, data: bytes) -> None:
        with self._writing:
            try:
                if not self._open or self._ended.is_set():
                    raise BrokenPipeError
                self._attached.write(data)
            except OSError as error:
                raise SandboxError("the program takes no more input: it closed it, or is gone") from error

    def close_input(self) -> None:
        with self._writing:
            if self._open:
                self._open = False
                with contextlib.suppress(OSError):
                    self._attached.end_input()

    def lines(self) -> Iterator[bytes]:
        yield from split(self._chunks())

    def _chunks(self) -> Iterator[bytes]:
        while (part := self._output.get()) is not None:
            yield part
        self._output.put(None)  # for a second reader

    def wait(self, seconds: float | None = None) -> int | None:
        self._ended.wait(seconds)
        return self._code

    def stderr_tail(self) -> str:
        if self._ended.is_set():
            self._workers[0].join(1)
        return bytes(self._tail).decode("utf-8", "replace")

    def remove(self) -> None:
        """End the program with all that came of it, and take the container away. Raises `SandboxError`."""
        self._engine.remove(self.container)
        self._removed.set()
        self._attached.cut()
        for worker in self._workers:
            worker.join(5)
        self._attached.close()
