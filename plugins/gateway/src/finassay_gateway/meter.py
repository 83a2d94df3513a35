"""Reads along in answers: tokens, whether the answer came to its end, and errors inside it. Changes nothing."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from attrs import evolve, frozen

from finassay.api.usage import Usage
from finassay_models_kit import Trouble

MAX_EVENT: Final = 16 * 2**20
MAX_WHOLE: Final = 64 * 2**20
_BOUNDARY: Final = re.compile(rb"\r\n\r\n|\n\n|\r\r|\n\r\n")
_SAYS_SOMETHING: Final = re.compile(rb'sage|rror|_stop|inish|Reason|grounding|"response\.(?:completed|incomplete|failed)|DONE')
"""What stands in every event that the meter wants. Most events are pieces of text and are not read at all."""
_STATUS_OF: Final = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "rate_limit_exceeded": 429,
    "insufficient_quota": 429,
    "timeout_error": 504,
    "overloaded_error": 529,
}


@frozen
class Told:
    """What an answer has told so far."""

    usage: Usage = Usage()
    cache_write_tokens: int | None = None
    searches: int | None = None
    ended: bool = False
    """The API's own mark of the end was there."""
    trouble: Trouble | None = None
    """An error inside an answer of status 200."""


class Events:
    """Takes a stream of server-sent events apart. Each event comes whole, with its end."""

    def __init__(self) -> None:
        self._held = bytearray()
        self._seen = 0

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Events that are complete now. One that is too long comes in pieces."""
        self._held += data
        while found := _BOUNDARY.search(self._held, self._seen):
            yield bytes(self._held[: found.end()])
            del self._held[: found.end()]
            self._seen = 0
        if len(self._held) > MAX_EVENT:
            yield self.rest()
        self._seen = max(0, len(self._held) - 3)

    def rest(self) -> bytes:
        """What is left over."""
        left = bytes(self._held)
        self._held.clear()
        self._seen = 0
        return left


def data_of(event: bytes) -> Any:
    """The JSON of an event; None where it has none. `[DONE]` is the text of that name."""
    lines = [line[5:].strip() for line in event.splitlines() if line.startswith(b"data:")]
    text = b"\n".join(lines)
    if text == b"[DONE]":
        return "[DONE]"
    try:
        return json.loads(text) if text else None
    except (ValueError, RecursionError):
        return None


class Meter:
    """Reads one answer. `api` is `messages`, `responses`, `chat` or `generate`; `events` whether it is a stream of events."""

    def __init__(self, api: str, events: bool) -> None:
        self.told = Told()
        self._read = _READERS[api]
        self._events = Events() if events else None
        self._whole = bytearray()
        self._too_long = False

    def feed(self, data: bytes) -> None:
        """The next bytes as they come, decoded."""
        if self._events is not None:
            for event in self._events.feed(data):
                self.event(event)
        elif len(self._whole) + len(data) > MAX_WHOLE:
            self._too_long = True
            self._whole.clear()
        elif not self._too_long:
            self._whole += data

    def event(self, event: bytes) -> None:
        """One event of a stream that somebody else takes apart."""
        if not _SAYS_SOMETHING.search(event):
            return
        value = data_of(event)
        if value == "[DONE]":
            self.told = evolve(self.told, ended=True)
        elif isinstance(value, dict):
            self.told = self._read(value, self.told)

    def finish(self) -> Told:
        """Everything, once the answer is over."""
        if self._events is not None:
            if rest := self._events.rest():
                self.event(rest)
            return self.told
        try:
            value = json.loads(bytes(self._whole)) if self._whole else None
        except (ValueError, RecursionError):
            value = None
        if self._too_long:
            self.told = evolve(self.told, ended=True)
        elif value is None:
            self.told = evolve(self.told, trouble=Trouble("unreadable"))
        for one in value if isinstance(value, list) else [value]:
            if isinstance(one, dict):
                self.told = self._read(one, self.told)
        if not isinstance(value, list) and value is not None:
            self.told = evolve(self.told, ended=True)  # one whole JSON value; a list (Gemini without events) may be cut
        self._whole.clear()
        return self.told


def _messages(value: Mapping[str, Any], told: Told) -> Told:
    kind = value.get("type")
    if kind == "error":
        return evolve(told, trouble=_trouble(value.get("error")))
    if kind == "message_stop":
        return evolve(told, ended=True)
    holder = value.get("message") if kind == "message_start" else value
    used = holder.get("usage") if isinstance(holder, dict) else None
    if not isinstance(used, dict):
        return told
    before = told.usage
    cached, written = _number(used, "cache_read_input_tokens"), _number(used, "cache_creation_input_tokens")
    fresh = _number(used, "input_tokens")
    details = used.get("output_tokens_details")
    tools = used.get("server_tool_use")
    if fresh is None:
        usage = before
    else:
        # The API counts what came from the cache, and what went into it, beside the rest; a later event repeats them all or leaves them out.
        cached = _first(cached, before.cached_tokens)
        written = _first(written, told.cache_write_tokens)
        usage = evolve(before, input_tokens=fresh + (cached or 0) + (written or 0), cached_tokens=cached)
    usage = evolve(
        usage,
        output_tokens=_first(_number(used, "output_tokens"), before.output_tokens),
        reasoning_tokens=_first(_number(details, "thinking_tokens"), before.reasoning_tokens),
    )
    return evolve(
        told,
        usage=usage,
        cache_write_tokens=_first(written, told.cache_write_tokens),
        searches=_first(_number(tools, "web_search_requests"), told.searches),
    )


def _responses(value: Mapping[str, Any], told: Told) -> Told:
    kind = str(value.get("type") or "")
    if kind == "error":
        return evolve(told, trouble=_trouble(value.get("error") if isinstance(value.get("error"), dict) else value))
    held = value.get("response")
    response = held if isinstance(held, dict) else value
    used = response.get("usage")
    if isinstance(used, dict) and "input_tokens" in used:
        into, out = used.get("input_tokens_details"), used.get("output_tokens_details")
        usage = Usage(
            input_tokens=_number(used, "input_tokens"),
            cached_tokens=_number(into, "cached_tokens"),
            output_tokens=_number(used, "output_tokens"),
            reasoning_tokens=_number(out, "reasoning_tokens"),
        )
        told = evolve(told, usage=usage, cache_write_tokens=_first(_number(into, "cache_write_tokens"), told.cache_write_tokens))
    output = response.get("output")
    if isinstance(output, list) and (kind.startswith("response.") or "usage" in response):
        searches = sum(isinstance(item, dict) and item.get("type") == "web_search_call" for item in output)
        told = evolve(told, searches=searches or told.searches)
    if response.get("status") == "failed" and isinstance(response.get("error"), dict):
        told = evolve(told, trouble=_trouble(response["error"]))
    return evolve(told, ended=True) if kind in ("response.completed", "response.incomplete", "response.failed") else told


def _chat(value: Mapping[str, Any], told: Told) -> Told:
    if isinstance(value.get("error"), dict):
        return evolve(told, trouble=_trouble(value["error"]))
    choices = [c for c in value.get("choices") or () if isinstance(c, dict)] if isinstance(value.get("choices"), list) else []
    found = [used for used in (value.get("usage"), *(c.get("usage") for c in choices)) if isinstance(used, dict)]  # Moonshot: in the choice
    for used in found[:1]:
        into, out = used.get("prompt_tokens_details"), used.get("completion_tokens_details")
        cached = _first(_number(into, "cached_tokens"), _number(used, "cached_tokens"), _number(used, "prompt_cache_hit_tokens"))
        usage = Usage(
            input_tokens=_number(used, "prompt_tokens"),
            cached_tokens=cached,
            output_tokens=_number(used, "completion_tokens"),
            reasoning_tokens=_number(out, "reasoning_tokens"),
        )
        told = evolve(told, usage=usage, cache_write_tokens=_first(_number(into, "cache_write_tokens"), told.cache_write_tokens))
    return evolve(told, ended=True) if any(c.get("finish_reason") for c in choices) else told


def _generate(value: Mapping[str, Any], told: Told) -> Told:
    if isinstance(value.get("error"), dict):
        return evolve(told, trouble=_trouble(value["error"]))
    used = value.get("usageMetadata")
    if isinstance(used, dict):
        prompt, tools = _number(used, "promptTokenCount"), _number(used, "toolUsePromptTokenCount")
        answer, thoughts = _number(used, "candidatesTokenCount"), _number(used, "thoughtsTokenCount")
        # The API counts thoughts beside the answer, and what tools brought beside the prompt.
        told = evolve(
            told,
            usage=Usage(
                input_tokens=None if prompt is None else prompt + (tools or 0),
                cached_tokens=_number(used, "cachedContentTokenCount"),
                output_tokens=None if answer is None and thoughts is None else (answer or 0) + (thoughts or 0),
                reasoning_tokens=thoughts,
            ),
        )
    candidates = [c for c in value.get("candidates") or () if isinstance(c, dict)] if isinstance(value.get("candidates"), list) else []
    grounding = [g for c in candidates if isinstance(g := c.get("groundingMetadata"), dict)]
    if searches := sum(len(q) for g in grounding if isinstance(q := g.get("webSearchQueries"), list)):
        told = evolve(told, searches=max(searches, told.searches or 0))
    feedback = value.get("promptFeedback")
    blocked = isinstance(feedback, dict) and feedback.get("blockReason")
    return evolve(told, ended=True) if blocked or any(c.get("finishReason") for c in candidates) else told


_READERS: Final = {"messages": _messages, "responses": _responses, "chat": _chat, "generate": _generate}


def trouble_in(status: int, body: bytes, headers: Mapping[str, str]) -> Trouble:
    """What an error's answer says."""
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        value = None
    value = value[0] if isinstance(value, list) and value else value
    held = value.get("error") if isinstance(value, dict) else None
    found = _trouble(held if isinstance(held, dict) else value)
    return evolve(found, status=status, headers=dict(headers))


def _trouble(value: Any) -> Trouble:
    """An error inside an answer, with the status that its type stands for."""
    held = value if isinstance(value, dict) else {}
    names = [str(n) for n in (held.get("code"), held.get("type"), held.get("status")) if isinstance(n, str) and n]
    number = held.get("code") if isinstance(held.get("code"), int) else None
    status = next((_STATUS_OF[n] for n in names if n in _STATUS_OF), number or 500)
    return Trouble("status", status, names[0] if names else "", str(held.get("message") or ""))


def _number(holder: Any, name: str) -> int | None:
    value = holder.get(name) if isinstance(holder, dict) else None
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def _first(*values: int | None) -> int | None:
    return next((value for value in values if value is not None), None)
