"""From verdicts to figures: one route for each convention, points, gates, all-pass.

A verdict that could not be made is never a zero: what cannot be assessed leaves numerator and denominator, and a score that rests on less than
half of the points is undefined.
"""

from collections.abc import Iterable, Mapping, Sequence
from decimal import ROUND_HALF_UP, Decimal
from itertools import product
from typing import Final, Literal

from attrs import Factory, frozen

from finassay_rubrics.record.rubric import ANY, Criterion, Rubric

Outcome = Literal["met", "unmet", "cannot assess", "judge failed", "fault present", "fault absent", "not scored"]
GOOD: Final = ("met", "fault absent")
BAD: Final = ("unmet", "fault present")
OPEN: Final = ("cannot assess", "judge failed")
HALF: Final = Decimal(50)
"""Points that must be assessable for a score to be defined."""
MAX_COMBINATIONS: Final = 4_096
CENT: Final = Decimal("0.01")


@frozen
class Found:
    """What was found of one criterion on one route."""

    outcome: Outcome
    why: str = ""
    span: tuple[int, int] | None = None
    """Where the answer says it, in code points."""
    quote: str = ""
    value: str = ""
    """The answer's own figure, as it stands there."""
    by: str = ""
    """Program or judge."""
    consistent_with_error: bool = False
    """It follows from a fault that is charged elsewhere."""


@frozen
class Result:
    """One criterion of a graded answer."""

    criterion: str
    route: str
    points: Decimal
    """What it can earn."""
    earned: Decimal
    found: Found
    gate: bool


@frozen
class Score:
    """A graded answer."""

    results: tuple[Result, ...]
    routes: Mapping[str, str]
    """Topic to the route it was scored on."""
    mixed: tuple[str, ...]
    """Topics whose routes the answer mixes."""
    assessable: Decimal
    """Points on which a verdict stands."""
    points: Decimal | None
    """Share of them that was earned, of 100; None where less than 50 are assessable."""
    gated: Decimal | None
    """The same, 0 if a gate failed."""
    failed_gates: tuple[str, ...]
    all_pass: bool | None
    """Everything met, nothing left open; None where something is open and nothing unmet, and where nothing could be judged."""
    open: tuple[str, ...] = Factory(tuple)
    """Criteria without a verdict."""

    def outcome(self, criterion: str) -> Outcome:
        """Raises `KeyError`."""
        for result in self.results:
            if result.criterion == criterion:
                return result.found.outcome
        raise KeyError(criterion)


Findings = Mapping[str, Mapping[str, Found]]
"""Criterion to route to what was found. A criterion without a topic has the route `any`."""


def score(rubric: Rubric, findings: Findings, declared: frozenset[tuple[str, str]] = frozenset()) -> Score:
    """Choose the single best route of each topic, and add up. A criterion without findings cannot be assessed.

    `declared` are the (topic, route) that the answer says to follow: one with a cell that no source could ground is taken only then.
    """
    routes = _best_routes(rubric, findings, declared)
    results = tuple(_result(c, routes, findings) for c in rubric.criteria)
    by_id = {r.criterion: r for r in results}
    assessable = _sum(r.points for r in results if r.found.outcome in (*GOOD, *BAD))
    earned = _sum(r.earned for r in results)
    mixed = tuple(t.id for t in rubric.topics if _is_mixed(rubric, t.id, t.routes, findings))
    failed = tuple(r.criterion for r in results if r.gate and r.found.outcome in BAD)
    failed += tuple(f"mixed {t.id}" for t in rubric.topics if t.gate_mixed and t.id in mixed)
    scored = [by_id[c.id] for c in rubric.criteria if not c.optional and c.status != "unresolved"]
    opened = tuple(r.criterion for r in scored if r.found.outcome in OPEN)
    judged = any(r.found.outcome in GOOD for r in scored)
    wrong = bool(failed) or any(r.found.outcome in BAD for r in scored)
    share = (100 * earned / assessable).quantize(CENT, ROUND_HALF_UP) if assessable >= HALF else None
    return Score(
        results=results,
        routes=routes,
        mixed=mixed,
        assessable=assessable,
        points=share,
        gated=None if share is None else Decimal("0.00") if failed else share,
        failed_gates=failed,
        all_pass=False if wrong else None if opened or not judged else True,
        open=opened,
    )


