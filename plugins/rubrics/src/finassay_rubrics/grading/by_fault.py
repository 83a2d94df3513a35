"""Faults that a rubric forbids. Without a judge a program finds figures of the neighbouring period, a year with another end, and what a fault says in words."""

import re
from typing import Final

from finassay_rubrics.grading.by_number import Figures
from finassay_rubrics.grading.compare import expected_of
from finassay_rubrics.grading.reading import Read
from finassay_rubrics.grading.score import Found
from finassay_rubrics.grading.view import RubricView, numeric_routes
from finassay_rubrics.grading.words import denied, distinguishing, names, opposite
from finassay_rubrics.grading.years import Calendar, ends_named
from finassay_rubrics.record.rubric import Criterion

PROGRAM: Final = "program"
RULES: Final = "stated rules"
SURE: Final = 0.75
"""Share of a fault's words that one sentence must say."""
_SHIFT: Final = re.compile(
    r"\bshift\w*\b|\bwrong (?:fiscal )?(?:year|period)|\bcalendar year for fiscal|\bneighbou?ring (?:year|period)", re.IGNORECASE
)
_VERBS: Final = re.compile(
    r"^\W*(?:attributes?|states?|says?|claims?|asserts?|treats?|takes?|uses?|gives?|counts?|names?|describes?|presents?|mentions?|concludes?|confuses?|reports?|calls?)\b",
    re.IGNORECASE,
)


def grade_fault(view: RubricView, criterion: Criterion, read: Read, figures: Figures) -> Found:
    """Whether the answer has the fault, as far as a program can tell."""
    if _SHIFT.search(criterion.text) and (why := _shifted(view, figures) or _other_end(view, read)):
        return Found("fault present", why, by=PROGRAM)
    fault = _VERBS.sub("", criterion.text)
    words, required = distinguishing(fault, (), view.entity_words)
    if len(words) + len(required) >= 2:
        said = names(read.answer, fault, (), view.entity_words)
        if said.share >= SURE and not denied(said.text, said.matched) and not opposite(fault, said.text, said.matched):
            return read.placed(Found("fault present", f"{said.share:.0%} of the fault's words", said.span, said.text[:400], by=RULES))
    return Found("fault absent", "no program found it", by=RULES)


def _other_end(view: RubricView, read: Read) -> str:
    """A fiscal year that the answer says to end about a year before or after its end."""
    if view.reference is None:
        return ""
    calendar = Calendar(*view.reference)
    for label, end in ends_named(read.answer.text[:20_000]):
        years = int(calendar.label) - int(label) if label.isdigit() else 0
        away = (calendar.end - end).days - round(years * 365.25) if calendar.end else 0
        if 300 <= abs(away) <= 430:
            return f"it has fiscal {label} end on {end}"
    return ""


def _shifted(view: RubricView, figures: Figures) -> str:
    """At least two figures that belong to the year before, or all to the year after."""
    dated: dict[str, list[Criterion]] = {}
    for criterion in view.rubric.criteria:
        routes = numeric_routes(criterion)
        if criterion.kind == "numeric" and routes and (cell := figures.cell(criterion, routes[0])).years:
            dated.setdefault(cell.years[0], []).append(criterion)
    moved: dict[int, list[str]] = {1: [], -1: []}
    for year, criteria in dated.items():
        for criterion in criteria:
            if _fits(figures, criterion, criterion):
                continue
            for step, found in moved.items():
                if any(_fits(figures, criterion, other) for other in dated.get(str(int(year) + step), [])):
                    found.append(f"{criterion.id} has the figure of {int(year) + step}")
    return next(("; ".join(found) for found in moved.values() if len(found) >= 2), "")


def _fits(figures: Figures, criterion: Criterion, other: Criterion) -> bool:
    """Whether the figure that the answer gives for a criterion is what another one expects."""
    return any(
        figures.accepts(number, expected_of(route), size=False)
        for number in figures.of(criterion, numeric_routes(criterion)[0]).figures
        for route in numeric_routes(other)
    )
