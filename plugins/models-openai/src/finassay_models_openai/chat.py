"""Between the contract's words and those of Chat Completions, as OpenAI and many others speak it."""

import json
import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final

from attrs import define, field

from finassay.api.model import ChatMessage, ChatReply, ChatRequest, Citation, Finish, ToolCall
from finassay.api.usage import Usage
from finassay.api.verdict import Json
from finassay_models_kit import settled, value_in
from finassay_models_kit.reading import arguments_in
from finassay_models_kit.schemas import without_added_nulls
from finassay_models_openai.responses import held, written_to_cache

if TYPE_CHECKING:
    from finassay_models_openai.options import OpenAIOptions

_LONG: Final = 8192
"""Above so many output tokens an answer is streamed, so that nothing on the way takes the silence for the end."""
_FINISH: Final[dict[str, Finish]] = {
    "length": "length",
    "content_filter": "refusal",
    "tool_calls": "stop",
    "function_call": "stop",
    "stop": "stop",
}
_THOUGHT: Final = re.compile(r"\A\s*<think>.*?</think>\s*", re.DOTALL)
_REASONING: Final = ("reasoning_content", "reasoning")
"""Where endpoints put what a model thought; some want it back there, beside its calls."""


def parameters(request: ChatRequest, options: "OpenAIOptions", *, own: bool) -> dict[str, Any]:
    """What `chat.completions.create` is called with, but for model, time-out and streaming."""
    limit = options.token_limit or ("max_completion_tokens" if own else "max_tokens")
    asked: dict[str, Any] = {"messages": [message_of(m) for m in request.messages], limit: request.max_output_tokens}
    if request.tools:
        asked["tools"] = [
            {"type": "function", "function": {"name": t.name, "description": t.description, "parameters": dict(t.schema)}}
            for t in request.tools
        ]
    if request.schema is not None and options.structured == "schema":
        asked["response_format"] = {"type": "json_schema", "json_schema": {"name": "answer", **held(request.schema)}}
    elif request.schema is not None and options.structured == "object":
        asked["response_format"] = {"type": "json_object"}
    if options.effort is not None:
        asked["reasoning_effort"] = options.effort
    if request.temperature is not None:
        asked["temperature"] = request.temperature
    if own:
        asked["store"] = False
    if options.extra:
        asked["extra_body"] = dict(options.extra)
    return asked


def streams(request: ChatRequest, options: "OpenAIOptions") -> bool:
    """Whether the answer is streamed."""
    return options.stream if options.stream is not None else request.max_output_tokens > _LONG


def message_of(message: ChatMessage) -> dict[str, Any]:
    """One message."""
    if message.role == "tool":
        return {"role": "tool", "tool_call_id": message.tool_call_id, "content": message.text}
    made: dict[str, Any] = {"role": message.role, "content": message.text}
    if message.tool_calls:
        made["content"] = message.text or None
        made["tool_calls"] = [
            {"id": c.id, "type": "function", "function": {"name": c.name, "arguments": json.dumps(dict(c.arguments), ensure_ascii=False)}}
            for c in message.tool_calls
        ]
        made |= {name: thought for name in _REASONING if isinstance(thought := message.tool_calls[0].opaque.get(name), str)}
    return made


@define
class Function:
    """A called function, as far as it has arrived."""

    name: str = ""
    arguments: str = ""


@define
class Call:
    """A call, as far as it has arrived."""

    id: str = ""
    function: Function = field(factory=Function)


@define
class Message:
    """The parts of a streamed message, put together."""

    content: str = ""
    refusal: str = ""
    reasoning_content: str = ""
    reasoning: str = ""
    tool_calls: list[Call] = field(factory=list)
    annotations: tuple[Any, ...] = ()


@define
class Choice:
    """A streamed choice."""

    message: Message = field(factory=Message)
    finish_reason: str | None = None


@define
class Gathered:
    """A streamed answer, put together: the parts of a completion that are read."""

    id: str = ""
    model: str = ""
    choices: list[Choice] = field(factory=list)
    usage: Any = None


