"""An MCP server that the gateway runs itself: a process with a clean environment, bounded lines, and an end that nothing survives."""

import asyncio
import contextlib
import os
import secrets
import signal
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final

import anyio
from mcp.shared.message import SessionMessage
from mcp_types import jsonrpc_message_adapter

from finassay.records.scratch import Scratch

if TYPE_CHECKING:
    from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream

MAX_LINE: Final = 32 * 2**20
TAIL: Final = 4096
_PATIENCE: Final = 1.0
"""Seconds to end by itself after its input closed, and again after it was asked to."""
_MARK: Final = "FINASSAY_SERVER"


class StdioServer:
    """A transport for the SDK's client; the process lives while it is entered. `over` is set when the process closes its output."""

    def __init__(self, command: Sequence[str], environment: Mapping[str, str]) -> None:
        self._command, self._environment = list(command), dict(environment)
        self._mark = secrets.token_hex(12)
        self._home: Scratch | None = None
        self._process: asyncio.subprocess.Process | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self._tail = bytearray()
        self.over = asyncio.Event()

    def last_words(self) -> str:
        """The last line of its standard error, or nothing."""
        lines = bytes(self._tail).decode("utf-8", "replace").strip().splitlines()
        return "".join(c if c.isprintable() else " " for c in lines[-1][:300]) if lines else ""

    async def __aenter__(self) -> "tuple[MemoryObjectReceiveStream[SessionMessage | Exception], MemoryObjectSendStream[SessionMessage]]":
        self._home = Scratch("server")
        base = {"PATH": os.environ.get("PATH", os.defpath), "HOME": str(self._home.path), "LANG": "C.UTF-8"}
        try:
            self._process = await asyncio.create_subprocess_exec(
                *self._command,
                env={**base, **self._environment, _MARK: self._mark},
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                start_new_session=True,
                limit=MAX_LINE,
            )
        except BaseException:
            self._home.close()
            raise
        heard_in, heard = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        said, said_out = anyio.create_memory_object_stream[SessionMessage](0)
        self._tasks = [
            asyncio.ensure_future(self._listen(heard_in)),
            asyncio.ensure_future(self._speak(said_out)),
            asyncio.ensure_future(self._keep_tail()),
        ]
        return heard, said

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        ending = asyncio.ensure_future(self._end())
        try:
            await asyncio.shield(ending)
        except asyncio.CancelledError:
            await ending  # whoever is in a hurry waits those two seconds: no process may stay
            raise

    async def _listen(self, heard: "MemoryObjectSendStream[SessionMessage | Exception]") -> None:
        assert self._process is not None
        assert self._process.stdout is not None
        try:
            async with heard:
                while line := await self._process.stdout.readline():
                    if line.strip():
                        await heard.send(_message(line))
        except (ValueError, anyio.BrokenResourceError, anyio.ClosedResourceError, OSError):
            pass  # ValueError: a line without end
        finally:
            self.over.set()

    async def _speak(self, said: "MemoryObjectReceiveStream[SessionMessage]") -> None:
        assert self._process is not None
        assert self._process.stdin is not None
        with contextlib.suppress(OSError, anyio.BrokenResourceError, anyio.ClosedResourceError):
            async with said:
                async for message in said:
                    line = message.message.model_dump_json(by_alias=True, exclude_unset=True)
                    self._process.stdin.write(line.encode() + b"\n")
                    await self._process.stdin.drain()

    async def _keep_tail(self) -> None:
        assert self._process is not None
        assert self._process.stderr is not None
        while part := await self._process.stderr.read(65536):
            self._tail += part
            del self._tail[:-TAIL]

    async def _end(self) -> None:
        process = self._process
        assert process is not None
        assert process.stdin is not None
        assert self._home is not None
        self._tasks[1].cancel()
        process.stdin.close()
        if not await _ended(process):
            _signal(process.pid, signal.SIGTERM)
            await _ended(process)
        _signal(process.pid, signal.SIGKILL)  # the group, also where its first process is gone
        await asyncio.to_thread(sweep, self._mark)
        await _ended(process)
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        transport: Any = getattr(process, "_transport", None)
        if transport is not None:
            transport.close()
        self.over.set()
        await asyncio.to_thread(self._home.close)


def _message(line: bytes) -> SessionMessage | Exception:
    try:
        return SessionMessage(jsonrpc_message_adapter.validate_json(line, by_name=False))
    except ValueError as error:
        return error


async def _ended(process: asyncio.subprocess.Process) -> bool:
    try:
        async with asyncio.timeout(_PATIENCE):
            await process.wait()
    except TimeoutError:
        return False
    return True


def _signal(group: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)


def sweep(mark: str) -> None:
    """End every process whose environment holds a mark: what left its group."""
    wanted = f"{_MARK}={mark}".encode()
    for _ in range(5):
        found = [pid for pid in _pids() if wanted in _environment(pid)]
        for pid in found:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        if not found:
            return


def _pids() -> list[int]:
    try:
        return [int(name) for name in os.listdir("/proc") if name.isdigit() and int(name) != os.getpid()]
    except OSError:
        return []


def _environment(pid: int) -> list[bytes]:
    try:
        return Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return []
