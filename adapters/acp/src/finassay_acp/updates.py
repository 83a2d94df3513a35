"""What an agent tells while it works (`session/update`), as events of the kit."""

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from attrs import define, field

from finassay.api.usage import Usage
from finassay_cli_kit import KitEvent, Note, Said, ToolCall, ToolResult, UsageReported

MAX_OPEN_CALLS: Final = 1_000
"""Tool calls of which the beginning is remembered until they end."""
MAX_THOUGHT: Final = 20_000
"""Characters of one thought that are kept."""
OVER: Final = ("completed", "failed")


@define
class _Call:
    """A tool call as it is known so far: agents tell it piece by piece."""

    name: str = ""
    given: Any = None
    content: Any = None
    output: Any = None
    locations: Any = None
    told: bool = False


@define
class Updates:
    """Reads the updates of one turn, in order. Raises whatever malformed ones make it raise; the caller notes that and goes on."""

    _calls: dict[str, _Call] = field(factory=dict)
    _message: object = None
    """The message that a further piece of text continues: its id where the agent gives one, else True."""
    _thought: list[str] = field(factory=list)

    spoke: bool = False
    """Whether anything was said."""

    @property
    def speaks(self) -> bool:
        """Whether the newest thing told is a message."""
        return self._message is not None

    def read(self, update: Mapping[str, Any]) -> Iterator[KitEvent]:
        """The events of one update."""
        kind = update["sessionUpdate"]
        if kind == "agent_thought_chunk":
            if sum(map(len, self._thought)) < MAX_THOUGHT:
                self._thought.append(_text(update.get("content")))
            return
        yield from self._thoughts()
        if kind == "agent_message_chunk":
            message = update.get("messageId") or True
            yield Said(_text(update.get("content")), more=self._message == message)
            self._message, self.spoke = message, True
        elif kind in ("tool_call", "tool_call_update"):
            self._message = None
            yield from self.tool(update)
        elif kind == "plan":
            yield Note("plan:\n" + "\n".join(f"[{e.get('status')}] {e.get('content')}" for e in update["entries"][:100]))
        elif kind == "usage_update":
            cost = update.get("cost")
            if isinstance(cost, dict) and cost.get("currency") == "USD":
                yield UsageReported(Usage(cost_usd=_money(cost.get("amount"))), running_total=True)
        # What else there is (commands, modes, titles) tells nothing about the work.

    def tool(self, update: Mapping[str, Any]) -> Iterator[KitEvent]:
        """A tool call, or news of one; also as a request for permission carries it."""
        name = str(update["toolCallId"])
        if name not in self._calls and len(self._calls) >= MAX_OPEN_CALLS:
            raise ValueError("too many tool calls are open")
        call = self._calls.setdefault(name, _Call())
        call.name = str(update.get("title") or call.name or update.get("kind") or "tool")
        call.given = call.given if update.get("rawInput") is None else update["rawInput"]
        call.content = call.content if update.get("content") is None else update["content"]
        call.output = call.output if update.get("rawOutput") is None else update["rawOutput"]
        call.locations = call.locations if update.get("locations") is None else update["locations"]
        status = update.get("status")
        if not call.told and (status in ("in_progress", *OVER) or call.given):
            yield self._tell(name, call)
        if status in OVER:
            del self._calls[name]
            yield ToolResult(name, _output(call), status == "failed", _exit_code(call.output))

    def asked(self, update: Mapping[str, Any]) -> Iterator[KitEvent]:
        """A tool call as a request for permission carries it: what is known now is what it is about."""
        yield from self.tool(update)
        call = self._calls.get(str(update["toolCallId"]))
        if call is not None and not call.told:
            yield self._tell(str(update["toolCallId"]), call)

    def close(self) -> Iterator[KitEvent]:
        """What was still being told when the turn ended."""
        yield from self._thoughts()
        for name, call in self._calls.items():
            if not call.told:
                yield self._tell(name, call)

    def _tell(self, name: str, call: _Call) -> ToolCall:
        call.told = True
        given = call.given if isinstance(call.given, dict) else {"value": call.given}
        if call.given is None:  # some agents only show what they do
            shown = {"locations": call.locations, "content": _shown(call.content)}
            given = {name: value for name, value in shown.items() if value}
        return ToolCall(name, call.name, given)

    def _thoughts(self) -> Iterator[KitEvent]:
        if self._thought:
            text, self._thought = "".join(self._thought)[:MAX_THOUGHT], []
            yield Note(f"thought: {text}")


def _text(block: Any) -> str:
    """The text of a content block; of one that is no text, what it is."""
    if not isinstance(block, dict):
        raise ValueError("not a content block")
    if isinstance(block.get("text"), str):
        return str(block["text"])
    resource = block.get("resource")
    if isinstance(resource, dict) and isinstance(resource.get("text"), str):
        return str(resource["text"])
    where = block.get("uri") or (resource.get("uri") if isinstance(resource, dict) else "") or ""
    return f"({block.get('type')} {where})".replace(" )", ")")


def _output(call: _Call) -> str:
    shown = _shown(call.content)
    if shown or call.output is None:
        return shown
    return call.output if isinstance(call.output, str) else json.dumps(call.output)


def _shown(content: Any) -> str:
    parts = [_part(part) for part in content[:100] if isinstance(part, dict)] if isinstance(content, list) else []
    return "\n".join(part for part in parts if part)


def _part(part: Mapping[str, Any]) -> str:
    if part.get("type") == "content":
        return _text(part.get("content"))
    if part.get("type") == "diff":
        return f"{part.get('path')}:\n{part.get('newText')}"
    return f"({part.get('type')})"


def _exit_code(output: Any) -> int | None:
    if isinstance(output, dict):
        for name in ("exit_code", "exitCode"):
            value = output.get(name)
            if isinstance(value, int) and not isinstance(value, bool):
                return value
    return None


def _money(amount: Any) -> float | None:
    return float(amount) if isinstance(amount, int | float) and not isinstance(amount, bool) and 0 <= amount < 1e9 else None


def usage_of_answer(answer: Mapping[str, Any]) -> Usage:
    """Tokens that the answer to a prompt tells: in the protocol's `usage`, or in `_meta.quota.token_count` as Gemini CLI has it.

    The protocol leaves open whether `inputTokens` holds the cached ones; where the parts add up to the total it does not.
    """
    told = answer.get("usage")
    if not isinstance(told, dict):
        meta = answer.get("_meta")
        quota = meta.get("quota") if isinstance(meta, dict) else None
        count = quota.get("token_count") if isinstance(quota, dict) else None
        return Usage(_count(count, "input_tokens"), None, _count(count, "output_tokens")) if isinstance(count, dict) else Usage()
    read, written = _count(told, "cachedReadTokens"), _count(told, "cachedWriteTokens")
    fresh, out, thought = _count(told, "inputTokens"), _count(told, "outputTokens"), _count(told, "thoughtTokens")
    total, cached = _count(told, "totalTokens"), (read or 0) + (written or 0)
    if fresh is not None and total is not None and out is not None and total >= fresh + out + cached:
        fresh += cached
        out = out + thought if thought and total >= fresh + out + thought else out
    return Usage(fresh, read, out, thought)


def _count(data: Mapping[str, Any], name: str) -> int | None:
    value = data.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 10**15 else None
