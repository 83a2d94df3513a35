"""What all foreign forms share: requirements with weights become criteria with points, and what they state as a figure becomes one.

Foreign forms have neither sources nor conventions. Their expected values stand on the author's word: the rubric says so and stays a draft.
What the record has no field for is kept in `writer`, so that writing the form again loses nothing.
"""

import unicodedata
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from decimal import ROUND_DOWN, Decimal, InvalidOperation
from typing import Any, Final

from attrs import frozen

from finassay_rubrics.grading.numbers import Number, numbers
from finassay_rubrics.record.rubric import Criterion, Obligation, Route, Rubric, Tolerance

OBLIGATION: Final = "O1"
IMPORTED: Final = "as its author states it; no source was opened"
MAX_CRITERIA: Final = 2_000
MAX_FIGURE_TEXT: Final = 4_000
"""Longer texts are words, whatever figures they hold."""
MAX_WEIGHT: Final = 10**9
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
    route = route_of(requirement.text) if figures and len(requirement.text) <= MAX_FIGURE_TEXT else None
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
    """The weights that a rubric was imported with, in this form or in another that weighs its faults; else its points, and -1 for a fault."""
    kept = rubric.writer.get("weights")
    if isinstance(kept, list) and len(kept) == len(rubric.criteria):
        weights = [Decimal(str(w)) for w in kept]
        if rubric.writer.get("form") == form or all(weights):
            return weights
    return [Decimal(-1) if c.kind == "prohibited" else c.points for c in rubric.criteria]


def original_of(rubric: Rubric, form: str) -> dict[str, Any]:
    """What else the form held when the rubric was imported from it."""
    kept = rubric.writer.get("original") if rubric.writer.get("form") == form else None
    return {key: _without_decimals(value) for key, value in kept.items()} if isinstance(kept, Mapping) else {}


def _without_decimals(data: Any) -> Any:
    """As other forms are written: our own file is read with decimals, which JSON and YAML do not know."""
    if isinstance(data, Decimal):
        return float(data)
    if isinstance(data, Mapping):
        return {key: _without_decimals(value) for key, value in data.items()}
    return [_without_decimals(one) for one in data] if isinstance(data, list | tuple) else data


def said(criterion: Criterion) -> str:
    """A criterion for a form that has text alone: with the value that each route accepts."""
    if criterion.kind == "prohibited" or criterion.notes == IMPORTED or criterion.status != "grounded":
        return criterion.text
    values = []
    for route in criterion.expected:
        shown = f"{route.value} {route.scale} {route.unit}".replace("  ", " ").strip()
        values.append(f"{shown} ({route.convention})" if route.topic and route.convention else shown)
    return f"{criterion.text}: {' or '.join(dict.fromkeys(values))}" if values else criterion.text


# -- fields -----------------------------------------------------------------------------------------------------------


def objects(row: Mapping[str, Any], name: str) -> list[Mapping[str, Any]]:
    """A list of objects. Raises `ValueError`."""
    rows = row.get(name)
    if not isinstance(rows, list) or not all(isinstance(one, Mapping) for one in rows):
        raise ValueError(f"{name}: expected a list of objects")
    return rows


def mapping(row: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """An object, empty where there is none. Raises `ValueError` for anything else."""
    value = row.get(name)
    if value is not None and not isinstance(value, Mapping):
        raise ValueError(f"{name}: expected an object")
    return value or {}


def cutoff_in(row: Mapping[str, Any], given: date) -> date:
    """The cutoff that a form holds, else the one that is given. Raises `ValueError`."""
    return date.fromisoformat(str(row["cutoff"])) if row.get("cutoff") else given


def words(row: Mapping[str, Any], name: str) -> str:
    """Raises `ValueError` where there are none."""
    value = row.get(name)
    if not isinstance(value, str) or not value.strip():
        raise ValueError(f"{name}: expected words")
    return value


def figure(row: Mapping[str, Any], name: str) -> Decimal:
    """Raises `ValueError` for what is no finite number."""
    value = row.get(name)
    try:
        found = Decimal(str(value)) if isinstance(value, int | float | Decimal) and not isinstance(value, bool) else None
    except InvalidOperation:
        found = None
    if found is None or not found.is_finite() or abs(found) > MAX_WEIGHT:
        raise ValueError(f"{name}: expected a number, found {str(value)[:40]!r}")
    return found


def plain(value: Decimal) -> int | float:
    """As JSON, YAML and TOML hold it."""
    return int(value) if value == value.to_integral_value() else float(value)


def unseen(data: Any) -> Any:
    """Data whose texts hold nothing that YAML and TOML cannot: control characters and halves of characters are replaced."""
    if isinstance(data, str):
        return "".join("\ufffd" if unicodedata.category(c) in ("Cc", "Cs") and c not in "\t\n" else c for c in data)
    if isinstance(data, Mapping):
        return {unseen(key): unseen(value) for key, value in data.items()}
    return [unseen(one) for one in data] if isinstance(data, list | tuple) else data


# -- forms --------------------------------------------------------------------------------------------------------------


@frozen
class Form:
    """A form: its name, how many rubrics a file of it holds, and the two ways."""

    name: str
    many: bool
    read: Callable[[str, date, str], list[Rubric]]
    write: Callable[[Sequence[Rubric]], str]
