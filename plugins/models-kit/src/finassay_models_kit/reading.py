"""Turning what a vendor answers into the words of the contract."""

import json
from collections.abc import Sequence

from finassay.api.model import ChatMessage, Finish, ToolCall
from finassay.api.verdict import Json


def system_text(messages: Sequence[ChatMessage]) -> str:
    """The system messages as one text, for vendors that take it apart from the conversation."""
    return "\n\n".join(message.text for message in messages if message.role == "system" and message.text.strip())


def settled(finish: Finish, text: str, calls: Sequence[ToolCall]) -> Finish:
    """A normal end, told apart: calls, nothing at all, or a text. Any other end stays what it is."""
    if finish != "stop":
        return finish
    if calls:
        return "tool"
    return "stop" if text.strip() else "empty"


def value_in(text: str) -> Json:
    """The JSON value that a text is, None where it is none. Numbers that JSON does not know (NaN) make it none."""
    try:
        value: Json = json.loads(text, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        return None
    return value


def arguments_in(text: str) -> dict[str, Json] | None:
    """A tool call's arguments from their text, None where they are no JSON object. An empty text is a call without arguments."""
    value = value_in(text) if text.strip() else {}
    return value if isinstance(value, dict) else None


def _no_constant(name: str) -> Json:
    raise ValueError(name)
