"""Directions: which way the answer says that something went, held against its own figures."""

import re
from typing import Final

from attrs import evolve, frozen

from finassay_rubrics.grading.answer import Answer, Sentence
from finassay_rubrics.grading.by_number import Figures
from finassay_rubrics.grading.cells import Cell, cell_of
from finassay_rubrics.grading.locate import words_of
from finassay_rubrics.grading.reading import Read
from finassay_rubrics.grading.score import Found
from finassay_rubrics.grading.view import RubricView, numeric_routes
from finassay_rubrics.grading.vocabulary import AVERAGE, LOWER_IS_BETTER, spread
from finassay_rubrics.grading.whose import EXPECTS
from finassay_rubrics.grading.words import direction, judged
from finassay_rubrics.record.rubric import Criterion, Route

PROGRAM: Final = "program"
RULES: Final = "stated rules"
_PRONOUN: Final = re.compile(
    r"^\W*(?:it|this|that|they|both|which|the (?:ratio|figure|share|margin|multiple|rate|metric))\b", re.IGNORECASE
)
_FILLERS: Final = frozenset(
    [
        "year",
        "fiscal",
        "it",
        "yes",
        "no",
        "than",
        "in",
        "the",
        "was",
        "is",
        "by",
        "a",
        "to",
        "expected",
        "clearly",
        "slightly",
        "over",
        "from",
        "previous",
        "prior",
        "earlier",
    ]
)
_OTHER: Final = {"up": "down", "down": "up"}


ASIDE: Final = 0.3
"""What a clause weighs that names only what the obligation is about, not what the criterion asks."""


@frozen
class Told:
    """A direction that an answer tells."""

    way: str
    quote: str
    span: tuple[int, int]


def _bare(route: Route) -> str:
    """What is expected, without the yes or no before it: `no, it declined`."""
    return re.sub(r"^\W*(?:yes|no)\b\W*(?:it\b|they\b)?", "", str(route.value), flags=re.IGNORECASE)


def wanted_way(criterion: Criterion, route: Route, view: RubricView) -> str | None:
    """The direction that a route expects."""
    narrow = cell_of(criterion.text, "", view.entities, change=True)
    return way_of(_bare(route), lower_is_better=bool(spread(narrow.words) & LOWER_IS_BETTER))


def is_direction(criterion: Criterion, route: Route) -> bool:
    """Whether what is expected is nothing but a direction: `declined`, `lower than a year earlier`."""
    value = _bare(route)
    if not (direction(value) or judged(value)):
        return False
    rest = [w for w in words_of(value) if not direction(w) and not judged(w) and w not in _FILLERS]
    return not rest or (len(rest) <= 2 and frozenset(rest) <= spread(words_of(criterion.text)))


def grade_direction(view: RubricView, criterion: Criterion, route: Route, read: Read, figures: Figures) -> Found:
    """Met if the answer says it, or its own figures show it, and neither says otherwise."""
    what = next((o.what for o in view.rubric.obligations if o.id == criterion.obligation_id), "")
    cell = cell_of(f"{criterion.text} {what}" if len(what) < 200 else criterion.text, "", view.entities, change=True)
    narrow = cell_of(criterion.text, "", view.entities, change=True)
    lower_is_better = bool(spread(narrow.words) & LOWER_IS_BETTER)
    wanted = way_of(_bare(route), lower_is_better=lower_is_better)
    shown = shown_direction(view, criterion, figures)
    told = said_direction(read.answer, cell, narrow, lower_is_better=lower_is_better, others=frozenset(view.weights), asked=criterion.text)
    if told is None and shown is None:
        return Found("unmet", "the answer tells no direction", by=RULES)
    said = told.way if told else shown
    quote, span = (told.quote[:400], told.span) if told else ("", None)
    if told is not None and shown is not None and not _agree(told.way, shown):
        return read.placed(Found("unmet", f"it says {told.way}, its own figures say {shown}", span, quote, by=PROGRAM))
    right = said == wanted or ((wanted or "").startswith("not ") and said != (wanted or "")[4:])
    return read.placed(Found("met" if right else "unmet", f"expected {wanted}, said {said}", span, quote, by=RULES))


def against_figures(view: RubricView, criterion: Criterion, route: Route, found: Found, figures: Figures) -> Found:
    """A judge's verdict on a direction, unmet where the answer's own figures say otherwise."""
    wanted = wanted_way(criterion, route, view)
    shown = shown_direction(view, criterion, figures)
    if found.outcome != "met" or shown is None or wanted is None or _agree(wanted, shown):
        return found
    return evolve(found, outcome="unmet", why=f"it says {wanted}, its own figures say {shown}", by=PROGRAM)


def _agree(told: str, shown: str) -> bool:
    return told != shown[4:] if shown.startswith("not ") else told[4:] != shown if told.startswith("not ") else told == shown


def way_of(text: str, *, lower_is_better: bool) -> str | None:
    """`up`, `down`, `flat` or `not …`; what is better is lower for some metrics."""
    way = direction(text)
    if way is not None and (way == "flat" or not judged(text)):
        return way
    verdict = judged(text)
    if verdict is None:
        return way
    good = {"good": True, "bad": False, "not good": False, "not bad": True}[verdict]
    return way or ("down" if good == lower_is_better else "up")


