"""The HTTP server on loopback."""

import contextlib
import json
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final, Self

from attrs import evolve, frozen

from finassay_cli_kit.testing.answer import Answer, Answerer
from finassay_cli_kit.testing.mcp import respond
from finassay_cli_kit.testing.request import ModelRequest
from finassay_cli_kit.testing.script import Player, Script
from finassay_cli_kit.testing.send import Connection, GoneError
from finassay_cli_kit.testing.steps import TokenCount
from finassay_cli_kit.testing.wire_anthropic import Anthropic
from finassay_cli_kit.testing.wire_google import Google
from finassay_cli_kit.testing.wire_openai_chat import OpenAiChat
from finassay_cli_kit.testing.wire_openai_responses import OpenAiResponses
from finassay_cli_kit.testing.wires import WireFormat, as_object

KEY: Final = "scripted-key"
MODEL: Final = "scripted-model"
MAX_BODY: Final = 64 * 2**20
MAX_REQUESTS: Final = 100_000
CONNECTIONS: Final = 512


@frozen
class Recorded:
    """A request and how it was answered."""

    at: float
    """`time.monotonic()` when it had been read."""
    method: str
    path: str
    headers: Mapping[str, str]
    """With lower-case names."""
    body: Mapping[str, Any]
    key: str
    """The key that it came with, by whichever header."""
    request: ModelRequest | None = None
    """As a request to a model, if it was one."""
    status: int = 0
    """0 while it is being answered, and where the connection closed without a status."""
    text: str = ""
    tools: tuple[str, ...] = ()
    """Names of the tools that the answer calls."""
    usage: TokenCount | None = None
    """What the answer said it cost; None where no answer was sent to its end."""
    side: bool = False
    """Something that the program asked for itself (a title, a choice of model): answered without the script."""
    problem: str = ""


