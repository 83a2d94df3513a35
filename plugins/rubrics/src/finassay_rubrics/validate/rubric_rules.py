"""Rules on a rubric: R07 and R09 to R18. What needs a source or a run (R08) is `finassay_rubrics.generate.checking`'s."""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from decimal import ROUND_HALF_UP, Decimal
from itertools import combinations

from pydantic import ValidationError

from finassay.api.guidance import Violation
from finassay.api.verdict import Json
from finassay_rubrics.budget import MAX_TIMES, MIN_POINTS, move_violations, moved
from finassay_rubrics.grading.score import topic_of
from finassay_rubrics.record.quotes import quote_digest
from finassay_rubrics.record.rubric import ANY, Criterion, Evidence, Route, Rubric
from finassay_rubrics.validate.wording import shared, wording_problem, words_in

NEAR = 0.85
REPORTING_LAG = timedelta(days=5)


def _rubric(product: Mapping[str, Json]) -> Rubric | None:
    try:
        return Rubric.model_validate(product)
    except ValidationError:
        return None


def points(product: Mapping[str, Json]) -> tuple[Violation, ...]:
    """R07: points add up inside every obligation, and differ from the frozen ones by the recorded moves within their bounds."""
    rubric = _rubric(product)
    if rubric is None:
        return (Violation("R07", "rubric", "does not fit its schema"),)
    found = list(move_violations(rubric.obligations, rubric.moves))
    by_moves = {o.id: o.points for o in moved(rubric.obligations, rubric.moves)}
    for one in rubric.obligations:
        place = f"obligation {one.id}"
        if by_moves[one.id] != one.points:
            found.append(Violation("R07", place, f"has {one.points} points; frozen {one.frozen} and the moves give {by_moves[one.id]}"))
        if rubric.moves and one.points != one.frozen and not MIN_POINTS <= one.points <= MAX_TIMES * one.frozen:
            found.append(Violation("R07", place, f"{one.points} points are out of bounds"))
        total = sum((c.points for c in rubric.criteria if c.obligation_id == one.id), Decimal(0))
        if one.graded and total != one.points:
            found.append(Violation("R07", place, f"its criteria sum to {total} instead of {one.points}"))
    return tuple(found)


def dates(product: Mapping[str, Json]) -> tuple[Violation, ...]:
    """R09: every document has a date on or before the cutoff, and one after the end of the latest period it reports."""
    rubric = _rubric(product)
    return tuple(_dates(rubric)) if rubric else ()


def _dates(rubric: Rubric) -> Iterator[Violation]:
    for criterion, _, evidence in _evidence(rubric):
        if evidence.kind != "source":
            continue
        place, when = f"criterion {criterion.id}", evidence.published
        if when is None:
            yield Violation("R09", place, f"{evidence.document} has no date")
        elif when > rubric.cutoff:
            yield Violation("R09", place, f"{evidence.document} is dated {when}, after the cutoff {rubric.cutoff}")
        elif evidence.period_end is not None and when <= evidence.period_end + REPORTING_LAG:
            yield Violation("R09", place, f"{evidence.document} is dated {when}, but reports a period that ends {evidence.period_end}")


def _evidence(rubric: Rubric) -> Iterator[tuple[Criterion, Route, Evidence]]:
    for criterion in rubric.criteria:
        for route in criterion.expected:
            for evidence in route.evidence:
                yield criterion, route, evidence


def grounding(product: Mapping[str, Json]) -> tuple[Violation, ...]:
    """R08, as far as the rubric itself shows: a grounded criterion has for every route a quote or a script, and digests that fit."""
    rubric = _rubric(product)
    return tuple(_grounding(rubric)) if rubric else ()


def _grounding(rubric: Rubric) -> Iterator[Violation]:
    for criterion in rubric.criteria:
        place = f"criterion {criterion.id}"
        if criterion.status != "grounded" or criterion.kind in ("prohibited", "format") or criterion.checked_by:
            continue
        if not criterion.expected:
            yield Violation("R08", place, "is said to be grounded and has no expected value")
        for route in criterion.expected:
            if not route.evidence:
                yield Violation("R08", place, f"route {route.route_id} rests on nothing")
            for evidence in route.evidence:
                if evidence.quote and quote_digest(evidence.quote) != evidence.quote_sha256:
                    yield Violation("R08", place, f"the digest of the quote from {evidence.document} does not fit it")


