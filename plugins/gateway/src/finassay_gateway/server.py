"""The server: one thread with an event loop, one HTTP server on loopback and on a Unix socket a session."""

import asyncio
import contextlib
import os
import shutil
import socket
import stat
import tempfile
import threading
import time
from collections.abc import Coroutine
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

from finassay.api.errors import SandboxError
from finassay_gateway.quiet import THREAD

if TYPE_CHECKING:
    import uvicorn
    from uvicorn.protocols.http.h11_impl import H11Protocol

    from finassay_gateway.app import App

PREFIX: Final = "finassay-gateway-"
MAX_CONNECTIONS: Final = 128
"""Of one session's socket, which its box may not exhaust for the others. On TCP, where programs of all sessions may be: ten times that."""
HEAD_SECONDS: Final = 30.0
"""How long a new connection may wait with its first request."""
KEEP_ALIVE: Final = 120
MAX_HEAD: Final = 64 * 2**10
START_SECONDS: Final = 30.0
STOP_SECONDS: Final = 10.0
_LONGEST_PATH: Final = 100
"""The kernel takes 107 bytes for the path of a socket; some programs less."""

T = TypeVar("T")


class Server:
    """Runs until `close`. Every method may be called from any thread, but for the coroutines, which run in its loop."""

    def __init__(self, app: "App") -> None:
        self._app = app
        self._folder = _private_folder()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name=THREAD, daemon=True)
        # With its protocol named: asyncio sends small pieces at once (TCP_NODELAY) only on sockets that say they are TCP.
        self._tcp = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        self._uvicorn: uvicorn.Server | None = None
        self._serving: asyncio.Task[None] | None = None
        self._listening: dict[Path, asyncio.Server] = {}
        self._opened = 0

    @property
    def port(self) -> int:
        number: int = self._tcp.getsockname()[1]
        return number

    def start(self) -> None:
        """Raises `SandboxError` if it cannot listen."""
        try:
            self._tcp.bind(("127.0.0.1", 0))
            self._thread.start()
            self.call(self._serve(), START_SECONDS)
        except Exception as error:
            self.close()
            raise SandboxError(f"the gateway cannot listen on 127.0.0.1: {error}") from error

    def call(self, work: Coroutine[Any, Any, T], seconds: float) -> T:
        """Do something in the loop and wait for it. Raises what it raises, or `TimeoutError`; nothing happens once it is closed."""
        if not self._thread.is_alive():
            work.close()
            raise TimeoutError
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result(seconds)
        except TimeoutError:
            future.cancel()
            raise

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_forever()
        with contextlib.suppress(Exception):
            self._loop.run_until_complete(self._last())
        self._loop.close()

    async def _last(self) -> None:
        """End what is left in the loop, and let what was ended say goodbye."""
        left = asyncio.all_tasks() - {asyncio.current_task()}
        for task in left:
            task.cancel()
        if left:
            await asyncio.wait(left, timeout=STOP_SECONDS)
        self._abort_connections()
        await asyncio.get_running_loop().shutdown_asyncgens()
        await asyncio.sleep(0.01)

    def _abort_connections(self, path: Path | None = None) -> None:
        """Break connections off: all, or those through one Unix socket."""
        from uvicorn.protocols.http.h11_impl import H11Protocol

        if self._uvicorn is not None:
            for connection in list(self._uvicorn.server_state.connections):
                if path is None or (isinstance(connection, H11Protocol) and connection.server == (str(path), None)):
                    connection.transport.abort()

    async def _serve(self) -> None:
        import uvicorn

        config = uvicorn.Config(
            self._app,
            http=_bounded_protocol(),
            ws="none",
            lifespan="off",
            loop="none",
            interface="asgi3",
            log_config=None,
            log_level="critical",
            access_log=False,
            proxy_headers=False,
            server_header=False,
            date_header=False,
            timeout_keep_alive=KEEP_ALIVE,
            timeout_graceful_shutdown=2,
            h11_max_incomplete_event_size=MAX_HEAD,
        )
        self._uvicorn = uvicorn.Server(config)
        self._serving = asyncio.ensure_future(self._uvicorn.serve(sockets=[self._tcp]))
        while not self._uvicorn.started:
            if self._serving.done():
                await self._serving
                raise OSError("the server ended at once")
            await asyncio.sleep(0.005)

    async def listen(self) -> Path:
        """A new Unix socket, alone in a private folder."""
        assert self._uvicorn is not None
        self._opened += 1
        folder = Path(self._folder.name) / str(self._opened)
        folder.mkdir(mode=0o700)
        path = folder / "gateway.sock"
        config, state = self._uvicorn.config, self._uvicorn.server_state

        def protocol() -> asyncio.Protocol:
            made: Any = config.http_protocol_class
            return made(config=config, server_state=state, app_state={})  # type: ignore[no-any-return]

        unix = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            unix.bind(str(path))
            os.chmod(path, stat.S_IRUSR | stat.S_IWUSR)  # nobody can connect before `listen`
            self._listening[path] = await asyncio.get_running_loop().create_server(protocol, sock=unix, backlog=MAX_CONNECTIONS)
        except BaseException:
            unix.close()
            raise
        return path

    async def unlisten(self, path: Path) -> None:
        """End a Unix socket with every connection through it, and take it away."""
        server = self._listening.pop(path, None)
        if server is not None:
            await _deaf(server)
            server.close()
        self._abort_connections(path)
        with contextlib.suppress(OSError):
            path.unlink(missing_ok=True)
            path.parent.rmdir()

    async def _end(self) -> None:
        for path in list(self._listening):
            await self.unlisten(path)
        if self._uvicorn is not None and self._serving is not None:
            for server in self._uvicorn.servers:
                await _deaf(server)
            self._uvicorn.should_exit = True
            self._abort_connections()
            await asyncio.wait({self._serving}, timeout=STOP_SECONDS)

    def close(self) -> None:
        """End everything. Harmless when repeated."""
        if self._thread.is_alive():
            with contextlib.suppress(Exception):
                self.call(self._end(), 2 * STOP_SECONDS)
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join(2 * STOP_SECONDS)
        elif not self._loop.is_closed():
            self._loop.close()
        self._tcp.close()
        self._folder.cleanup()