class ModelServer:
    """Answers as `player` says: a `Script`, or any function from a `ModelRequest` to the steps of one reply.

    `models` are the names it knows (None: any), `keys` what it takes as key (None: any, also none). `pause` seconds pass before every answer.
    Use it as a context manager, or call `up` and `close`.
    """

    def __init__(
        self,
        player: Player,
        *,
        keys: Iterable[str] | None = (KEY,),
        models: Iterable[str] | None = (MODEL,),
        pause: float = 0.0,
        side: Callable[[ModelRequest], bool] | None = None,
    ) -> None:
        self.player = player
        self.keys = None if keys is None else tuple(keys)
        self.models = None if models is None else tuple(models)
        self.pause = pause
        self.closing = threading.Event()
        self._answerer = Answerer(player, side)
        self._lock = threading.Lock()
        self._records: list[Recorded] = []
        self._broken: list[str] = []
        self._tool_calls: list[tuple[str, Mapping[str, Any]]] = []
        self._port = 0
        self._http: _Http | None = None
        self._thread: threading.Thread | None = None

    # -- where it is --------------------------------------------------------------------------------------------------

    @property
    def url(self) -> str:
        """Its address, without a version path."""
        return f"http://127.0.0.1:{self._port}"

    @property
    def urls(self) -> Mapping[str, str]:
        """Base URL by API, without version path, as `Access.urls` has them; OpenAI clients append `/v1` themselves or are given it."""
        return dict.fromkeys(("anthropic", "openai", "google"), self.url)

    @property
    def mcp_url(self) -> str:
        """Address of an MCP server (streamable HTTP, the key as bearer token) with the tools `get_price` and `list_prices`; see `testing.mcp`."""
        return f"{self.url}/mcp"

    @property
    def key(self) -> str:
        """The first of the keys that it takes."""
        return self.keys[0] if self.keys else KEY

    @property
    def model(self) -> str:
        """The first of the models that it knows."""
        return self.models[0] if self.models else MODEL

    # -- what it saw --------------------------------------------------------------------------------------------------

    @property
    def requests(self) -> tuple[Recorded, ...]:
        """Everything that was asked so far, in order."""
        with self._lock:
            return tuple(self._records)

    @property
    def calls(self) -> tuple[Recorded, ...]:
        """The requests to a model that the script answered."""
        return tuple(r for r in self.requests if r.request is not None and not r.side)

    @property
    def usage(self) -> TokenCount:
        """Sum of what all answers said they cost."""
        counts = [r.usage for r in self.requests if r.usage is not None]
        return TokenCount(*(sum(getattr(c, name) for c in counts) for name in ("input", "output", "cached", "reasoning")))

    @property
    def problems(self) -> tuple[str, ...]:
        """What could not be played as told."""
        told = [r.problem for r in self.requests if r.problem]
        return (*told, *self._broken, *(self.player.problems if isinstance(self.player, Script) else ()))

    @property
    def tool_calls(self) -> tuple[tuple[str, Mapping[str, Any]], ...]:
        """The calls of its MCP server's tools: name and arguments."""
        with self._lock:
            return tuple(self._tool_calls)

    def tool_called(self, name: str, arguments: Mapping[str, Any]) -> None:
        """Keep a tool call, for `tool_calls`."""
        with self._lock:
            self._tool_calls.append((name, arguments))

    def broken(self, what: str) -> None:
        """Keep what went wrong in here, for `check`."""
        self._broken.append(what)

    def check(self) -> None:
        """Raises `AssertionError` if a step could not be played as told, or a script was not played to its end."""
        left = self.player.left_over() if isinstance(self.player, Script) else ""
        told = [*self.problems, *([left] if left else [])]
        if told:
            raise AssertionError("; ".join(told))

    # -- up and down --------------------------------------------------------------------------------------------------

    def up(self) -> Self:
        """Listen; after `down` on the same port again."""
        if self._http is None:
            self._http = _Http(self, self._port)
            self._port = self._http.server_port
            self._thread = threading.Thread(target=self._http.serve_forever, args=(0.05,), name="scripted-model", daemon=True)
            self._thread.start()
        return self

    def down(self) -> None:
        """Refuse connections; those that are open end."""
        http, self._http = self._http, None
        if http is not None and self._thread is not None:
            self.closing.set()
            http.shutdown()
            http.end_connections()
            http.server_close()
            self._thread.join()
            self.closing.clear()

    def close(self) -> None:
        """End everything. Harmless when repeated."""
        self.down()

    def __enter__(self) -> Self:
        return self.up()

    def __exit__(self, *args: object) -> None:
        self.close()

    # -- answering ----------------------------------------------------------------------------------------------------

    def handle(self, connection: Connection, method: str, path: str, headers: Mapping[str, str], raw: bytes) -> None:
        """Answer one request; called in its connection's thread."""
        body, wire = _json(raw), _wire(method, path)
        record = Recorded(time.monotonic(), method, path, headers, body, _key(path, headers))
        if wire is not None:
            request = wire.read(path, body)
            request = evolve(request, headers=headers, key=record.key, conversation=request.conversation or record.key)
            record = evolve(record, request=request)
        with self._lock:
            number = len(self._records)
            if number >= MAX_REQUESTS:
                raise GoneError("too many requests")
            self._records.append(record)
        if self.pause:
            self.closing.wait(self.pause)
        answer = self._refusal(record) or (self._answerer.answer(record.request, raw) if record.request else _other(self, record))
        done = evolve(record, text=answer.text, tools=answer.tools, side=answer.side, problem=answer.problem, status=answer.status)
        self._store(number, done)
        if connection.send(answer, wire or _any_wire(path, headers)):
            self._store(number, evolve(done, usage=answer.usage))

    def _store(self, number: int, record: Recorded) -> None:
        with self._lock:
            self._records[number] = record

    def _refusal(self, record: Recorded) -> Answer | None:
        if record.path.partition("?")[0] == "/api/hello":
            return None
        if self.keys is not None and record.key not in self.keys:
            return Answer(401, message="The API key is not valid.")
        if record.request is not None and self.models is not None and record.request.model not in self.models:
            return Answer(404, message=f"The model {record.request.model!r} does not exist.")
        return None


