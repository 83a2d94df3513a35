"""The agent `remote`: any agent behind HTTP."""

import asyncio
import base64
import binascii
import contextlib
import json
import time
from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any, ClassVar, Final, TypeVar
from uuid import uuid4

from attrs import asdict, define, field
from pydantic import BaseModel

from finassay.api.agent import AgentCapabilities, AgentTurn, Diagnosis, Setting, TurnContext
from finassay.api.credentials import credential
from finassay.api.errors import AgentError, FinassayError, ProviderError, ProviderRefusedError
from finassay.api.usage import Usage
from finassay_cli_kit import ProgramSession, parse_line
from finassay_cli_kit.state import Resume, StateFolder
from finassay_cli_kit.turn import ProgramTurn
from finassay_remote.landing import Landing, RefusedFileError, read_offer, safe_path
from finassay_remote.options import RemoteOptions, on_loopback
from finassay_remote.protocol import MAX_FILES, VERSION, About

if TYPE_CHECKING:
    from finassay_remote.client import Connection, Server

T = TypeVar("T")
POLL_SECONDS: Final = 0.05
LATE_SECONDS: Final = 2.0
"""After a turn's time, how long this side waits for the harness to say so."""
STOP_SECONDS: Final = 3.0
"""How long a server may take to be told that a turn, or the session, is over."""
MAX_REFUSALS: Final = 100
"""Refused files of one turn that are told; the rest is counted."""


class RemoteAgent:
    """Implements `finassay.api.agent.Agent` over the protocol of docs/reference/remote-agents.md.

    The agent acts wherever its server is: no sandbox here holds it. What it sends is bounded and checked; its files land in `deliver/`.
    """

    api_version: ClassVar[int] = 1
    description: ClassVar[str] = "any agent behind HTTP, by the remote protocol; acts outside the sandbox"
    Options: ClassVar[type[BaseModel]] = RemoteOptions
    conformance: ClassVar[str] = "finassay_remote.conformance"
    id = "remote"

    def __init__(self, options: RemoteOptions, /) -> None:
        self.options = options
        self._server = _server(options)
        about = _run(_about(self._server))
        self.version = f"{about.name} {about.version}"
        self.capabilities = AgentCapabilities(
            resumes=about.resumes, reports_usage=about.reports_usage, reports_cost=about.reports_cost, needs_network=options.network
        )
        self.identity = {"server": about.name, "outside_sandbox": True}
        self._session = ""
        self._attempts: dict[int, int] = {}
        self._setting: Setting | None = None

    def start(self, setting: Setting) -> None:
        workspace = setting.box.workspace
        self._setting, self._landing, self._state = setting, Landing(workspace), StateFolder(workspace)
        brief, history = setting.brief, setting.history.messages
        while history and history[-1].sender == "user":  # it comes again with the next turn
            history = history[:-1]
        told = {
            "protocol": VERSION,
            "key": uuid4().hex,
            "session": brief.session,
            "brief": {**asdict(brief), "channels": list(brief.channels)},
            "history": [{"turn": m.turn, "sender": m.sender, "text": m.text, "cut": m.cut} for m in history],
            "previous": self._state.load().session if history else None,
        }
        self._session = _run(_begin(self._server, told))
        self._state.save(Resume(self._session))

    def send(self, message: str, context: TurnContext) -> AgentTurn:
        if not self._session:
            raise AgentError("the remote agent was not started")
        self._attempts[context.turn] = self._attempts.get(context.turn, 0) + 1
        turn = _Turn(ProgramTurn(context, Usage()), self._landing)
        told = {"message": message, "seconds": context.seconds, "attempt": self._attempts[context.turn]}
        failed: FinassayError | None = None
        try:
            _run(self._play(context, told, turn))
        except FinassayError as error:
            failed = error
        finally:
            turn.close()
        if turn.program.done or context.cut() or turn.late:
            return AgentTurn(turn.program.text, turn.program.usage)
        raise turn.told_failure() or failed or AgentError("the remote agent ended its turn without its final event")

    def finalize(self) -> None:
        """Tell the server that the session is over; one that cannot be told ends it by its own clock."""
        if self._session:
            with contextlib.suppress(FinassayError):
                _run(_end(self._server, self._session))
            self._session = ""

    def diagnose(self) -> Diagnosis:
        """The server's address and version."""
        how = f"a token in {self.options.token_variable}" if self.options.token_variable else "no token"
        return Diagnosis(self.options.url, self.version, how)

    # -- inside -------------------------------------------------------------------------------------------------------

    async def _play(self, context: TurnContext, told: dict[str, Any], turn: "_Turn") -> None:
        from finassay_remote.client import BrokenError

        async with self._server.connect() as connection:
            turn.connection, turn.session = connection, self._session
            work = asyncio.ensure_future(connection.turn(self._session, context.turn, told, turn.take))
            until = time.monotonic() + context.seconds + LATE_SECONDS
            try:
                while not work.done() and not context.cut():
                    turn.late = time.monotonic() > until
                    if turn.late:
                        break
                    await asyncio.wait((work,), timeout=POLL_SECONDS)
                if work.done():
                    await work
            except BrokenError as error:
                raise AgentError(f"the connection to the agent's server broke off: {error}") from None
            finally:
                if not work.done():
                    work.cancel()
                    await asyncio.wait((work,))
                    await self._stop(connection, context.turn)

    async def _stop(self, connection: "Connection", turn: int) -> None:
        with contextlib.suppress(FinassayError, TimeoutError):
            async with asyncio.timeout(STOP_SECONDS):
                await connection.stop(self._session, turn)


