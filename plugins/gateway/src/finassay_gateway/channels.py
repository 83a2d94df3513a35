"""Channels: an MCP server, run or reached by the gateway, as one session's agent sees it.

Towards the server the gateway is a client, towards the agent a server; both ends are the official SDK's. Tools pass, with their results as
they are; resources, prompts and requests of the server to the program do not.
"""

import asyncio
import contextlib
import hashlib
import json
import shutil
import time
from collections.abc import AsyncIterator, Mapping
from typing import Any, Final

import mcp_types as types
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.server.lowlevel.server import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.shared.exceptions import MCPError

from finassay.api.channel import ChannelSpec, ServerSpec
from finassay.api.errors import ProviderError
from finassay.api.gateway import GatewayCall
from finassay_gateway import asgi, places
from finassay_gateway.asgi import ClientGoneError, RefusedError
from finassay_gateway.masking import Masker
from finassay_gateway.session import MAX_INFLIGHT, Session
from finassay_gateway.stdio import StdioServer
from finassay_gateway.upstreams import http_client

MAX_PAGES: Final = 50
MAX_STARTS: Final = 5
"""How often a server that ends is started again within one session."""
MAX_REQUEST: Final = 4 * 2**20


async def start_channels(session: Session) -> None:
    """Start every channel's server and see that it lists its tools. Raises `ProviderError`, with nothing left running."""
    made = [Channel(session, spec) for spec in session.spec.channels if spec.server is not None]
    outcomes = await asyncio.gather(*(channel.start() for channel in made), return_exceptions=True)
    failed = [outcome for outcome in outcomes if isinstance(outcome, BaseException)]
    if failed:
        await asyncio.gather(*(channel.close() for channel in made))
        raise failed[0]
    session.channels.update({channel.name: channel for channel in made})


class Connection:
    """One life of a server: from its start until it ends, fails or is closed."""

    def __init__(self, server: ServerSpec, secrets: Mapping[str, str], seconds: float) -> None:
        self._server, self._secrets, self._seconds = server, secrets, seconds
        self._stop = asyncio.Event()
        self._ready: asyncio.Future[Client] = asyncio.get_running_loop().create_future()
        self._stdio: StdioServer | None = None
        self._task = asyncio.ensure_future(self._live())

    @property
    def over(self) -> bool:
        return self._task.done() or (self._stdio is not None and self._stdio.over.is_set())

    def last_words(self) -> str:
        return self._stdio.last_words() if self._stdio is not None else ""

    async def client(self) -> Client:
        """The connected client. Raises what kept it from connecting."""
        return await asyncio.shield(self._ready)

    async def close(self) -> None:
        self._stop.set()
        if not self._ready.done():
            self._task.cancel()
        await asyncio.wait({self._task})
        if self._ready.done() and not self._ready.cancelled():
            self._ready.exception()  # looked at

    async def _live(self) -> None:
        try:
            try:
                await self._connected("legacy")  # what every server of the last years speaks
            except* MCPError:
                if self._ready.done():
                    raise
                await self._connected("auto")
        except BaseException as error:
            if not self._ready.done():
                self._ready.set_exception(_first(error))
            if isinstance(error, asyncio.CancelledError):
                raise

    async def _connected(self, mode: str) -> None:
        async with self._transport() as transport:
            client = Client(transport, mode=mode, cache=None, read_timeout_seconds=self._seconds, client_info=_ourselves())
            async with client:
                self._ready.set_result(client)
                await self._stop.wait()

    @contextlib.asynccontextmanager
    async def _transport(self) -> AsyncIterator[Any]:
        if self._server.command:
            command = (shutil.which(self._server.command[0]) or self._server.command[0], *self._server.command[1:])
            self._stdio = StdioServer(command, {**self._server.environment, **self._secrets})
            yield self._stdio
            return
        url = places.filled(self._server.url, self._secrets)
        async with http_client(url) as http:
            http.headers.update({name: places.filled(value, self._secrets) for name, value in self._server.headers.items()})
            http.timeout = self._seconds
            yield streamable_http_client(url, http_client=http)


