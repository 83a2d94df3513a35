"""A small MCP server for tests: `get_price` of made-up symbols, over HTTP as part of the model server or on standard input and output.

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
        case "tools/call" if params.get("name") == "get_price":
            arguments = params.get("arguments") or {}
            called("get_price", arguments)
            symbol, day = str(arguments.get("symbol", "")), str(arguments.get("day", ""))
            result = _text(json.dumps({"symbol": symbol, "close": price(symbol, day)}))
        case "tools/call":
            result = {**_text(f"There is no tool {params.get('name')!r}."), "isError": True}
    if result is None:
        return {"jsonrpc": "2.0", "id": message["id"], "error": {"code": -32601, "message": f"no method {message['method']}"}}
    return {"jsonrpc": "2.0", "id": message["id"], "result": result}


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
