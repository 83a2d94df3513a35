"""Answers in the wire format of the Messages API, for loopback servers in tests."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from finassay_models_kit.testing import Served, event


def text(words: str, citations: Sequence[Mapping[str, Any]] = ()) -> dict[str, Any]:
    """A text block."""
    return {"type": "text", "text": words, "citations": list(citations) or None}


def tool_use(name: str, arguments: Mapping[str, Any], id: str = "toolu_1") -> dict[str, Any]:
    """A call of a tool."""
    return {"type": "tool_use", "id": id, "name": name, "input": dict(arguments)}


def stream(
    blocks: Sequence[Mapping[str, Any]],
    *,
    stop: str | None = "end_turn",
    model: str = "claude-test-1",
    usage: Mapping[str, Any] | None = None,
    details: Mapping[str, Any] | None = None,
) -> list[bytes]:
    """The events of one message. `stop=None` leaves its end out."""
    used = {"input_tokens": 11, "output_tokens": 7, **(usage or {})}
    begun: dict[str, Any] = {"id": "msg_1", "type": "message", "role": "assistant", "model": model, "content": []}
    begun |= {"stop_reason": None, "stop_sequence": None}
    events = [event({"type": "message_start", "message": {**begun, "usage": {**used, "output_tokens": 1}}}, "message_start")]
    events.append(event({"type": "ping"}, "ping"))
    for index, block in enumerate(blocks):
        start, deltas = _pieces(dict(block))
        events.append(event({"type": "content_block_start", "index": index, "content_block": start}, "content_block_start"))
        events += [event({"type": "content_block_delta", "index": index, "delta": d}, "content_block_delta") for d in deltas]
        events.append(event({"type": "content_block_stop", "index": index}, "content_block_stop"))
    if stop is not None:
        ended = {"stop_reason": stop, "stop_sequence": None, "stop_details": dict(details) if details else None}
        events.append(event({"type": "message_delta", "delta": ended, "usage": used}, "message_delta"))
        events.append(event({"type": "message_stop"}, "message_stop"))
    return events


def answer(words: str, **options: Any) -> Served:
    """A plain answer."""
    return Served(events=stream([text(words)], **options))


def error(status: int, kind: str, message: str = "as scripted", headers: Mapping[str, str] | None = None) -> Served:
    """An error, as the API words it."""
    return Served(status, {"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_1"}, dict(headers or {}))


def _pieces(block: dict[str, Any]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    match block["type"]:
        case "text":
            words, cited = block["text"], block.get("citations") or []
            half = len(words) // 2
            deltas = [{"type": "text_delta", "text": piece} for piece in (words[:half], words[half:]) if piece]
            deltas += [{"type": "citations_delta", "citation": one} for one in cited]
            return {"type": "text", "text": ""}, deltas
        case "tool_use":
            encoded = json.dumps(block["input"])
            deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in ("", encoded[:5], encoded[5:]) if piece is not None]
            return {**block, "input": {}}, deltas
        case "thinking":
            return {**block, "thinking": "", "signature": ""}, [
                {"type": "thinking_delta", "thinking": block["thinking"]},
                {"type": "signature_delta", "signature": block["signature"]},
            ]
        case _:
            return block, []
