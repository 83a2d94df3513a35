"""One turn with an agent's program: begin or take up the session, prompt, answer what it asks, cancel at the deadline."""

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Literal, TypeVar

from attrs import Factory, frozen

from finassay.api.channel import McpServer
from finassay.api.errors import AgentError
from finassay.api.sandbox import BoxProcess
from finassay_acp.pipe import Pipe
from finassay_acp.updates import Updates, usage_of_answer
from finassay_cli_kit import Done, Failed, Intake, KitEvent, Note, ProgramSession, UsageReported, as_words

if TYPE_CHECKING:
    from acp.client import ClientSideConnection
    from acp.schema import InitializeResponse

T = TypeVar("T")

QUIET_SECONDS: Final = 0.3
"""How long an agent that tells a loaded session again must be silent before it counts as told."""
REPLAY_SECONDS: Final = 10.0
CANCEL_SECONDS: Final = 2.0
"""How long before its deadline a turn is cancelled, so that the agent can note in its session that it was."""
AUTH_REQUIRED: Final = -32000
MAX_ERROR: Final = 2_000


@frozen
class Terms:
    """What one turn's exchange is about."""

    cwd: str
    session: str | None
    """The agent's session that goes on; None for a new one."""
    message: str
    """For a session that goes on."""
    opening: str
    """For a new one: the briefing, and what was said before."""
    seconds: float
    failed: Callable[[], bool] = lambda: False
    """Whether the last model call failed, as far as anybody knows."""
    servers: Sequence[McpServer] = ()
    permission: Literal["allow", "deny"] = "allow"
    login: str = ""
    mode: str = ""
    model: str = ""
    config: Mapping[str, str | bool] = Factory(dict)
    start_seconds: float = 60.0
    cumulative_usage: bool = False


class Permissions:
    """The client's side of the protocol: all that it offers is an answer to requests for permission."""

    def __init__(self, policy: Literal["allow", "deny"], intake: Intake) -> None:
        self._kinds = ("allow_once", "allow_always") if policy == "allow" else ("reject_once", "reject_always")
        self._intake = intake
        self.cancelled = False

    async def request_permission(self, session_id: str, tool_call: Any, options: Sequence[Any], **more: Any) -> Any:
        """Choose by policy; what has no such choice is cancelled."""
        from acp.schema import AllowedOutcome, DeniedOutcome, RequestPermissionResponse

        ranked = sorted((self._kinds.index(o.kind), n) for n, o in enumerate(options) if o.kind in self._kinds)
        chosen = options[ranked[0][1]] if ranked and not self.cancelled else None
        self._intake.tell(
            Note(f"permission for {str(tool_call.title or tool_call.tool_call_id)[:300]}: {chosen.kind if chosen else 'cancelled'}")
        )
        if chosen is None:
            return RequestPermissionResponse(outcome=DeniedOutcome(outcome="cancelled"))
        return RequestPermissionResponse(outcome=AllowedOutcome(outcome="selected", option_id=chosen.option_id))

    async def _not_offered(self, **asked: Any) -> Any:
        """The library would answer with nothing, as if it had been done."""
        from acp.exceptions import RequestError

        raise RequestError(-32601, "not offered: the agent uses its own terminal")

    create_terminal = terminal_output = release_terminal = wait_for_terminal_exit = kill_terminal = _not_offered


