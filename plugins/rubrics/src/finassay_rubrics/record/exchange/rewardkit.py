"""A judge's TOML of harbor-rewardkit: a table `[[criterion]]` for each criterion, binary, with weights.

Where the form has no field, the table `annotations`, which it leaves alone, holds what is needed to come back: query, cutoff, gate, obligation.
Faults are negated. With negative weights the scores are summed, each weight as its share of the positive ones: HealthBench's rule.
"""

import re
from collections.abc import Mapping, Sequence
from datetime import date
from decimal import Decimal
from typing import Any, Final

from finassay_rubrics.record.exchange.common import (
    Form,
    Requirement,
    cutoff_in,
    figure,
    mapping,
    objects,
    original_of,
    plain,
    rubric_of,
    said,
    unseen,
    weights_of,
    words,
)
from finassay_rubrics.record.parsing import toml_of
from finassay_rubrics.record.rubric import Criterion, Rubric

REWARDKIT: Final = "rewardkit"
_GATED: Final = ("all-pass", "all_pass", "required-pass", "required_pass")


def from_rewardkit(data: Mapping[str, Any], cutoff: date, query: str) -> Rubric:
    """One judge. Raises `ValueError`."""
    rows = objects(data, "criterion")
    gated = str(mapping(data, "scoring").get("aggregation", "")) in _GATED
    requirements = [
        Requirement(words(one, "description"), _weight(one), gate=_notes(one).get("gate") == "must_pass" or (gated and not _optional(one)))
        for one in rows
    ]
    notes = _notes(rows[0]) if rows else {}
    extra = [{k: v for k, v in one.items() if k != "description"} for one in rows]
    original = {"rest": {k: v for k, v in data.items() if k != "criterion"}, "extra": extra, "orders": [list(one) for one in rows]}
    return rubric_of(str(notes.get("query") or query), requirements, cutoff_in(notes, cutoff), REWARDKIT, original)


def _notes(one: Mapping[str, Any]) -> Mapping[str, Any]:
    return mapping(one, "annotations")


def _optional(one: Mapping[str, Any]) -> bool:
    return bool(one.get("optional")) or "optional" in str(_notes(one).get("importance", "")).lower()


def _weight(one: Mapping[str, Any]) -> Decimal:
    weight = figure(one, "weight") if "weight" in one else Decimal(1)
    negated = one["negate"] if "negate" in one else "negative" in str(_notes(one).get("type", "")).lower()
    return -abs(weight) if negated else weight


def to_rewardkit(rubric: Rubric) -> dict[str, Any]:
    """What the TOML file holds."""
    kept = original_of(rubric, REWARDKIT)
    if kept:
        rows = [{**more, "description": said(c)} for c, more in zip(rubric.criteria, kept["extra"], strict=True)]
        rows = [{key: row[key] for key in order} for row, order in zip(rows, kept["orders"], strict=True)]
        return {**kept["rest"], "criterion": rows}
    weights = weights_of(rubric, REWARDKIT)
    summed = any(Decimal(str(weight)) < 0 for weight in rubric.writer.get("weights", ()))
    positive = sum((weight for weight in weights if weight > 0), Decimal(0))
    # Faults without a weight of their own, as those of our rubrics, gate or are told; they cost no points.
    told = [weight / positive if summed else max(weight, Decimal(0)) for weight in weights]
    rows = [_row(rubric, c, weight, number) for number, (c, weight) in enumerate(zip(rubric.criteria, told, strict=True))]
    return {"scoring": {"aggregation": "weighted-sum" if summed else "weighted-mean"}, "criterion": rows}


def _row(rubric: Rubric, criterion: Criterion, weight: Decimal, number: int) -> dict[str, Any]:
    fault = criterion.kind == "prohibited"
    notes: dict[str, Any] = {"query": rubric.query, "cutoff": rubric.cutoff.isoformat()} if number == 0 else {}
    notes |= {"obligation": criterion.obligation_id, "points": f"{criterion.points:f}"}
    if criterion.gate == "must_pass":
        notes["gate"] = "must_pass"
    row = {"id": criterion.id, "name": re.sub(r"[^A-Za-z0-9_-]", "_", criterion.id)[:64], "description": said(criterion), "type": "binary"}
    # A summed fault counts against the answer by its weight; where a mean is taken, "no such fault" is what passes.
    negated = {"negate": True} if fault and weight >= 0 else {}
    return {
        **row,
        "weight": float(weight) if weight % 1 else plain(weight),
        **negated,
        "optional": criterion.optional,
        "annotations": notes,
    }


def _read(text: str, cutoff: date, query: str) -> list[Rubric]:
    return [from_rewardkit(toml_of(text), cutoff, query)]


def _write(rubrics: Sequence[Rubric]) -> str:
    import tomlkit

    return tomlkit.dumps(unseen(to_rewardkit(rubrics[0])))


FORM: Final = Form(REWARDKIT, False, _read, _write)
