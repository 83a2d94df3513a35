"""Between the contract's words and those of the Gemini API."""

import base64
import binascii
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from attrs import frozen

from finassay.api.model import ChatMessage, ChatReply, ChatRequest, Citation, Finish, ToolCall
from finassay.api.usage import Usage
from finassay.api.verdict import Json
from finassay_models_kit import settled, system_text, value_in
from finassay_models_kit.schemas import instruction, keeping

if TYPE_CHECKING:
    from google.genai.types import GenerateContentResponse

    from finassay_models_google.options import GoogleOptions

_FINISH: Final[dict[str, Finish]] = {
    "STOP": "stop",
    "FINISH_REASON_UNSPECIFIED": "stop",
    "MAX_TOKENS": "length",
    "CONTINUATION": "length",
    "TOO_MANY_TOOL_CALLS": "length",
    "MALFORMED_FUNCTION_CALL": "invalid",
    "UNEXPECTED_TOOL_CALL": "invalid",
    "MALFORMED_RESPONSE": "invalid",
}
"""Every other end is one of the many names of a filter: a refusal."""

SCHEMA_KEYWORDS: Final = frozenset(
    {
        *(
            "$id",
            "$defs",
            "$ref",
            "$anchor",
            "type",
            "format",
            "title",
            "description",
            "enum",
            "items",
            "prefixItems",
            "minItems",
            "maxItems",
        ),
        *("minimum", "maximum", "anyOf", "properties", "additionalProperties", "required"),
    }
)
"""What the API's documentation lists; others it does not take."""

_OWN_ID: Final = "local-"
_UNSIGNED: Final = b"skip_thought_signature_validator"
"""What Google documents for calls in a history that its model did not make."""
_MAX_SOURCES: Final = 50


def parameters(request: ChatRequest, options: "GoogleOptions") -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Contents and configuration of `generate_content_stream`."""
    config: dict[str, Any] = {"max_output_tokens": request.max_output_tokens, "automatic_function_calling": {"disable": True}}
    system = system_text(request.messages)
    schema = request.schema if options.structured == "schema" else None
    if schema is not None and (request.search is not None or request.tools):
        # Models before Gemini 3 take no schema beside tools; what is told in words, all of them take.
        system = "\n\n".join(filter(None, (system, instruction(schema))))
    elif schema is not None:
        config["response_mime_type"] = "application/json"
        config["response_json_schema"] = keeping(schema, SCHEMA_KEYWORDS)
    tools: list[dict[str, Any]] = []
    if request.tools:
        declared = [{"name": t.name, "description": t.description, "parameters_json_schema": dict(t.schema)} for t in request.tools]
        tools.append({"function_declarations": declared})
    if request.search is not None:
        tools.append({"google_search": {}})
        if request.search.fetch:
            tools.append({"url_context": {}})
    if tools:
        config["tools"] = tools
    if system:
        config["system_instruction"] = system
    if options.effort or options.thinking_budget is not None:
        level = {"thinking_level": options.effort.upper()} if options.effort else {}
        budget = {"thinking_budget": options.thinking_budget} if options.thinking_budget is not None else {}
        config["thinking_config"] = {**level, **budget}
    if request.temperature is not None:
        config["temperature"] = request.temperature
    return conversation(request.messages, signed=_signs(options.name)), config


def _signs(name: str) -> bool:
    """Whether the model demands signatures on the calls of a conversation: from Gemini 3 on."""
    version = re.search(r"gemini-(\d+)", name)
    return version is not None and int(version[1]) >= 3


def conversation(messages: Sequence[ChatMessage], *, signed: bool) -> list[dict[str, Any]]:
    """The messages but for the system's; neighbours of one role are put together, which the API wants for results of calls made together."""
    names: dict[str, str] = {}
    made: list[dict[str, Any]] = []
    for message in messages:
        names |= {call.id: call.name for call in message.tool_calls}
        if message.role == "system":
            continue
        role = "model" if message.role == "assistant" else "user"
        parts = _result(message, names) if message.role == "tool" else _parts(message, signed)
        if made and made[-1]["role"] == role:
            made[-1]["parts"] += parts
        elif parts:
            made.append({"role": role, "parts": parts})
    return made


def _result(message: ChatMessage, names: dict[str, str]) -> list[dict[str, Any]]:
    answered: dict[str, Any] = {"name": names.get(message.tool_call_id, "unknown"), "response": {"output": message.text}}
    if not message.tool_call_id.startswith(_OWN_ID):
        answered["id"] = message.tool_call_id
    return [{"function_response": answered}]


def _parts(message: ChatMessage, signed: bool) -> list[dict[str, Any]]:
    parts: list[dict[str, Any]] = [{"text": message.text}] if message.text or not message.tool_calls else []
    for number, call in enumerate(message.tool_calls):
        asked: dict[str, Any] = {"name": call.name, "args": dict(call.arguments)}
        if not call.id.startswith(_OWN_ID):
            asked["id"] = call.id
        part: dict[str, Any] = {"function_call": asked}
        signature = _signature(call)
        if signature:
            part["thought_signature"] = signature
        elif signed and number == 0:
            part["thought_signature"] = _UNSIGNED
        parts.append(part)
    return parts


