"""Whether two that worked apart found the same words: a day, a direction, a passage, or much the same words."""

import re
from collections.abc import Iterable
from decimal import Decimal
from typing import Final

from finassay_rubrics.grading.answer import Answer
from finassay_rubrics.grading.dates import dates, same
from finassay_rubrics.grading.words import ENOUGH, direction, names, negated
from finassay_rubrics.record.quotes import normal_form
from finassay_rubrics.record.rubric import Evidence, Route

SHORT: Final = 6
"""Words of a verdict such as `lower than a year before`."""


def same_words(found: str, evidence: Iterable[Evidence], route: Route) -> str:
    """By what the words found are those that a route expects; empty if they are others."""
    one, two = normal_form(found).casefold(), normal_form(str(route.value)).casefold()
    if not one or isinstance(route.value, Decimal):
        return ""
    if one == two:
        return "the same words"
    days = [list(dates(text)) for text in (found, str(route.value))]
    if all(days):
        return "the same day" if all(any(same(d, e) for d in days[0]) for e in days[1]) else ""
    ways = _way(one), _way(two)
    if None not in ways and ways[0] != ways[1]:
        return ""
    if None in ways and any(e.kind == "script" for e in route.evidence):
        return ""  # a script chose one of several names: the passages are those of all of them
    if negated(one) != negated(two):
        return ""
    if None not in ways and max(len(one.split()), len(two.split())) <= SHORT:
        return "the same direction"
    if _overlap(evidence, route.evidence):
        return "the same passage"
    both = (found, str(route.value)), (str(route.value), found)
    share = min(names(Answer(said), wanted, (), frozenset()).share for said, wanted in both)
    return "much the same words" if share >= ENOUGH else ""


def _way(text: str) -> str | None:
    return direction(text) or ("up" if re.search(r"\bmore\b", text) else None)


def _overlap(first: Iterable[Evidence], second: Iterable[Evidence]) -> bool:
    """Whether both rest on one passage of one page."""

    def places(evidence: Iterable[Evidence]) -> list[tuple[str, str, int | None, int, int]]:
        return [(e.source, e.document, e.page, e.start, e.end) for e in evidence if e.start is not None and e.end is not None]

    return any(a[:3] == b[:3] and a[3] < b[4] and b[3] < a[4] for a in places(first) for b in places(second))


__all__ = ["same_words"]