class Channel:
    """One channel of one session."""

    def __init__(self, session: Session, spec: ChannelSpec) -> None:
        assert spec.server is not None
        self.name = spec.id
        self._session, self._server = session, spec.server
        self._secrets = places.values(spec.server)
        self._masker = Masker((*self._secrets.values(), *session.masker_secrets))
        self._connection: Connection | None = None
        self._starts = 0
        self._lock = asyncio.Lock()
        self._stop = asyncio.Event()
        self._ready: asyncio.Future[StreamableHTTPSessionManager] = asyncio.get_running_loop().create_future()
        self._serving: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Raises `ProviderError`."""
        try:
            async with asyncio.timeout(self._server.start_seconds):
                await self._tools()
            self._serving = asyncio.ensure_future(self._serve())
            await self._ready
        except Exception as error:  # somebody else's server
            words = self._connection.last_words() if self._connection is not None else ""
            late = f"it did not list its tools within {self._server.start_seconds:.0f} s" if isinstance(error, TimeoutError) else ""
            told = self._masker.strictly((words or late or f"{type(error).__name__}: {error}")[:300].encode()).decode("utf-8", "replace")
            raise ProviderError(f"channel {self.name!r}: its MCP server does not start: {told}") from None

    async def close(self) -> None:
        self._stop.set()
        if self._serving is not None:
            await asyncio.wait({self._serving})
        if self._connection is not None:
            await self._connection.close()

    # -- towards the server --------------------------------------------------------------------------------------------

    async def _client(self) -> Client:
        """A client whose server lives; one that ended is started again."""
        async with self._lock:
            if self._connection is not None and self._connection.over:
                await self._connection.close()
                self._connection = None
            if self._connection is None:
                self._starts += 1
                if self._starts > MAX_STARTS or self._stop.is_set():
                    raise MCPError(types.INTERNAL_ERROR, f"the server of {self.name} has ended")
                self._connection = Connection(self._server, self._secrets, self._session.spec.stall_seconds)
            return await self._connection.client()

    async def _tools(self) -> list[types.Tool]:
        client, found, cursor = await self._client(), [], None
        for _ in range(MAX_PAGES):
            page = await client.session.list_tools(params=types.PaginatedRequestParams(cursor=cursor))
            found += page.tools
            cursor = page.next_cursor
            if cursor is None:
                break
        wanted = self._server.tools
        return [tool for tool in found if not wanted or tool.name in wanted]

    async def _called(self, name: str, arguments: dict[str, Any] | None) -> types.CallToolResult:
        request = types.CallToolRequest(params=types.CallToolRequestParams(name=name, arguments=arguments))
        client = await self._client()
        return await client.session.send_request(request, types.CallToolResult, self._session.spec.stall_seconds)

    # -- towards the agent ---------------------------------------------------------------------------------------------

    async def _serve(self) -> None:
        server: Server[Any] = Server(self.name, on_list_tools=self._on_list, on_call_tool=self._on_call)
        manager = StreamableHTTPSessionManager(server, json_response=True, stateless=True, max_request_body_size=MAX_REQUEST)
        async with manager.run():
            self._ready.set_result(manager)
            await self._stop.wait()

    async def answer(self, scope: asgi.Scope, receive: asgi.Receive, send: asgi.Send) -> None:
        """One request of the agent's program."""
        try:
            if scope["method"] != "POST":
                raise RefusedError(405, "method", "This channel answers POST only.")
            if len(self._session.inflight) > MAX_INFLIGHT:
                raise RefusedError(429, "concurrency", f"More than {MAX_INFLIGHT} requests of one session at once.")
            body = await asgi.read_body(receive, MAX_REQUEST, lambda size: None)
        except RefusedError as refused:
            if refused.code != "method":  # programs ask for a stream of the server's own as a matter of course
                await self._session.refusal_pause()
                self._session.tell(GatewayCall("channel", self.name, "", refused.status, refused=refused.code))
            allow = [(b"allow", b"POST")] if refused.status == 405 else []
            await asgi.answer(send, refused.status, {"error": f"finassay: {refused}"}, allow)
            return
        except ClientGoneError:
            return
        manager = await asyncio.shield(self._ready)
        work = asyncio.ensure_future(manager.handle_request(scope, _replayed(body), send))
        watch = asyncio.ensure_future(asgi.gone(receive))
        try:
            await asyncio.wait({work, watch}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (work, watch):
                task.cancel()
            await asyncio.gather(work, watch, return_exceptions=True)

    async def _on_list(self, context: Any, params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        result = types.ListToolsResult(tools=await self._again(self._tools, also_if_closed=True))
        masked: types.ListToolsResult = self._masked(result)[0]
        return masked

    async def _on_call(self, context: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        asked = json.dumps({"name": params.name, "arguments": params.arguments}, sort_keys=True, ensure_ascii=False)
        call = Told(self._session, self.name, params.name[:200], hashlib.sha256(asked.encode("utf-8", "surrogatepass")).hexdigest())
        if self._server.tools and params.name not in self._server.tools:
            await self._session.refusal_pause()
            call.tell(refused="tool")
            raise MCPError(types.INVALID_PARAMS, f"Unknown tool: {params.name[:200]}")
        work = asyncio.ensure_future(self._session.run(self._work(call, params)))
        try:
            await asyncio.wait({work})
        finally:
            work.cancel()
            await asyncio.wait({work})
            call.tell(cut=True)
        if call.result is None:
            raise call.error or MCPError(types.INTERNAL_ERROR, "the call was broken off")
        return call.result

    async def _work(self, call: "Told", params: types.CallToolRequestParams) -> None:
        try:
            result = await self._again(lambda: self._called(params.name, params.arguments))
        except MCPError as error:
            call.error = MCPError(error.code, self._masker.strictly(error.message[:2000].encode()).decode("utf-8", "replace"))
            call.tell(cut=error.code in (types.REQUEST_TIMEOUT, types.CONNECTION_CLOSED))
            return
        except asyncio.CancelledError:
            call.tell(cut=True)  # here, where whoever settles the session waits for it
            raise
        except Exception as error:  # somebody else's server
            call.error = MCPError(types.INTERNAL_ERROR, f"the channel's server failed: {type(error).__name__}")
            call.tell(cut=True)
            return
        call.result, text = self._masked(result)
        call.tell(answer=hashlib.sha256(text).hexdigest())

    async def _again(self, ask: Any, also_if_closed: bool = False) -> Any:
        """Ask, and once more if the server had forgotten the session; a call that a server died of is not repeated."""
        try:
            return await ask()
        except MCPError as error:
            forgotten = error.code == types.INVALID_REQUEST and "terminated" in error.message
            closed = error.code == types.CONNECTION_CLOSED
            if (forgotten or closed) and self._connection is not None:
                async with self._lock:
                    await self._connection.close()
            if not (forgotten or (closed and also_if_closed)):
                raise
        return await ask()

    def _masked(self, result: Any) -> tuple[Any, bytes]:
        """A result without secrets, and the text whose digest is kept."""
        text = result.model_dump_json(by_alias=True, exclude_none=True).encode()
        clean = self._masker.whole(text)
        return (result if clean == text else type(result).model_validate_json(clean)), clean


class Told:
    """A call of a tool, told once."""

    def __init__(self, session: Session, channel: str, tool: str, digest: str) -> None:
        self._session, self._channel, self._tool, self._digest = session, channel, tool, digest
        self._begun = time.monotonic()
        self._done = False
        self.result: types.CallToolResult | None = None
        self.error: MCPError | None = None

    def tell(self, *, answer: str = "", cut: bool = False, refused: str = "") -> None:
        if self._done:
            return
        self._done = True
        seconds = time.monotonic() - self._begun
        self._session.tell(
            GatewayCall(
                "channel",
                self._channel,
                self._tool,
                200 if not cut else 0,
                digest=self._digest,
                answer=answer,
                cut=cut,
                refused=refused,
                seconds=seconds,
            )
        )


def _replayed(body: bytes) -> asgi.Receive:
    left = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive() -> dict[str, Any]:
        if left:
            return left.pop()
        await asyncio.Event().wait()
        return {"type": "http.disconnect"}

    return receive


def _ourselves() -> types.Implementation:
    return types.Implementation(name="finassay", version="1")


def _first(error: BaseException) -> Exception:
    """The first real error inside groups of them."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error if isinstance(error, Exception) else ConnectionError("broken off")
