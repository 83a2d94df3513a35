"""What follows from the answer's own figures: one fault is charged once, and nothing is compared across conventions.

A criterion that is computed from others (`depends_on`) counts as met where it follows from the answer's own figures for them, although one of those
is wrong under every convention. It does not where that figure belongs to another convention: that is a mix, and what rests on it is no trend.
"""

from collections.abc import Callable, Sequence
from decimal import Decimal, DecimalException
from typing import Final

from attrs import evolve

from finassay_rubrics.grading.answer import Answer
from finassay_rubrics.grading.by_direction import cells_of, is_direction, said_direction, shown_direction, wanted_way
from finassay_rubrics.grading.by_number import Figures
from finassay_rubrics.grading.cells import cell_of
from finassay_rubrics.grading.compare import Expected, expected_of, stated
from finassay_rubrics.grading.numbers import Number
from finassay_rubrics.grading.score import GOOD, Found, topic_of
from finassay_rubrics.grading.view import RubricView, numeric_routes
from finassay_rubrics.grading.vocabulary import LOWER_IS_BETTER, spread
from finassay_rubrics.grading.words import ENOUGH, names
from finassay_rubrics.record.rubric import ANY, Criterion, Route

Findings = dict[str, dict[str, Found]]
CLOSE: Final = Decimal("0.006")
"""Relative distance within which an expected value is taken to be computed by an operation: expected values are rounded."""


def consistent(view: RubricView, figures: Figures, findings: Findings) -> Findings:
    """The findings with what follows from the answer's own figures settled."""
    settled = {name: dict(routes) for name, routes in findings.items()}
    for criterion in view.rubric.criteria:
        if criterion.status == "unresolved" or criterion.id not in settled:
            continue
        if criterion.kind == "numeric":
            for route in numeric_routes(criterion):
                found = settled[criterion.id][route.route_id]
                if found.outcome == "unmet" and found.value and (why := _follows(view, figures, criterion, route, settled)):
                    settled[criterion.id][route.route_id] = evolve(found, outcome="met", why=why[0], consistent_with_error=why[1])
        elif criterion.kind == "categorical":
            for route in criterion.expected:
                told = settled[criterion.id].get(route.route_id)
                if told is not None and is_direction(criterion, route):
                    settled[criterion.id][route.route_id] = _direction(view, figures, criterion, route, told, settled)
    return settled


# -- figures that follow from others ----------------------------------------------------------------------------------


def _follows(view: RubricView, figures: Figures, criterion: Criterion, route: Route, findings: Findings) -> tuple[str, bool] | None:
    """(why, whether from a wrong figure) a stated figure that is not the expected one counts: computed from the answer's own, or from rounded ones."""
    inputs = [c for c in view.rubric.criteria if c.id in criterion.depends_on and c.kind == "numeric"] or _operands(view, criterion, route)
    if not inputs or len(inputs) > 12:
        return None
    routes = [_route_of(c, route) for c in inputs]
    found = [findings.get(c.id, {}).get(r.route_id) if r else None for c, r in zip(inputs, routes, strict=True)]
    numbers = [next(iter(figures.of(c, r).figures), None) if r else None for c, r in zip(inputs, routes, strict=True)]
    if any(f is None for f in found) or any(n is None for n in numbers):
        return None
    wrong = [c for c, f in zip(inputs, found, strict=True) if f is not None and f.outcome not in GOOD]
    if wrong and (criterion.strict or not criterion.depends_on or any(_on_another_route(c, findings) for c in wrong)):
        return None
    own = [_in_unit(n, expected_of(r)) for n, r in zip(numbers, routes, strict=True) if n is not None and r is not None]
    known = [r.value for r in routes if r is not None and isinstance(r.value, Decimal)]
    stating = next(iter(figures.of(criterion, route).figures), None)
    if stating is None or not isinstance(route.value, Decimal):
        return None
    for operation in _operations(known, route.value):
        computed = _safely(operation, own)
        if computed is not None and _is(stating, computed, route, near=not wrong):
            return ("it follows from the answer's own figures", True) if wrong else ("it follows from the figures as they are shown", False)
    return None


def _operands(view: RubricView, criterion: Criterion, route: Route) -> list[Criterion]:
    """Two cells of another criterion's metric whose difference a change is, where the rubric does not say what it is computed from."""
    if not isinstance(route.value, Decimal) or not view.cell(criterion, route).change:
        return []
    own = view.cell(criterion, route)
    levels = [
        c
        for c in view.rubric.criteria
        if c.kind == "numeric" and c.id != criterion.id and (r := _route_of(c, route)) and not view.cell(c, r).change
        and spread(view.cell(c, r).words) & own.words == own.words and c.entity == criterion.entity
    ]  # fmt: skip
    return levels if len(levels) == 2 else []


def _route_of(criterion: Criterion, route: Route) -> Route | None:
    """The route of another criterion that goes with one: of the same name, else the one of a criterion without conventions."""
    own = numeric_routes(criterion)
    return next((r for r in own if r.route_id == route.route_id), next((r for r in own if r.route_id == ANY or len(own) == 1), None))


def _on_another_route(criterion: Criterion, findings: Findings) -> bool:
    return any(f.outcome in GOOD for f in findings.get(criterion.id, {}).values())


