"""What the execution log says an agent did: calls with their results, executions, fetches, failures."""

import json
import re
from collections.abc import Iterator
from typing import Any

from attrs import frozen

from finassay.api.delivery import Package

_EXECUTES = re.compile(r"bash|shell|exec|terminal|command|python|run|process|notebook|repl", re.I)
_FETCHES = re.compile(
    r"fetch|download|http|url|browse|search|api|query|get_|load|read_csv|datasets?|sampledata|yfinance|curl|wget|import\b", re.I
)
_WRITES = re.compile(r"write|edit|create|patch|str_replace", re.I)
_FAILED_TEXT = re.compile(
    r"Traceback \(most recent call last\)|\bTimeoutError\b|\btimed out\b|Connection(?:Error| refused)|\b(?:404|403|429|500|502"
    r"|503)\b.{0,20}(?:error|not found|too many)",
    re.I,
)
MAX_TEXT = 400_000


@frozen
class Call:
    """One tool call with its result, if the log has one."""

    turn: int
    name: str
    text: str
    """The input as text."""
    output: str | None
    is_error: bool
    exit_code: int | None
    has_result: bool

    @property
    def executes(self) -> bool:
        return bool(_EXECUTES.search(self.name))

    @property
    def fetches(self) -> bool:
        return bool(_FETCHES.search(self.name) or (self.executes and _FETCHES.search(self.text)))

    @property
    def writes(self) -> bool:
        return bool(_WRITES.search(self.name))

    @property
    def succeeded(self) -> bool:
        return self.has_result and not self.is_error and self.exit_code in (None, 0)

    @property
    def failed(self) -> bool:
        return self.has_result and (
            self.is_error or self.exit_code not in (None, 0) or (self.executes and bool(_FAILED_TEXT.search(self.output or "")))
        )

    @property
    def complete(self) -> bool:
        """Its result is in the log, with an exit code where it ran something."""
        return self.has_result and (self.exit_code is not None or not self.executes)


def as_text(value: Any) -> str:
    """An input or output as text, bounded."""
    if isinstance(value, str):
        return value[:MAX_TEXT]
    try:
        return json.dumps(value, default=str, ensure_ascii=False)[:MAX_TEXT]
    except (ValueError, RecursionError):
        return ""


def calls(package: Package) -> tuple[Call, ...]:
    """The log's calls in order. A result belongs to the last open call of its id in its turn. Use as `package.fact(calls)`."""
    return tuple(_calls(package))


def _calls(package: Package) -> Iterator[Call]:
    results: dict[tuple[int, str], list[Any]] = {}
    for event in package.log:
        if event.kind == "tool-result":
            results.setdefault((event.turn, str(event.data.get("id", ""))), []).append(event.data)
    for event in package.log:
        if event.kind != "tool-call":
            continue
        waiting = results.get((event.turn, str(event.data.get("id", ""))), [])
        data = waiting.pop(0) if waiting else None
        code = data.get("exit_code") if data is not None else None
        yield Call(
            event.turn,
            str(event.data.get("name", "")),
            as_text(event.data.get("input", "")),
            as_text(data.get("output", "")) if data is not None else None,
            bool(data.get("is_error", False)) if data is not None else False,
            code if isinstance(code, int) and not isinstance(code, bool) else None,
            data is not None,
        )


def agent_turns(package: Package) -> tuple[int, ...]:
    """Numbers of the agent's turns."""
    return tuple(
        sorted({m.turn for m in package.conversation.of("agent")} | {t.turn for t in package.turns} | {d.turn for d in package.deliveries})
    )


def failed_turns(package: Package) -> tuple[int, ...]:
    """Turns with a failed data call, a crash or a timeout."""
    found = {c.turn for c in package.fact(calls) if c.failed}
    found |= {e.turn for e in package.log if e.kind == "error"}
    found |= {t.turn for t in package.turns if t.cut or t.failed_attempts}
    return tuple(sorted(found))
