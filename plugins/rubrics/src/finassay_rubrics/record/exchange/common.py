"""What all foreign forms share: requirements with weights become criteria with points, and what they state as a figure becomes one.

Foreign forms have neither sources nor conventions. Their expected values stand on the author's word: the rubric says so and stays a draft.
What the record has no field for is kept in `writer`, so that writing the form again loses nothing.
"""

from collections.abc import Mapping, Sequence
from datetime import date
from decimal import ROUND_DOWN, Decimal
from typing import Any, Final

from attrs import frozen

from finassay_rubrics.grading.numbers import Number, numbers
from finassay_rubrics.record.rubric import Criterion, Obligation, Route, Rubric, Tolerance

OBLIGATION: Final = "O1"
IMPORTED: Final = "as its author states it; no source was opened"
MAX_CRITERIA: Final = 2_000
_SCALES: Final = {Decimal(10) ** 3: "thousands", Decimal(10) ** 6: "millions", Decimal(10) ** 9: "billions", Decimal(10) ** 12: "trillions"}
_UNITS: Final = {"percent": "percent", "points": "percentage points", "basis points": "basis points", "times": "times", "days": "days"}


@frozen
class Requirement:
    """One line of a foreign rubric."""

    text: str
    weight: Decimal
    """Negative for a fault."""
    tags: tuple[str, ...] = ()
    name: str = ""
    gate: bool = False


def rubric_of(
    query: str, requirements: Sequence[Requirement], cutoff: date, form: str, original: Mapping[str, Any], *, figures: bool = True
) -> Rubric:
    """A rubric whose points follow the positive weights, to the cent. Faults (negative or zero weight) earn nothing.

    `figures`: whether a requirement that holds exactly one figure tests that figure. Raises `ValueError` for none or too many requirements,
    and where no weight is positive.
    """
    if not 0 < len(requirements) <= MAX_CRITERIA:
        raise ValueError(f"{len(requirements)} requirements: expected 1 to {MAX_CRITERIA}")
    points = _points([r.weight for r in requirements])
    criteria = [
        _criterion(number, r, share, figures=figures) for number, (r, share) in enumerate(zip(requirements, points, strict=True), start=1)
    ]
    obligation = Obligation(id=OBLIGATION, what=query[:200], spans=("query",), frozen=Decimal(100), points=Decimal(100))
    writer = {"id": "imported", "form": form, "original": dict(original), "weights": [f"{r.weight:f}" for r in requirements]}
    return Rubric(query=query, cutoff=cutoff, obligations=(obligation,), criteria=tuple(criteria), writer=writer, status="draft")


def _points(weights: Sequence[Decimal]) -> list[Decimal]:
    """100 points in proportion to positive weights; the cents that remain go to the largest remainders, then to the first."""
    total = sum((w for w in weights if w > 0), Decimal(0))
    if total <= 0:
        raise ValueError("no requirement has a positive weight")
    exact = [10_000 * max(w, Decimal(0)) / total for w in weights]
    cents = [int(e.to_integral_value(ROUND_DOWN)) for e in exact]
    for index in sorted(range(len(weights)), key=lambda i: (cents[i] - exact[i], i))[: 10_000 - sum(cents)]:
        cents[index] += 1
    return [Decimal(c).scaleb(-2) for c in cents]


def _criterion(number: int, requirement: Requirement, points: Decimal, *, figures: bool) -> Criterion:
    name = f"{OBLIGATION}.{number}"
    common: dict[str, Any] = {
        "id": name,
        "obligation_id": OBLIGATION,
        "text": requirement.text,
        "points": points,
        "gate": "must_pass" if requirement.gate else "none",
        "anchors": requirement.tags,
        "notes": IMPORTED,
    }
    if requirement.weight <= 0:
        return Criterion(kind="prohibited", polarity="negative", expected=(Route(value=requirement.text),), **common)
    route = route_of(requirement.text) if figures else None
    if route is not None:
        return Criterion(kind="numeric", expected=(route,), **common)
    return Criterion(kind="text", expected=(Route(value=requirement.text),), **common)


def route_of(text: str) -> Route | None:
    """The figure of a text that holds exactly one; None for words, several figures or a figure of more digits than are stored."""
    found = numbers(text)
    if len(found) != 1:
        return None
    number = found[0]
    value = number.value
    if len(value.normalize().as_tuple().digits) > 15:
        return None
    scale = _SCALES.get(number.scale or Decimal(1), "")
    half = Decimal(5).scaleb(-number.decimals - 1)
    return Route(value=value, unit=_unit(number), scale=scale, tolerance=Tolerance(rule="stated precision", abs=half), convention=IMPORTED)


def _unit(number: Number) -> str:
    if number.kind == "amount":
        return {"$": "USD", "US$": "USD", "€": "EUR", "£": "GBP"}.get(number.currency, number.currency or "USD")
    return _UNITS.get(number.kind, "")


def weights_of(rubric: Rubric, form: str) -> list[Decimal]:
    """The weights that a rubric was imported with in this form; else its points, and -1 for a fault."""
    kept = rubric.writer.get("weights") if rubric.writer.get("form") == form else None
    if isinstance(kept, list) and len(kept) == len(rubric.criteria):
        return [Decimal(str(w)) for w in kept]
    return [Decimal(-1) if c.kind == "prohibited" else c.points for c in rubric.criteria]


def original_of(rubric: Rubric, form: str) -> dict[str, Any]:
    """What else the form held when the rubric was imported from it."""
    kept = rubric.writer.get("original") if rubric.writer.get("form") == form else None
    return dict(kept) if isinstance(kept, Mapping) else {}


def said(criterion: Criterion) -> str:
    """A criterion for a form that has text alone: with the value that each route accepts."""
    if criterion.kind == "prohibited" or criterion.notes == IMPORTED or criterion.status != "grounded":
        return criterion.text
    values = []
    for route in criterion.expected:
        shown = f"{route.value} {route.scale} {route.unit}".replace("  ", " ").strip()
        values.append(f"{shown} ({route.convention})" if route.topic and route.convention else shown)
    return f"{criterion.text}: {' or '.join(dict.fromkeys(values))}" if values else criterion.text