def _sum(values: Iterable[Decimal]) -> Decimal:
    return sum(values, Decimal(0))


def topic_of(criterion: Criterion) -> str | None:
    """The one convention that a criterion depends on; None where it depends on none."""
    return next((route.topic for route in criterion.expected if route.topic), None)


def found_on(criterion: Criterion, routes: Mapping[str, str], findings: Findings) -> tuple[str, Found]:
    """The route that counts for a criterion, and what was found on it."""
    if criterion.status == "unresolved":
        return ANY, Found("not scored", criterion.reason)
    own, topic = findings.get(criterion.id, {}), topic_of(criterion)
    route = ANY if topic is None else routes.get(topic, ANY)
    found = own.get(route) or own.get(ANY)
    return route, found or Found("cannot assess", "nothing was found out about it")


def _result(criterion: Criterion, routes: Mapping[str, str], findings: Findings) -> Result:
    route, found = found_on(criterion, routes, findings)
    earned = criterion.points if found.outcome in GOOD else Decimal(0)
    gate = (
        criterion.gate == "must_pass" and not criterion.depends_on
    )  # one fault is charged once: no gate hangs on what follows from others
    return Result(criterion.id, route, criterion.points, earned, found, gate)


def _best_routes(rubric: Rubric, findings: Findings, declared: frozenset[tuple[str, str]]) -> dict[str, str]:
    """Of every topic the route that earns most over all criteria of the topic; ties go to the first in the rubric's order.

    Topics are independent unless the rubric forbids pairs: then the best allowed combination is taken.
    """
    ranked = {
        t.id: _ranked(rubric, t.id, _open_to(rubric, t.id, t.routes, declared), findings) for t in rubric.topics if _criteria(rubric, t.id)
    }
    forbidden = {frozenset((f"{t.id}:{own}", other)) for t in rubric.topics for own, other in t.forbidden}
    best = {topic: max(routes, key=lambda r: r[1])[0] for topic, routes in ranked.items()}
    if not forbidden or _allowed(best, forbidden):
        return best
    names, choices = list(ranked), list(ranked.values())
    allowed: list[tuple[Decimal, dict[str, str]]] = []
    for number, combination in enumerate(product(*choices)):
        if number >= MAX_COMBINATIONS:
            break
        chosen = {name: route for name, (route, _) in zip(names, combination, strict=True)}
        if _allowed(chosen, forbidden):
            allowed.append((_sum(earned for _, earned in combination), chosen))
    return max(allowed, key=lambda one: one[0])[1] if allowed else best


def _open_to(rubric: Rubric, topic: str, routes: Sequence[str], declared: frozenset[tuple[str, str]]) -> list[str]:
    """Routes that can be taken: those without a hole, and those that the answer declares; all of them where none is left."""
    holes = {r for r in routes for c in _criteria(rubric, topic) if all(e.route_id not in (r, ANY) for e in c.expected)}
    return [r for r in routes if r not in holes or (topic, r) in declared] or list(routes)


def _allowed(routes: Mapping[str, str], forbidden: set[frozenset[str]]) -> bool:
    taken = {f"{topic}:{route}" for topic, route in routes.items()}
    return not any(pair <= taken for pair in forbidden)


def _criteria(rubric: Rubric, topic: str) -> list[Criterion]:
    return [c for c in rubric.criteria if topic_of(c) == topic and c.status != "unresolved"]


def _ranked(rubric: Rubric, topic: str, routes: Sequence[str], findings: Findings) -> list[tuple[str, Decimal]]:
    """(route, points it earns of 100): not of what is assessable, or the route that nobody can judge would win."""
    criteria = _criteria(rubric, topic)
    return [(route, _sum(c.points for c in criteria if found_on(c, {topic: route}, findings)[1].outcome in GOOD)) for route in routes]


def _is_mixed(rubric: Rubric, topic: str, routes: Sequence[str], findings: Findings) -> bool:
    """Whether parts of the answer hold on routes that exclude each other: no route holds all of what some route holds."""
    holding = []
    for criterion in _criteria(rubric, topic):
        on = {route for route in routes if found_on(criterion, {topic: route}, findings)[1].outcome in GOOD}
        if on:
            holding.append(on)
    return bool(holding) and not set.intersection(*holding)