def _in_unit(number: Number, expected: Expected) -> Decimal:
    """The figure in the unit of what is expected, by the reading that comes nearest to it."""
    readings = [value for value, _ in stated(number, expected)] or [number.value]
    size = abs(expected.value) or Decimal(1)
    return min(readings, key=lambda v: abs(abs(v) - size))


Operation = Callable[[Sequence[Decimal]], Decimal]


def _operations(known: Sequence[Decimal], value: Decimal) -> list[Operation]:
    """What gives the expected value from the expected inputs: found on the rubric's own numbers."""
    tried: list[Operation] = [lambda x: sum(x, Decimal(0)) / len(x), lambda x: sum(x, Decimal(0))]
    if len(known) == 2:
        tried += [operation for a, b in ((0, 1), (1, 0)) for operation in _of_two(a, b)]
    if len(known) == 3:
        tried += [lambda x: x[0] + x[1] - x[2], lambda x: x[0] - x[1] - x[2]]
    fitting = [
        op for op in tried if (got := _safely(op, known)) is not None and abs(got - value) <= CLOSE * max(abs(value), Decimal("0.01"))
    ]
    if len(known) == 1 and known[0] and value:
        only = known[0]
        fitting = [
            lambda x: value * x[0] / only,
            lambda x: value * only / x[0],
        ]  # a numerator or a denominator that the rubric does not hold
    return fitting


def _of_two(a: int, b: int) -> list[Operation]:
    """Difference, difference of shares, ratio, share in percent, growth in percent."""
    hundred = Decimal(100)
    return [
        lambda x: x[a] - x[b],
        lambda x: (x[a] - x[b]) * hundred,
        lambda x: x[a] / x[b],
        lambda x: x[a] / x[b] * hundred,
        lambda x: (x[a] / x[b] - 1) * hundred,
    ]


def _safely(operation: Operation, values: Sequence[Decimal]) -> Decimal | None:
    try:
        return operation(values)
    except (DecimalException, ZeroDivisionError):
        return None


def _is(number: Number, computed: Decimal, route: Route, *, near: bool) -> bool:
    """Whether a figure states what was computed; of right inputs it must besides be within one unit of its last place of the expected value."""
    expected = expected_of(route)
    size = "size" in route.sign_rule or "absolute" in route.sign_rule
    for value, decimals in stated(number, expected):
        step = Decimal(1).scaleb(-decimals)
        given, wanted, key = (abs(value), abs(computed), abs(expected.value)) if size else (value, computed, expected.value)
        if expected.decimals is not None and decimals < expected.decimals:
            continue
        if abs(given - wanted) <= step / 2 and (not near or abs(given - key) <= step):
            return True
    return False


# -- directions over the answer's own figures -------------------------------------------------------------------------


def _direction(view: RubricView, figures: Figures, criterion: Criterion, route: Route, found: Found, findings: Findings) -> Found:
    compared = list(cells_of(view, criterion, figures).values())
    if len(compared) >= 2 and _mixed(compared, findings):
        return evolve(found, outcome="unmet", why="it compares figures of different conventions") if found.outcome == "met" else found
    shown = shown_direction(view, criterion, figures)
    wrong = [c for c in compared if not _on_another_route(c, findings)]
    if found.outcome != "unmet" or not criterion.depends_on or criterion.strict or not wrong or shown is None:
        return found
    cell = cell_of(criterion.text, "", view.entities, change=True)
    lower = bool(spread(cell.words) & LOWER_IS_BETTER)
    told = said_direction(
        figures.reading.main.answer, cell, cell, lower_is_better=lower, others=frozenset(view.weights), asked=criterion.text
    )
    if told is not None and told.way == shown != wanted_way(criterion, route, view):
        return evolve(found, outcome="met", why="it follows from the answer's own figures", consistent_with_error=True)
    return found


def _mixed(criteria: Sequence[Criterion], findings: Findings) -> bool:
    """Whether the compared figures hold on routes that exclude each other."""
    holding = [
        {route for route, found in findings.get(c.id, {}).items() if found.outcome in GOOD} for c in criteria if topic_of(c) is not None
    ]
    held = [routes for routes in holding if routes]
    return len(held) >= 2 and not set.intersection(*held)


# -- routes that the answer declares ----------------------------------------------------------------------------------


def declared_routes(view: RubricView, answer: Answer) -> frozenset[tuple[str, str]]:
    """(topic, route) of each convention that the answer names in words."""
    conventions: dict[tuple[str, str], str] = {}
    for criterion in view.rubric.criteria:
        for route in criterion.expected:
            if route.topic:
                said = " ".join(t for t in (route.convention, route.requires) if t) or route.route_id.replace("-", " ").replace("_", " ")
                conventions.setdefault((route.topic, route.route_id), said)
    holed = {(t.id, r) for t in view.rubric.topics for r in t.routes}
    found = set()
    for (topic, name), words in conventions.items():
        others = [w for (t, r), w in conventions.items() if t == topic and r != name]
        if (topic, name) in holed and names(answer, words, others, view.entity_words).share >= ENOUGH:
            found.add((topic, name))
    return frozenset(found)