def said_direction(
    answer: Answer, cell: Cell, narrow: Cell, *, lower_is_better: bool, others: frozenset[str] = frozenset(), asked: str = ""
) -> Told | None:
    """Which way an answer says that a metric went: the clause that speaks most of it; one that goes on about it speaks of it, too.

    `others` are the words of all metrics of the rubric: a clause about another one tells nothing. `asked` is the criterion's text: what is
    expected of a year to come is not told by what has been.
    """
    wanted, nearest, ahead = spread(cell.words), spread(narrow.words), bool(EXPECTS.search(asked))
    averaged = AVERAGE.search(asked) is not None
    best: tuple[float, Told] | None = None
    topic: frozenset[str] = frozenset()
    for one in (*answer.sentences, *(r for r in answer.rows if r.text.count("|") == 1)):
        whole = one.about(cell.entities)
        if _tells(one):
            elsewhere = whole & (wanted | others)
            carried = topic if _PRONOUN.match(one.text) or not elsewhere else frozenset()
            said: frozenset[str] = frozenset()
            for clause in re.split(r"[;]|,\s+(?:and|but|while|whereas)\s+|\bwhile\b|\bwhereas\b", one.text[:2_000]):
                way = way_of(_without_metric(clause, narrow), lower_is_better=lower_is_better)
                own = spread(words_of(clause, cell.entities))
                inherited = carried | (said if _PRONOUN.match(clause) else frozenset())
                said = own if own & wanted else said
                shared = 1.5 * len(own & nearest) + 0.4 * len((own & wanted) - nearest) + 0.6 * len((inherited & wanted) - own)
                shared += 1.5 * _subject(clause, nearest)
                if nearest and not (own | inherited) & nearest:
                    shared = 0.0 if own & others else ASIDE * shared
                shared *= 0.0 if averaged and not AVERAGE.search(one.text) else 1.0
                shared *= ASIDE if ahead and not EXPECTS.search(clause) else 1.0
                if way and shared and shared >= (best[0] if best else 0):  # the last one concludes
                    text = clause.strip()
                    at = one.start + one.text.find(text)
                    best = (shared, Told(way, text, (at, at + len(text))))
        topic = whole if whole & wanted else topic
    return best[1] if best else None


def _subject(clause: str, metric: frozenset[str]) -> bool:
    """Whether the metric stands right before a word of direction: `currencies lowered growth`."""
    tokens = re.findall(r"[\w&’'/-]+", clause)
    return any(
        (direction(token) or judged(token)) and spread(words_of(tokens[index - 1])) & metric
        for index, token in enumerate(tokens[:200])
        if index
    )


def _without_metric(clause: str, narrow: Cell) -> str:
    """A clause without `growth` where growth is what is spoken of."""
    return re.sub(r"\bgrowth\b", " ", clause, flags=re.IGNORECASE) if narrow.growth else clause


def _tells(one: Sentence) -> bool:
    return bool(direction(one.text) or judged(one.text))


def cells_of(view: RubricView, criterion: Criterion, figures: Figures) -> dict[str, Criterion]:
    """The criteria whose figures a direction compares, by year: those that it depends on, else those of its metric in the same obligation."""
    asked = spread(words_of(criterion.text))
    groups: dict[tuple[str, str], dict[str, Criterion]] = {}
    overlap: dict[tuple[str, str], int] = {}
    for other in view.rubric.criteria:
        routes = numeric_routes(other)
        related = other.id in criterion.depends_on if criterion.depends_on else other.obligation_id == criterion.obligation_id
        if other.kind != "numeric" or not routes or other.status == "unresolved" or not related:
            continue
        cell = figures.cell(other, routes[0])
        shared = len(asked & spread(cell.words))
        if (
            not cell.years
            or cell.change
            or (not shared and not criterion.depends_on)
            or (criterion.entity and criterion.entity != other.entity)
        ):
            continue
        key = (routes[0].unit, routes[0].scale)
        if groups.setdefault(key, {}).setdefault(cell.years[0], other) is other:
            overlap[key] = max(overlap.get(key, 0), shared)
    several = [key for key, found in groups.items() if len(found) > 1]
    return groups[max(several, key=lambda key: overlap[key])] if several else {}


def shown_direction(view: RubricView, criterion: Criterion, figures: Figures) -> str | None:
    """What the answer's own figures for two periods of one metric show."""
    compared = cells_of(view, criterion, figures)
    values = {}
    for year, other in compared.items():
        number = next(iter(figures.of(other, numeric_routes(other)[0]).figures), None)
        if number is not None and numeric_routes(other)[0].unit:
            values[year] = abs(number.units) if _LOSS.search(f"{criterion.text} {other.text}") else number.units
    if len(values) < 2:
        return None
    first, last = values[min(values)], values[max(values)]
    return "up" if last > first else "down" if last < first else "flat"


_LOSS: Final = re.compile(r"\bloss(?:es)?\b|\bdeficit\b|\boutflow\b", re.IGNORECASE)
"""A loss of 64 is larger than one of 42, whatever its sign."""
