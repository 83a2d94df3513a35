"""The Anthropic Messages API."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from finassay_cli_kit.testing.request import Item, ModelRequest, Tool, spoken
from finassay_cli_kit.testing.steps import Reply, ToolUse
from finassay_cli_kit.testing.wires import Frame, as_list, as_object, frame, outline, pieces, texts

ERRORS = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    429: "rate_limit_error",
}
EMPTY: Mapping[str, Mapping[str, Any]] = {"text": {"text": ""}, "thinking": {"thinking": "", "signature": ""}, "tool_use": {"input": {}}}
"""What a block lacks when it begins."""


class Anthropic:
    """`POST /v1/messages`."""

    def read(self, path: str, body: Mapping[str, Any]) -> ModelRequest:
        items = [Item("system", text)] if (text := texts(body.get("system"))) else []
        for message in as_list(body.get("messages")):
            items += _items(as_object(message))
        return ModelRequest(
            "anthropic",
            str(body.get("model", "")),
            body.get("stream") is True,
            tuple(_tools(body)),
            tuple(items),
            body,
            conversation=_session(body),
        )

    def whole(self, reply: Reply) -> Mapping[str, Any]:
        blocks: list[dict[str, Any]] = [{"type": "text", "text": reply.text}] if reply.text else []
        if reply.thinking:
            blocks.insert(0, {"type": "thinking", "thinking": reply.thinking, "signature": "c2NyaXB0ZWQ="})
        blocks += [_use(use) for use in reply.uses]
        return {**_message(reply), "content": blocks, "stop_reason": _stop(reply), "usage": _usage(reply)}

    def frames(self, reply: Reply) -> Iterator[Frame]:
        def event(type: str, **data: Any) -> Frame:
            return frame({"type": type, **data}, type)

        start = {**_message(reply), "content": [], "stop_reason": None, "usage": {**_usage(reply), "output_tokens": 1}}
        yield event("message_start", message=start)
        yield event("ping")
        for index, block in enumerate(self.whole(reply)["content"]):
            empty = EMPTY[block["type"]]
            yield event("content_block_start", index=index, content_block={**block, **empty})
            for delta in _deltas(block):
                yield event("content_block_delta", index=index, delta=delta)
            yield event("content_block_stop", index=index)
        yield event("message_delta", delta={"stop_reason": _stop(reply), "stop_sequence": None}, usage=_usage(reply))
        yield event("message_stop")

    def error(self, code: int, message: str) -> Mapping[str, Any]:
        kind = ERRORS.get(code, "overloaded_error" if code == 529 else "api_error")
        return {"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_scripted"}


def _items(message: Mapping[str, Any]) -> list[Item]:
    role, content = message.get("role"), message.get("content")
    if isinstance(content, str) or role == "system":
        text = texts(content)
        return [Item("system", text)] if role == "system" else spoken("user" if role == "user" else "assistant", text)
    items: list[Item] = []
    for block in map(as_object, as_list(content)):
        match block.get("type"):
            case "tool_use":
                items.append(Item("assistant", outline(as_object(block.get("input")), str(block.get("name")))))
            case "tool_result":
                items.append(Item("result", texts(block.get("content"))))
            case "text":
                items += spoken("user" if role == "user" else "assistant", str(block.get("text", "")))
    return items


def _tools(body: Mapping[str, Any]) -> Iterator[Tool]:
    """Those that can be called: a deferred one only when a search has brought it."""
    messages = map(as_object, as_list(body.get("messages")))
    results = [as_object(block) for message in messages for block in as_list(message.get("content"))]
    brought = {as_object(part).get("tool_name") for result in results for part in as_list(result.get("content"))}
    for tool in map(as_object, as_list(body.get("tools"))):
        name = str(tool.get("name", ""))
        if not tool.get("defer_loading") or name in brought:
            yield Tool(name, as_object(tool.get("input_schema")), description=str(tool.get("description", "")))


def _session(body: Mapping[str, Any]) -> str:
    """Programs put a JSON object with their session's id into the user id."""
    user = str(as_object(body.get("metadata")).get("user_id", ""))
    try:
        return str(as_object(json.loads(user)).get("session_id", user))
    except ValueError:
        return user


def _message(reply: Reply) -> dict[str, Any]:
    return {"id": f"msg_{reply.id}", "type": "message", "role": "assistant", "model": reply.model, "stop_sequence": None}


def _use(use: ToolUse) -> dict[str, Any]:
    return {"type": "tool_use", "id": f"toolu_{use.id}", "name": use.name, "input": dict(use.arguments)}


def _stop(reply: Reply) -> str:
    return "tool_use" if reply.uses else "end_turn"


def _usage(reply: Reply) -> dict[str, int]:
    """Here the cached tokens are not among the input tokens."""
    count = reply.usage
    return {
        "input_tokens": count.input - count.cached,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": count.cached,
        "output_tokens": count.output,
    }


def _deltas(block: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    match block["type"]:
        case "text":
            yield from ({"type": "text_delta", "text": piece} for piece in pieces(block["text"]))
        case "thinking":
            yield from ({"type": "thinking_delta", "thinking": piece} for piece in pieces(block["thinking"]))
            yield {"type": "signature_delta", "signature": block["signature"]}
        case _:
            yield from ({"type": "input_json_delta", "partial_json": piece} for piece in pieces(json.dumps(block["input"])))