def _signature(call: ToolCall) -> bytes:
    kept = call.opaque.get("thought_signature")
    try:
        return base64.b64decode(kept, validate=True) if isinstance(kept, str) else b""
    except binascii.Error:
        return b""


@frozen
class Answer:
    """The chunks of a stream, put together."""

    parts: tuple[Any, ...]
    stop: str
    """The API's own word for the end; empty where there was none."""
    blocked: str
    """Why the prompt was not answered at all."""
    model: str
    id: str
    usage: Any
    grounding: tuple[Any, ...]
    fetched: tuple[Any, ...]

    @classmethod
    def of(cls, chunks: "Sequence[GenerateContentResponse]") -> "Answer":
        """The answer that the chunks amount to."""
        firsts = [chunk.candidates[0] for chunk in chunks if chunk.candidates]
        stops = [c.finish_reason for c in firsts if c.finish_reason is not None]
        feedback = [c.prompt_feedback for c in chunks if c.prompt_feedback is not None and c.prompt_feedback.block_reason is not None]
        return cls(
            parts=tuple(part for c in firsts if c.content is not None for part in c.content.parts or ()),
            stop=str(stops[-1].value) if stops else "",
            blocked=str(feedback[-1].block_reason.value) if feedback and feedback[-1].block_reason is not None else "",
            model=next((c.model_version for c in reversed(chunks) if c.model_version), ""),
            id=next((c.response_id for c in chunks if c.response_id), ""),
            usage=next((c.usage_metadata for c in reversed(chunks) if c.usage_metadata is not None), None),
            grounding=tuple(c.grounding_metadata for c in firsts if c.grounding_metadata is not None),
            fetched=tuple(m for c in firsts if c.url_context_metadata is not None for m in c.url_context_metadata.url_metadata or ()),
        )


def reply(answer: Answer, request: ChatRequest, name: str) -> ChatReply:
    """The reply that an answer is."""
    text = "".join(part.text for part in answer.parts if part.text and not part.thought)
    calls = _calls(answer)
    finish: Finish = "refusal" if answer.blocked else settled(_FINISH.get(answer.stop, "refusal"), text, calls)
    meta: dict[str, Json] = {"stop": answer.blocked or answer.stop, "id": answer.id}
    queries = sum(len(g.web_search_queries or ()) for g in answer.grounding)
    if queries:
        meta["searches"] = queries
    if answer.fetched:
        meta["fetches"] = len(answer.fetched)
    citations, sources = _citations(answer)
    if sources:
        meta["sources"] = list(sources)[:_MAX_SOURCES]
    return ChatReply(
        text=text,
        finish=finish,
        model=answer.model or name,
        value=value_in(text) if request.schema is not None and finish == "stop" else None,
        tool_calls=calls,
        citations=citations,
        usage=_usage(answer.usage),
        meta=meta,
    )


def _calls(answer: Answer) -> tuple[ToolCall, ...]:
    """The calls, each with the signature that the API wants back. Older models give calls no id: they get one that is not sent."""
    calls: list[ToolCall] = []
    for part in answer.parts:
        called = part.function_call
        if called is None or not called.name:
            continue
        opaque: dict[str, Json] = {}
        if part.thought_signature:
            opaque["thought_signature"] = base64.b64encode(part.thought_signature).decode()
        number = len(calls) + 1
        calls.append(ToolCall(called.id or f"{_OWN_ID}{answer.id}-{number}", called.name, dict(called.args or {}), opaque))
    return tuple(calls)


def _citations(answer: Answer) -> tuple[tuple[Citation, ...], list[str]]:
    """What passages of the answer rest on, and every source that was found. The API quotes its answer and not the source."""
    cited: dict[Citation, None] = {}
    found: dict[str, None] = {}
    for grounding in answer.grounding:
        chunks = [chunk.web for chunk in grounding.grounding_chunks or ()]
        found.update(dict.fromkeys(web.uri for web in chunks if web is not None and web.uri))
        indices = [i for support in grounding.grounding_supports or () for i in support.grounding_chunk_indices or ()]
        for index in indices or range(len(chunks)):
            web = chunks[index] if 0 <= index < len(chunks) else None
            if web is not None and web.uri:
                cited[Citation(web.uri, web.title or web.domain or "")] = None
    pages = [page.retrieved_url for page in answer.fetched if page.retrieved_url and _retrieved(page)]
    found.update(dict.fromkeys(pages))
    known = {citation.url for citation in cited}
    cited.update(dict.fromkeys(Citation(url) for url in pages if url not in known))
    return tuple(cited), list(found)


def _retrieved(page: Any) -> bool:
    status = page.url_retrieval_status
    return status is None or str(getattr(status, "value", status)).endswith("SUCCESS")


def _usage(used: Any) -> Usage:
    """Tokens. The API counts thoughts beside the answer, and what tools brought beside the prompt."""
    if used is None:
        return Usage()
    prompt, answer = used.prompt_token_count, used.candidates_token_count
    return Usage(
        input_tokens=None if prompt is None else prompt + (used.tool_use_prompt_token_count or 0),
        cached_tokens=used.cached_content_token_count or 0,
        output_tokens=None if answer is None and used.thoughts_token_count is None else (answer or 0) + (used.thoughts_token_count or 0),
        reasoning_tokens=used.thoughts_token_count,
    )
