"""A provider on this machine, for tests: answers HTTP from a script on 127.0.0.1 and keeps what was asked."""

import json
import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final

from attrs import Factory, field, frozen

_MAX_BODY: Final = 16 * 2**20
_MAX_REQUESTS: Final = 10_000


class _Http(ThreadingHTTPServer):
    request_queue_size = 128  # tests ask many things at once


@frozen
class Asked:
    """One request that reached the server. Header names are in lower case."""

    method: str
    path: str
    headers: dict[str, str] = field(repr=False)
    body: Any

    @property
    def sent(self) -> str:
        """The body as text."""
        return json.dumps(self.body, ensure_ascii=False)


@frozen
class Served:
    """One answer. With `events` it is a stream of server-sent events, each already in its wire form."""

    status: int = 200
    body: Any = None
    """JSON, or bytes as they are."""
    headers: dict[str, str] = Factory(dict)
    events: Sequence[bytes] | None = None
    pause: float = 0.0
    """Seconds before the answer, or before each event."""
    cut: bool = False
    """The connection breaks where the answer, or the stream, should end."""


def event(data: Any, name: str = "") -> bytes:
    """A server-sent event in its wire form; `data` is JSON, or text as it is."""
    text = data if isinstance(data, str) else json.dumps(data)
    return (f"event: {name}\n" if name else "").encode() + f"data: {text}\n\n".encode()


Script = Sequence[Served] | Callable[[Asked], Served]


class Loopback:
    """The server. `url` is its address; `asked` what reached it. A script's last answer is repeated."""

    def __init__(self, script: Script) -> None:
        self._script = script
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self.asked: list[Asked] = []
        self._server = _Http(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    @property
    def last(self) -> Asked:
        return self.asked[-1]

    def answer(self, asked: Asked) -> Served:
        """Keep a request and pick its answer."""
        with self._lock:
            if len(self.asked) >= _MAX_REQUESTS:
                return Served(503)
            number = len(self.asked)
            self.asked.append(asked)
        if callable(self._script):
            return self._script(asked)
        return self._script[min(number, len(self._script) - 1)]

    def wait(self, seconds: float) -> None:
        """Wait, but not past the server's end."""
        if seconds > 0:
            self._closing.wait(seconds)

    def close(self) -> None:
        self._closing.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(5)


def _handler(loopback: Loopback) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        timeout = 30

        def log_message(self, format: str, *args: Any) -> None:
            """Nothing: a test's output is its own."""

        def do_POST(self) -> None:
            size = min(int(self.headers.get("Content-Length") or 0), _MAX_BODY)
            raw = self.rfile.read(size)
            try:
                body = json.loads(raw) if raw else None
            except ValueError:
                body = raw.decode("utf-8", "replace")
            headers = {name.lower(): value for name, value in self.headers.items()}
            served = loopback.answer(Asked(self.command, self.path, headers, body))
            self.close_connection = True
            with suppress(OSError):  # the client may hang up
                self._send(served)

        do_GET = do_POST

        def _send(self, served: Served) -> None:
            if served.events is not None:
                self._send_events(served, served.events)
                return
            loopback.wait(served.pause)
            data = served.body if isinstance(served.body, bytes) else json.dumps(served.body).encode()
            self.send_response(served.status)
            for name, value in {"Content-Type": "application/json", **served.headers}.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(data) + (100 if served.cut else 0)))
            self.send_header("Connection", "close")
            self.end_headers()
            self.wfile.write(data)

        def _send_events(self, served: Served, events: Sequence[bytes]) -> None:
            self.send_response(served.status)
            for name, value in {"Content-Type": "text/event-stream", **served.headers}.items():
                self.send_header(name, value)
            self.send_header("Transfer-Encoding", "chunked")
            self.send_header("Connection", "close")
            self.end_headers()
            for data in events:
                loopback.wait(served.pause)
                self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
                self.wfile.flush()
            if served.cut:
                self.connection.shutdown(socket.SHUT_RDWR)
                return
            self.wfile.write(b"0\r\n\r\n")

    return Handler


@contextmanager
def loopback(script: Script) -> Iterator[Loopback]:
    """A server for a `with` block."""
    server = Loopback(script)
    try:
        yield server
    finally:
        server.close()


def http_date(seconds_from_now: float) -> str:
    """An HTTP date so far from now, as `Retry-After` may hold it."""
    from email.utils import formatdate

    return formatdate(time.time() + seconds_from_now, usegmt=True)


def events_in(stream: Sequence[bytes]) -> Iterator[Any]:
    """The JSON of each server-sent event."""
    for data in stream:
        for line in data.decode().splitlines():
            if line.startswith("data: {"):
                yield json.loads(line.removeprefix("data: "))