def gathered(stream: Iterable[Any]) -> Gathered:
    """The answer that a stream amounts to. Raises `ConnectionError` if it ends before its end."""
    made = Gathered(choices=[Choice()])
    choice, message = made.choices[0], made.choices[0].message
    calls: dict[int, Call] = {}
    for chunk in stream:
        made.id, made.model = chunk.id or made.id, chunk.model or made.model
        made.usage = chunk.usage or made.usage
        for part in chunk.choices or ():
            if (part.index or 0) != 0:
                continue
            choice.finish_reason = part.finish_reason or choice.finish_reason
            made.usage = made.usage or getattr(part, "usage", None)  # where some endpoints put it
            delta = part.delta
            message.content += delta.content or ""
            message.refusal += delta.refusal or ""
            for name in _REASONING:
                thought = getattr(delta, name, None)
                setattr(message, name, getattr(message, name) + (thought if isinstance(thought, str) else ""))
            for piece in delta.tool_calls or ():
                call = calls.setdefault(piece.index if piece.index is not None else len(calls), Call())
                call.id = piece.id or call.id
                if piece.function is not None:
                    call.function.name += piece.function.name or ""
                    call.function.arguments += piece.function.arguments or ""
    if choice.finish_reason is None:
        raise ConnectionError("the stream ended before its end")
    message.tool_calls = [calls[index] for index in sorted(calls)]
    return made


def reply(completion: Any, request: ChatRequest) -> ChatReply:
    """The answer of a completion, streamed or not."""
    choice = completion.choices[0]
    message = choice.message
    text = _THOUGHT.sub("", message.content or "", count=1)  # some servers leave the model's thinking in front of its answer
    refusal = message.refusal or ""
    calls, unreadable = _calls(message)
    finish = settled(_FINISH.get(choice.finish_reason or "stop", "stop"), text, calls)
    if refusal and finish == "empty":
        finish = "refusal"
    meta: dict[str, Json] = {"stop": choice.finish_reason, "id": completion.id}
    meta |= written_to_cache(getattr(completion.usage, "prompt_tokens_details", None))
    if refusal:
        meta["refusal"] = refusal
    if unreadable and finish in ("stop", "tool", "empty"):
        finish, meta["unreadable_arguments"] = "invalid", unreadable
    value = value_in(text) if request.schema is not None and finish == "stop" else None
    return ChatReply(
        text=text or refusal,
        finish=finish,
        model=str(completion.model or ""),
        value=without_added_nulls(value, request.schema) if request.schema is not None else None,
        tool_calls=calls,
        citations=_citations(getattr(message, "annotations", None) or ()),
        usage=_usage(completion.usage),
        meta=meta,
    )


def _calls(message: Any) -> tuple[tuple[ToolCall, ...], list[Json]]:
    """The calls, and the texts of arguments that are no JSON object."""
    calls: list[ToolCall] = []
    unreadable: list[Json] = []
    thoughts: dict[str, Json] = {name: told for name in _REASONING if isinstance(told := getattr(message, name, None), str) and told}
    for number, call in enumerate(message.tool_calls or ()):
        arguments = arguments_in(call.function.arguments or "")
        if arguments is None:
            unreadable.append(call.function.arguments[:500])
            continue
        calls.append(ToolCall(call.id or f"call-{number + 1}", call.function.name, arguments, {} if calls else thoughts))
    return tuple(calls), unreadable


def _citations(annotations: Sequence[Any]) -> tuple[Citation, ...]:
    notes = [note.url_citation for note in annotations if getattr(note, "type", "") == "url_citation"]
    return tuple(dict.fromkeys(Citation(note.url, note.title or "") for note in notes))


def _usage(used: Any) -> Usage:
    """Tokens; endpoints differ in where they say what was cached, and some say nothing."""
    if used is None:
        return Usage()
    if isinstance(used, dict):
        return Usage(
            input_tokens=used.get("prompt_tokens"), cached_tokens=used.get("cached_tokens"), output_tokens=used.get("completion_tokens")
        )
    inside, outside = getattr(used, "prompt_tokens_details", None), getattr(used, "completion_tokens_details", None)
    cached = getattr(inside, "cached_tokens", None)
    return Usage(
        input_tokens=used.prompt_tokens,
        cached_tokens=cached if cached is not None else getattr(used, "cached_tokens", None),
        output_tokens=used.completion_tokens,
        reasoning_tokens=getattr(outside, "reasoning_tokens", None),
    )
