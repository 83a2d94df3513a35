"""The Gemini API's `generateContent`."""

import re
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import unquote

from finassay_cli_kit.testing.request import Item, ModelRequest, Tool, spoken
from finassay_cli_kit.testing.steps import Reply, ToolUse
from finassay_cli_kit.testing.wires import Frame, as_list, as_object, frame, outline, pieces, texts

STATUSES = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED",
    503: "UNAVAILABLE",
}


class Google:
    """`POST /v1beta/models/MODEL:generateContent` and `:streamGenerateContent`."""

    def read(self, path: str, body: Mapping[str, Any]) -> ModelRequest:
        model, _, method = unquote(path.partition("?")[0]).rpartition("/models/")[2].partition(":")
        items = [Item("system", text)] if (text := texts(as_object(_field(body, "systemInstruction")).get("parts"))) else []
        for content in map(as_object, as_list(body.get("contents"))):
            items += _items(content)
        declared = [as_object(d) for t in as_list(body.get("tools")) for d in as_list(_field(as_object(t), "functionDeclarations"))]
        return ModelRequest("google", model, method.startswith("stream"), tuple(map(_tool, declared)), tuple(items), body)

    def whole(self, reply: Reply) -> Mapping[str, Any]:
        parts = [{"text": reply.thinking, "thought": True}] if reply.thinking else []
        parts += [{"text": reply.text}] if reply.text or not reply.uses else []
        return _chunk(reply, [*parts, *map(_call, reply.uses)], last=True)

    def frames(self, reply: Reply) -> Iterator[Frame]:
        for piece in pieces(reply.thinking):
            yield frame(_chunk(reply, [{"text": piece, "thought": True}]))
        for piece in pieces(reply.text):
            yield frame(_chunk(reply, [{"text": piece}]))
        yield frame(_chunk(reply, [*map(_call, reply.uses)] or [{"text": ""}], last=True))

    def error(self, code: int, message: str) -> Mapping[str, Any]:
        return {"error": {"code": code, "message": message, "status": STATUSES.get(code, "INTERNAL")}}


def _field(data: Mapping[str, Any], name: str) -> Any:
    """This API takes its names in both spellings."""
    return data.get(name, data.get(re.sub("([A-Z])", r"_\1", name).lower()))


def _items(content: Mapping[str, Any]) -> list[Item]:
    items: list[Item] = []
    for part in map(as_object, as_list(content.get("parts"))):
        if called := as_object(_field(part, "functionCall")):
            items.append(Item("assistant", outline(as_object(called.get("args")), str(called.get("name")))))
        elif result := as_object(_field(part, "functionResponse")):
            answer = as_object(result.get("response"))
            items.append(Item("result", texts(answer.get("output") or answer.get("result") or answer.get("error")) or str(dict(answer))))
        elif (text := part.get("text")) and not part.get("thought"):
            items += [Item("assistant", str(text))] if content.get("role") == "model" else spoken("user", str(text))
    return items


def _tool(declared: Mapping[str, Any]) -> Tool:
    schema = as_object(_field(declared, "parametersJsonSchema")) or as_object(_field(declared, "parameters"))
    return Tool(str(declared.get("name", "")), schema, description=str(declared.get("description", "")))


def _call(use: ToolUse) -> dict[str, Any]:
    return {"functionCall": {"id": use.id, "name": use.name, "args": dict(use.arguments)}, "thoughtSignature": "c2NyaXB0ZWQ="}


def _chunk(reply: Reply, parts: list[dict[str, Any]], last: bool = False) -> dict[str, Any]:
    candidate: dict[str, Any] = {"content": {"role": "model", "parts": parts}, "index": 0}
    chunk: dict[str, Any] = {"candidates": [candidate], "modelVersion": reply.model, "responseId": reply.id}
    if last:
        candidate["finishReason"] = "STOP"
        chunk["usageMetadata"] = _usage(reply)
    return chunk


def _usage(reply: Reply) -> dict[str, int]:
    """Here the reasoning tokens are not among the candidates' tokens."""
    used = reply.usage
    return {
        "promptTokenCount": used.input,
        "cachedContentTokenCount": used.cached,
        "candidatesTokenCount": used.output - used.reasoning,
        "thoughtsTokenCount": used.reasoning,
        "totalTokenCount": used.input + used.output,
    }
