"""Between the contract's words and those of the Messages API."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from finassay.api.model import ChatMessage, ChatReply, ChatRequest, Citation, Finish, ToolCall, WebSearch
from finassay.api.usage import Usage
from finassay.api.verdict import Json
from finassay_models_kit import settled, system_text, value_in
from finassay_models_kit.schemas import instruction, is_open

if TYPE_CHECKING:
    from anthropic.types import Message

    from finassay_models_anthropic.options import AnthropicOptions

_FINISH: Final[dict[str, Finish]] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "tool_use": "tool",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "pause_turn": "length",
    "refusal": "refusal",
}
_MAX_SOURCES: Final = 50


def parameters(request: ChatRequest, options: "AnthropicOptions") -> dict[str, Any]:
    """What `messages.stream` is called with, but for model and time-out."""
    asked: dict[str, Any] = {"max_tokens": request.max_output_tokens, "messages": conversation(request.messages)}
    system = system_text(request.messages)
    output: dict[str, Any] = {"effort": options.effort} if options.effort else {}
    if request.schema is not None and options.structured == "schema":
        schema = fitted(request)
        if schema is not None:
            output["format"] = {"type": "json_schema", "schema": schema}
        else:
            system = "\n\n".join(filter(None, (system, instruction(request.schema))))
    tools: list[dict[str, Any]] = [
        {"name": tool.name, "description": tool.description, "input_schema": dict(tool.schema)} for tool in request.tools
    ]
    tools += _search_tools(request.search) if request.search is not None else []
    if system:
        asked["system"] = system
    if output:
        asked["output_config"] = output
    if tools:
        asked["tools"] = tools
    if options.thinking:
        asked["thinking"] = {"type": options.thinking}
    if options.cache_prompt:
        asked["cache_control"] = {"type": "ephemeral"}
    if request.temperature is not None:
        asked["extra_body"] = {"temperature": request.temperature}  # older models take it, the SDK no longer names it
    return asked


def fitted(request: ChatRequest) -> dict[str, Any] | None:
    """The schema as the API takes it, or None where it cannot hold a model to it.

    Beside a search it takes none, because citations break the text up; and it closes every object, which an open one must not be.
    """
    from anthropic import transform_schema

    if request.schema is None or request.search is not None or is_open(request.schema):
        return None
    try:
        return transform_schema(dict(request.schema))
    except (ValueError, TypeError, KeyError, AssertionError):
        return None


def _search_tools(search: WebSearch) -> list[dict[str, Any]]:
    limits: dict[str, Any] = {"max_uses": search.max_uses}
    if search.domains:
        limits["allowed_domains"] = list(search.domains)
    # The versions that need no code execution beside them; later ones filter results by running code.
    tools: list[dict[str, Any]] = [{"type": "web_search_20250305", "name": "web_search", **limits}]
    if search.fetch:
        tools.append({"type": "web_fetch_20250910", "name": "web_fetch", "citations": {"enabled": True}, **limits})
    return tools


def conversation(messages: Sequence[ChatMessage]) -> list[dict[str, Any]]:
    """The messages but for the system's. Results of tools go into one user message, which the API wants for calls made together."""
    made: list[dict[str, Any]] = []
    for message in messages:
        if message.role == "system":
            continue
        role = "assistant" if message.role == "assistant" else "user"
        blocks = _blocks(message)
        if made and made[-1]["role"] == role == "user":
            made[-1]["content"] += blocks
        elif blocks:
            made.append({"role": role, "content": blocks})
    return made


def _blocks(message: ChatMessage) -> list[dict[str, Any]]:
    if message.role == "tool":
        return [{"type": "tool_result", "tool_use_id": message.tool_call_id, "content": message.text}]
    blocks: list[dict[str, Any]] = []
    for call in message.tool_calls:
        before = call.opaque.get("before")
        blocks += [block for block in before if isinstance(block, dict)] if isinstance(before, list) else []
    if message.text.strip():  # the API takes no blank text
        blocks.append({"type": "text", "text": message.text})
    elif message.role == "user":
        blocks.append({"type": "text", "text": "(empty)"})
    return [*blocks, *({"type": "tool_use", "id": c.id, "name": c.name, "input": dict(c.arguments)} for c in message.tool_calls)]


def sent_back(message: "Message") -> dict[str, Any]:
    """An answer as a message of the next request, so that a paused turn goes on."""
    return {"role": "assistant", "content": [block.to_dict(mode="json") for block in message.content]}


