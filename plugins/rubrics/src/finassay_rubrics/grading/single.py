"""A rubric that expects one figure: what its query asks for is located by the query's own words where the criterion's find nothing.

A criterion names a metric as the table of metrics does; an answer often names it as the query did, or gives the figure without a name.
"""

from collections.abc import Iterable
from typing import Final

from attrs import evolve

from finassay_rubrics.grading.answer import Answer
from finassay_rubrics.grading.asked import target_of
from finassay_rubrics.grading.cells import Cell, Given
from finassay_rubrics.grading.companies import another_company
from finassay_rubrics.grading.disowned import denied
from finassay_rubrics.grading.in_tables import scaled
from finassay_rubrics.grading.locate import Target, locate
from finassay_rubrics.grading.vocabulary import ALTERNATIVE, AVERAGE, CHANGE
from finassay_rubrics.grading.whose import names_another, planned
from finassay_rubrics.grading.years import years_in
from finassay_rubrics.record.rubric import Criterion, Rubric

_AROUND: Final = 300
"""Characters before and after a figure that can speak of it."""


def target_of_rubric(rubric: Rubric) -> Target | None:
    """What a rubric's query asks for, if a single figure of the answer is all that its criteria expect; else None."""
    asked = [c for c in rubric.criteria if c.kind != "prohibited" and c.status == "grounded"]
    if len(asked) != 1 or asked[0].kind != "numeric" or asked[0].scope != "answer" or _left_open(rubric.criteria):
        return None
    return target_of(rubric.query, asked[0].entity)


def _left_open(criteria: Iterable[Criterion]) -> bool:
    """Whether figures are asked for that could not be grounded: the figure that an answer ends with may be theirs."""
    return any(c.status == "unresolved" and not c.optional for c in criteria)


def by_query(answer: Answer, target: Target, cell: Cell) -> Given:
    """The figure that an answer gives for a query of one figure; nothing where the answer disowns it or gives it as something else's."""
    text = answer.text
    found = locate(text, evolve(target, kind=cell.kind))
    if not found.figures:
        return Given()
    first = found.figures[0]
    begin = max(text.rfind("\n", 0, first.start) + 1, first.start - _AROUND)
    end = next((at for at in (text.find("\n", first.end),) if at >= 0), len(text))
    around = text[begin : min(end, first.end + _AROUND)]
    at, until = first.start - begin, first.end - begin
    if denied(around, at, until) or another_company(around, at, cell.known, text) or names_another(around, at, until, cell.metrics):
        return Given()
    if (cell.reported and planned(around, at)) or not _of_the_kind(found.quote, target, cell):
        return Given()
    told = "conclusion" if found.how == "conclusion" and not ALTERNATIVE.search(around[:at]) else "sentence"
    figures = tuple(scaled(n, text[begin : n.start], cell, answer) for n in found.figures)
    return Given(figures, quote=found.quote[:400], how=told, label=around[:at][-160:])


def settled(by_criterion: Given, by_query: Given) -> Given:
    """Of the figures found either way the one that the answer concludes with, unless a table or a contradiction stands against it."""
    firm = by_criterion.how == "table" or by_criterion.rivals or by_criterion.hedges
    if by_criterion.figures and (firm or by_query.how != "conclusion"):
        return by_criterion
    return by_query if by_query.figures else by_criterion


def _of_the_kind(quote: str, target: Target, cell: Cell) -> bool:
    """Whether a sentence speaks of the years that are asked about alone, and of a change or an average just where one is asked for."""
    strange = set(years_in(quote, cell.calendar)) - target.periods - set(cell.years)
    if strange or bool(cell.change) != bool(CHANGE.search(quote)):
        return False
    return not cell.average or AVERAGE.search(quote) is not None
