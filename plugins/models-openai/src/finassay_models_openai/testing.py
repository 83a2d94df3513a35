"""Answers in the wire formats of the Responses API and of Chat Completions, for loopback servers in tests."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from finassay_models_kit.testing import Served, event


def message(words: str, *, annotations: Sequence[Mapping[str, Any]] = (), refusal: str = "", **more: Any) -> dict[str, Any]:
    """A message among the output of a response."""
    text = {"type": "output_text", "text": words, "annotations": list(annotations)}
    content: list[dict[str, Any]] = [text] if not refusal else [{"type": "refusal", "refusal": refusal}]
    return {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": content, **more}


def function_call(name: str, arguments: Mapping[str, Any] | str, id: str = "call_1") -> dict[str, Any]:
    """A call of a function among the output of a response."""
    encoded = arguments if isinstance(arguments, str) else json.dumps(arguments)
    return {"type": "function_call", "id": f"fc_{id}", "call_id": id, "name": name, "arguments": encoded, "status": "completed"}


def response(output: Sequence[Mapping[str, Any]], **more: Any) -> dict[str, Any]:
    """A finished response."""
    details = {"input_tokens_details": {"cached_tokens": 4, "cache_write_tokens": 2}, "output_tokens_details": {"reasoning_tokens": 3}}
    made: dict[str, Any] = {"id": "resp_1", "object": "response", "created_at": 1.0, "model": "gpt-test-1", "status": "completed"}
    made |= {
        "output": list(output),
        "error": None,
        "incomplete_details": None,
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
    }
    made["usage"] = {"input_tokens": 11, "output_tokens": 7, "total_tokens": 18, **details}
    return made | more


def stream(made: Mapping[str, Any]) -> list[bytes]:
    """The events of one response."""
    status = made["status"]
    begun = {**made, "status": "in_progress", "output": [], "usage": None, "error": None}
    events = [event({"type": "response.created", "sequence_number": 0, "response": begun}, "response.created")]
    for index, item in enumerate(made["output"]):
        added = {"type": "response.output_item.added", "output_index": index, "item": item, "sequence_number": 1}
        done = {"type": "response.output_item.done", "output_index": index, "item": item, "sequence_number": 2}
        events += [event(added, "response.output_item.added"), event(done, "response.output_item.done")]
    kind = f"response.{status}"
    return [*events, event({"type": kind, "sequence_number": 3, "response": dict(made)}, kind)]


def answer(words: str, **more: Any) -> Served:
    """A plain answer of the Responses API."""
    return Served(events=stream(response([message(words)] if words else [], **more)))


def completion(words: str | None, *, finish: str = "stop", calls: Sequence[Mapping[str, Any]] = (), **more: Any) -> dict[str, Any]:
    """A completion; `more` stands in its message."""
    said: dict[str, Any] = {"role": "assistant", "content": words, "refusal": None, **more}
    if calls:
        said["tool_calls"] = list(calls)
    used = {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18, "prompt_tokens_details": {"cached_tokens": 4}}
    made: dict[str, Any] = {"id": "cc_1", "object": "chat.completion", "created": 1, "model": "kimi-test-1"}
    return made | {"choices": [{"index": 0, "finish_reason": finish, "message": said, "logprobs": None}], "usage": used}


def called(name: str, arguments: Mapping[str, Any] | str, id: str = "call_1") -> dict[str, Any]:
    """A call in a completion."""
    encoded = arguments if isinstance(arguments, str) else json.dumps(arguments)
    return {"id": id, "type": "function", "function": {"name": name, "arguments": encoded}}


def chunks(made: Mapping[str, Any]) -> list[bytes]:
    """A completion as a stream: every text in two halves, the usage last, then the end mark."""
    choice = made["choices"][0]
    said = choice["message"]
    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": ""}]
    for name in ("reasoning_content", "reasoning", "content", "refusal"):
        words = said.get(name) or ""
        deltas += [{name: piece} for piece in (words[: len(words) // 2], words[len(words) // 2 :]) if piece]
    for index, call in enumerate(said.get("tool_calls") or ()):
        arguments = call["function"]["arguments"]
        deltas.append(
            {"tool_calls": [{"index": index, **call, "function": {"name": call["function"]["name"], "arguments": arguments[:3]}}]}
        )
        deltas.append({"tool_calls": [{"index": index, "function": {"arguments": arguments[3:]}}]})
    base = {"id": made["id"], "object": "chat.completion.chunk", "created": 1, "model": made["model"]}
    events = [event({**base, "choices": [{"index": 0, "delta": d, "finish_reason": None}]}) for d in deltas]
    events.append(event({**base, "choices": [{"index": 0, "delta": {}, "finish_reason": choice["finish_reason"]}]}))
    events.append(event({**base, "choices": [], "usage": made["usage"]}))
    return [*events, event("[DONE]")]


def error(status: int, code: str | None, message: str = "as scripted", headers: Mapping[str, str] | None = None) -> Served:
    """An error, as both APIs word it."""
    return Served(status, {"error": {"message": message, "type": "scripted_error", "param": None, "code": code}}, dict(headers or {}))
