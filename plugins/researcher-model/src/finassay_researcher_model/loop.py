"""A bounded loop of a chat model and its tools: until something is handed in that is taken, or turns, tokens, time or patience are at their end."""

import json
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from attrs import define, evolve, field, frozen

from finassay.api.errors import FinassayError
from finassay.api.model import ChatMessage, ChatModel, ChatReply, ChatRequest, Tool, ToolCall
from finassay_researcher_model import forms, wording
from finassay_researcher_model.fence import flat
from finassay_researcher_model.options import ModelResearcherOptions

MAX_FRUITLESS: Final = 4
"""Replies on end that nothing can be done with."""
MAX_CALLS: Final = 12
"""Calls of one reply that are answered."""
MAX_SAID: Final = 20_000
WARN: Final = 3
"""Replies before the last from which on the model is told how many are left."""
CHARACTERS: Final = 4
"""Of a token, where nobody counts them."""


class GaveUpError(FinassayError):
    """The model handed in nothing that can be used; the message says why."""


@frozen
class Answer:
    """What a call comes to."""

    text: str
    done: bool = False
    fruitless: bool = False
    """Nothing could be done with the call."""


Call = Callable[[str, Mapping[str, Any]], Answer]


@define
class Loop:
    """One conversation. `call` answers a tool's name and arguments; `role` and `about` go to the ledger."""

    model: ChatModel
    options: ModelResearcherOptions
    tools: Sequence[Tool]
    call: Call
    role: str
    about: str
    clock: Callable[[], float] = time.monotonic
    _messages: list[ChatMessage] = field(init=False, factory=list)
    _fruitless: int = field(init=False, default=0)
    _used: int = field(init=False, default=0)

    def run(self, system: str, asked: str) -> None:
        """Returns once something was taken. Raises `GaveUpError`, and what model and tools raise."""
        native = self.model.capabilities.tools
        told = system if native else f"{system}\n{self._by_text()}"
        self._messages = [ChatMessage("system", told), ChatMessage("user", asked)]
        deadline = self.clock() + self.options.seconds
        for turn in range(1, self.options.turns + 1):
            left = deadline - self.clock()
            if left <= 0:
                raise GaveUpError(f"{self.model.id} handed in nothing within {self.options.seconds:,.0f} s")
            if self._used >= self.options.tokens:
                raise GaveUpError(f"{self.model.id} handed in nothing within {self.options.tokens:,} tokens")
            reply = self.model.complete(self._request(min(left, self.options.reply_seconds), native))
            self._used += _tokens(reply, self._messages)
            if reply.finish == "refusal":
                raise GaveUpError(f"the model refused ({flat(reply.model)})")
            if self._answered(reply, self.options.turns - turn, native):
                return
            if self._fruitless >= MAX_FRUITLESS:
                raise GaveUpError(f"{self._fruitless} replies of {self.model.id} on end called no tool in a way that can be read")
        raise GaveUpError(f"{self.model.id} handed in nothing within {self.options.turns} replies")

    def _request(self, seconds: float, native: bool) -> ChatRequest:
        return ChatRequest(
            messages=_bounded(self._messages, self.options.context_characters),
            tools=tuple(self.tools) if native else (),
            schema=None if native else forms.schema_of(forms.ActionForm),
            max_output_tokens=self.options.max_output_tokens,
            temperature=self.options.temperature,
            repeat=self.options.repeat,
            role=self.role,
            about=self.about,
            seconds=seconds,
        )

    def _answered(self, reply: ChatReply, left: int, native: bool) -> bool:
        """Take a reply into the conversation, with the answers to its calls. Whether that was the end."""
        calls = reply.tool_calls if native else _action(reply)
        warning = wording.LAST.format(left=left) if 0 < left <= WARN else ""
        if not calls:
            self._fruitless += 1
            nudge = {"length": wording.CUT, "invalid": wording.BROKEN}.get(reply.finish, wording.NUDGE)
            self._messages.append(ChatMessage("assistant", reply.text[:MAX_SAID].strip() or "(nothing)"))
            self._messages.append(ChatMessage("user", "\n".join(filter(None, (nudge, warning)))))
            return False
        answers = [
            self._called(one) if n < MAX_CALLS else Answer(f"only {MAX_CALLS} calls of a reply are answered") for n, one in enumerate(calls)
        ]
        self._fruitless = self._fruitless + 1 if all(one.fruitless for one in answers) else 0
        texts = [one.text for one in answers]
        texts[-1] = "\n".join(filter(None, (texts[-1], warning)))
        if native:
            self._messages.append(ChatMessage("assistant", reply.text[:MAX_SAID], tuple(calls)))
            self._messages += [ChatMessage("tool", text, tool_call_id=one.id) for one, text in zip(calls, texts, strict=True)]
        else:
            said = json.dumps(reply.value, ensure_ascii=False) if reply.value is not None else reply.text
            self._messages.append(ChatMessage("assistant", said[: 10 * MAX_SAID] or "(nothing)"))
            self._messages.append(ChatMessage("user", "\n".join(texts)))
        return any(one.done for one in answers)

    def _called(self, one: ToolCall) -> Answer:
        if one.name not in {tool.name for tool in self.tools}:
            return Answer(f"there is no tool {one.name[:40]!r}; there are {', '.join(tool.name for tool in self.tools)}", fruitless=True)
        return self.call(one.name, one.arguments if isinstance(one.arguments, Mapping) else {})

    def _by_text(self) -> str:
        told = [{"tool": t.name, "what": t.description, "arguments": t.schema} for t in self.tools]
        return wording.BY_TEXT.format(tools=json.dumps(told, ensure_ascii=False))


def _action(reply: ChatReply) -> tuple[ToolCall, ...]:
    """The call in the reply of a model without tools; none where it cannot be read."""
    form, _ = forms.read(forms.ActionForm, reply.value)
    if form is None:
        return ()
    try:
        arguments = json.loads(form.arguments or "{}")
    except (ValueError, RecursionError):
        return ()
    return (ToolCall("text", form.tool, arguments),) if isinstance(arguments, dict) else ()


def _tokens(reply: ChatReply, messages: Sequence[ChatMessage]) -> int:
    given, made = reply.usage.input_tokens, reply.usage.output_tokens
    if given is None:
        given = sum(len(m.text) for m in messages) // CHARACTERS
    return given + (made if made is not None else len(reply.text) // CHARACTERS)


def _bounded(messages: Sequence[ChatMessage], room: int) -> tuple[ChatMessage, ...]:
    """The messages with the oldest results of tools left out where there is no room for all; the newest always stay."""
    kept = list(messages)
    size = sum(len(m.text) for m in kept)
    for place in range(2, len(kept) - 4):
        if size <= room:
            break
        if kept[place].role in ("tool", "user") and len(kept[place].text) > len(wording.LEFT_OUT):
            size -= len(kept[place].text) - len(wording.LEFT_OUT)
            kept[place] = evolve(kept[place], text=wording.LEFT_OUT)
    return tuple(kept)
