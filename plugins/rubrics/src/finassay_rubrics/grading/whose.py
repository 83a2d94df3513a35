"""Whose figure a sentence or a row gives: of another metric than the one asked about, of a plan."""

import re
from functools import cache
from typing import Final

from finassay_rubrics.metrics.table import table
from finassay_rubrics.metrics.terms import fold, names_in, words

_LEAD: Final = 240
"""Characters before a figure that can name its metric."""
_BEHIND: Final = re.compile(r"^[\s)*]*(?:in|of|as)\s+(?:total\s+)?(?P<name>[^,;.:()|]{2,40})")
EXPECTS: Final = re.compile(
    r"\b(?:target|expect|forecast|guid|project|plan|estimat|outlook|budget|anticipat|consensus|impl|assum|model|scenario)\w*", re.IGNORECASE
)
"""Words of a criterion that asks for what is not reported."""
_PLANNED: Final = re.compile(
    r"\b(?:targets|targeted|(?:is|are|was|were) targeting|expects|projects|aims|anticipates|hopes|guides|guided (?:for|to)|plans (?:for|to)"
    r"|(?:is|are|was|were) (?:expected|projected|forecast(?:ed)?|anticipated|budgeted|targeted) (?:to|at))\b(?:[^.;,]|[.,](?=\d))*$",
    re.IGNORECASE,
)


_FLOW: Final = re.compile(
    r"\b(?:purchas\w+|additions?|acquisitions?|changes?|increases?|decreases?|sales?|proceeds|investments?|payments?|spending|repayments?|issuances?)"
    r"\s+(?:of|to|in|from|for|on)\s+(?:[\w-]+\s+)?$"
)
"""Before the name of a line: what moved it is another line, `purchases of PP&E`."""
_PRIOR: Final = re.compile(r"([a-z][\w&'-]*)\s+$")


@cache
def metrics_in(text: str, *, whole: bool = False) -> frozenset[str]:
    """Ids of the metrics of the table that a text names. `whole` leaves out those of which a word before makes a part: `contract liabilities`."""
    folded = fold(text)
    named = [name for name in names_in(folded) if not _FLOW.search(folded[max(0, name.start - 60) : name.start])]
    return frozenset(name.id for name in named if not whole or _is_whole(folded[max(0, name.start - 40) : name.start]))


def _is_whole(before: str) -> bool:
    word = _PRIOR.search(before)
    return word is None or word[1] in words("before") or word[1] in _PLAIN or word[1].endswith("'s")


_PLAIN: Final = frozenset(
    ["and", "as", "but", "while", "so", "with", "where", "when", "million", "billion", "thousand", "however", "then", "targets"]
)


def of_another(label: str, asked: frozenset[str]) -> bool:
    """Whether a label names a metric of the table, and neither what is asked about nor a kind of it."""
    named = metrics_in(label[:_LEAD], whole=True)
    return bool(named) and bool(asked) and all(_rivals(one, other) for one in named for other in asked)


def _rivals(one: str, other: str) -> bool:
    """Whether two metrics are different ones of a unit: net income and net income from continuing operations are not."""
    metrics = table().metrics
    if metrics[one].unit != metrics[other].unit:
        return False
    return not (
        one.startswith(f"{other}_") or other.startswith(f"{one}_") or one == other or metrics[one].formula == metrics[other].formula
    )


def names_another(text: str, start: int, end: int, asked: frozenset[str]) -> bool:
    """Whether a sentence says of the figure at these places that it is another metric's, and nowhere names the one asked about."""
    if not asked or metrics_in(text) & asked:
        return False
    behind = _BEHIND.match(text[end : end + 60])
    return of_another(text[max(0, start - _LEAD) : start], asked) or (behind is not None and of_another(behind["name"], asked))


def planned(text: str, start: int) -> bool:
    """Whether the figure is a plan: `management targets revenue of …`."""
    return _PLANNED.search(text[max(0, start - _LEAD) : start]) is not None
