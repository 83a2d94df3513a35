"""What a rule answers."""

from collections.abc import Callable, Mapping

from attrs import frozen

from finassay.api.verdict import Json
from finassay_judge_lexical.text import Line, Reading

MAX_QUOTES = 5


@frozen
class Grade:
    """A level, the rule that gave it, and the lines that it rests on."""

    level: int
    reason: str
    lines: tuple[Line, ...] = ()


Rule = Callable[[Reading, Mapping[str, Json]], Grade]


def grade(level: int, reason: str, *lines: "list[Line] | tuple[Line, ...]") -> Grade:
    """A grade on the first lines of each list, without repeats."""
    picked: dict[str, Line] = {}
    for group in lines:
        for line in group[:2]:
            picked.setdefault(line.text, line)
    return Grade(level, reason, tuple(picked.values())[:MAX_QUOTES])


def kinds(patterns: Mapping[str, str], found: "Callable[[str], list[Line]]") -> dict[str, list[Line]]:
    """For each named pattern the lines that a search finds; patterns without a line are left out."""
    return {name: lines for name, pattern in patterns.items() if (lines := found(pattern))}
