"""The OpenAI Responses API, with function tools and tools that take free text."""

import json
from collections.abc import Iterator, Mapping
from itertools import count
from typing import Any

from finassay_cli_kit.testing.request import Item, ModelRequest, Tool, spoken
from finassay_cli_kit.testing.steps import Reply, ToolUse
from finassay_cli_kit.testing.wire_openai_chat import openai_error
from finassay_cli_kit.testing.wires import Frame, as_list, as_object, frame, outline, pieces, texts


class OpenAiResponses:
    """`POST /v1/responses`."""

    def read(self, path: str, body: Mapping[str, Any]) -> ModelRequest:
        tools = _tools(body.get("tools"))
        items = [Item("system", text)] if (text := texts(body.get("instructions"))) else []
        given = body.get("input")
        for item in [{"type": "message", "role": "user", "content": given}] if isinstance(given, str) else map(as_object, as_list(given)):
            if item.get("type") == "additional_tools":
                tools += _tools(item.get("tools"))
            else:
                items += _items(item)
        return ModelRequest(
            "openai-responses",
            str(body.get("model", "")),
            body.get("stream") is True,
            tuple(tools),
            tuple(items),
            body,
            conversation=str(body.get("prompt_cache_key") or body.get("user") or ""),
        )

    def whole(self, reply: Reply) -> Mapping[str, Any]:
        return _response(reply, "completed", list(_output(reply)))

    def frames(self, reply: Reply) -> Iterator[Frame]:
        number = count()

        def event(type: str, **data: Any) -> Frame:
            return frame({"type": type, "sequence_number": next(number), **data}, type)

        yield event("response.created", response=_response(reply, "in_progress", []))
        yield event("response.in_progress", response=_response(reply, "in_progress", []))
        for index, item in enumerate(_output(reply)):
            place = {"output_index": index, "item_id": item["id"]}
            yield event("response.output_item.added", output_index=index, item={**item, **_empty(item)})
            match item["type"]:
                case "message":
                    part = item["content"][0]
                    inside = {**place, "content_index": 0}
                    yield event("response.content_part.added", **inside, part={**part, "text": ""})
                    for piece in pieces(part["text"]):
                        yield event("response.output_text.delta", **inside, delta=piece, logprobs=[])
                    yield event("response.output_text.done", **inside, text=part["text"], logprobs=[])
                    yield event("response.content_part.done", **inside, part=part)
                case "reasoning":
                    inside = {**place, "summary_index": 0}
                    yield event("response.reasoning_summary_part.added", **inside, part={"type": "summary_text", "text": ""})
                    for piece in pieces(reply.thinking):
                        yield event("response.reasoning_summary_text.delta", **inside, delta=piece)
                    yield event("response.reasoning_summary_text.done", **inside, text=reply.thinking)
                case "function_call":
                    for piece in pieces(item["arguments"]):
                        yield event("response.function_call_arguments.delta", **place, delta=piece)
                    yield event("response.function_call_arguments.done", **place, name=item["name"], arguments=item["arguments"])
                case _:
                    for piece in pieces(item["input"]):
                        yield event("response.custom_tool_call_input.delta", **place, delta=piece)
                    yield event("response.custom_tool_call_input.done", **place, input=item["input"])
            yield event("response.output_item.done", output_index=index, item=item)
        yield event("response.completed", response=self.whole(reply))

    def error(self, code: int, message: str) -> Mapping[str, Any]:
        return openai_error(code, message)


def _items(item: Mapping[str, Any]) -> list[Item]:
    kind = str(item.get("type", "message"))
    if kind in ("function_call", "custom_tool_call"):
        return [Item("assistant", outline(str(item.get("arguments", item.get("input", ""))), str(item.get("name"))))]
    if kind.endswith("_output"):
        return [Item("result", texts(item.get("output")))]
    if kind != "message":
        return []
    if item.get("role") == "user":
        parts = item.get("content")
        return [said for part in ([parts] if isinstance(parts, str) else as_list(parts)) for said in spoken("user", texts(part))]
    return [Item("assistant" if item.get("role") == "assistant" else "system", texts(item.get("content")))]


def _tools(tools: Any, namespace: str = "") -> list[Tool]:
    found: list[Tool] = []
    for tool in map(as_object, as_list(tools)):
        name = str(tool.get("name") or tool.get("type"))
        if tool.get("type") == "namespace":
            found += _tools(tool.get("tools"), name)
        else:
            free = tool.get("type") == "custom"
            found.append(Tool(name, as_object(tool.get("parameters")), namespace, free, str(tool.get("description", ""))))
    return found


def _output(reply: Reply) -> Iterator[dict[str, Any]]:
    if reply.thinking:
        yield {"id": f"rs_{reply.id}", "type": "reasoning", "summary": [{"type": "summary_text", "text": reply.thinking}]}
    if reply.text or not reply.uses:
        part = {"type": "output_text", "text": reply.text, "annotations": [], "logprobs": []}
        yield {"id": f"msg_{reply.id}", "type": "message", "role": "assistant", "status": "completed", "content": [part]}
    yield from map(_call, reply.uses)


def _call(use: ToolUse) -> dict[str, Any]:
    call: dict[str, Any] = {"status": "completed", "call_id": f"call_{use.id}", "name": use.name}
    if use.namespace and use.namespace != "functions":
        call["namespace"] = use.namespace
    if use.text is not None:
        return {"id": f"ctc_{use.id}", "type": "custom_tool_call", **call, "input": use.text}
    return {"id": f"fc_{use.id}", "type": "function_call", **call, "arguments": json.dumps(dict(use.arguments))}


def _empty(item: Mapping[str, Any]) -> dict[str, Any]:
    """What an item lacks when it begins."""
    field = {"message": "content", "reasoning": "summary", "function_call": "arguments"}.get(item["type"], "input")
    return {field: [] if field in ("content", "summary") else "", "status": "in_progress"}


def _response(reply: Reply, status: str, output: list[dict[str, Any]]) -> dict[str, Any]:
    done = status == "completed"
    return {
        "id": f"resp_{reply.id}",
        "object": "response",
        "created_at": 0,
        "status": status,
        "error": None,
        "incomplete_details": None,
        "instructions": None,
        "metadata": {},
        "model": reply.model,
        "output": output,
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "usage": _usage(reply) if done else None,
    }


def _usage(reply: Reply) -> dict[str, Any]:
    used = reply.usage
    return {
        "input_tokens": used.input,
        "input_tokens_details": {"cached_tokens": used.cached, "cache_write_tokens": 0},
        "output_tokens": used.output,
        "output_tokens_details": {"reasoning_tokens": used.reasoning},
        "total_tokens": used.input + used.output,
    }
