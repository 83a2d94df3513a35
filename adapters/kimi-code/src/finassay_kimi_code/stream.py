"""What Kimi Code tells: lines of standard output, the last lines of standard error, and the files of its sessions."""

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any, Final

from finassay.api.usage import Usage
from finassay_cli_kit import Done, Failed, KitEvent, Note, ProgramSession, Said, ToolCall, ToolResult, content_text, failed_call

ERROR: Final = re.compile(r"^error: (?:failed to run prompt: )?(([a-z_]+\.[a-z_.]+)\b.*)$", re.MULTILINE)
STATUS: Final = re.compile(r"\b([45]\d\d)\b")


def read(data: Any) -> Iterator[KitEvent]:
    """The events of one line. Raises `TypeError`, `KeyError` or `AttributeError` where it is not one of the program's."""
    match data["role"], data.get("type"):
        case "assistant", _:
            if data.get("content"):
                yield Said(content_text(data["content"]))
            for call in data.get("tool_calls") or ():
                yield ToolCall(call["id"], call["function"]["name"], _arguments(call["function"].get("arguments")))
        case "tool", _:
            yield ToolResult(data["tool_call_id"], content_text(data.get("content")), data.get("is_error") is True)
        case "meta", "turn.step.retrying":
            told = data.get("status_code") or data.get("error_name")
            yield Note(f"model call failed ({told}), asked again ({data.get('failed_attempt')} of {data.get('max_attempts')})")
        case "meta", "session.resume_hint":
            yield ProgramSession(data["session_id"])
            yield Done()  # it is told only at the end of a turn that went well


def read_error(stderr: str) -> Failed | None:
    """What the program's last line of complaint says, and whose failure that is."""
    found = list(ERROR.finditer(stderr))
    if not found:
        return None
    text, kind = found[-1][1][:2_000], found[-1][2]
    code = STATUS.search(text)
    status = int(code[1]) if code else 0
    return failed_call(text, status, provider=True, refused=kind == "provider.auth_error") if kind.startswith("provider.") else Failed(text)


def read_index(data: bytes, home: str, session: str | None = None) -> tuple[str, str] | None:
    """Id and folder (relative to `home`) of a session in `session_index.jsonl`: the newest, or the one with the id `session`."""
    for line in reversed(data.splitlines()):
        try:
            entry = json.loads(line)
            folder = PurePosixPath(entry["sessionDir"]).relative_to(home)
        except (ValueError, TypeError, KeyError):
            continue
        if isinstance(name := entry.get("sessionId"), str) and session in (None, name):
            return name, str(folder)
    return None


def read_usage(data: bytes) -> Usage:
    """Sum of the model calls in lines of a session's `wire.jsonl`; unknown if there is none."""
    total: list[int] | None = None
    for line in data.splitlines():
        if b'"usage.record"' not in line:
            continue
        try:
            used = json.loads(line)["usage"]
            counts = [_count(used, name) for name in ("inputOther", "inputCacheRead", "inputCacheCreation", "output")]
        except (ValueError, TypeError, KeyError):
            continue
        total = [a + b for a, b in zip(total or [0] * 4, counts, strict=True)]
    if total is None:
        return Usage()
    fresh, read, written, output = total
    return Usage(fresh + read + written, read, output)


def read_steps(data: bytes) -> Iterator[Said | ToolCall]:
    """What the model said and called in lines of a session's `wire.jsonl`, also in a step that did not come to its end."""
    texts: dict[str, str] = {}
    calls: list[ToolCall] = []
    for line in data.splitlines():
        if b'"context.append_loop_event"' not in line:
            continue
        try:
            event = json.loads(line)["event"]
            if event["type"] == "content.part" and event["part"]["type"] == "text":
                step = str(event["stepUuid"])
                texts[step] = texts.get(step, "") + str(event["part"]["text"])
            elif event["type"] == "tool.call":
                calls.append(ToolCall(str(event["toolCallId"]), str(event["name"]), _arguments(event.get("args"))))
        except (ValueError, TypeError, KeyError):
            continue
    yield from map(Said, texts.values())
    yield from calls


def _count(used: Mapping[str, Any], name: str) -> int:
    value = used.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 10**12 else 0


def _arguments(told: Any) -> dict[str, Any]:
    """Arguments come as JSON in a text; a model may have written something else."""
    try:
        given = json.loads(told) if isinstance(told, str) and told else told
    except ValueError:
        given = told
    return given if isinstance(given, dict) else {} if given in (None, "") else {"value": given}
