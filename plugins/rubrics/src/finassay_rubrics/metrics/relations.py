"""What is asked of two metrics together: a ratio, a share, a cover, their difference or sum. Read in the words between and around their names.

One place for who binds a query and for who understands a question, so that both see the same relation or none.
"""

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Final, Literal

from attrs import frozen

from finassay_rubrics.metrics.table import table
from finassay_rubrics.metrics.terms import Name, names_in

_WHOSE: Final = r"(?:the\s+)?(?:company's|firm's|group's)\s+|[\w.&-]+(?:\s[\w.&-]+){0,2}'s?\s+"
OF: Final = rf"\s*(?:fy\s?\d+\s+|fiscal\s+(?:year\s+)?\d+\s+|its\s+|the\s+|their\s+|his\s+|that\s+|total\s+|net\s+|consolidated\s+|annual\s+|same\s+|year's\s+|{_WHOSE})*"
_PLAIN_OF: Final = rf"(?:the\s+|its\s+|their\s+|total\s+|{_WHOSE})*"
PERCENT_OF: Final = re.compile(
    rf",?\s*(?:(?:was|were|is)\s+)?(?:(?:expressed|measured|stated|shown)\s+)?(?:as\s+an?\s+)?(?:%|percent|percentage|share|proportion|fraction)\s+of\b{OF}"
)
_TIMES_OF: Final = re.compile(rf",?\s*(?:(?:expressed|measured|stated|shown)\s+)?as\s+an?\s+(?:multiple|ratio)\s+(?:of|to)\b{OF}")
OVER: Final = re.compile(
    rf"\s*/\s*{OF}|\s+(?:divided\s+by|over|relative\s+to|in\s+relation\s+to|scaled\s+by)\b{OF}"
    rf"|\s+(?:for|per)\s+(?:(?:each|every|one|a)\s+)?(?:dollars?|unit|usd|\$|\$\s?1)\s*(?:of|in)\b{OF}|\s+(?:for\s+(?:each|every)|per)\s+(?:dollar\s+of\s+)?{OF}"
)
AGAINST: Final = re.compile(rf"\s+(?:compared\s+(?:to|with)|against)\b{OF}")
"""Says that two stand against each other, and not how."""
_PER_DOLLAR: Final = re.compile(rf"[^.;?!,]{{0,60}}?\s(?:for\s+(?:each|every)|per)\s+dollars?\s+(?:of|in)\b{OF}")
_TO: Final = re.compile(rf"[\s-]+to[\s-]+{OF}")
_JOINED_TO: Final = re.compile(r"-to-(?:total\s+)?")
_SHARE_BEFORE: Final = re.compile(
    rf"(?:\b(?:what|which|the|how\s+(?:large|big|high|great)\s+an?)\s+)?(?:%|\b(?:percent|percentage|share|proportion|fraction|portion|part))\s+of\b{OF}$"
)
_COVERAGE_BEFORE: Final = re.compile(rf"\b(?:coverage|cover)\s+of\s+{_PLAIN_OF}$")
_COVERAGE: Final = re.compile(rf"\s+(?:coverage|cover)\s+of\s+{_PLAIN_OF}")
_BY: Final = re.compile(rf"\s+(?:(?:is|was|were|are|being|been)\s+)?(?:covered\s+|backed\s+)?by\s+{_PLAIN_OF}")
_HOW_MANY_TIMES: Final = re.compile(
    rf"\bhow\s+many\s+times\s+(?:over\s+)?(?:(?:did|does|do|is|was|were|are|has|have|had|could|can|would)\s+)?(?:(?:larger|bigger|greater|higher|more)\s+(?:is|was|were|are)\s+)?{_PLAIN_OF}$"
)
_COVERS: Final = re.compile(
    rf"(?:\s+(?:over\s+)?(?:could|can|would|did|does|do|has|have|had|is|was|were))?\s+(?:have\s+)?(?:cover(?:s|ed)?|pay(?:s|id)?(?:\s+for)?|repay|service[sd]?|meet|met|fund(?:s|ed)?)\s+{_PLAIN_OF}"
)
_AS_LARGE: Final = re.compile(
    rf"\s+(?:as\s+(?:large|big|high)\s+as|than|the\s+(?:size|amount|level)\s+of|the)\s+{_PLAIN_OF}|\s+{_PLAIN_OF}"
)
_BEHIND_COVERS: Final = re.compile(r"[^.?!;]{0,30}?\bhow\s+many\s+times\b")
_RATIO_BEFORE: Final = re.compile(rf"\bratio\s+(?:of|between)\s+{_PLAIN_OF}$")
_RATIO_AFTER: Final = re.compile(r"[\s-]*(?:ratio|multiple)\b")
_BRIDGE: Final = re.compile(
    r"\b(?:from|bridge|reconcil\w*|walk|compar\w*|chang\w*|relat\w*)\s+(?:of\s+)?(?:the\s+|its\s+|[\w.&]+'s?\s+|total\s+)*$"
)
_DIFFERENCE: Final = re.compile(rf"\b(?:difference|gap|spread)\s+between\s+{_PLAIN_OF}$")
_SUM: Final = re.compile(rf"\b(?:sum|total)\s+of\s+{_PLAIN_OF}$|\bcombined\s+(?:total\s+of\s+)?{_PLAIN_OF}$")
_AND: Final = re.compile(rf"\s+(?:and|plus)\s+{OF}")
_JOINED: Final = re.compile(rf"\s*(?P<sign>\+|\s-\s|\bplus\b|\bminus\b|\bless\b|\bnet\s+of\b|\bin\s+excess\s+of\b)\s*{OF}")
_IS_PART: Final = re.compile(
    r"\s*(?:,|was|were|is|are|did|does|do|that|which|went|came|comes|goes|spent|paid|made|consist\w*|represent\w*|in|for|at"
    r"|[^.?;]{0,60}?\b(?:was|were|did|does|is|are|on|by|as|to|from|in|through|of)\b)"
)
_NOT_PART: Final = re.compile(r"[.?!;]|\band\s+(?:what|how|which)\b")


