"""A program's pipes as the transport of the protocol's library: whole messages, in order, bounded on both sides."""

import asyncio
import json
import threading
from collections.abc import Callable
from typing import Any, Final

from finassay.api.errors import SandboxError
from finassay.api.sandbox import BoxProcess

BACKLOG: Final = 8
"""Lines that wait to be read; each may have up to `MAX_LINE_BYTES`."""
MAX_UNANSWERED: Final = 64
"""Requests of the agent's that may be in work at once; its further output waits."""


class Pipe:
    """Implements `acp` 's transport. `hear` gets each line as it comes and returns a message for the library, or None.

    What an agent floods is held back at its own pipe. Both pipes end with the program: whoever closes this must stop it first.
    """

    def __init__(self, process: BoxProcess, hear: Callable[[bytes], dict[str, Any] | None]) -> None:
        self._process, self._hear = process, hear
        self._loop = asyncio.get_running_loop()
        self._lines: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._room = threading.Semaphore(BACKLOG)
        self._writing, self._open = asyncio.Lock(), asyncio.Semaphore(MAX_UNANSWERED)
        self._closed = False
        self.ended = asyncio.Event()
        """The program's output has come to its end."""
        threading.Thread(target=self._read, name="acp-reader", daemon=True).start()

    def _read(self) -> None:
        try:
            for line in self._process.lines():
                self._room.acquire()
                if self._closed:
                    break
                self._pass(line)
        finally:
            self._pass(None)

    def _pass(self, line: bytes | None) -> None:
        if not self._loop.is_closed():
            try:
                self._loop.call_soon_threadsafe(self._lines.put_nowait, line)
            except RuntimeError:  # closed in this moment
                self._closed = True

    async def receive(self) -> dict[str, Any] | None:
        """The next message; None at the end."""
        while (line := await self._lines.get()) is not None:
            self._room.release()
            message = self._hear(line)
            if message is None:
                await asyncio.sleep(0)  # a queue that is never empty would let nothing else run
                continue
            if "method" in message:
                await self._open.acquire()
            return message
        self.ended.set()
        return None

    async def send(self, message: dict[str, Any]) -> None:
        """Write a message. Raises `ConnectionError` if a request cannot be written; an answer that nobody takes is dropped."""
        answer = "method" not in message
        data = json.dumps(message, default=str).encode() + b"\n"
        try:
            async with self._writing:
                await asyncio.to_thread(self._process.write, data)
        except SandboxError as error:
            if not answer:
                raise ConnectionError(str(error)) from error
        finally:
            if answer:
                self._open.release()

    async def close(self) -> None:
        """Let go of the reader."""
        self._closed = True
        self._room.release()
