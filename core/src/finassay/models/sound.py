"""What goes to a provider and comes back can be stored: texts that can be encoded, numbers that are ones, replies that are replies."""

import json
import math
from collections.abc import Mapping
from typing import Any, Final, get_args

from attrs import evolve

from finassay.api.errors import ProviderRefusedError
from finassay.api.model import ChatReply, ChatRequest, Finish, ToolCall
from finassay.api.usage import Usage
from finassay.records.convert import to_json

_FINISHES: Final = get_args(Finish)


def sound_request(request: ChatRequest) -> ChatRequest:
    """The request with half characters (lone surrogates, which no encoding takes) replaced. Messages hold what agents wrote."""
    if all(_encodable(m.text) for m in request.messages):
        return request
    return evolve(request, messages=tuple(evolve(m, text=plain(m.text)) for m in request.messages))


def sound_reply(reply: object, model: str) -> ChatReply:
    """A reply that can be kept. Raises `ProviderRefusedError` for what is no reply: a provider's distribution is somebody else's code."""
    if not isinstance(reply, ChatReply) or not isinstance(reply.text, str) or reply.finish not in _FINISHES:
        raise ProviderRefusedError(f"{model} gave no reply: {type(reply).__name__}", hint="Its provider's distribution is at fault.")
    try:
        json.dumps([to_json(reply.value), to_json(reply.meta), to_json(reply.tool_calls)], allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise ProviderRefusedError(f"{model} gave a reply that JSON cannot hold ({type(error).__name__})") from None
    usage = reply.usage if isinstance(reply.usage, Usage) else Usage()
    return evolve(
        reply,
        text=plain(reply.text),
        model=plain(str(reply.model)),
        value=plain(reply.value),
        meta=plain(dict(reply.meta)),
        tool_calls=tuple(_call(call) for call in reply.tool_calls),
        citations=tuple(evolve(c, url=plain(c.url), title=plain(c.title), quote=plain(c.quote)) for c in reply.citations),
        usage=Usage(
            input_tokens=_count(usage.input_tokens),
            cached_tokens=_count(usage.cached_tokens),
            output_tokens=_count(usage.output_tokens),
            reasoning_tokens=_count(usage.reasoning_tokens),
            cost_usd=_money(usage.cost_usd),
        ),
    )


def _call(call: ToolCall) -> ToolCall:
    return ToolCall(plain(call.id), plain(call.name), plain(dict(call.arguments)), plain(dict(call.opaque)))


def plain(value: Any) -> Any:
    """A JSON value with half characters in its texts replaced."""
    if isinstance(value, str):
        return value if _encodable(value) else value.encode("utf-8", "replace").decode()
    if isinstance(value, Mapping):
        return {plain(str(name)): plain(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [plain(inner) for inner in value]
    return value


def _encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _count(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def _money(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and math.isfinite(value) and value >= 0 else None
