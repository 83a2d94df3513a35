"""Value recall where both sides exist: experts' values, and generated rubrics of the same queries.

Experts' values are those of `expert_rubrics.jsonl`, else the one figure that answers a question of `questions.jsonl`. A generated rubric belongs to
a query by its words.
"""

from collections.abc import Iterator
from decimal import Decimal
from itertools import islice
from pathlib import Path
from typing import Any, Final

from finassay.api.errors import InvalidFileError
from finassay_rubrics.grading.asked import keyed
from finassay_rubrics.measure.agreeing import numeric, values
from finassay_rubrics.measure.experts import experts_in
from finassay_rubrics.measure.rows import found, left_out, rows_of
from finassay_rubrics.measure.statements import agrees
from finassay_rubrics.metrics.ask import understand
from finassay_rubrics.metrics.formula import FormulaError
from finassay_rubrics.record.reading import read_rubric
from finassay_rubrics.record.rubric import Route, Rubric

POWER: Final = {"": 0, "thousands": 3, "millions": 6, "billions": 9, "trillions": 12}
MAX_RUBRICS: Final = 20_000


def recall_json(folder: Path, made: Path) -> dict[str, Any] | str:
    """Counts over queries that have both, or why there are none. Raises `InvalidFileError`."""
    generated = {plain(rubric.query): rubric for rubric in rubrics_in(made)}
    if not generated:
        return f"no rubric.json below {made.name}/"
    rows = list(_by_rubric(folder, generated)) or list(_by_key(folder, generated))
    if not rows:
        return "none of the generated rubrics is of an expert's query with a value"
    both = [row for row in rows if row is not None]
    expected, recalled = sum(r["expected"] for r in both), sum(r["recalled"] for r in both)
    stated, precise = sum(r["stated"] for r in both), sum(r["precise"] for r in both)
    return {
        "queries_of_experts": len(rows),
        "queries_with_both": len(both),
        "expert_values": expected,
        "recalled_any_route": recalled,
        "recall_any_route": recalled / expected if expected else None,
        "recall_first_route": sum(r["first"] for r in both) / expected if expected else None,
        "generated_values": stated,
        "precision": precise / stated if stated else None,
        "unmatched": [line for r in both for line in r["unmatched"]],
    }


def rubrics_in(made: Path) -> Iterator[Rubric]:
    """Every `rubric.json` below a folder, at most `MAX_RUBRICS`. Raises `InvalidFileError` for one that is none, unless those are left out."""
    for path in islice(sorted(made.rglob("rubric.json")), MAX_RUBRICS):
        try:
            rubric = read_rubric(path)
        except InvalidFileError as error:
            left_out(str(path), f"cannot be read: {str(error).removeprefix(f'{path}: ')}")
        else:
            yield rubric


def plain(query: str) -> str:
    """A query by its words alone."""
    return " ".join(query.split()).casefold()


def _by_rubric(folder: Path, generated: dict[str, Rubric]) -> Iterator[dict[str, Any] | None]:
    """A row for each expert's rubric that has figures; None where nothing was generated for it."""
    for expert in experts_in(found(folder, "expert_rubrics")):
        own = generated.get(plain(expert.query))
        if not numeric(expert):
            continue
        if own is None:
            yield None
            continue
        both = values(own, expert)
        yield {
            "expected": len(both.recalled),
            "recalled": sum(bool(m.by) for m in both.recalled),
            "first": sum(m.first_route for m in both.recalled),
            "stated": len(both.precise),
            "precise": sum(bool(m.by) for m in both.precise),
            "unmatched": [f"{expert.query[:80]}: {m.value}; nearest {m.nearest or 'none'}" for m in both.recalled if not m.by],
        }


def _by_key(folder: Path, generated: dict[str, Rubric]) -> Iterator[dict[str, Any] | None]:
    """A row for each question that one figure answers: that figure is the expert's value."""
    for row in rows_of(found(folder, "questions"), ("question", "answer")):
        query, key = str(row["question"]), str(row["answer"])
        if keyed(query, key, str(row.get("company") or "")) is None:
            continue
        own = generated.get(plain(query))
        if own is None:
            yield None
            continue
        routes = [[_agrees(route, query, key) for route in criterion.expected] for criterion in numeric(own)]
        right = any(any(one) for one in routes)
        said = "; ".join(f"{c.text[:60]}: {c.expected[0].value} {c.expected[0].scale}".strip() for c in numeric(own)) or "no figure"
        yield {
            "expected": 1,
            "recalled": int(right),
            "first": int(any(one[0] for one in routes)),
            "stated": len(routes),
            "precise": sum(any(one) for one in routes),
            "unmatched": [] if right else [f"{row.get('financebench_id', query[:80])}: {key}; generated {said[:200]}"],
        }


def in_units(route: Route) -> Decimal | None:
    """The value of a route, scale applied; None for words."""
    return route.value.scaleb(POWER.get(route.scale, 0)) if isinstance(route.value, Decimal) else None


def _agrees(route: Route, query: str, key: str) -> bool:
    value = in_units(route)
    return value is not None and agrees(value / (asked_scale(query) if route.unit == "USD" else 1), key, route.unit)


def asked_scale(query: str) -> Decimal:
    """The scale in which a query wants its amount: 1,000,000 for `in USD millions`; 1 where it says none."""
    from finassay.api.errors import FinassayError
    from finassay.api.research import Question

    try:
        return understand(Question("", query)).scale or Decimal(1)
    except (FormulaError, FinassayError):
        return Decimal(1)