class _Http(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128
    allow_reuse_address = True

    def __init__(self, owner: ModelServer, port: int) -> None:
        self.owner = owner
        self._open: dict[socket.socket, threading.Thread] = {}
        self._guard = threading.Lock()
        super().__init__(("127.0.0.1", port), _Handler)

    def process_request(self, request: Any, client_address: Any) -> None:
        thread = threading.Thread(target=self.process_request_thread, args=(request, client_address), name="scripted-reply", daemon=True)
        with self._guard:
            full = len(self._open) >= CONNECTIONS
            if not full:
                self._open[request] = thread
        if full:
            self.shutdown_request(request)
        else:
            thread.start()

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            with self._guard:
                self._open.pop(request, None)

    def end_connections(self) -> None:
        """End the threads that read from or write to a connection."""
        with self._guard:
            serving = dict(self._open)
        for connection in serving:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        for thread in serving.values():
            thread.join(5.0)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that goes away is no error here, but a fault of the script is."""
        error = sys.exception()
        if not isinstance(error, OSError):
            self.owner.broken(f"{type(error).__name__}: {error}")


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Http
    timeout = 120

    def _handle(self) -> None:
        size = self.headers.get("content-length", "0")
        length = int(size) if size.isdigit() else 0
        if length > MAX_BODY or self.headers.get("transfer-encoding"):
            self.close_connection = True
            self.send_error(413)
            return
        owner = self.server.owner
        raw = self.rfile.read(length)
        headers = {name.lower(): value for name, value in self.headers.items()}
        connection = Connection(self, owner.closing)
        try:
            owner.handle(connection, self.command, self.path, headers, raw)
        except (GoneError, OSError):
            self.close_connection = True

    do_GET = do_POST = do_HEAD = do_DELETE = do_PUT = _handle

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing is printed."""


def _json(raw: bytes) -> Mapping[str, Any]:
    try:
        return as_object(json.loads(raw)) if raw else {}
    except ValueError:
        return {}


def _key(path: str, headers: Mapping[str, str]) -> str:
    bearer = headers.get("authorization", "")
    asked = dict(part.partition("=")[::2] for part in path.partition("?")[2].split("&"))
    return headers.get("x-api-key") or headers.get("x-goog-api-key") or bearer.removeprefix("Bearer ") or asked.get("key", "")


def _wire(method: str, path: str) -> WireFormat | None:
    """The API by the end of its path, so that a proxy may put something before it."""
    plain = path.partition("?")[0]
    if method != "POST":
        return None
    if plain.endswith("/messages"):
        return Anthropic()
    if plain.endswith("/chat/completions"):
        return OpenAiChat()
    if plain.endswith("/responses"):
        return OpenAiResponses()
    return Google() if plain.endswith((":generateContent", ":streamGenerateContent")) else None


def _any_wire(path: str, headers: Mapping[str, str]) -> WireFormat:
    """In whose words an error is told where nobody asked a model."""
    if "anthropic-version" in headers or "x-api-key" in headers:
        return Anthropic()
    return Google() if "v1beta" in path or "x-goog-api-key" in headers else OpenAiChat()


def _other(server: ModelServer, record: Recorded) -> Answer:
    """What programs ask besides: lists of models, counts of tokens, whether anybody is there."""
    plain = record.path.partition("?")[0]
    if plain.endswith("/mcp"):
        answer = respond(record.body, server.tool_called) if record.method == "POST" else None
        return Answer(200 if answer else 202 if record.method == "POST" else 405, json=answer or {})
    names: Sequence[str] = server.models or (MODEL,)
    if plain in ("/", "/api/hello"):
        return Answer(200, json={"message": "hello"})
    if plain.endswith("/count_tokens"):
        return Answer(200, json={"input_tokens": len(str(record.body)) // 4})
    if plain.endswith(":countTokens"):
        return Answer(200, json={"totalTokens": len(str(record.body)) // 4})
    if record.method == "GET" and plain.endswith("/models"):
        listed = [{"id": n, "name": f"models/{n}", "object": "model", "type": "model", "display_name": n, "created": 0} for n in names]
        return Answer(200, json={"object": "list", "data": listed, "models": listed, "has_more": False})
    if record.method == "GET" and "/models/" in plain and (name := plain.rpartition("/models/")[2]) in names:
        return Answer(
            200, json={"id": name, "name": f"models/{name}", "object": "model", "type": "model", "display_name": name, "created": 0}
        )
    if record.headers.get("upgrade", "").lower() == "websocket":
        return Answer(426, message="This server speaks no WebSocket.")  # to which clients fall back to plain requests
    return Answer(404, message=f"There is nothing at {plain}.")
