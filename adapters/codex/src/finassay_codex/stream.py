"""What the lines of `codex exec --json` mean."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from finassay.api.usage import Usage
from finassay_cli_kit import Done, Failed, KitEvent, Note, ProgramSession, Said, ToolCall, ToolResult, UsageReported, content_text

STATUS: Final = re.compile(r"\b(?:status|HTTP)[ :]+(?:code )?(\d{3})\b", re.IGNORECASE)
REFUSED: Final = (401, 402, 403)
UNKNOWN_MODEL: Final = re.compile(r"\bmodel\b.{0,200}\b(?:does not exist|not supported|not found)", re.IGNORECASE)
PROVIDER: Final = re.compile(
    r"stream disconnected|exceeded retry limit|error sending request|idle timeout|high demand|rate limit|usage limit|quota|overloaded|server error",
    re.IGNORECASE,
)


def read(data: Any) -> Iterator[KitEvent]:
    """The events of one line. Raises `TypeError`, `KeyError` or `AttributeError` where it is not one of the program's."""
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
            yield _failed(str(data["error"]["message"]))
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
            error, result = item.get("error"), item.get("result")
            told = result["content"] if not error and isinstance(result, dict) and "content" in result else error or result
            yield ToolResult(item["id"], content_text(told), error is not None or item.get("status") == "failed")
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