def fields(product: Mapping[str, Json]) -> tuple[Violation, ...]:
    """R10: routes of numbers and dates have unit, tolerance and period."""
    rubric = _rubric(product)
    found = []
    for criterion in rubric.criteria if rubric else ():
        if criterion.kind not in ("numeric", "date") or criterion.status != "grounded":
            continue
        for route in criterion.expected:
            needed = {"unit": route.unit, "tolerance": route.tolerance, "period": route.period or criterion.period}
            if criterion.kind == "date":
                needed.pop("unit")
            missing = [name for name, value in needed.items() if not value]
            if criterion.kind == "numeric" and not isinstance(route.value, Decimal):
                missing.append("number")
            found += [Violation("R10", f"criterion {criterion.id}", f"route {route.route_id} has no {name}") for name in missing]
    return tuple(found)


def overlaps(product: Mapping[str, Json]) -> tuple[Violation, ...]:
    """R11: what two routes of a topic accept in one cell does not overlap, unless they were merged there."""
    rubric = _rubric(product)
    found = []
    for criterion in rubric.criteria if rubric else ():
        numeric = [r for r in criterion.expected if isinstance(r.value, Decimal) and r.topic]
        for first, second in combinations(numeric, 2):
            if (
                first.topic != second.topic
                or first.topic in criterion.merged_routes
                or (criterion.discriminating is False and "agree" in criterion.notes)
            ):
                continue
            if (both := accepted_by_both(first, second)) is not None:
                found.append(Violation("R11", f"criterion {criterion.id}", f"{first.route_id} and {second.route_id} both accept {both}"))
    return tuple(found)


def accepted_by_both(first: Route, second: Route) -> Decimal | None:
    """A value that two routes accept; None where there is none.

    At a stated precision an answer says the expected value rounded to its decimals: two routes differ if they do at the decimals that must
    at least be stated.
    """
    assert isinstance(first.value, Decimal)
    assert isinstance(second.value, Decimal)
    rules = [r.tolerance.rule if r.tolerance else "exact" for r in (first, second)]
    if rules == ["stated precision", "stated precision"]:
        decimals = max((r.tolerance.decimals or 0) if r.tolerance else 0 for r in (first, second))
        one, two = (value.quantize(Decimal(1).scaleb(-decimals), ROUND_HALF_UP) for value in (first.value, second.value))
        return one if one == two else None
    low, high = sorted((_band(first), _band(second)))
    return high[0] if low[1] >= high[0] else None


def _band(route: Route) -> tuple[Decimal, Decimal]:
    assert isinstance(route.value, Decimal)
    wide = max(route.tolerance.abs, route.tolerance.rel * abs(route.value)) if route.tolerance else Decimal(0)
    return route.value - wide, route.value + wide


def wording(product: Mapping[str, Json]) -> tuple[Violation, ...]:
    """R12: one claim, one test."""
    rubric = _rubric(product)
    told = [(c.id, wording_problem(c.text)) for c in rubric.criteria] if rubric else []
    return tuple(Violation("R12", f"criterion {id}", problem) for id, problem in told if problem)


def duplicates(product: Mapping[str, Json]) -> tuple[Violation, ...]:
    """R13: no two criteria test the same."""
    rubric = _rubric(product)
    if rubric is None:
        return ()
    found, cells = [], defaultdict(list)
    for criterion in rubric.criteria:
        if criterion.metric and criterion.kind == "numeric":
            cells[criterion.metric, criterion.entity, criterion.period, topic_of(criterion)].append(criterion.id)
    found += [
        Violation("R13", f"criterion {ids[1]}", f"tests the same as {ids[0]}: {cell[0]} {cell[2]}")
        for cell, ids in cells.items()
        if len(ids) > 1
    ]
    found += _worded_alike(rubric.criteria)
    return tuple(found)


def _worded_alike(criteria: Sequence[Criterion]) -> Iterator[Violation]:
    """Criteria whose texts have the same figures and nearly the same words, unless they are about different metrics."""
    by_figures = defaultdict(list)
    for criterion in criteria:
        by_figures[tuple(re.findall(r"\d+", criterion.text))].append((criterion, words_in(criterion.text)))
    for group in by_figures.values():
        for (first, some), (second, others) in combinations(group, 2):
            if shared(some, others) > NEAR and not (first.metric and second.metric and first.metric != second.metric):
                yield Violation("R13", f"criterion {second.id}", f"is worded like {first.id}")


