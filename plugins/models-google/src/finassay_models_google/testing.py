"""Answers in the wire format of the Gemini API, for loopback servers in tests."""

from collections.abc import Mapping, Sequence
from typing import Any

from finassay_models_kit.testing import Served, event


def stream(
    parts: Sequence[Mapping[str, Any]], *, finish: str | None = "STOP", usage: Mapping[str, Any] | None = None, **more: Any
) -> list[bytes]:
    """The events of one answer, a part each; the last one holds its end and whatever `more` stands in the candidate."""
    base = {"modelVersion": "gemini-test-1", "responseId": "resp-1"}
    used = {"promptTokenCount": 11, "candidatesTokenCount": 7, "totalTokenCount": 18, **(usage or {})}
    events = [event({**base, "candidates": [{"content": {"role": "model", "parts": [p]}, "index": 0}]}) for p in parts]
    last: dict[str, Any] = {"content": {"role": "model", "parts": []}, "index": 0, **more}
    if finish is not None:
        last["finishReason"] = finish
    return [*events, event({**base, "candidates": [last], "usageMetadata": used})]


def answer(words: str, **more: Any) -> Served:
    """A plain answer, in two halves."""
    half = len(words) // 2
    return Served(events=stream([{"text": piece} for piece in (words[:half], words[half:]) if piece], **more))


def call(name: str, arguments: Mapping[str, Any], id: str | None = None, signature: str | None = None) -> dict[str, Any]:
    """A part that calls a function."""
    called: dict[str, Any] = {"name": name, "args": dict(arguments), **({"id": id} if id else {})}
    return {"functionCall": called, **({"thoughtSignature": signature} if signature else {})}


def error(
    status: int, name: str, message: str = "as scripted", headers: Mapping[str, str] | None = None, details: Sequence[Any] = ()
) -> Served:
    """An error, as the API words it."""
    return Served(status, {"error": {"code": status, "message": message, "status": name, "details": list(details)}}, dict(headers or {}))