def reply(parts: "Sequence[Message]", request: ChatRequest) -> ChatReply:
    """The answer that one message, or several parts of a paused one, amount to."""
    last = parts[-1]
    blocks = [block for part in parts for block in part.content]
    text = "".join(block.text for block in blocks if block.type == "text")
    end = _FINISH.get(last.stop_reason or "", "stop")
    calls = _calls(blocks) if end != "length" else ()  # a call that was cut looks like one that is whole
    finish = settled(end, text, calls)
    if finish == "tool" and not calls:
        finish = "invalid"
    return ChatReply(
        text=text,
        finish=finish,
        model=last.model,
        value=value_in(text) if request.schema is not None and finish == "stop" else None,
        tool_calls=calls,
        citations=_citations(blocks),
        usage=_usage(parts),
        meta=_meta(parts, blocks),
    )


def _calls(blocks: Sequence[Any]) -> tuple[ToolCall, ...]:
    """The calls; what the model thought before the first comes back with it, signed, as the API wants it."""
    thoughts: list[Json] = [b.to_dict(mode="json") for b in blocks if b.type in ("thinking", "redacted_thinking")]
    uses = [b for b in blocks if b.type == "tool_use"]
    return tuple(
        ToolCall(
            use.id, use.name, dict(use.input) if isinstance(use.input, dict) else {}, {"before": thoughts} if thoughts and not i else {}
        )
        for i, use in enumerate(uses)
    )


def _citations(blocks: Sequence[Any]) -> tuple[Citation, ...]:
    fetched = {b.content.content.title or "": b.content.url for b in blocks if _is_page(b)}
    found: dict[Citation, None] = {}
    for block in blocks:
        for cited in (block.citations or ()) if block.type == "text" else ():
            title = getattr(cited, "title", None) or getattr(cited, "document_title", None) or ""
            url = getattr(cited, "url", None) or fetched.get(title) or (next(iter(fetched.values())) if len(fetched) == 1 else "")
            if url:
                found[Citation(url, title, getattr(cited, "cited_text", None) or "")] = None
    return tuple(found)


def _ages(blocks: Sequence[Any]) -> list[Json]:
    """Beside each citation, in their order, how old its page is in the search's words (`page_age`), where it tells."""
    found = [b.content for b in blocks if b.type == "web_search_tool_result" and isinstance(b.content, list)]
    ages = {result.url: result.page_age for results in found for result in results if result.page_age}
    return [{"page_age": ages[cited.url]} if cited.url in ages else {} for cited in _citations(blocks)]


def _is_page(block: Any) -> bool:
    return block.type == "web_fetch_tool_result" and getattr(block.content, "type", "") == "web_fetch_result"


def _usage(parts: "Sequence[Message]") -> Usage:
    """Sums over the parts. The API counts cached tokens beside the others and not among them."""
    uses = [part.usage for part in parts]
    cached = sum(u.cache_read_input_tokens or 0 for u in uses)
    written = sum(u.cache_creation_input_tokens or 0 for u in uses)
    thinking = [u.output_tokens_details.thinking_tokens for u in uses if u.output_tokens_details is not None]
    return Usage(
        input_tokens=sum(u.input_tokens or 0 for u in uses) + cached + written,
        cached_tokens=cached,
        output_tokens=sum(u.output_tokens or 0 for u in uses),
        reasoning_tokens=sum(thinking) if thinking else None,
    )


def _meta(parts: "Sequence[Message]", blocks: Sequence[Any]) -> dict[str, Json]:
    last = parts[-1]
    meta: dict[str, Json] = {"stop": last.stop_reason, "id": last.id}
    if written := sum(p.usage.cache_creation_input_tokens or 0 for p in parts):
        meta["cache_write_tokens"] = written
    tools = [p.usage.server_tool_use for p in parts if p.usage.server_tool_use is not None]
    if searches := sum(t.web_search_requests or 0 for t in tools):
        meta["searches"] = searches
    if fetches := sum(t.web_fetch_requests or 0 for t in tools):
        meta["fetches"] = fetches
    if sources := _sources(blocks):
        meta["sources"] = list(sources)
    if any(ages := _ages(blocks)):
        meta["citations"] = ages
    if last.stop_details is not None:
        meta["refusal"] = last.stop_details.explanation or last.stop_details.category or ""
    return meta


def _sources(blocks: Sequence[Any]) -> list[str]:
    """Addresses that a search found or a fetch opened, cited or not."""
    urls: dict[str, None] = {}
    for block in blocks:
        if block.type == "web_search_tool_result" and isinstance(block.content, list):
            urls.update(dict.fromkeys(result.url for result in block.content))
        elif _is_page(block):
            urls[block.content.url] = None
    return list(urls)[:_MAX_SOURCES]
