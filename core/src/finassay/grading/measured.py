"""The three cost dimensions, measured from turns and log. What was not reported is None: unknown, never zero."""

import json
from collections import Counter
from typing import Final

from finassay.api.delivery import LogEvent, Package
from finassay.api.verdict import Measured

BY: Final = "finassay"
_TOKENS: Final = ("input_tokens", "cached_tokens", "output_tokens", "reasoning_tokens", "cost_usd")
_MAX_TOOLS: Final = 20

Values = dict[str, float | str | None]


def time_and_turns(package: Package) -> Measured:
    """6.1: seconds in all, on average and at most a turn; turns used; turns that the clock stopped."""
    seconds = [turn.seconds for turn in package.turns]
    values: Values = {
        "turns": float(len(package.conversation.of("agent"))),
        "seconds": sum(seconds) if seconds else None,
        "seconds_per_turn": sum(seconds) / len(seconds) if seconds else None,
        "longest_turn_seconds": max(seconds) if seconds else None,
        "cut_turns": float(sum(turn.cut for turn in package.turns)) if seconds else None,
        "failed_attempts": float(sum(turn.failed_attempts for turn in package.turns)) if seconds else None,
    }
    return Measured(values, BY)


def tokens_and_money(package: Package) -> Measured:
    """6.2: sums over the session. A sum in which a turn is missing would understate, so it is unknown."""
    turns = {message.turn for message in package.conversation.of("agent")}
    values: Values = {name: _sum(package.log, name, turns) for name in _TOKENS}
    tables = {str(e.data["price_table"]) for e in package.log if e.kind == "usage" and e.data.get("price_table")}
    values["price_table"] = ", ".join(sorted(tables)) or None
    return Measured(values, BY)


def _sum(log: tuple[LogEvent, ...], name: str, turns: set[int]) -> float | None:
    total, seen = 0.0, set()
    for event in log:
        value = event.data.get(name) if event.kind == "usage" else None
        if isinstance(value, int | float) and not isinstance(value, bool):
            total += value
            seen.add(event.turn)
    return total if turns and turns <= seen else None


def tool_calls(package: Package) -> Measured:
    """6.3: calls, failed and distinct ones, and calls by tool. Unknown without a log."""
    if not package.log:
        return Measured({"calls": None, "failed": None, "distinct": None}, BY)
    calls = [event for event in package.log if event.kind == "tool-call"]
    failed = sum(1 for event in package.log if event.kind == "tool-result" and _failed(event))
    distinct = {json.dumps([e.data.get("name"), e.data.get("input")], sort_keys=True, default=str) for e in calls}
    values: Values = {"calls": float(len(calls)), "failed": float(failed), "distinct": float(len(distinct))}
    by_tool = Counter(str(event.data.get("name", "unnamed"))[:80] for event in calls)
    values.update({f"calls.{name}": float(count) for name, count in by_tool.most_common(_MAX_TOOLS)})
    return Measured(values, BY)


def _failed(event: LogEvent) -> bool:
    return bool(event.data.get("is_error")) or event.data.get("exit_code") not in (None, 0)


MEASURES: Final = {"6.1": time_and_turns, "6.2": tokens_and_money, "6.3": tool_calls}