class Exchange:
    """Talks to one program for one turn."""

    def __init__(self, terms: Terms, intake: Intake) -> None:
        self._terms, self._intake = terms, intake
        self._began = time.monotonic()
        self._updates = Updates()
        self._session: str | None = None
        self._live = False
        self._heard = 0.0
        self._passed: dict[str, Any] | None = None
        self._permissions = Permissions(terms.permission, intake)

    def run(self, process: BoxProcess) -> None:
        """The whole exchange; the program is stopped when it is over. Raises `AgentError`."""
        asyncio.run(self._run(process))

    async def _run(self, process: BoxProcess) -> None:
        from acp.client import ClientSideConnection

        pipe = Pipe(process, self._hear)
        connection = ClientSideConnection(self._permissions, pipe)  # type: ignore[arg-type]
        try:
            await self._converse(connection, pipe)
            await asyncio.to_thread(process.close_input)
            await asyncio.to_thread(process.wait, 1.0)  # time to write its session down; not all end by themselves
        finally:
            self._intake.tell(*self._updates.close())
            await asyncio.to_thread(self._intake.stop)  # ends whoever reads or writes the pipes
            await connection.close()

    async def _converse(self, connection: "ClientSideConnection", pipe: Pipe) -> None:
        terms = self._terms
        try:
            async with asyncio.timeout(min(terms.start_seconds, terms.seconds)):
                session, goes_on = await self._begin(connection)
        except TimeoutError:
            if self._left() > 0:
                raise AgentError(f"it was not ready for a prompt within {terms.start_seconds:g} s") from None
            return
        except AgentError as error:
            if isinstance(error.__cause__, ConnectionError):  # an end without a word is for the kit to explain
                return
            raise
        self._intake.tell(ProgramSession(session))
        self._live = True
        prompt = asyncio.create_task(self._prompt(connection, session, terms.message if goes_on else terms.opening))
        done, _ = await asyncio.wait({prompt}, timeout=max(0.0, self._left() - CANCEL_SECONDS))
        if not done:
            self._permissions.cancelled = True
            self._intake.tell(Note("cancelled: the turn's time is up"))
            cancelling = asyncio.create_task(connection.cancel(session_id=session))
            await asyncio.wait({prompt, cancelling}, return_when=asyncio.ALL_COMPLETED, timeout=CANCEL_SECONDS + 10)
            await _quietly(cancelling)
        reason = await _quietly(prompt) if not prompt.done() else prompt.result()
        while (
            reason == "cancelled"
            and self._permissions.cancelled
            and not pipe.ended.is_set()
            and not self._intake.cut()
            and self._left() > -10
        ):
            await asyncio.sleep(0.02)  # the harness's clock ends the turn, not this one

    def _left(self) -> float:
        return self._terms.seconds - (time.monotonic() - self._began)

    # -- requests -----------------------------------------------------------------------------------------------------

    async def _ask(self, what: str, request: Awaitable[T]) -> T:
        """The answer to a request. Raises `AgentError`."""
        from acp.exceptions import RequestError
        from pydantic import ValidationError

        try:
            return await request
        except RequestError as error:
            hint = "It wants a login: see the option `login`." if error.code == AUTH_REQUIRED else ""
            raise AgentError(f"{what}: {_told(error)}", hint=hint) from error
        except ValidationError as error:
            raise AgentError(f"{what}: the answer is none of the protocol ({error.errors()[0]['msg'][:200]})") from error
        except ConnectionError as error:
            raise AgentError(f"{what}: the program ended without an answer") from error

    async def _begin(self, connection: "ClientSideConnection") -> tuple[str, bool]:
        """A session ready for a prompt, and whether it knows what was said before."""
        from acp import PROTOCOL_VERSION
        from acp.schema import Implementation

        terms = self._terms
        hello = await self._ask(
            "initialize", connection.initialize(PROTOCOL_VERSION, client_info=Implementation(name="finassay", version="1"))
        )
        if hello.protocol_version != PROTOCOL_VERSION:
            raise AgentError(f"it speaks version {hello.protocol_version} of the protocol, not {PROTOCOL_VERSION}")
        if hello.agent_info is not None:
            self._intake.tell(Note(f"program: {hello.agent_info.name} {hello.agent_info.version}"))
        if terms.login:
            await self._ask("authenticate", connection.authenticate(method_id=terms.login))
        servers = self._servers(hello)
        taken = await self._take_up(connection, hello, servers) if terms.session else None
        if taken is not None and terms.session:
            await self._set_up(connection, terms.session, taken)
            return terms.session, True
        new = await self._ask("session/new", connection.new_session(cwd=terms.cwd, mcp_servers=servers))
        self._session = new.session_id
        await self._set_up(connection, new.session_id, new)
        return new.session_id, False

    def _servers(self, hello: "InitializeResponse") -> list[Any]:
        from acp.schema import HttpHeader, HttpMcpServer

        can = hello.agent_capabilities and hello.agent_capabilities.mcp_capabilities
        if self._terms.servers and not (can and can.http):
            raise AgentError("it takes no MCP servers over HTTP, which is how a session's channels are reached")
        return [
            HttpMcpServer(type="http", name=s.name, url=s.url, headers=[HttpHeader(name=k, value=v) for k, v in s.headers.items()])
            for s in self._terms.servers
        ]

    async def _take_up(self, connection: "ClientSideConnection", hello: "InitializeResponse", servers: list[Any]) -> Any:
        """The agent's answer if its session goes on; None where it cannot, or has lost it."""
        terms, can = self._terms, hello.agent_capabilities
        assert terms.session is not None
        self._session = terms.session
        try:
            if can and can.session_capabilities and can.session_capabilities.resume is not None:
                return await self._ask(
                    "session/resume", connection.resume_session(session_id=terms.session, cwd=terms.cwd, mcp_servers=servers)
                )
            if can and can.load_session:
                answer = await self._ask(
                    "session/load", connection.load_session(session_id=terms.session, cwd=terms.cwd, mcp_servers=servers)
                )
                await self._replayed()
                return answer
        except AgentError as error:
            if isinstance(error.__cause__, ConnectionError):
                raise
            self._intake.tell(Note(f"its session is lost, a new one begins with the transcript: {error}"))
            return None
        self._intake.tell(Note("it cannot take up a session: a new one begins with the transcript"))
        return None

    async def _replayed(self) -> None:
        """Let the agent tell the loaded session to its end: some go on after they have answered."""
        ends = time.monotonic() + REPLAY_SECONDS
        self._heard = max(self._heard, time.monotonic())
        while (now := time.monotonic()) < min(ends, self._heard + QUIET_SECONDS):
            await asyncio.sleep(min(0.05, self._heard + QUIET_SECONDS - now))

    async def _set_up(self, connection: "ClientSideConnection", session: str, answer: Any) -> None:
        """Mode, model and further settings of the session; what is not offered is an error, not silence."""
        terms = self._terms
        if terms.mode:
            await self._ask("session/set_mode", connection.set_session_mode(session_id=session, mode_id=terms.mode))
        offered = answer.config_options or []
        config = dict(terms.config)
        if terms.model:
            names = [o.id for o in offered if getattr(o, "category", None) == "model"]
            if not names:
                raise AgentError("its sessions offer no choice of a model", hint="Name the model in the option `command` or `environment`.")
            config = {names[0]: terms.model, **config}
        for name, value in config.items():
            await self._ask(
                f"session/set_config_option {name}", connection.set_config_option(config_id=name, session_id=session, value=value)
            )

    async def _prompt(self, connection: "ClientSideConnection", session: str, text: str) -> str:
        """Prompt and wait; why the turn stopped. A failure is told as an event."""
        from acp import text_block

        try:
            answer = await self._ask("session/prompt", connection.prompt(session_id=session, prompt=[text_block(as_words(text))]))
        except AgentError as error:
            if not isinstance(error.__cause__, ConnectionError):
                self._intake.tell(Failed(str(error)))
            return "failed"
        usage = usage_of_answer(answer.model_dump(by_alias=True, exclude_none=True))
        self._intake.tell(UsageReported(usage, running_total=self._terms.cumulative_usage))
        reason = str(answer.stop_reason)
        if reason == "end_turn" and not self._answered():
            self._intake.tell(Failed("ended its turn without an answer"))
        elif reason in ("end_turn", "refusal"):
            self._intake.tell(*([] if reason == "end_turn" else [Note("the agent refused to go on")]), Done())
        elif not self._permissions.cancelled:
            self._intake.tell(Failed(f"stopped by itself: {reason}"))
        return reason

    def _answered(self) -> bool:
        """Some agents end a turn as if all were well when their model fails: then nothing was said, or nothing after the last tool."""
        return self._updates.speaks or (self._updates.spoke and not self._terms.failed())

    # -- output -------------------------------------------------------------------------------------------------------

    def _hear(self, line: bytes) -> dict[str, Any] | None:
        """Take in a line. Answers and requests are for the library; updates are read here, in order, and make no tasks there."""
        self._passed = None
        if not self._intake.take(line, self._sift):
            self._intake.stop()
        return self._passed

    def _sift(self, line: bytes) -> Iterator[KitEvent]:
        if not line.strip():
            return
        message = json.loads(line)
        if not isinstance(message, dict):
            raise ValueError("not an object")
        method, number = message.get("method"), message.get("id")
        if method is None:
            self._passed = _answer(message)
        elif not isinstance(method, str):
            raise ValueError("method is no text")
        elif method == "session/update":
            yield from self._update(message["params"])
        elif "id" in message:
            if not isinstance(number, int | str):
                raise ValueError("id is no number and no text")
            params = message.get("params")
            if isinstance(params, dict):
                params.pop("_meta", None)  # would come as keyword arguments of its own choice
                if method == "session/request_permission" and isinstance(params.get("toolCall"), dict):
                    yield from self._updates.asked(params["toolCall"])
            self._passed = message

    def _update(self, params: Any) -> Iterator[KitEvent]:
        self._heard = time.monotonic()
        if self._live and params["sessionId"] == self._session:
            yield from self._updates.read(params["update"])


def _answer(message: dict[str, Any]) -> dict[str, Any]:
    """An answer that the library can take. Raises `ValueError`."""
    number = message.get("id")
    if not isinstance(number, int) or isinstance(number, bool):
        raise ValueError("an answer to nothing")
    error = message.get("error")
    if "result" not in message and not isinstance(error, dict):
        return {"id": number, "error": {"code": -32603, "message": f"no result ({str(error)[:200]})"}}
    return message


def _told(error: Any) -> str:
    """An error of the agent's in words, with what it says in `data`."""
    more = "" if error.data is None else f" ({json.dumps(error.data, default=str)[:MAX_ERROR]})"
    return f"{str(error)[:MAX_ERROR]}{more}"


async def _quietly(task: "asyncio.Task[T]") -> T | None:
    """What a task comes to if it is over; a task that is not is given up."""
    if not task.done():
        task.cancel()
    try:
        return await task
    except (asyncio.CancelledError, Exception):  # the program is gone, or does not listen
        return None
