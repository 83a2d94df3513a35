"""What the lines of `codex exec --json` mean."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from finassay.api.agent import Usage
from finassay_cli_kit import Done, Failed, KitEvent, Note, ProgramSession, Said, ToolCall, ToolResult, UsageReported

STATUS: Final = re.compile(r"\b(?:status|HTTP)[ :]+(?:code )?(\d{3})\b", re.IGNORECASE)
REFUSED: Final = (401, 402, 403)
UNKNOWN_MODEL: Final = re.compile(r"\bmodel\b.{0,200}\b(?:does not exist|not supported|not found)", re.IGNORECASE)
PROVIDER: Final = re.compile(
    r"stream disconnected|exceeded retry limit|error sending request|idle timeout|high demand|rate limit|usage limit|quota|overloaded|server error",
    re.IGNORECASE,
)


def read_line(line: bytes) -> Iterator[KitEvent]:
    """The events of one line. Raises `ValueError`, `TypeError`, `KeyError` or `AttributeError` where it is not one of the program's."""
    if not line.strip():
        return
    data = json.loads(line)
    match data["type"]:
        case "thread.started":
            yield ProgramSession(data["thread_id"])
        case "item.started":
            yield from _started(data["item"])
        case "item.completed":
            yield from _completed(data["item"])
        case "turn.completed":
            yield UsageReported(_usage(data.get("usage") or {}), running_total=True)
            yield Done()
        case "turn.failed":
            text = str(data["error"]["message"])
            yield _failed(text)
        case "error":
            yield Note(f"error: {data['message']}")


def _started(item: Mapping[str, Any]) -> Iterator[KitEvent]:
    match item["type"]:
        case "command_execution":
            yield ToolCall(item["id"], "shell", {"command": item["command"]})
        case "mcp_tool_call":
            yield ToolCall(item["id"], f"{item['server']}.{item['tool']}", item.get("arguments") or {})


def _completed(item: Mapping[str, Any]) -> Iterator[KitEvent]:
    match item["type"]:
        case "agent_message":
            yield Said(item["text"])
        case "command_execution":
            code = item.get("exit_code")
            yield ToolResult(item["id"], item.get("aggregated_output") or "", item.get("status") != "completed", code)
        case "mcp_tool_call":
            error = item.get("error")
            yield ToolResult(item["id"], _text(error or item.get("result")), error is not None or item.get("status") == "failed")
        case "file_change":
            yield ToolCall(item["id"], "file_change", {"changes": item.get("changes") or []})
            yield ToolResult(item["id"], str(item.get("status")), item.get("status") != "completed")
        case "web_search":
            yield ToolCall(item["id"], "web_search", {"query": item.get("query")})
        case "error":
            yield Note(f"warning: {item['message']}")


def _usage(data: Mapping[str, Any]) -> Usage:
    return Usage(
        input_tokens=data.get("input_tokens"),
        cached_tokens=data.get("cached_input_tokens"),
        output_tokens=data.get("output_tokens"),
        reasoning_tokens=data.get("reasoning_output_tokens"),
    )


def _failed(text: str) -> Failed:
    """Whose failure it is, told from the text for want of anything better; where there is a gateway, that is asked first."""
    found = STATUS.search(text)
    status = int(found[1]) if found else 0
    refused = status in REFUSED or UNKNOWN_MODEL.search(text) is not None
    return Failed(text, refused or status in (408, 409, 429) or status >= 500 or PROVIDER.search(text) is not None, refused)


def _text(value: Any) -> str:
    """The texts of an MCP result; as JSON where it has another form."""
    content = value.get("content") if isinstance(value, dict) else None
    if isinstance(content, list) and all(isinstance(block, dict) for block in content):
        return "\n".join(block.get("text") or f"({block.get('type')})" for block in content)
    return value if isinstance(value, str) else json.dumps(value)
