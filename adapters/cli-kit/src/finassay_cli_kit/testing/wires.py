"""What every model API has in common here."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol

from finassay_cli_kit.testing.request import ModelRequest
from finassay_cli_kit.testing.steps import Reply

Frame = bytes
"""One server-sent event, whole."""


class WireFormat(Protocol):
    """One model API: how its requests are read, and how replies and errors are written in it."""

    def read(self, path: str, body: Mapping[str, Any]) -> ModelRequest: ...

    def whole(self, reply: Reply) -> Mapping[str, Any]:
        """The reply as one JSON object."""
        ...

    def frames(self, reply: Reply) -> Iterator[Frame]:
        """The reply as a stream of events."""
        ...

    def error(self, code: int, message: str) -> Mapping[str, Any]: ...


def frame(data: Mapping[str, Any] | str, event: str = "") -> Frame:
    """One server-sent event."""
    text = data if isinstance(data, str) else json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    return (f"event: {event}\n" if event else "").encode() + f"data: {text}\n\n".encode()


def pieces(text: str) -> Iterator[str]:
    """A text in the pieces in which it is streamed: about eight, of 12 to 16,384 characters."""
    size = min(max(len(text) // 8, 12), 16_384)
    return (text[n : n + size] for n in range(0, len(text), size))


def texts(content: Any, key: str = "text") -> str:
    """The text of a content that is a string, or a list of parts some of which have text."""
    if isinstance(content, str):
        return content
    if isinstance(content, Mapping):
        return texts(content.get(key) or content.get("content") or "")
    if isinstance(content, Sequence):
        return "\n".join(t for part in content if (t := texts(part, key)))
    return ""


def as_object(value: Any) -> Mapping[str, Any]:
    """`value` if it is a JSON object, else an empty one."""
    return value if isinstance(value, Mapping) else {}


def as_list(value: Any) -> Sequence[Any]:
    """`value` if it is a JSON list, else an empty one."""
    return value if isinstance(value, list) else ()


def outline(arguments: Mapping[str, Any] | str, name: str) -> str:
    """A tool call in a history, as a text that tests can look at."""
    return f"{name}({arguments if isinstance(arguments, str) else json.dumps(dict(arguments), ensure_ascii=False)})"
