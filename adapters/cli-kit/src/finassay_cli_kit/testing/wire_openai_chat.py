"""The OpenAI chat completions API, as many providers speak it."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from finassay_cli_kit.testing.request import Item, ModelRequest, Tool, spoken
from finassay_cli_kit.testing.steps import Reply, ToolUse
from finassay_cli_kit.testing.wires import Frame, as_list, as_object, frame, outline, pieces, texts

ERRORS = {401: "invalid_api_key", 404: "model_not_found", 429: "rate_limit_exceeded"}


def openai_error(code: int, message: str) -> Mapping[str, Any]:
    """The error body of both OpenAI APIs."""
    kind = "invalid_request_error" if code < 429 else "requests" if code == 429 else "server_error"
    return {"error": {"message": message, "type": kind, "param": None, "code": ERRORS.get(code)}}


class OpenAiChat:
    """`POST /v1/chat/completions`."""

    def read(self, path: str, body: Mapping[str, Any]) -> ModelRequest:
        items: list[Item] = []
        for message in map(as_object, as_list(body.get("messages"))):
            items += _items(message)
        return ModelRequest(
            "openai-chat",
            str(body.get("model", "")),
            body.get("stream") is True,
            tuple(_tool(as_object(as_object(tool).get("function"))) for tool in as_list(body.get("tools"))),
            tuple(items),
            body,
            conversation=str(body.get("prompt_cache_key") or body.get("user") or ""),
        )

    def whole(self, reply: Reply) -> Mapping[str, Any]:
        message: dict[str, Any] = {"role": "assistant", "content": reply.text or None}
        if reply.thinking:
            message["reasoning_content"] = reply.thinking
        if reply.uses:
            message["tool_calls"] = [_call(use) for use in reply.uses]
        choice = {"index": 0, "message": message, "finish_reason": _finish(reply), "logprobs": None}
        return {**_head(reply, "chat.completion"), "choices": [choice], "usage": _usage(reply)}

    def frames(self, reply: Reply) -> Iterator[Frame]:
        def chunk(delta: Mapping[str, Any], finish: str | None = None) -> Frame:
            choice = {"index": 0, "delta": delta, "finish_reason": finish, "logprobs": None}
            return frame({**_head(reply, "chat.completion.chunk"), "choices": [choice]})

        yield chunk({"role": "assistant", "content": ""})
        for piece in pieces(reply.thinking):
            yield chunk({"reasoning_content": piece})
        for piece in pieces(reply.text):
            yield chunk({"content": piece})
        for index, use in enumerate(reply.uses):
            call = _call(use)
            yield chunk({"tool_calls": [{"index": index, **call, "function": {"name": use.name, "arguments": ""}}]})
            for piece in pieces(call["function"]["arguments"]):
                yield chunk({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})
        yield chunk({}, _finish(reply))
        yield frame({**_head(reply, "chat.completion.chunk"), "choices": [], "usage": _usage(reply)})
        yield frame("[DONE]")

    def error(self, code: int, message: str) -> Mapping[str, Any]:
        return openai_error(code, message)


def _items(message: Mapping[str, Any]) -> list[Item]:
    text = texts(message.get("content"))
    match message.get("role"):
        case "assistant":
            calls = [as_object(as_object(call).get("function")) for call in as_list(message.get("tool_calls"))]
            said = [Item("assistant", text)] if text or not calls else []
            return [*said, *(Item("assistant", outline(str(call.get("arguments", "")), str(call.get("name")))) for call in calls)]
        case "tool":
            return [Item("result", text)]
        case "user":
            return spoken("user", text)
        case _:
            return [Item("system", text)]


def _tool(function: Mapping[str, Any]) -> Tool:
    return Tool(str(function.get("name", "")), as_object(function.get("parameters")), description=str(function.get("description", "")))


def _head(reply: Reply, kind: str) -> dict[str, Any]:
    return {"id": f"chatcmpl-{reply.id}", "object": kind, "created": 0, "model": reply.model}


def _call(use: ToolUse) -> dict[str, Any]:
    return {"id": f"call_{use.id}", "type": "function", "function": {"name": use.name, "arguments": json.dumps(dict(use.arguments))}}


def _finish(reply: Reply) -> str:
    return "tool_calls" if reply.uses else "stop"


def _usage(reply: Reply) -> dict[str, Any]:
    count = reply.usage
    return {
        "prompt_tokens": count.input,
        "completion_tokens": count.output,
        "total_tokens": count.input + count.output,
        "prompt_tokens_details": {"cached_tokens": count.cached},
        "completion_tokens_details": {"reasoning_tokens": count.reasoning},
    }
