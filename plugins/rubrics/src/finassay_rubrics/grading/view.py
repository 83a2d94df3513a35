"""What every part of the grader needs to know of a rubric: its entities, its fiscal calendar, the cell of each numeric criterion."""

import re
from collections.abc import Mapping, Sequence
from datetime import date
from decimal import Decimal
from typing import Final

from attrs import define, evolve, field

from finassay.api.research import Question
from finassay_rubrics.grading.asked import decimals_asked, scale_asked
from finassay_rubrics.grading.cells import Cell, cell_of
from finassay_rubrics.grading.companies import words_known
from finassay_rubrics.grading.compare import Expected, Profile, expected_of, kind_of
from finassay_rubrics.grading.dates import dates
from finassay_rubrics.grading.locate import Target, words_of
from finassay_rubrics.grading.names import aliases_in, issuer_words
from finassay_rubrics.grading.single import target_of_rubric
from finassay_rubrics.grading.whose import EXPECTS
from finassay_rubrics.grading.years import Calendar, ends_named, years_in
from finassay_rubrics.metrics.entities import entities
from finassay_rubrics.record.rubric import Criterion, Route, Rubric

_COUNTED: Final = re.compile(r"\b(?:how (?:many|long)|number of|count of)\b", re.IGNORECASE)
"""What is counted is no change, even where it rose: `how many years the dividend has risen`."""


def numeric_routes(criterion: Criterion) -> Sequence[Route]:
    """Routes that expect a figure."""
    return [r for r in criterion.expected if isinstance(r.value, Decimal)]


@define
class RubricView:
    """A rubric as the grader sees it."""

    rubric: Rubric
    profile: Profile = "strict"
    entities: tuple[str, ...] = field(init=False)
    several: bool = field(init=False)
    """Whether figures of more than one entity are expected."""
    reference: tuple[str, date] | None = field(init=False)
    """A fiscal year and its end, where the rubric tells it."""
    target: Target | None = field(init=False)
    """What the query asks for, where that is a single figure."""
    weights: Mapping[str, float] = field(init=False, factory=dict)
    """What a word of a metric tells: less, the more metrics of the rubric have it."""
    _known: frozenset[str] = field(init=False, factory=frozenset)
    _issuers: frozenset[str] = field(init=False, factory=frozenset)
    _cells: dict[tuple[str, str], Cell] = field(init=False, factory=dict)

    def __attrs_post_init__(self) -> None:
        publishers = {e.publisher for c in self.rubric.criteria for r in c.expected for e in r.evidence if e.publisher}
        named = {c.entity for c in self.rubric.criteria if c.entity}
        self.entities = tuple(sorted(publishers | named))
        self.several = len(named) > 1
        self.target = target_of_rubric(self.rubric)
        query = entities(Question(id="query", text=self.rubric.query))
        named_words = issuer_words((*self.entities, *query))
        self._issuers = named_words | aliases_in(self.rubric.query, named_words)
        told = bool(named) or bool(query)
        texts = (self.rubric.query, *self.entities, *(c.text for c in self.rubric.criteria))
        self._known = words_known(texts) if told else frozenset()
        self.reference = None if self.several else _reference(self.rubric)
        metrics = {self.cell(c, r).words for c in self.rubric.criteria for r in numeric_routes(c)[:1]}
        words = frozenset(w for metric in metrics for w in metric)
        self.weights = {w: 1 / sum(w in metric for metric in metrics) for w in words}
        self._cells = {}

    @property
    def names_with_digits(self) -> frozenset[str]:
        return frozenset(w for e in self.entities for w in e.split() if any(c.isdigit() for c in w))

    @property
    def entity_words(self) -> frozenset[str]:
        """Words of the names of entities, and of legal forms."""
        return frozenset(w.lower() for e in self.entities for w in re.findall(r"\w+", e)) | {"inc", "co", "corp", "corporation", "company"}

    def cell(self, criterion: Criterion, route: Route) -> Cell:
        """The cell of a numeric criterion on a route."""
        key = (criterion.id, route.route_id)
        if key not in self._cells:
            self._cells[key] = self._made(criterion, route)
        return self._cells[key]

    def _made(self, criterion: Criterion, route: Route) -> Cell:
        kind = kind_of(route.unit) if route.unit else None
        counted = kind in ("plain", "months", "days") and bool(_COUNTED.search(criterion.text))
        change = False if counted else None
        cell = cell_of(criterion.text, criterion.period or route.period, self.entities, end=route.period_end, change=change)
        own = frozenset(w.lower() for w in re.findall(r"\w+", criterion.entity))
        shared = frozenset(w for e in self.entities if e != criterion.entity for w in re.findall(r"\w+", e.lower()))
        words = (cell.words - left_out(criterion.text)) or cell.words - _CONDITIONS or cell.words
        calendar = cell.calendar if cell.calendar.end or self.reference is None else Calendar(*self.reference)
        own = (own - shared) or own  # `Bank` tells no bank from another
        past = bool(cell.years) and max(cell.years) <= str(self.rubric.cutoff.year) and not EXPECTS.search(criterion.text)
        own = own if self.several else frozenset()
        cell = evolve(cell, words=words, kind=kind, own=own, weights=self.weights, calendar=calendar, reported=past)
        return evolve(cell, known=self._known, issuers=self._issuers)

    def expected(self, route: Route) -> Expected:
        """What a route expects. An amount that is asked for in a coarser scale than it is stored in may be as coarse as was asked for.

        Where a query says no decimals, people take one: `$8.7 billion` for 8,738 million asked for in billions.
        """
        expected = expected_of(route)
        asked, decimals = scale_asked(self.rubric.query), decimals_asked(self.rubric.query)
        decimals = 1 if decimals is None and self.profile == "lenient" else decimals
        if not expected.digits or decimals is None or asked <= expected.scale:
            return expected
        return evolve(expected, coarsest=decimals - int((asked / expected.scale).log10()))

    def years(self) -> list[str]:
        """The fiscal years of all routes, sorted."""
        return sorted({y for c in self.rubric.criteria for r in c.expected for y in re.findall(r"(?:19|20)\d\d", r.period)})


def _reference(rubric: Rubric) -> tuple[str, date] | None:
    for criterion in rubric.criteria:
        for route in criterion.expected:
            label = next(iter(years_in(criterion.text) or years_in(re.sub(r"\d{4}-\d\d-\d\d", " ", route.period))), "")
            ending = route.period_end or next((d.as_date for d in dates(route.period) if d.day), None)
            if label and ending and abs(ending.year - int(label)) <= 1:
                return label, ending
    return next(iter(ends_named(rubric.query)), None)


_CONDITIONS: Final = frozenset(["when", "where", "if", "counting", "counted", "excluding", "including", "without"])


def left_out(text: str) -> frozenset[str]:
    """Words of conditions, which a label seldom repeats: `with short-term investments counted as cash`, `when … are left out`."""
    condition = re.search(
        r"\b(?:with|when|where|if|counting|counted|treating|excluding|including|leaving out|without|using|based on|at the|for the)\b(.*)$",
        text,
        re.IGNORECASE,
    )
    return words_of(condition[0]) if condition else frozenset()
