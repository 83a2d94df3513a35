"""One turn of a program: its events taken in, bounded, logged as they come."""

import math
import time
from collections.abc import Callable, Iterable
from functools import reduce
from typing import Any, Final

from attrs import asdict, evolve

from finassay.api.agent import TurnContext
from finassay.api.delivery import LogEvent
from finassay.api.usage import Usage
from finassay_cli_kit.events import Done, Failed, KitEvent, Note, ProgramSession, Said, ToolCall, ToolResult, UsageReported
from finassay_cli_kit.usage import add, latest, since

MAX_REPLY: Final = 2_000_000
"""Characters of a reply."""
MAX_TEXT: Final = 20_000
"""Characters of one logged text."""
MAX_EVENTS: Final = 20_000
"""Logged events of one turn."""
MAX_NOTES: Final = 100
"""Notes about unreadable output in one turn; the rest is counted."""
MAX_ERRORS: Final = 50


def clean(text: str, limit: int = MAX_TEXT) -> str:
    """Text that can be stored anywhere: bounded, without lone surrogates."""
    if len(text) > limit:
        text = text[:limit] + "…"
    return text.encode("utf-8", "replace").decode("utf-8")


def bounded(value: object, depth: int = 5) -> Any:
    """JSON data of bounded depth, breadth and length."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        return value if abs(value) < 2**63 else clean(hex(value), 100)
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, dict) and depth:
        return {clean(str(k), 100): bounded(v, depth - 1) for k, v in list(value.items())[:50]}
    if isinstance(value, list | tuple) and depth:
        return [bounded(v, depth - 1) for v in value[:100]]
    return clean(value if isinstance(value, str) else f"({type(value).__name__}, nested too deeply)")


class ProgramTurn:
    """What is known of a turn while its program runs."""

    def __init__(self, context: TurnContext, total_before: Usage) -> None:
        self._context, self._started = context, time.monotonic()
        self._total_before = total_before
        self._events = self._unreadable = 0
        self._reply: list[str] = []
        self._reply_size = 0
        self._counted = Usage()
        self._provisional: dict[str, Usage] = {}
        self.total = Usage()
        """The session's running total as last reported in this turn."""
        self.session: str | None = None
        self.errors: list[Failed] = []
        self.done = False

    @property
    def text(self) -> str:
        return clean("".join(self._reply), MAX_REPLY)

    @property
    def usage(self) -> Usage:
        counted = add(self._counted, since(self.total, self._total_before))
        return latest(counted, reduce(add, self._provisional.values(), Usage()))

    def take(self, read: Callable[[bytes], Iterable[KitEvent]], line: bytes) -> None:
        """Read one line of output. A line that the adapter cannot read is noted; it never ends the turn."""
        try:
            for event in read(line):
                self._take(event)
        except Exception as error:  # the adapter's code on hostile input
            self._unreadable += 1
            if self._unreadable <= MAX_NOTES:
                self.note(f"unreadable output ({type(error).__name__}): {line[:200].decode('utf-8', 'replace')}")

    def close(self) -> None:
        if self._unreadable > MAX_NOTES:
            self.note(f"{self._unreadable - MAX_NOTES} more lines of unreadable output")

    def note(self, text: str) -> None:
        self._log("note", {"text": clean(text)})

    def _take(self, event: KitEvent) -> None:
        match event:
            case Said(text, more):
                self._say(text, more)
            case ToolCall(name, tool, given):
                self._log("tool-call", {"id": clean(name, 200), "name": clean(tool, 200), "input": bounded(given)})
            case ToolResult(name, output, is_error, exit_code):
                data = {"id": clean(name, 200), "output": clean(output), "is_error": is_error, "exit_code": bounded(exit_code)}
                self._log("tool-result", data)
            case UsageReported(usage, _, True, call):
                if call in self._provisional or len(self._provisional) < MAX_EVENTS:
                    self._provisional[call or f"#{len(self._provisional)}"] = usage
            case UsageReported(usage, running_total):
                if running_total:
                    self.total = latest(usage, self.total)
                else:
                    self._counted = add(self._counted, usage)
                self._log("usage", {**asdict(usage), "running_total": running_total})
            case Failed(text, provider, refused):
                if len(self.errors) < MAX_ERRORS:
                    self.errors.append(evolve(event, text=clean(text, 2_000)))
                self._log("error", {"text": clean(text), "provider": provider or refused})
            case ProgramSession(name):
                self.session = clean(name, 200)
            case Note(text):
                self.note(text)
            case Done(text):
                self.done = True
                if text is not None:
                    self._say(text, more=False)

    def _say(self, text: str, more: bool) -> None:
        if not more:
            if self._reply and self._reply != [text]:
                self.note(f"said before its reply: {self.text}")
            self._reply, self._reply_size = [], 0
        if self._reply_size <= MAX_REPLY:
            self._reply.append(text)
            self._reply_size += len(text)

    def _log(self, kind: Any, data: dict[str, Any]) -> None:
        self._events += 1
        if self._events <= MAX_EVENTS:
            self._context.log(LogEvent(self._context.turn, kind, data, time.monotonic() - self._started))
