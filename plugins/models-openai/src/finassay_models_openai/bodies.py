"""Answers in another shape than was asked for: a whole answer where a stream was asked, a stream where a whole answer was.

Endpoints that speak as OpenAI does differ in this, and proxies before them. What the body is decides, not what its header says.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

_EVENTS: Final = ("data:", "event:", "id:", "retry:", ":")


class OtherBodyError(Exception):
    """A body that is neither; the message says what it seems to be."""


def is_stream(body: str) -> bool:
    """Whether a body is server-sent events."""
    return body.lstrip("\ufeff\r\n ").startswith(_EVENTS)


def whole(body: str, kind: str) -> dict[str, Any]:
    """The JSON object of a whole answer; `kind` is its content type, for the message. Raises `OtherBodyError`."""
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        told = kind.partition(";")[0].strip()[:60] or "something"
        raise OtherBodyError(f"neither an answer nor a stream ({told})" if body.strip() else "an empty answer")
    return found


def events(body: str) -> Iterator[Mapping[str, Any]]:
    """The data of a body of server-sent events, until its end mark. Raises `OtherBodyError`."""
    for block in body.replace("\r\n", "\n").replace("\r", "\n").split("\n\n"):
        data = "\n".join(line[5:].removeprefix(" ") for line in block.split("\n") if line.startswith("data:"))
        if data.strip() == "[DONE]":
            return
        if data.strip():
            try:
                found = json.loads(data)
            except (ValueError, RecursionError) as error:
                raise OtherBodyError("a stream with an event that is no JSON") from error
            if isinstance(found, Mapping):
                yield found
