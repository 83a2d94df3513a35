"""Which times and which issuers a query gives to one of its metrics: those of its clause, else of its sentence, else of the query.

Where several are left, none is: a figure of another year, or of another company, is no answer.
"""

import re
from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any, Final

from attrs import frozen

from finassay_rubrics.metrics.formula import FormulaError
from finassay_rubrics.metrics.times import Time, lacks_year, times_in

Binding = Mapping[str, Any]
_BREAK: Final = re.compile(r"[,;:]|\b(?:and|then|but|while|plus|as well as|along with)\b", re.IGNORECASE)
_SENTENCE: Final = re.compile(r"(?<!\bvs)(?<!\bInc)(?<!\bCorp)(?<!\bCo)(?<!\bLtd)(?<!\bNo)(?<!\bU\.S)[.?!;](?:\s+|$)")


class UnclearError(FormulaError):
    """What belongs to a metric cannot be told; the message says why."""


@frozen
class _Mark:
    """A binding at its place: something that is asked, or a period with its times."""

    start: int
    times: tuple[Time, ...] = ()
    end: int = 0
    verb: bool = False
    """Whether it only says that a figure is asked for: `Compare`."""


def times_of_spans(periods: Sequence[Binding]) -> list[Time]:
    """The times of several periods together. Raises `UnclearError` for a part of a year of which no year is told."""
    spans = [str(one.get("span", "")) for one in periods]
    if any(lacks_year(span) for span in spans):
        raise UnclearError("asks for a part of a year without telling which year")
    return sorted({time for span in spans for time in times_in(span)})


def times_beside(query: str, bindings: Mapping[str, Sequence[Binding]], own: Sequence[str]) -> list[Time]:
    """The times of what an obligation stands on; nothing where places are not told. Raises `UnclearError` where several sets are left."""
    asked = [*bindings.get("metrics", ()), *bindings.get("deliverables", ())]
    periods = [(one, times) for one, times in times_meant(bindings.get("periods", ())) if times]
    mine = [one["start"] for one in asked if placed(one) and one.get("id") in own]
    if not periods or not mine:
        return []
    marks = [_Mark(one["start"], verb=one.get("type") == "figure") for one in asked if placed(one)]
    marks += [_Mark(one["start"], times, int(one.get("end") or 0)) for one, times in periods]
    clauses = _clauses(query, sorted(marks, key=lambda one: (one.start, one.times)))
    within = [marks for _, start, end, marks in clauses if any(start <= place < end for place in mine)]
    sentences = {number for number, start, end, _ in clauses if any(start <= place < end for place in mine)}
    around = [marks for number, _, _, marks in clauses if number in sentences]
    for level in (within, around, [marks for *_, marks in clauses]):
        found = {times for marks in level if (times := _of_clause(marks))}
        if len(found) > 1 and level is within and len(mine) >= len(within):
            return sorted({time for times in found for time in times})  # it is asked several times, each time with its own
        if len(found) > 1:
            raise UnclearError("stands in a query with several periods, and which of them belongs to it cannot be told")
        if found:
            return list(found.pop())
    return []


_BACK: Final = re.compile(
    r"(?:(both)|(?:the |these |those )?(two|three|four|five)|(?:each|all) (?:of )?(?:the|these|those)|those|these)\b", re.IGNORECASE
)
_COUNTS: Final = {"both": 2, "two": 2, "three": 3, "four": 4, "five": 5}


def times_meant(periods: Sequence[Binding]) -> list[tuple[Binding, tuple[Time, ...]]]:
    """Each placed period with its times; `both years` and `the two year-ends` mean those that were named before, if they are as many."""
    found: list[tuple[Binding, tuple[Time, ...]]] = []
    before: set[Time] = set()
    for one in sorted((one for one in periods if placed(one)), key=lambda period: int(period["start"])):
        times = tuple(times_in(str(one.get("span", ""))))
        back = None if times else _BACK.match(str(one.get("span", "")))
        if back is not None:
            wanted = _COUNTS.get((back[1] or back[2] or "").lower(), len(before))
            times = tuple(sorted(before)) if before and wanted == len(before) else ()
        before |= set(times)
        found.append((one, times))
    return found


def sentences_of(query: str, asked: Sequence[Binding], own: Sequence[str]) -> list[str]:
    """The sentences in which what an obligation stands on is asked."""
    places = [one["start"] for one in asked if placed(one) and one.get("id") in own]
    found, start = [], 0
    for end in [*(m.end() for m in _SENTENCE.finditer(query)), len(query)]:
        if any(start <= place < end for place in places):
            found.append(query[start:end])
        start = end
    return found


def sentence_places(query: str) -> list[tuple[int, int]]:
    """(start, end) of the query's sentences."""
    found, start = [], 0
    for end in [*(m.end() for m in _SENTENCE.finditer(query)), len(query)]:
        if query[start:end].strip():
            found.append((start, end))
        start = end
    return found


def placed(binding: Binding) -> bool:
    """Whether its place in the query is told."""
    return isinstance(binding.get("start"), int)


def _clauses(query: str, marks: Sequence[_Mark]) -> list[tuple[int, int, int, list[_Mark]]]:
    """(number of its sentence, start, end, marks) of each clause: a sentence is cut where both sides ask for something of a time of their own."""
    found = []
    start = 0
    ends = [*(m.end() for m in _SENTENCE.finditer(query)), len(query)]
    for number, end in enumerate(ends):
        cuts = [start]
        for match in _BREAK.finditer(query, start, end):
            left = [one for one in marks if cuts[-1] <= one.start < match.start()]
            right = [one for one in marks if match.end() <= one.start < end]
            inside = any(one.start < match.start() < one.end for one in marks)
            if not inside and _is_whole(left) and _is_whole(right) and not right[0].times:
                cuts.append(match.end())
        for a, b in zip(cuts, [*cuts[1:], end], strict=True):
            found.append((number, a, b, [one for one in marks if a <= one.start < b]))
        start = end
    return found


def _is_whole(marks: Sequence[_Mark]) -> bool:
    return any(one.times for one in marks) and any(not one.times for one in marks)


def _of_clause(marks: Sequence[_Mark]) -> tuple[Time, ...]:
    """The times of a clause. Raises `UnclearError` where periods and what is asked stand in turn: one period each, perhaps."""
    if any(not one.times and not one.verb for one in marks):
        marks = [one for one in marks if not one.verb]
    runs = [(bool(dated), list(group)) for dated, group in groupby(marks, key=lambda one: bool(one.times))]
    times = {tuple(sorted({time for one in group for time in one.times})) for dated, group in runs if dated}
    if len(times) > 1 and sum(not dated for dated, _ in runs) > 1:
        raise UnclearError("stands beside other things of other periods, and which period belongs to it cannot be told")
    return tuple(sorted({time for several in times for time in several}))
