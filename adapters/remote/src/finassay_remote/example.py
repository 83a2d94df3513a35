"""An example server of the remote protocol: `python -m finassay_remote.example`. Copy it and put your agent where `Example` is.

It keeps sessions in memory, lets a turn go on when its connection breaks, tells it again from its beginning when it is asked for again, and
serves no file that its agent did not hand over.
"""

import argparse
import asyncio
import contextlib
import hashlib
import hmac
import json
import os
import socket
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, Final, Protocol
from uuid import uuid4

import uvicorn
from attrs import define, field
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

VERSION: Final = 1
MAX_BODY: Final = 32 * 2**20
MAX_SESSIONS: Final = 1_000
MAX_TURN_EVENTS: Final = 10_000
IDLE_SECONDS: Final = 3_600.0
"""After this time without a request a session is forgotten."""
HEARTBEAT_SECONDS: Final = 10.0
"""An empty line in a silent turn keeps the connection open."""


@define
class Work:
    """What an agent gets for a turn, and how it answers."""

    message: str
    turn: int
    seconds: float
    history: list[dict[str, Any]]
    """What was said before: turn, sender, text, cut."""
    brief: dict[str, Any]
    say: Callable[..., Awaitable[None]]
    """`await say("tool-call", id="1", name="python", input={})`: an event, told at once."""
    deliver: Callable[[str, bytes], Awaitable[None]]
    """`await deliver("REPORT.md", b"...")`: a file for the user, told at once."""


class Agent(Protocol):
    """Your agent. One for all sessions: what it must remember of one it finds in `Work.history`."""

    name: str
    version: str

    async def act(self, work: Work) -> str:
        """The reply to the user. Cancelled when the turn is stopped."""
        ...


class Example:
    """Asks in its first turn and hands over a report in the others."""

    name = "example"
    version = "1.0"

    def __init__(self, pause: float = 0.0) -> None:
        self._pause = pause

    async def act(self, work: Work) -> str:
        await asyncio.sleep(self._pause)
        if work.turn == 1:
            return "Thank you. How should I size the positions, and how often shall I refresh them?"
        await work.say("tool-call", id=f"t{work.turn}", name="write", input={"path": "REPORT.md"})
        heard = "\n".join(f"- {m['text'][:200]}" for m in work.history if m["sender"] == "user")
        await work.deliver("REPORT.md", f"# What I was told\n\n{heard}\n- {work.message[:200]}\n".encode())
        await work.say("tool-result", id=f"t{work.turn}", output="written", is_error=False)
        return "I have written down what you told me in REPORT.md. This example tests nothing."


@define
class Turn:
    """A turn in the making: its events stay, so that it can be told again."""

    message: str
    attempt: int
    reply: str = ""
    events: list[bytes] = field(factory=list)
    over: bool = False
    stopped: bool = False
    task: "asyncio.Task[None] | None" = None
    changed: asyncio.Event = field(factory=asyncio.Event)

    def add(self, **event: Any) -> None:
        self.events.append(json.dumps(event, ensure_ascii=False).encode() + b"\n")
        self.changed.set()

    async def tell(self) -> AsyncIterator[bytes]:
        """Every event from the first one, as they come."""
        told = 0
        while True:
            self.changed.clear()
            for line in self.events[told:]:
                told += 1
                yield line
            if self.over and told == len(self.events):
                return
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self.changed.wait(), HEARTBEAT_SECONDS)
                continue
            yield b"\n"


@define
class Session:
    id: str
    brief: dict[str, Any]
    history: list[dict[str, Any]]
    turns: dict[int, Turn] = field(factory=dict)
    files: dict[str, bytes] = field(factory=dict)
    used: float = field(factory=time.monotonic)

    def said_before(self, number: int) -> list[dict[str, Any]]:
        """The conversation up to a turn: what the harness told of it at the start, then this session's own turns."""
        said = list(self.history)
        for n, turn in sorted(self.turns.items()):
            if n < number:
                said.append({"turn": n - 1, "sender": "user", "text": turn.message, "cut": False})
                said.append({"turn": n, "sender": "agent", "text": turn.reply, "cut": turn.stopped})
        return said