def gradable(product: Mapping[str, Json]) -> tuple[Violation, ...]:
    """R14: every obligation has something that can be graded."""
    rubric = _rubric(product)
    found = []
    for one in rubric.obligations if rubric else ():
        bearing = (
            [c for c in rubric.criteria if c.obligation_id == one.id and c.status != "unresolved" and c.kind != "prohibited"]
            if rubric
            else []
        )
        if not bearing:
            found.append(Violation("R14", f"obligation {one.id}", "nothing in it can be graded"))
    return tuple(found)


def principled(product: Mapping[str, Json]) -> tuple[Violation, ...]:
    """R21: each criterion that is graded realizes a principle. Whether the guidance has it is looked at where the guidance is known."""
    rubric = _rubric(product)
    return tuple(
        Violation("R21", f"criterion {criterion.id}", "names no principle")
        for criterion in (rubric.criteria if rubric else ())
        if criterion.status == "grounded" and not criterion.principles
    )


def topics(product: Mapping[str, Json]) -> tuple[Violation, ...]:
    """R15: a topic of a convention has two routes, or a reason why only one holds; routes belong to listed topics."""
    rubric = _rubric(product)
    if rubric is None:
        return ()
    reasons = " ".join(c.reason + c.notes for c in rubric.criteria)
    found = [
        Violation("R15", f"topic {t.id}", "has one route and no reason")
        for t in rubric.topics
        if len(t.routes) < 2 and t.routes != ("merged",) and t.id not in reasons
    ]
    listed = {t.id: set(t.routes) for t in rubric.topics}
    found += [
        Violation("R15", f"criterion {criterion.id}", f"route {route.route_id} stands in no list of topic {route.topic}")
        for criterion in rubric.criteria
        for route in criterion.expected
        if route.topic and route.route_id != ANY and route.route_id not in listed.get(route.topic, set())
    ]
    return tuple(found)


def inputs(product: Mapping[str, Json]) -> tuple[Violation, ...]:
    """R16: what a script took is itself quoted, in the evidence of the same route."""
    rubric = _rubric(product)
    found = []
    for criterion in rubric.criteria if rubric else ():
        for route in criterion.expected:
            quotes = {e.quote_sha256: e.quote for e in route.evidence if e.kind == "source"}
            for evidence in route.evidence:
                for one in evidence.inputs:
                    quote = quotes.get(one.quote_sha256)
                    if quote is None or one.shown not in quote:
                        found.append(Violation("R16", f"criterion {criterion.id}", f"input {one.name}={one.value} stands in no quote"))
    return tuple(found)


def prohibited(product: Mapping[str, Json]) -> tuple[Violation, ...]:
    """R17: a fault earns nothing; a gate hangs on nothing that follows from something else."""
    rubric = _rubric(product)
    found = []
    for criterion in rubric.criteria if rubric else ():
        if (criterion.kind == "prohibited" or criterion.polarity == "negative") and criterion.points:
            found.append(Violation("R17", f"criterion {criterion.id}", "a fault earns points"))
        if criterion.gate == "must_pass" and criterion.depends_on:
            found.append(Violation("R17", f"criterion {criterion.id}", "a gate hangs on a dependent criterion"))
    return tuple(found)


def review(product: Mapping[str, Json]) -> tuple[Violation, ...]:
    """R18: another family found the same value; every grounded number was reviewed."""
    rubric = _rubric(product)
    if rubric is None or not rubric.reviewer:
        return ()
    found = []
    writer, reviewer = str(rubric.writer.get("family", "")), str(rubric.reviewer.get("family", ""))
    if not reviewer or writer == reviewer:
        found.append(Violation("R18", "rubric", f"writer and reviewer are of one family: {writer or 'unknown'}"))
    for criterion in rubric.criteria:
        numeric = criterion.kind in ("numeric", "date") and criterion.status == "grounded"
        agreed = {r.route_id for r in criterion.review if r.verdict == "agrees"}
        if numeric and not {r.route_id for r in criterion.expected} <= agreed:
            told = next((r for r in criterion.review if r.verdict != "agrees"), None)
            what = f"reviewer got {told.value}" if told and told.value is not None else "no reviewer found its value"
            found.append(Violation("R18", f"criterion {criterion.id}", what))
    return tuple(found)
