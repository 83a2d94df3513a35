"""Requests as files that a person and a program can read, answers as files that either can write."""

import json
import os
import secrets
import stat
import unicodedata
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from attrs import asdict, frozen

from finassay.api.model import ChatReply, ChatRequest, Citation, Finish, ToolCall
from finassay.api.usage import Usage
from finassay.api.verdict import Json

MAX_ANSWER: Final = 4 * 2**20
_FINISHES: Final[tuple[Finish, ...]] = ("stop", "length", "tool", "refusal", "empty")
_FIELDS: Final = {"text", "value", "tool_calls", "citations", "finish", "usage", "model", "error", "retry"}
_UNSEEN: Final = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
_RULE: Final = "-" * 60


class UnreadableAnswerError(Exception):
    """An answer's file is there, whole, and no answer."""


@frozen
class Declined:
    """An answer that is none."""

    why: str
    retry: bool


def write_whole(path: Path, text: str) -> None:
    """Write a file so that nobody ever sees half of it; readable by the owner alone, because prompts hold the belief."""
    scratch = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    descriptor = os.open(scratch, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
            stream.write(text)
        os.replace(scratch, path)
    except BaseException:
        scratch.unlink(missing_ok=True)
        raise


def as_json(number: str, model: str, digest: str, request: ChatRequest) -> str:
    """The request for a program."""
    asked: dict[str, Any] = asdict(request)
    return json.dumps({"id": number, "model": model, "digest": digest, "request": asked}, indent=1, ensure_ascii=False, default=str) + "\n"


def quoted(text: str) -> list[str]:
    """A text, line by line, so that nothing in it can pass for a part of the page or speak to a terminal: agents write what stands here."""
    shown = "".join(c if c in "\n\t" or unicodedata.category(c) not in _UNSEEN else f"\\u{ord(c):04x}" for c in text)
    return [f"| {line}" for line in shown.split("\n")]


def as_page(number: str, model: str, request: ChatRequest, answers: Path) -> str:
    """The request for a person."""
    lines = [f"Request {number} to {model}" + (f", asked by the {request.role}" if request.role else ""), ""]
    for message in request.messages:
        lines += [
            f"{_RULE}",
            f"{message.role.upper()}" + (f" (result of {message.tool_call_id})" if message.tool_call_id else ""),
            _RULE,
            "",
        ]
        lines += [*quoted(message.text), ""]
        lines += [f"[calls {c.name} as {c.id}: {json.dumps(dict(c.arguments), ensure_ascii=False)}]" for c in message.tool_calls]
    for tool in request.tools:
        lines += [_RULE, f"TOOL {tool.name}: {tool.description}", json.dumps(dict(tool.schema), ensure_ascii=False, indent=1), ""]
    if request.search is not None:
        lines += [_RULE, "You may search the web; name what you found as citations.", ""]
    if request.schema is not None:
        lines += [
            _RULE,
            "THE ANSWER IS ONE JSON OBJECT that is valid under this schema:",
            "",
            json.dumps(request.schema, indent=1, ensure_ascii=False),
            "",
        ]
    lines += [_RULE, "HOW TO ANSWER", _RULE, "", f"Write your answer, and nothing else, into the file {answers / number}.txt"]
    lines += [f"or, to call tools or cite sources, as JSON into {answers / number}.json: see the README of finassay-models-mailbox."]
    lines += ["An answer is taken once its file has been left alone for a moment.", ""]
    return "\n".join(lines)


def read_answer(path: Path, request: ChatRequest, model: str) -> ChatReply | Declined:
    """The answer in a file. Raises `UnreadableAnswerError` saying what is wrong, `OSError`."""
    text = _contents(path)
    if path.suffix != ".json":
        return ChatReply(text.strip("\n"), "stop" if text.strip() else "empty", model)
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UnreadableAnswerError(f"it is no JSON: {error}") from None
    if not isinstance(data, dict):
        raise UnreadableAnswerError("it is no JSON object")
    if request.schema is not None and not (_FIELDS & set(data)):
        return ChatReply(text.strip(), "stop", model, value=data)  # the value itself, without a wrapper
    return _wrapped(data, model)


def _contents(path: Path) -> str:
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    with os.fdopen(descriptor, "rb") as stream:
        status = os.fstat(stream.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise UnreadableAnswerError("it is no regular file")
        data = stream.read(MAX_ANSWER + 1)
    if len(data) > MAX_ANSWER:
        raise UnreadableAnswerError(f"it is larger than {MAX_ANSWER} bytes")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise UnreadableAnswerError("it is not in UTF-8") from None


def _wrapped(data: Mapping[str, Any], model: str) -> ChatReply | Declined:
    unknown = sorted(set(data) - _FIELDS)
    if unknown:
        raise UnreadableAnswerError(f"unknown field {unknown[0]!r}; known are {', '.join(sorted(_FIELDS))}")
    if "error" in data:
        return Declined(str(data["error"])[:300], bool(data.get("retry", False)))
    text = data.get("text", "")
    if not isinstance(text, str):
        raise UnreadableAnswerError("text must be a string")
    calls = tuple(_call(number, entry) for number, entry in enumerate(_list(data, "tool_calls"), 1))
    citations = tuple(_citation(entry) for entry in _list(data, "citations"))
    value: Json = data.get("value")
    told = data.get("finish")
    if told is not None and told not in _FINISHES:
        raise UnreadableAnswerError(f"finish must be one of {', '.join(_FINISHES)}")
    finish: Finish = told or ("tool" if calls else "stop" if text.strip() or value is not None else "empty")
    return ChatReply(text, finish, str(data.get("model") or model), value, calls, citations, _usage(data.get("usage")))


def _list(data: Mapping[str, Any], name: str) -> list[dict[str, Any]]:
    entries = data.get(name, [])
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise UnreadableAnswerError(f"{name} must be a list of objects")
    return entries


def _call(number: int, entry: Mapping[str, Any]) -> ToolCall:
    arguments = entry.get("arguments", {})
    if not isinstance(entry.get("name"), str) or not isinstance(arguments, dict):
        raise UnreadableAnswerError("a tool call needs a name, and arguments that are an object")
    return ToolCall(str(entry.get("id") or f"call-{number}"), entry["name"], arguments)


def _citation(entry: Mapping[str, Any]) -> Citation:
    if not isinstance(entry.get("url"), str):
        raise UnreadableAnswerError("a citation needs a url")
    return Citation(entry["url"], str(entry.get("title") or ""), str(entry.get("quote") or ""))


def _usage(told: Any) -> Usage:
    if told is None:
        return Usage()
    names = ("input_tokens", "cached_tokens", "output_tokens", "reasoning_tokens", "cost_usd")
    if not isinstance(told, dict) or not set(told) <= set(names):
        raise UnreadableAnswerError(f"usage may hold {', '.join(names)}")
    numbers = {name: value for name, value in told.items() if value is not None}
    if not all(isinstance(v, int | float) and not isinstance(v, bool) and v >= 0 for v in numbers.values()):
        raise UnreadableAnswerError("usage holds numbers that are not negative")
    return Usage(**numbers)
