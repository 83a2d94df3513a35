"""rubric-spec's portable JSON: criteria with a scale, anchors and weights that sum to 1, a contract with the judge, provenance.

Every criterion must weigh something there, so that faults and checks without points stand beside, under `x-finassay`, which other readers ignore.
"""

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
    rubric_of,
    said,
    weights_of,
    words,
)
from finassay_rubrics.record.parsing import dumped, json_of
from finassay_rubrics.record.rubric import Criterion, Rubric

RUBRIC_SPEC: Final = "rubric-spec"
VERSION: Final = "auraone-rubric-v1"
BESIDE: Final = "x-finassay"
INSTRUCTION: Final = (
    "Say for each criterion whether the answer meets it: 1 if it does, 0 if it does not. Judge by the criterion alone; a figure counts within "
    "the rounding that it is stated with."
)


def from_rubric_spec(data: Any, cutoff: date, query: str) -> Rubric:
    """One rubric. Raises `ValueError`."""
    if not isinstance(data, Mapping) or data.get("version") != VERSION:
        found = data.get("version") if isinstance(data, Mapping) else type(data).__name__
        raise ValueError(f"version {str(found)[:60]!r}: expected {VERSION}")
    rows = objects(data, "criteria")
    own = mapping(data, BESIDE)
    gates = own["gates"] if isinstance(own.get("gates"), list) else []
    requirements = [
        Requirement(_requirement(one), figure(one, "weight"), _anchors(one), gate=one.get("criterion_id") in gates) for one in rows
    ]
    beside = objects({"beside": own.get("criteria") or []}, "beside")
    requirements += [Requirement(words(one, "description"), Decimal(0), gate=bool(one.get("gate"))) for one in beside]
    spec = {k: v for k, v in data.items() if k != "criteria"}
    original = {"spec": spec, "rows": [dict(one) for one in rows], "order": list(data)}
    asked = str(own.get("query") or data.get("label") or query)
    return rubric_of(asked, requirements, cutoff_in(own, cutoff), RUBRIC_SPEC, original)


def _requirement(one: Mapping[str, Any]) -> str:
    return words(one, "description" if str(one.get("description", "")).strip() else "label")


def _anchors(one: Mapping[str, Any]) -> tuple[str, ...]:
    found = one.get("anchors")
    binary = one.get("scale_type", "binary") == "binary"
    return () if binary or not isinstance(found, list) else tuple(str(a.get("label", "")) for a in found if isinstance(a, Mapping))


def to_rubric_spec(rubric: Rubric) -> dict[str, Any]:
    """What the JSON file holds."""
    kept = original_of(rubric, RUBRIC_SPEC)
    if kept:
        whole = {**kept["spec"], "criteria": kept["rows"]}
        return {key: whole[key] for key in kept.get("order", whole)}
    weighed = list(zip(rubric.criteria, weights_of(rubric, RUBRIC_SPEC), strict=True))
    total = sum((weight for _, weight in weighed if weight > 0), Decimal(0)) or Decimal(1)
    beside = [
        {"criterion_id": c.id, "description": said(c), "kind": c.kind, "gate": c.gate == "must_pass"}
        for c, weight in weighed
        if weight <= 0
    ]
    label = " ".join(rubric.query.split())
    return {
        "version": VERSION,
        "rubric_id": rubric.content_digest[:16] or "rubric",
        "label": label[:120],
        "tie_break_rule": "none",
        "judge_prompt_contract": {"instruction": INSTRUCTION, "output_format": "json", "required_fields": ["criterion_id", "score"]},
        "provenance": _provenance(rubric),
        "criteria": [_row(c, weight / total) for c, weight in weighed if weight > 0],
        BESIDE: {
            "query": rubric.query,
            "cutoff": rubric.cutoff.isoformat(),
            "gates": [c.id for c, weight in weighed if c.gate == "must_pass" and weight > 0],
            "criteria": beside,
        },
    }


def _row(criterion: Criterion, weight: Decimal) -> dict[str, Any]:
    return {
        "criterion_id": criterion.id,
        "label": " ".join(criterion.text.split())[:120],
        "description": said(criterion),
        "scale_type": "binary",
        "weight": float(round(weight, 6)),
        "tie_break_rule": "none",
        "anchors": [{"value": 0, "label": "not met"}, {"value": 1, "label": "met"}],
        "examples": [],
    }


def _provenance(rubric: Rubric) -> dict[str, Any]:
    """Who made it; `synthetic` tells rubrics that no person wrote."""
    imported = str(rubric.writer.get("form", ""))
    maker = f"imported from {imported}" if imported else f"{rubric.writer.get('id', 'unknown')}"
    return {"source": "finassay-rubrics", "created_by": maker[:200], "synthetic": not imported}


def _read(text: str, cutoff: date, query: str) -> list[Rubric]:
    return [from_rubric_spec(json_of(text), cutoff, query)]


def _write(rubrics: Sequence[Rubric]) -> str:
    return dumped(to_rubric_spec(rubrics[0]), indent=1) + "\n"


FORM: Final = Form(RUBRIC_SPEC, False, _read, _write)