@frozen
class Relation:
    """`top` over `bottom`, or their difference or sum, in the words from `start` to `end`."""

    sign: Literal["/", "-", "+"]
    top: Name
    bottom: Name
    percent: bool
    start: int
    end: int

    @property
    def words(self) -> str:
        """In words that can be read again: names are chosen so that they do not run into that of another metric."""
        ids = [self.top.id, self.bottom.id]
        texts = [self._said(one, other) for one in _names(self.top) for other in _names(self.bottom)]
        return next((text for text in texts if [name.id for name in names_in(text)] == ids), texts[0])

    def _said(self, one: str, other: str) -> str:
        if self.sign == "/":
            return f"{one} as a percentage of {other}" if self.percent else f"ratio of {one} to {other}"
        return f"{'difference between' if self.sign == '-' else 'sum of'} {one} and {other}"


def _names(name: Name) -> tuple[str, ...]:
    return table().metrics[name.id].names[:6]


def relation(folded: str, one: Name, other: Name, *, percent: bool = False) -> Relation | None:
    """What is asked of two names that stand beside each other; None where the words say nothing of it.

    `percent` tells that a plain ratio is wanted in percent.
    """
    before, between, after = folded[: one.start], folded[one.end : other.start], folded[other.end :]
    if between.strip() == "":
        return None
    if found := _share(before, between, one, other):
        return found
    if found := _cover(before, between, after, one, other):
        return found
    ratio = _RATIO_BEFORE.search(before)
    behind = _RATIO_AFTER.match(after)
    start, end = ratio.start() if ratio else one.start, other.end + (behind.end() if behind else 0)
    plain = between.strip() == "/" or percent
    if _TIMES_OF.fullmatch(between):
        return Relation("/", one, other, False, start, other.end)
    if OVER.fullmatch(between) or _PER_DOLLAR.fullmatch(between):
        return Relation("/", one, other, plain, start, end)
    named = ratio or behind or _JOINED_TO.fullmatch(between)
    if _TO.fullmatch(between) and (named or not _BRIDGE.search(before)):
        return Relation("/", one, other, plain, start, end)
    if ratio and _AND.fullmatch(between):
        return Relation("/", one, other, plain, start, end)
    return _sum(before, between, one, other)


def _share(before: str, between: str, one: Name, other: Name) -> Relation | None:
    """`X as a percentage of Y`, `what share of Y was X`."""
    if PERCENT_OF.fullmatch(between):
        return Relation("/", one, other, True, one.start, other.end)
    lead = _SHARE_BEFORE.search(before)
    if (
        lead
        and _IS_PART.match(between)
        and not _NOT_PART.search(between)
        and re.fullmatch(r"\s*(?:and|or|,)\s*(?:the\s+|its\s+)?", between) is None
    ):
        return Relation("/", other, one, True, lead.start(), other.end)
    return None


def _cover(before: str, between: str, after: str, one: Name, other: Name) -> Relation | None:
    """`how many times X covers Y`, `X coverage of Y`, `coverage of Y by X`."""
    lead, counted = _COVERAGE_BEFORE.search(before), _HOW_MANY_TIMES.search(before)
    if lead and _BY.fullmatch(between):
        return Relation("/", other, one, False, lead.start(), other.end)
    if counted and _BY.fullmatch(between):
        return Relation("/", other, one, False, counted.start(), other.end)
    if counted and (_COVERS.fullmatch(between) or _AS_LARGE.fullmatch(between)):
        return Relation("/", one, other, False, counted.start(), other.end)
    if _COVERAGE.fullmatch(between):
        return Relation("/", one, other, False, one.start, other.end)
    if _COVERS.fullmatch(between) and (behind := _BEHIND_COVERS.match(after)):
        return Relation("/", one, other, False, one.start, other.end + behind.end())
    return None


def _sum(before: str, between: str, one: Name, other: Name) -> Relation | None:
    for sign, lead in (("-", _DIFFERENCE), ("+", _SUM)):
        found = lead.search(before)
        if found and _AND.fullmatch(between):
            return Relation("-" if sign == "-" else "+", one, other, False, found.start(), other.end)
    joined = _JOINED.fullmatch(between)
    if joined is None:
        return None
    return Relation("+" if joined["sign"].strip() in ("+", "plus") else "-", one, other, False, one.start, other.end)


def relations(folded: str, names: Sequence[Name]) -> list[Relation]:
    """The relations of names that stand beside each other, each name in one at most."""
    found: list[Relation] = []
    for one, other in pairwise(names):
        if (found and found[-1].bottom in (one, other)) or (found and found[-1].top in (one, other)):
            continue
        related = relation(folded, one, other)
        if related is not None and not any(related.start < name.end and name.end <= one.start for name in names if name is not one):
            found.append(related)
    return found