@define
class _Turn:
    """One turn's events on their way into the log and into `deliver/`."""

    program: ProgramTurn
    landing: Landing
    late: bool = False
    session: str = ""
    connection: "Connection" = field(init=False)
    _refused: int = 0
    _files: int = 0

    async def take(self, line: bytes) -> bool:
        """Take an event; whether it was the last of the turn."""
        event = _event(line)
        kind = event.get("type") if event is not None else None
        if event is not None and kind in ("file", "file-removed"):
            await self._file(event, removed=kind == "file-removed")
        else:
            self.program.take(lambda raw: (e for e in parse_line(raw) if not isinstance(e, ProgramSession)), line)
        return self.program.done

    async def _file(self, event: dict[str, Any], *, removed: bool) -> None:
        self._files += 1
        try:
            if self._files > 4 * MAX_FILES:
                raise RefusedFileError("there are too many of them in one turn")
            if removed:
                self.landing.remove(safe_path(event.get("path")))
                return
            offer = read_offer(event)
            content = event.get("content")
            with self.landing.receive(offer) as incoming:
                if content is None:
                    await self.connection.fetch(self.session, incoming)
                else:
                    incoming.write(_decoded(content, offer.path))
        except RefusedFileError as error:
            self._refused += 1
            if self._refused <= MAX_REFUSALS:
                self.program.note(f"a file was not taken: {error}")

    def told_failure(self) -> AgentError | ProviderError | None:
        """What the agent itself says went wrong, by its last word on it."""
        last = self.program.errors[-1] if self.program.errors else None
        if last is None:
            return None
        return ProviderError(f"remote: {last.text}") if last.provider else AgentError(f"remote: {last.text}")

    def close(self) -> None:
        if self._refused > MAX_REFUSALS:
            self.program.note(f"{self._refused - MAX_REFUSALS} more files were not taken")
        self.program.close()


def _event(line: bytes) -> dict[str, Any] | None:
    """A line as an object; None for one that the kit will note as unreadable."""
    try:
        data = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return data if isinstance(data, dict) else None


def _decoded(content: object, path: str) -> bytes:
    try:
        if isinstance(content, str):
            return base64.b64decode(content, validate=True)
    except (binascii.Error, ValueError):
        pass
    raise RefusedFileError(f"the content of {path!r} is not base64")


def _server(options: RemoteOptions) -> "Server":
    from finassay_remote.client import Server

    token = credential((options.token_variable,)) if options.token_variable else ""
    if token is None:
        raise ProviderRefusedError(f"{options.token_variable} is not set: the remote agent's server asks for a token", any_request=True)
    return Server(options.url, token, on_loopback(options.url), options.seconds)


async def _about(server: "Server") -> About:
    async with server.connect() as connection:
        return await connection.about()


async def _begin(server: "Server", told: dict[str, Any]) -> str:
    async with server.connect() as connection:
        return await connection.begin(told)


async def _end(server: "Server", session: str) -> None:
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(STOP_SECONDS), server.connect() as connection:
            await connection.end(session)


def _run(work: Coroutine[Any, Any, T]) -> T:
    """An agent is called from a thread that has no event loop."""
    return asyncio.run(work)