class Service:
    """The protocol around an agent."""

    def __init__(self, agent: Agent, token: str = "") -> None:
        self._agent, self._token = agent, token
        self._sessions: dict[str, Session] = {}
        self._keys: dict[str, str] = {}

    def app(self) -> Starlette:
        turn = "/sessions/{session}/turns/{turn:int}"
        routes = [
            Route("/", self.about),
            Route("/sessions", self.begin, methods=["POST"]),
            Route("/sessions/{session}", self.end, methods=["DELETE"]),
            Route(turn, self.turn, methods=["POST"]),
            Route(turn, self.stop, methods=["DELETE"]),
            Route("/sessions/{session}/files/{path:path}", self.file),
        ]

        @asynccontextmanager
        async def lifespan(app: Starlette) -> AsyncIterator[None]:
            yield
            for name in list(self._sessions):
                await self._forget(name)

        return Starlette(routes=routes, lifespan=lifespan, exception_handlers={HTTPException: _told})

    # -- requests -----------------------------------------------------------------------------------------------------

    async def about(self, request: Request) -> Response:
        self._check(request)
        return JSONResponse({"protocol": VERSION, "name": self._agent.name, "version": self._agent.version, "resumes": True})

    async def begin(self, request: Request) -> Response:
        self._check(request)
        told = await _read(request, key=str, brief=dict, history=list)
        for name in [s.id for s in self._sessions.values() if time.monotonic() - s.used > IDLE_SECONDS]:
            await self._forget(name)
        known = self._keys.get(told["key"])
        if known is not None:
            return JSONResponse({"id": known})
        if len(self._sessions) >= MAX_SESSIONS:
            raise HTTPException(503, "too many sessions", {"Retry-After": "30"})
        session = Session(uuid4().hex, told["brief"], [m for m in told["history"] if isinstance(m, dict)])
        self._sessions[session.id] = session
        self._keys[told["key"]] = session.id
        return JSONResponse({"id": session.id}, 201)

    async def turn(self, request: Request) -> Response:
        session = self._session(request)
        told = await _read(request, message=str, attempt=int)
        number, seconds = int(request.path_params["turn"]), told.get("seconds")
        turn = session.turns.get(number)
        if turn is not None and turn.attempt == told["attempt"]:
            if turn.message != told["message"]:
                raise HTTPException(409, "this attempt had another message")
            if turn.stopped:
                raise HTTPException(410, "this attempt was stopped")
        elif turn is not None and turn.attempt > told["attempt"]:
            raise HTTPException(409, "a later attempt was made")
        else:
            if turn is not None:
                await _cancel(turn)
            turn = session.turns[number] = Turn(told["message"], told["attempt"])
            limit = float(seconds) if isinstance(seconds, int | float) and 0 < seconds < 1e6 else 3_600.0
            turn.task = asyncio.create_task(self._act(session, number, turn, limit))
        return StreamingResponse(turn.tell(), media_type="application/x-ndjson")

    async def stop(self, request: Request) -> Response:
        turn = self._session(request).turns.get(int(request.path_params["turn"]))
        if turn is not None:
            await _cancel(turn)
        return Response(status_code=204)

    async def file(self, request: Request) -> Response:
        content = self._session(request).files.get(request.path_params["path"])
        if content is None:
            raise HTTPException(404, "no such file")
        return Response(content, media_type="application/octet-stream")

    async def end(self, request: Request) -> Response:
        self._check(request)
        await self._forget(request.path_params["session"])
        return Response(status_code=204)

    # -- inside -------------------------------------------------------------------------------------------------------

    def _check(self, request: Request) -> None:
        given = request.headers.get("authorization", "").encode()
        if self._token and not hmac.compare_digest(given, f"Bearer {self._token}".encode()):
            raise HTTPException(401, "a bearer token is needed")

    def _session(self, request: Request) -> Session:
        self._check(request)
        session = self._sessions.get(request.path_params["session"])
        if session is None:
            raise HTTPException(404, "no such session")
        session.used = time.monotonic()
        return session

    async def _act(self, session: Session, number: int, turn: Turn, seconds: float) -> None:
        async def say(kind: str, **data: Any) -> None:
            if len(turn.events) < MAX_TURN_EVENTS:
                turn.add(type=kind, **data)

        async def deliver(path: str, content: bytes) -> None:
            session.files[path] = content
            turn.add(type="file", path=path, size=len(content), sha256=hashlib.sha256(content).hexdigest())

        try:
            async with asyncio.timeout(seconds):
                work = Work(turn.message, number, seconds, session.said_before(number), session.brief, say, deliver)
                reply = await self._agent.act(work)
            turn.reply = reply
            turn.add(type="message", text=reply)
            turn.add(type="done")
        except Exception as error:  # the agent's
            turn.add(type="error", kind="agent", text=f"{type(error).__name__}: {error}"[:1_000])
        finally:
            turn.over = True
            turn.changed.set()

    async def _forget(self, name: str) -> None:
        session = self._sessions.pop(name, None)
        for turn in session.turns.values() if session is not None else ():
            await _cancel(turn)
        self._keys = {key: known for key, known in self._keys.items() if known != name}


