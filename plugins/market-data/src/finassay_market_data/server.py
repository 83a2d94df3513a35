"""The market over MCP, with the official SDK: on stdin and stdout, or on streamable HTTP."""

import hmac
import socket
import sys
from collections.abc import Callable
from typing import Any, Final

import anyio
import uvicorn
from attrs import frozen
from mcp import types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.server.transport_security import TransportSecuritySettings
from pydantic import ValidationError
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from finassay_market_data import answers
from finassay_market_data.market import Market
from finassay_market_data.series import MarketError

INSTRUCTIONS: Final = (
    "Daily market data. Call describe first: it says what there is, how prices were adjusted and where the data end. Answers come in pages; each has"
    " the SHA-256 of its rows as CSV, so that a file which is made of them can be traced."
)


@frozen
class ToolSpec:
    """A tool: what it takes and what it does."""

    name: str
    description: str
    arguments: type[answers.Arguments]
    call: Callable[..., answers.Answer]


TOOLS: Final = (
    ToolSpec(
        "describe",
        "What data there are: source, fields with their adjustment, first and last date, number of tickers, the index.",
        answers.Nothing,
        answers.describe,
    ),
    ToolSpec("list_tickers", "The tickers with their first and last date.", answers.ListTickers, answers.list_tickers),
    ToolSpec(
        "get_prices",
        "Prices of some tickers over a range of dates, daily, weekly or monthly. With one field there is a column for each ticker, with several"
        " there is a row for each date and ticker. An empty cell is a missing value.",
        answers.GetPrices,
        answers.get_prices,
    ),
    ToolSpec("get_index", "The level of the market's index over a range of dates.", answers.GetIndex, answers.get_index),
)


def make_server(market: Market, version: str) -> Server[Any]:
    """The MCP server over a market."""
    tools = {tool.name: tool for tool in TOOLS}
    listed = [
        types.Tool(
            name=tool.name,
            description=tool.description,
            input_schema=tool.arguments.model_json_schema(),
            annotations=types.ToolAnnotations(read_only_hint=True, idempotent_hint=True, open_world_hint=False),
        )
        for tool in TOOLS
    ]

    async def list_tools(context: Any, params: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=listed)

    async def call_tool(context: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        if params.name not in tools:
            return _failed(f"there is no tool {params.name[:60]!r}; there are {', '.join(tools)}")
        return await anyio.to_thread.run_sync(_call, market, tools[params.name], params.arguments or {})

    return Server("finassay-market-data", version=version, instructions=INSTRUCTIONS, on_list_tools=list_tools, on_call_tool=call_tool)


def _call(market: Market, tool: ToolSpec, given: dict[str, Any]) -> types.CallToolResult:
    try:
        answer = tool.call(market, tool.arguments.model_validate(given))
    except ValidationError as error:
        return _failed(_first_problem(error, tool))
    except MarketError as error:
        return _failed(str(error))
    texts = [answers.as_json(answer.about), *([answer.text] if answer.text is not None else [])]
    return types.CallToolResult(content=[types.TextContent(type="text", text=text) for text in texts])


def _failed(message: str) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(type="text", text=message)], is_error=True)


def _first_problem(error: ValidationError, tool: ToolSpec) -> str:
    first = error.errors(include_url=False, include_context=False)[0]
    where = ".".join(str(part)[:40] for part in first["loc"][:3])
    known = ", ".join(tool.arguments.model_fields) or "none"
    if first["type"] == "extra_forbidden":
        return f"{tool.name} takes no argument {where!r}; it takes {known}"
    said = first["msg"].removeprefix("Value error, ")
    return f"{tool.name}: {where}: {said[:1].lower()}{said[1:]}"


# -- transports -------------------------------------------------------------------------------------------------------


def serve_stdio(server: Server[Any]) -> None:
    """Until standard input ends."""

    async def run() -> None:
        async with stdio_server() as (reading, writing):
            await server.run(reading, writing, server.create_initialization_options())

    anyio.run(run)


class _Guarded:
    """Lets in only requests with the token."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app, self._expected = app, f"Bearer {token}".encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            given = next((value for name, value in scope["headers"] if name == b"authorization"), b"")
            if not hmac.compare_digest(given, self._expected):
                await PlainTextResponse("a bearer token is needed", 401)(scope, receive, send)
                return
        await self._app(scope, receive, send)


def http_app(server: Server[Any], token: str = "", host: str = "127.0.0.1") -> ASGIApp:
    """The server at `/mcp`, without state between requests. Away from loopback any Host is taken, because the token guards it."""
    elsewhere = TransportSecuritySettings(enable_dns_rebinding_protection=False) if host not in ("127.0.0.1", "::1") else None
    app: ASGIApp = server.streamable_http_app(json_response=True, stateless_http=True, host=host, transport_security=elsewhere)
    return _Guarded(app, token) if token else app


def serve_http(server: Server[Any], host: str, port: int, token: str = "") -> None:
    """Until it is told to stop; the address, with the port that was taken, goes to standard error as `listening on URL`."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((host, port))
        listening.listen(128)
        named = f"[{host}]" if ":" in host else host
        print(f"listening on http://{named}:{listening.getsockname()[1]}/mcp", file=sys.stderr, flush=True)
        config = uvicorn.Config(http_app(server, token, host), log_level="warning", access_log=False, lifespan="on", ws="none")
        uvicorn.Server(config).run(sockets=[listening])
