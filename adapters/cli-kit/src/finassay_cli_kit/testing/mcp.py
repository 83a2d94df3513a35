"""A small MCP server for tests: `get_price` and `list_prices` of made-up symbols, over HTTP as part of the model server or on standard input and output.

    python -m finassay_cli_kit.testing.mcp [--log FILE]

The prices are a function of the symbol and the day, so that a test can say what must come back (`price`).
"""

import json
import sys
from collections.abc import Callable, Mapping
from typing import Any, Final
from zlib import crc32

TOOLS: Final[tuple[Mapping[str, Any], ...]] = (
    {
        "name": "get_price",
        "description": "Closing price of a symbol on a day.",
        "inputSchema": {
            "type": "object",
            "properties": {"symbol": {"type": "string"}, "day": {"type": "string"}},
            "required": ["symbol"],
        },
        "annotations": {"readOnlyHint": True},
    },
    {
        "name": "list_prices",
        "description": "Closing prices of a symbol on some days: a JSON list, as many public servers answer.",
        "inputSchema": {
            "type": "object",
            "properties": {"symbol": {"type": "string"}, "days": {"type": "array", "items": {"type": "string"}}},
            "required": ["symbol", "days"],
        },
        "annotations": {"readOnlyHint": True},
    },
)
VERSIONS: Final = ("2025-06-18", "2025-03-26", "2024-11-05")


def price(symbol: str, day: str = "") -> float:
    """The `close` that `get_price` answers."""
    return round(10 + crc32(f"{symbol}|{day}".encode()) % 90_000 / 1000, 2)


def respond(message: Mapping[str, Any], called: Callable[[str, Mapping[str, Any]], None]) -> dict[str, Any] | None:
    """The answer to one JSON-RPC message; None to a notification. `called` is told of tool calls."""
    if "id" not in message or "method" not in message:
        return None
    params = message.get("params") if isinstance(message.get("params"), dict) else {}
    assert isinstance(params, dict)
    result: dict[str, Any] | None = None
    match message["method"]:
        case "initialize":
            wanted = params.get("protocolVersion")
            version = wanted if wanted in VERSIONS else VERSIONS[0]
            result = {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": {"name": "scripted-prices", "version": "1"}}
        case "ping":
            result = {}
        case "tools/list":
            result = {"tools": [*TOOLS]}
        case "tools/call" if params.get("name") in [tool["name"] for tool in TOOLS]:
            arguments = params["arguments"] if isinstance(params.get("arguments"), dict) else {}
            called(params["name"], arguments)
            result = _text(json.dumps(_answer(params["name"], arguments)))
        case "tools/call":
            result = {**_text(f"There is no tool {params.get('name')!r}."), "isError": True}
    if result is None:
        return {"jsonrpc": "2.0", "id": message["id"], "error": {"code": -32601, "message": f"no method {message['method']}"}}
    return {"jsonrpc": "2.0", "id": message["id"], "result": result}


def _answer(name: str, arguments: Mapping[str, Any]) -> Any:
    symbol = str(arguments.get("symbol", ""))
    if name == "get_price":
        return {"symbol": symbol, "close": price(symbol, str(arguments.get("day", "")))}
    days = arguments.get("days")
    return [{"day": str(day), "close": price(symbol, str(day))} for day in (days if isinstance(days, list) else ())]


def _text(text: str) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": text}]}


def main(arguments: list[str]) -> None:
    """Serve standard input until it closes; tool calls are appended to the log as JSON lines."""
    log = arguments[1] if arguments[:1] == ["--log"] else None

    def called(name: str, given: Mapping[str, Any]) -> None:
        if log is not None:
            with open(log, "a", encoding="utf-8") as file:
                file.write(json.dumps({"tool": name, "arguments": given}) + "\n")

    for line in sys.stdin:
        try:
            message = json.loads(line)
        except ValueError:
            continue
        answer = respond(message, called) if isinstance(message, dict) else None
        if answer is not None:
            print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
