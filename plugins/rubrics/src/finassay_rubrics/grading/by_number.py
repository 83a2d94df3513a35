"""Numeric criteria: the figure that the answer gives for the cell, compared with each route's."""

from collections.abc import Sequence
from decimal import Decimal

from attrs import define, evolve, field

from finassay_rubrics.grading.between import grade_difference
from finassay_rubrics.grading.cells import Cell, Given, given
from finassay_rubrics.grading.companies import of_other_company
from finassay_rubrics.grading.compare import Expected, accepts
from finassay_rubrics.grading.corrections import taken_back
from finassay_rubrics.grading.disowned import listed
from finassay_rubrics.grading.in_prose import from_to
from finassay_rubrics.grading.in_tables import entries_of, not_its_own
from finassay_rubrics.grading.numbers import Number, numbers
from finassay_rubrics.grading.reading import Read, Reading
from finassay_rubrics.grading.score import Found
from finassay_rubrics.grading.single import by_query, settled
from finassay_rubrics.grading.view import RubricView, numeric_routes
from finassay_rubrics.grading.vocabulary import LOSS, OUTFLOW, PROFIT
from finassay_rubrics.grading.words import DOWN, UP
from finassay_rubrics.grading.working import contradicted
from finassay_rubrics.grading.years import Calendar
from finassay_rubrics.record.rubric import ANY, Criterion, Route

PROGRAM = "program"
NAMED = 0.5
"""How much of a metric a sentence must name to be about it."""
MAX_QUOTED = 20
"""Figures of a quote that are looked at."""


