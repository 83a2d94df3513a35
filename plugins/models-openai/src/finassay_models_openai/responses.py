"""Between the contract's words and those of the Responses API."""

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from finassay.api.model import ChatMessage, ChatReply, ChatRequest, Citation, Finish, ToolCall
from finassay.api.usage import Usage
from finassay.api.verdict import Json
from finassay_models_kit import settled, value_in
from finassay_models_kit.reading import arguments_in
from finassay_models_kit.schemas import strict_form, without_added_nulls

if TYPE_CHECKING:
    from openai.types.responses import Response

    from finassay_models_openai.options import OpenAIOptions

_MAX_SOURCES: Final = 50


def parameters(request: ChatRequest, options: "OpenAIOptions") -> dict[str, Any]:
    """What `responses.create` is called with, but for model, time-out and streaming. Nothing is left on the provider's side."""
    asked: dict[str, Any] = {"input": conversation(request.messages), "max_output_tokens": request.max_output_tokens, "store": False}
    include: list[str] = []
    tools: list[dict[str, Any]] = [
        {"type": "function", "name": t.name, "description": t.description, "parameters": dict(t.schema), "strict": False}
        for t in request.tools
    ]
    if request.tools:
        include.append("reasoning.encrypted_content")
    if request.search is not None:
        search: dict[str, Any] = {"type": "web_search"}
        if request.search.domains:
            search["filters"] = {"allowed_domains": list(request.search.domains)}
        tools.append(search)
        asked["max_tool_calls"] = request.search.max_uses
        include.append("web_search_call.action.sources")
    if tools:
        asked["tools"] = tools
    if include:
        asked["include"] = include
    if request.schema is not None and options.structured == "schema":
        asked["text"] = {"format": {"type": "json_schema", "name": "answer", **held(request.schema)}}
    elif request.schema is not None and options.structured == "object":
        asked["text"] = {"format": {"type": "json_object"}}
    if options.effort is not None:
        asked["reasoning"] = {"effort": options.effort}
    if request.temperature is not None:
        asked["temperature"] = request.temperature
    return asked


def held(schema: Mapping[str, Json]) -> dict[str, Any]:
    """The schema and whether the API is to hold the model to it: only one whose objects are all closed can be held to."""
    strict = strict_form(schema)
    return {"schema": dict(schema) if strict is None else strict, "strict": strict is not None}


def conversation(messages: Sequence[ChatMessage]) -> list[dict[str, Any]]:
    """The messages as input items; what the model reasoned before a call goes back with it, encrypted."""
    items: list[dict[str, Any]] = []
    for message in messages:
        if message.role == "tool":
            items.append({"type": "function_call_output", "call_id": message.tool_call_id, "output": message.text})
            continue
        if message.text or not message.tool_calls:
            items.append({"role": message.role, "content": message.text})
        for call in message.tool_calls:
            before = call.opaque.get("before")
            items += [item for item in before if isinstance(item, dict)] if isinstance(before, list) else []
            arguments = json.dumps(dict(call.arguments), ensure_ascii=False)
            items.append({"type": "function_call", "call_id": call.id, "name": call.name, "arguments": arguments})
    return items


def reply(response: "Response", request: ChatRequest) -> ChatReply:
    """The answer of a finished response."""
    messages = [item for item in response.output if item.type == "message"]
    final = [item for item in messages if getattr(item, "phase", None) != "commentary"] or messages
    parts = [part for item in final for part in item.content]
    text = "".join(part.text for part in parts if part.type == "output_text")
    refusal = " ".join(part.refusal for part in parts if part.type == "refusal")
    calls, unreadable = _calls(response.output)
    finish = _finish(response, text, refusal, calls)
    meta: dict[str, Json] = {"stop": response.status, "id": response.id}
    if response.incomplete_details is not None and response.incomplete_details.reason:
        meta["stop"] = response.incomplete_details.reason
    if refusal:
        meta["refusal"] = refusal
    if unreadable and finish in ("stop", "tool", "empty"):
        finish, meta["unreadable_arguments"] = "invalid", unreadable
    meta |= _searches(response.output)
    meta |= written_to_cache(response.usage.input_tokens_details if response.usage is not None else None)
    value = value_in(text) if request.schema is not None and finish == "stop" else None
    return ChatReply(
        text=text or refusal,
        finish=finish,
        model=str(response.model),
        value=without_added_nulls(value, request.schema) if request.schema is not None else None,
        tool_calls=calls,
        citations=_citations(parts),
        usage=_usage(response),
        meta=meta,
    )


def refused(response: "Response") -> ChatReply:
    """A response that the provider's policy ended."""
    code = response.error.code if response.error is not None else ""
    return ChatReply("", "refusal", str(response.model), usage=_usage(response), meta={"stop": code, "id": response.id})


def _finish(response: "Response", text: str, refusal: str, calls: Sequence[ToolCall]) -> Finish:
    if response.status == "incomplete":
        reason = response.incomplete_details.reason if response.incomplete_details is not None else None
        return "refusal" if reason == "content_filter" else "length"
    return "refusal" if refusal and not text.strip() else settled("stop", text, calls)


def _calls(output: Sequence[Any]) -> tuple[tuple[ToolCall, ...], list[Json]]:
    """The calls, and the texts of arguments that are no JSON object."""
    calls: list[ToolCall] = []
    unreadable: list[Json] = []
    before: list[Json] = []
    for item in output:
        if item.type == "reasoning":
            kept = item.to_dict(mode="json")
            before.append({k: v for k, v in kept.items() if k in ("type", "id", "summary", "encrypted_content")})
        elif item.type == "function_call":
            arguments = arguments_in(item.arguments or "")
            if arguments is None:
                unreadable.append(item.arguments[:500])
                continue
            calls.append(ToolCall(item.call_id, item.name, arguments, {"before": before} if before else {}))
            before = []
    return tuple(calls), unreadable


def _citations(parts: Sequence[Any]) -> tuple[Citation, ...]:
    notes = [note for part in parts if part.type == "output_text" for note in (part.annotations or ()) if note.type == "url_citation"]
    return tuple(dict.fromkeys(Citation(note.url, note.title or "") for note in notes))


def _searches(output: Sequence[Any]) -> dict[str, Json]:
    urls: dict[str, None] = {}
    counts = {"searches": 0, "fetches": 0}
    for item in output:
        if item.type != "web_search_call":
            continue
        kind = getattr(item.action, "type", "")
        counts["searches" if kind == "search" else "fetches"] += 1
        urls.update(dict.fromkeys(source.url for source in getattr(item.action, "sources", None) or ()))
        if kind == "open_page" and item.action.url:
            urls[item.action.url] = None
    meta: dict[str, Json] = {name: count for name, count in counts.items() if count}
    if urls:
        meta["sources"] = list(urls)[:_MAX_SOURCES]
    return meta


def written_to_cache(details: Any) -> dict[str, Json]:
    """Input tokens that were written to the provider's cache, where it says so: some cost more than others."""
    written = getattr(details, "cache_write_tokens", None)
    return {"cache_write_tokens": written} if isinstance(written, int) and written > 0 else {}


def _usage(response: "Response") -> Usage:
    used = response.usage
    if used is None:
        return Usage()
    inside, outside = used.input_tokens_details, used.output_tokens_details
    return Usage(
        input_tokens=used.input_tokens,
        cached_tokens=inside.cached_tokens if inside is not None else None,
        output_tokens=used.output_tokens,
        reasoning_tokens=outside.reasoning_tokens if outside is not None else None,
    )
