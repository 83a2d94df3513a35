"""Grading an answer: a program for numbers, dates and formats; for meaning a judge, or stated rules where there is none.

Where an answer gives no figure and does not name what is asked either, a judge looks whether it says the figure in other words.

| what is graded | where |
|---|---|
| figures | `by_number.py`, on `cells.py`, `in_tables.py`, `in_prose.py`, `years.py`, `compare.py` |
| figures that are named but not given: denied, another metric's, another company's | `disowned.py`, `whose.py`, `companies.py`, `names.py`, `headings.py` |
| figures that are taken back, sums that do not add up | `corrections.py`, `working.py` |
| an answer's HTML, LaTeX and number formats | `markup.py`, `text.py` |
| what follows from the answer's own figures | `consistency.py` |
| which of several issuers, by how much they differ | `between.py` |
| dates | `by_date.py` |
| directions | `by_direction.py` |
| words, verdicts, sets, derivations | `by_word.py`; with a judge `by_judge.py` |
| forbidden faults | `by_fault.py` |
| tables, decimals, length | `forms.py` |
| points, routes, gates | `score.py` |
"""

from collections.abc import Callable, Mapping
from typing import Final

from attrs import define, field, frozen

from finassay_rubrics.grading.between import grade_chosen
from finassay_rubrics.grading.by_date import grade_date
from finassay_rubrics.grading.by_direction import against_figures, grade_direction, is_direction
from finassay_rubrics.grading.by_fault import grade_fault
from finassay_rubrics.grading.by_number import PROGRAM, Figures
from finassay_rubrics.grading.by_word import grade_word
from finassay_rubrics.grading.compare import Profile
from finassay_rubrics.grading.consistency import consistent, declared_routes
from finassay_rubrics.grading.dates import dates
from finassay_rubrics.grading.forms import check_format
from finassay_rubrics.grading.reading import Reading
from finassay_rubrics.grading.score import Found, Score, score, topic_of
from finassay_rubrics.grading.view import RubricView
from finassay_rubrics.record.rubric import Criterion, Route, Rubric

Question = tuple[Criterion, Route]
Meaning = Callable[[list[Question], str], list[Found | None]]
"""A judge of meaning: what an answer's text says of each (criterion, route). None: it leaves that one to the rules."""
FIRST: Final = ("derivation", "format")


@frozen
class Graded:
    """A graded answer with what it was graded from."""

    score: Score
    findings: Mapping[str, Mapping[str, Found]]


@define
class Grader:
    """Grades answers by one rubric."""

    rubric: Rubric
    profile: Profile = "strict"
    meaning: Meaning | None = None
    _view: RubricView = field(init=False)

    def __attrs_post_init__(self) -> None:
        self._view = RubricView(self.rubric, self.profile)

    def grade(self, text: str) -> Graded:
        """Every criterion on every route of it, then the single best route of each convention."""
        reading = Reading(text, self._view.names_with_digits)
        figures = Figures(self._view, reading)
        findings: dict[str, dict[str, Found]] = {}
        asked: list[Question] = []
        for criterion in self.rubric.criteria:
            if criterion.status == "unresolved":
                continue
            figure = criterion.kind == "numeric" and criterion.scope == "answer"
            findings[criterion.id] = figures.grade(criterion) if figure else {}
            asked += [(criterion, route) for route in figures.left_to_a_judge(criterion)] if figure and self.meaning is not None else []
            for route in () if figure else criterion.expected or (Route(value=criterion.text),):
                found = self._by_program(criterion, route, reading)
                if found is None:
                    asked.append((criterion, route))
                else:
                    findings[criterion.id][route.route_id] = found
        for (criterion, route), found in zip(asked, self._of_meaning(asked, reading, figures), strict=True):
            if found is None:
                continue
            findings[criterion.id][route.route_id] = found
        settled = consistent(self._view, figures, _as_far_as_read(findings) if reading.cut else findings)
        return Graded(score(self.rubric, settled, declared_routes(self._view, reading.main.answer)), settled)

    def _by_program(self, criterion: Criterion, route: Route, reading: Reading) -> Found | None:
        """Formats and dates; None for what is left to a judge or to the rules."""
        if criterion.scope != "answer":
            return Found("cannot assess", f"it is about the {criterion.scope}, and only the answer is here", by=PROGRAM)
        if criterion.kind in FIRST and not route.evidence:
            met, why = check_format(criterion.text, str(route.value), reading.main.answer)
            if met is not None:
                return Found("met" if met else "unmet", why, by=PROGRAM)
        if criterion.kind == "date" and (day := next(dates(str(route.value)), None)) is not None:
            return grade_date(self._view, criterion, day, reading.main)
        return None

    def _of_meaning(self, asked: list[Question], reading: Reading, figures: Figures) -> list[Found | None]:
        judged = self.meaning(asked, reading.given) if self.meaning is not None and asked else [None] * len(asked)
        return [
            self._settled(criterion, route, found, figures) if found is not None else self._unjudged(criterion, route, reading, figures)
            for (criterion, route), found in zip(asked, judged, strict=True)
        ]

    def _settled(self, criterion: Criterion, route: Route, found: Found, figures: Figures) -> Found:
        """A judge's verdict, held against the figures where it is about a direction or a figure."""
        if criterion.kind == "numeric":
            return figures.in_quote(route, found)
        directed = criterion.kind == "categorical" and is_direction(criterion, route)
        return against_figures(self._view, criterion, route, found, figures) if directed else found

    def _unjudged(self, criterion: Criterion, route: Route, reading: Reading, figures: Figures) -> Found | None:
        """What the rules say where a judge says nothing; None for a figure: what a program found of it stands."""
        return None if criterion.kind == "numeric" else self._by_rules(criterion, route, reading, figures)

    def _by_rules(self, criterion: Criterion, route: Route, reading: Reading, figures: Figures) -> Found:
        if criterion.kind == "prohibited" or criterion.polarity == "negative":
            return grade_fault(self._view, criterion, reading.main, figures)
        if criterion.kind == "categorical" and is_direction(criterion, route):
            return grade_direction(self._view, criterion, route, reading.main, figures)
        chosen = grade_chosen(self._view, criterion, route, reading.main) if criterion.kind == "categorical" else None
        return chosen or grade_word(self._view, criterion, route, reading.main)


def _as_far_as_read(findings: Mapping[str, Mapping[str, Found]]) -> dict[str, dict[str, Found]]:
    """The findings of an answer that was not read to its end: where nothing was found, the rest may tell."""
    left = Found("cannot assess", "the answer is longer than what is read", by=PROGRAM)
    return {id: {route: left if _nothing(found) else found for route, found in routes.items()} for id, routes in findings.items()}


def _nothing(found: Found) -> bool:
    return found.outcome in ("unmet", "fault absent") and found.span is None and not found.value and not found.quote


__all__ = ["Graded", "Grader", "Meaning", "Question", "topic_of"]