@define
class Figures:
    """The figures of one answer."""

    view: RubricView
    reading: Reading
    _given: dict[Cell, tuple[Given, Read]] = field(init=False, factory=dict, eq=False)
    _calendar: Calendar | None = field(init=False, default=None)

    def __attrs_post_init__(self) -> None:
        self._calendar = self.reading.calendar(self.view.years()) if self.view.reference is None else None

    def grade(self, criterion: Criterion) -> dict[str, Found]:
        """What was found on each route that expects a figure."""
        found = {r.route_id: self._on(criterion, r) for r in numeric_routes(criterion)}
        return found or {ANY: Found("cannot assess", "no figure is expected")}

    def of(self, criterion: Criterion, route: Route) -> Given:
        """The figure that the answer gives for a criterion on a route."""
        return self._found(criterion, self.cell(criterion, route))[0]

    def left_to_a_judge(self, criterion: Criterion) -> Sequence[Route]:
        """Routes whose figure no program found by its name, though the answer nowhere names what they ask for: it may say it in other words."""
        return [r for r in numeric_routes(criterion) if not self.of(criterion, r).named and not self._addresses(self.cell(criterion, r))]

    def _addresses(self, cell: Cell) -> bool:
        """Whether a sentence or a row names most of a metric."""
        answer = self.reading.main.answer
        labels = (e.spread for e in entries_of(answer, cell.entities, cell.calendar))
        said = (*(one.words for one in (*answer.sentences, *answer.rows)), *labels)
        return any(cell.share(dict.fromkeys(cell.heard(words), 1.0)) >= NAMED for words in said)

    def in_quote(self, route: Route, found: Found) -> Found:
        """A judge's verdict on a figure: met only if what it quotes holds the figure."""
        size = "size" in route.sign_rule or "absolute" in route.sign_rule
        held = any(self.accepts(n, self.view.expected(route), size=size) for n in numbers(found.quote)[:MAX_QUOTED])
        return found if found.outcome != "met" or held else evolve(found, outcome="unmet", why="what the judge quotes holds no such figure")

    def cell(self, criterion: Criterion, route: Route) -> Cell:
        cell = self.view.cell(criterion, route)
        own = self._calendar
        return evolve(cell, calendar=own) if own is not None and cell.calendar.end is None else cell

    def _found(self, criterion: Criterion, cell: Cell) -> tuple[Given, Read]:
        if cell not in self._given:
            self._given[cell] = self._look(criterion, cell)
        return self._given[cell]

    def _look(self, criterion: Criterion, cell: Cell) -> tuple[Given, Read]:
        found, read = self._by_criterion(criterion, cell)
        if self.view.target is None:
            return found, read
        by_words = by_query(self.reading.main.answer, self.view.target, cell)
        other = settled(found, Given() if self._is_not_its_own(by_words, cell) else by_words)
        return other, read if other is found else self.reading.main

    def _is_not_its_own(self, found: Given, cell: Cell) -> bool:
        """Whether a figure that was found by the query's words alone is taken back, another company's or one of several candidates."""
        if not found.figures:
            return False
        answer, number = self.reading.main.answer, found.figures[0]
        if number.start < taken_back(answer, cell) or not_its_own(answer, cell, number.start):
            return True
        one = next((s for s in answer.sentences if s.start <= number.start < s.start + len(s.text)), None)
        if one is None:
            return False
        return of_other_company(one, number.start - one.start, number.end - one.start, cell, answer) or bool(
            listed(one, number, cell.calendar)
        )

    def _by_criterion(self, criterion: Criterion, cell: Cell) -> tuple[Given, Read]:
        for way in self.reading.ways(cell.kind):
            read = self.reading.way(way)
            found = given(read.answer, cell)
            if found.figures:
                return found, read
        return self._in_time(criterion, cell), self.reading.main

    def _in_time(self, criterion: Criterion, cell: Cell) -> Given:
        """Of `from 2.5x to 2.4x` the later figure for the later year."""
        moved = from_to(self.reading.main.answer, cell) if cell.years else None
        if moved is None:
            return Given()
        years = self.view.years()
        later = bool(years) and cell.years[0] == years[-1]
        return Given((moved[1] if later else moved[0],), how="sentence")

    def _on(self, criterion: Criterion, route: Route) -> Found:
        cell = self.cell(criterion, route)
        found, read = self._found(criterion, cell)
        result = self._compared(found, criterion, route, cell)
        main = found.figures[0] if found.figures else None
        if result.outcome == "met" and main is not None and (sum_ := contradicted(read.answer, main)):
            result = evolve(result, outcome="unmet", why=f"the answer contradicts itself: what it computes {main.text} from gives {sum_}")
        placed = read.placed(result)
        return grade_difference(self.view, criterion, route, self.reading.main, placed)

    def _compared(self, found: Given, criterion: Criterion, route: Route, cell: Cell) -> Found:
        if not found.figures:
            return Found("unmet", "the answer gives no figure for it", by=PROGRAM)
        expected = self.view.expected(route)
        size = (cell.change and "absolute" in route.sign_rule) or "size" in route.sign_rule

        def fits(number: Number, label: str) -> bool:
            return self.accepts(number if size else meant(number, label, criterion.text, expected, change=cell.change), expected, size=size)

        fitting = [n for n in found.figures if fits(n, found.label)]
        main = fitting[0] if fitting else found.figures[0]
        rivals = [n for n in found.rivals if not self.accepts(n, expected, size=size) and not self.accepts(n, expected, size=True)]
        hedges = [n for n in found.hedges if not fits(n, found.label)]
        why = f"expected {route.value} {route.scale} {route.unit}".replace("  ", " ").strip()
        if hedges:
            why = f"hedged: {main.text} beside {hedges[0].text}"
        elif fitting and rivals:
            why = f"the answer contradicts itself: {main.text} and {rivals[0].text}"
        met = bool(fitting) and not rivals and not hedges
        return Found("met" if met else "unmet", why, (main.start, main.end), found.quote[:400], main.text, PROGRAM)

    def accepts(self, number: Number, expected: Expected, *, size: bool) -> bool:
        """Whether a figure is the expected one; `size` leaves signs aside."""
        if not size:
            return accepts(number, expected, self.view.profile)
        return accepts(evolve(number, value=abs(number.value)), evolve(expected, value=abs(expected.value)), self.view.profile)


def meant(number: Number, label: str, asked: str, expected: Expected, *, change: bool) -> Number:
    """A figure with the sign that the words around it give: `a loss of $64 million`, `fell by 14 basis points`, `(1,862)` of spending."""
    if number.value < 0:
        positive = expected.value > 0 and ((number.bracketed and (number.kind == "plain" or OUTFLOW.search(asked))) or LOSS.search(asked))
        return evolve(number, value=-number.value) if positive else number
    if change:
        down, up = list(DOWN.finditer(label)), list(UP.finditer(label))
        falls = bool(down) and (not up or down[-1].start() > up[-1].start())
        return evolve(number, value=-number.value) if falls and number.text[:1] != "+" else number
    loses = bool(LOSS.search(label)) and not PROFIT.search(label)
    if loses and (expected.value < 0 or not LOSS.search(asked)) and expected.kind in ("amount", "percent"):
        return evolve(number, value=-number.value)
    return number


def figure_of(found: Given) -> Decimal | None:
    """The value of the main figure in units."""
    return found.figures[0].units if found.figures else None