async def _cancel(turn: Turn) -> None:
    if turn.task is not None and not turn.task.done():
        turn.stopped = True
        turn.task.cancel()
        await asyncio.wait((turn.task,))


async def _read(request: Request, **types: type) -> dict[str, Any]:
    """The object in a request, of a bounded size, with these members."""
    if request.headers.get("content-type", "").split(";")[0].strip().lower() != "application/json":
        raise HTTPException(415, "send application/json")
    body = bytearray()
    try:
        async for data in request.stream():
            body += data
            if len(body) > MAX_BODY:
                raise HTTPException(413, f"more than {MAX_BODY} bytes", {"Connection": "close"})
    except ClientDisconnect:
        raise HTTPException(400, "the request ended early") from None
    try:
        told = json.loads(body)
    except (ValueError, RecursionError):
        raise HTTPException(400, "no JSON") from None
    for name, kind in types.items():
        if not isinstance(told, dict) or not isinstance(told.get(name), kind) or isinstance(told[name], bool):
            raise HTTPException(400, f"{name} is missing, or is no {kind.__name__}")
    return dict(told)


async def _told(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return JSONResponse({"error": error.detail}, error.status_code, error.headers)


def main(arguments: list[str] | None = None, agent: Agent | None = None) -> int:
    """Serve until told to stop; the address, with the port that was taken, goes to standard error as `listening on URL`."""
    parser = argparse.ArgumentParser(prog="python -m finassay_remote.example", description="An example server of the remote protocol.")
    parser.add_argument("--port", type=int, default=0, help="port on this machine; 0 takes a free one, which is printed")
    parser.add_argument("--token-variable", default="", help="environment variable with the bearer token that clients must show")
    parser.add_argument("--pause", type=float, default=0.0, help="seconds that the example takes over each turn")
    given = parser.parse_args(arguments)
    token = os.environ.get(given.token_variable, "") if given.token_variable else ""
    if given.token_variable and not token:
        parser.error(f"{given.token_variable} is not set")
    with socket.socket() as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind(("127.0.0.1", given.port))
        except OSError as error:
            parser.error(f"port {given.port} cannot be taken: {error.strerror}")
        listening.listen(128)
        print(f"listening on http://127.0.0.1:{listening.getsockname()[1]}", file=sys.stderr, flush=True)
        app = Service(agent or Example(given.pause), token).app()
        uvicorn.Server(uvicorn.Config(app, log_level="warning", access_log=False, ws="none", timeout_graceful_shutdown=2)).run(
            sockets=[listening]
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