async def _deaf(server: asyncio.Server) -> None:
    """Accept no more, and let what was accepted become connections: closing a server in between loses them, open as they are."""
    loop = asyncio.get_running_loop()
    for listening in server.sockets:
        loop.remove_reader(listening.fileno())
    for _ in range(3):
        await asyncio.sleep(0)


def _private_folder() -> "tempfile.TemporaryDirectory[str]":
    """A private folder whose path is short enough for a socket. Raises `SandboxError`."""
    for parent in (tempfile.gettempdir(), "/tmp", "/dev/shm"):
        if len(os.fsencode(parent)) + len("/finassay-gateway-12345678/12345/gateway.sock") <= _LONGEST_PATH:
            with contextlib.suppress(OSError):
                _sweep(Path(parent))
                return tempfile.TemporaryDirectory(prefix=PREFIX, dir=parent, ignore_cleanup_errors=True)
    raise SandboxError("no temporary folder whose path is short enough for a socket", hint="Set TMPDIR to a folder with a short path.")


def _sweep(parent: Path) -> None:
    """Take away what a harness left that was killed: folders of ours, older than a minute, on none of whose sockets anybody listens."""
    for folder in list(parent.glob(f"{PREFIX}*"))[:200]:
        with contextlib.suppress(OSError):
            sockets = list(folder.glob("*/gateway.sock"))
            old = time.time() - max((path.lstat().st_mtime for path in sockets), default=time.time()) > 60
            if old and not folder.is_symlink() and folder.stat().st_uid == os.getuid() and not any(map(_is_heard, sockets)):
                shutil.rmtree(folder, ignore_errors=True)


def _is_heard(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as trying:
        trying.setblocking(False)
        try:
            trying.connect(str(path))
        except ConnectionRefusedError:
            return False
        except OSError:
            return True
    return True


def _bounded_protocol() -> "type[H11Protocol]":
    """The server's HTTP, with a bound on connections and on waiting. h11 and not httptools, which takes a head of any length."""
    from uvicorn.protocols.http.h11_impl import H11Protocol

    count: dict[str, int] = {}

    class Bounded(H11Protocol):
        _place = ""
        _patience: asyncio.TimerHandle | None = None

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            super().connection_made(transport)
            place, tcp = self.server if self.server is not None else ("", None)
            self._place = place
            count[place] = count.get(place, 0) + 1
            if count[place] > MAX_CONNECTIONS * (1 if tcp is None else 10):
                transport.abort()
                return
            self._patience = asyncio.get_running_loop().call_later(HEAD_SECONDS, self._look)

        def _look(self) -> None:
            if getattr(self, "cycle", None) is None:  # no request yet
                self.transport.abort()

        def connection_lost(self, exc: Exception | None) -> None:
            if self._patience is not None:
                self._patience.cancel()
            count[self._place] -= 1
            if not count[self._place]:
                del count[self._place]
            super().connection_lost(exc)

    return Bounded
