"""What the lines of Claude Code's `stream-json` output mean."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from finassay.api.usage import Usage
from finassay_cli_kit import Done, KitEvent, Note, ProgramSession, Said, ToolCall, ToolResult, UsageReported, content_text, failed_call

EXIT_CODE: Final = re.compile(r"Exit code (\d{1,3})\b")


def read(data: Any) -> Iterator[KitEvent]:
    """The events of one line. Raises `ValueError`, `TypeError`, `KeyError` or `AttributeError` where it is not one of the program's."""
    match data["type"]:
        case "system":
            yield from _system(data)
        case "assistant" if not data.get("parent_tool_use_id"):
            yield from _assistant(data["message"])
        case "user" if not data.get("parent_tool_use_id"):
            yield from _results(data["message"])
        case "result":
            yield from _result(data)


def _system(data: Mapping[str, Any]) -> Iterator[KitEvent]:
    if data.get("subtype") == "init":
        yield ProgramSession(data["session_id"])
        for server in data.get("mcp_servers") or ():
            if server.get("status") != "connected":
                yield Note(f"MCP server {server.get('name')}: {server.get('status')}")
    elif data.get("subtype") == "api_retry":
        yield Note(
            f"model call failed with status {data.get('error_status')}, asked again ({data.get('attempt')} of {data.get('max_retries')})"
        )
    elif data.get("subtype") == "compact_boundary":
        yield Note("the conversation was compacted")


def _assistant(message: Mapping[str, Any]) -> Iterator[KitEvent]:
    for block in message.get("content") or ():
        if block.get("type") == "text":
            yield Said(block["text"])
        elif block.get("type") in ("tool_use", "server_tool_use"):
            yield ToolCall(block["id"], block["name"], block.get("input") or {})
    if isinstance(message.get("usage"), dict):
        yield UsageReported(_usage(message["usage"]), provisional=True, call=str(message.get("id")))


def _results(message: Mapping[str, Any]) -> Iterator[KitEvent]:
    content = message.get("content")
    for block in content if isinstance(content, list) else ():
        if block.get("type") == "tool_result":
            text, failed = content_text(block.get("content")), block.get("is_error") is True
            code = EXIT_CODE.match(text) if failed else None
            yield ToolResult(block["tool_use_id"], text, failed, int(code[1]) if code else None)


def _result(data: Mapping[str, Any]) -> Iterator[KitEvent]:
    if (data.get("origin") or {}).get("kind") == "task-notification" and data.get("num_turns") == 0:
        yield Note("a task of an earlier turn has ended")  # the answer to the person is still to come
        return
    yield UsageReported(_usage(data.get("usage") or {}))
    cost = data.get("total_cost_usd")
    guessed = any(model.get("costBasis") == "unknown" for model in (data.get("modelUsage") or {}).values())
    if isinstance(cost, int | float) and not guessed:  # of the whole session, also over several processes
        yield UsageReported(Usage(cost_usd=float(cost)), running_total=True)
    for denial in data.get("permission_denials") or ():
        yield Note(f"not permitted: {denial.get('tool_name')} {json.dumps(denial.get('tool_input'))[:500]}")
    if data.get("subtype") == "success" and data.get("is_error") is not True:
        yield Done(data.get("result") or None)
        return
    status = data.get("api_error_status")
    told = "; ".join(str(e) for e in data.get("errors") or ()) or str(data.get("result") or data.get("subtype"))
    # Without a status it is the connection that failed, which only the text tells.
    said = f"{told} (status {status})" if status else told
    yield failed_call(said, status if isinstance(status, int) else 0, provider=told.startswith("API Error"))


def _usage(data: Mapping[str, Any]) -> Usage:
    read, written = data.get("cache_read_input_tokens") or 0, data.get("cache_creation_input_tokens") or 0
    return Usage(input_tokens=(data.get("input_tokens") or 0) + read + written, cached_tokens=read, output_tokens=data.get("output_tokens"))
