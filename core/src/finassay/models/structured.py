"""A value that fits its schema, whatever the provider offers: its own structured output, or JSON out of the text, with one repair."""

import json
from collections.abc import Mapping
from typing import Any, Final

from attrs import evolve, frozen

from finassay.api.model import ChatMessage, ChatModel, ChatReply, ChatRequest
from finassay.api.usage import Usage
from finassay.api.verdict import Json

MAX_TEXT: Final = 2_000_000
MAX_STARTS: Final = 50
"""Places in a text at which a JSON object is looked for."""
MAX_PROBLEMS: Final = 5
UNREPAIRED: Final = frozenset({"refusal", "length"})
"""A refusal is an answer; what was cut for its length would be cut again."""


@frozen
class Structured:
    """A model whose replies to requests with a schema hold a value that fits it, or finish as `invalid`.

    A model that does not hold to schemas by itself is told the schema in words. A reply without a fitting value is asked for once more,
    with what was wrong; both calls stand in the usage.
    """

    model: ChatModel

    def complete(self, request: ChatRequest) -> ChatReply:
        """Raises what the model raises."""
        if request.schema is None:
            return self.model.complete(request)
        sent = request if self.model.capabilities.structured else evolve(request, messages=_told(request))
        reply = self.model.complete(sent)
        value, problems = _fitting(reply, request.schema)
        if not problems:
            return evolve(reply, value=value)
        if reply.finish in UNREPAIRED or reply.tool_calls:
            return evolve(reply, value=None)
        again = self.model.complete(evolve(sent, messages=(*sent.messages, *_complaint(reply, problems))))
        value, problems = _fitting(again, request.schema)
        finish = again.finish if not problems or again.finish in UNREPAIRED else "invalid"
        meta: dict[str, Json] = {**again.meta, "repaired": not problems}
        if problems:
            meta["problems"] = problems
        return evolve(again, value=None if problems else value, finish=finish, usage=added(reply.usage, again.usage), meta=meta)


def _told(request: ChatRequest) -> tuple[ChatMessage, ...]:
    """The messages with the schema in words at the end of the system's message; one is made where there is none."""
    schema = json.dumps(request.schema, ensure_ascii=False, sort_keys=True)
    words = f"Reply with one JSON object that fits this JSON Schema, and with nothing before or after it:\n{schema}"
    first, *rest = request.messages
    if first.role == "system":
        return (evolve(first, text=f"{first.text}\n\n{words}"), *rest)
    return (ChatMessage("system", words), first, *rest)


def _complaint(reply: ChatReply, problems: list[str]) -> tuple[ChatMessage, ...]:
    wrong = "\n".join(f"- {problem}" for problem in problems)
    said = reply.text or (json.dumps(reply.value, ensure_ascii=False) if reply.value is not None else "(nothing)")
    return (
        ChatMessage("assistant", said),
        ChatMessage(
            "user", f"That is not what was asked for:\n{wrong}\nReply again with one JSON object that fits the schema, and nothing else."
        ),
    )


def _fitting(reply: ChatReply, schema: Mapping[str, Json]) -> tuple[Json, list[str]]:
    """The value and nothing, or what is wrong with every candidate's best."""
    candidates = [reply.value] if reply.value is not None else objects_in(reply.text)
    if not candidates:
        return None, ["there is no JSON object in the reply"]
    first: list[str] = []
    for candidate in candidates:
        problems = misfits(candidate, schema)
        if not problems:
            return candidate, []
        first = first or problems
    return None, first


def objects_in(text: str) -> list[Json]:
    """JSON objects in a text, the outermost of each, in the order of their beginnings: alone, fenced, or between words."""
    decoder = json.JSONDecoder(parse_constant=_no_constant)
    found: list[Json] = []
    text, position = text[:MAX_TEXT], 0
    for _ in range(MAX_STARTS):
        position = text.find("{", position)
        if position < 0:
            break
        try:
            value, position = decoder.raw_decode(text, position)
            found.append(value)
        except (ValueError, RecursionError):
            position += 1
    return found


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")


def misfits(value: Json, schema: Mapping[str, Json]) -> list[str]:
    """What is wrong with a value, a line each, at most a few; references to other documents are not followed."""
    from jsonschema.validators import validator_for
    from referencing import Registry

    validator = validator_for(schema)(schema, registry=Registry())
    found = []
    for error in validator.iter_errors(value):
        where = "".join(f"[{p}]" if isinstance(p, int) else f".{p}" for p in error.absolute_path).lstrip(".")
        found.append(f"{where or 'the object'}: {error.message[:300]}")
        if len(found) == MAX_PROBLEMS:
            break
    return found


def added(first: Usage, second: Usage) -> Usage:
    """The sum of two calls; what one of them does not know is not known of both."""

    def both(name: str) -> Any:
        a, b = getattr(first, name), getattr(second, name)
        return None if a is None or b is None else a + b

    return Usage(*(both(name) for name in ("input_tokens", "cached_tokens", "output_tokens", "reasoning_tokens", "cost_usd")))
