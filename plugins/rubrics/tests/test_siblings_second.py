"""Rubrics of every kind of criterion in the form that the worked cases have, with answers graded by hand before any was run."""

import tomllib
from decimal import Decimal
from pathlib import Path

import pytest

from finassay_rubrics.grading.grade import Grader
from finassay_rubrics.grading.score import GOOD, OPEN
from finassay_rubrics.record.reading import rubric_of

CASES = [
    case
    for name in ("siblings_second.toml", "siblings_third.toml", "siblings_fourth.toml", "siblings_fifth.toml", "siblings_sixth.toml")
    for case in tomllib.loads((Path(__file__).parent / name).read_text("utf-8"), parse_float=Decimal)["case"]
]


def draft_of(case):
    """The case as a `rubric/draft`, its points split as equally as cents allow."""
    rows = case["criteria"]
    cents, rest = divmod(10_000, len(rows))
    points = [Decimal(cents + (n < rest)) / 100 for n in range(len(rows))]
    own = [row.get("o", "O1") for row in rows]
    obligations = {o: str(sum(p for p, name in zip(points, own, strict=True) if name == o)) for o in dict.fromkeys(own)}
    return {
        "schema": "rubric/draft",
        "query": case["query"],
        "cutoff": {"date": "2024-12-31", "inclusive": True},
        "obligation_points_final": obligations,
        "route_topics": case.get("topics", {}),
        "criteria": [criterion_of(row, p, o) for row, p, o in zip(rows, points, own, strict=True)],
        "writer": "hand",
    }


def criterion_of(row, points, obligation):
    kind = row.get("kind", "numeric")
    return {
        "id": row["id"],
        "obligation_id": obligation,
        "text": row["text"],
        "kind": kind,
        "points": "0.00" if kind == "prohibited" else str(points),
        "gate": "must_pass" if row.get("gate") else "none",
        "polarity": "negative" if kind == "prohibited" else "positive",
        "entity": row.get("entity", ""),
        "depends_on": row.get("depends", []),
        "strict": row.get("strict", False),
        "status": "grounded",
        "expected": [route_of(row, route) for route in row["routes"]],
    }


def route_of(row, route):
    name, value, unit, scale, period = (*route, *[""] * (5 - len(route)))
    made = {"route_id": name, "topic": row.get("topic"), "value": value, "requires": row.get("requires", {}).get(name, "")}
    if isinstance(value, str):
        return made
    places = row.get("decimals")
    half = Decimal("0.5") if places is None else Decimal(5).scaleb(-places - 1)
    words = f"answer must equal the expected value rounded half-up to the decimals it states; at least {places} decimal(s) required"
    tolerance = {"rule": "exact" if row.get("exact") else "stated precision", "abs": half, "rel": 0, "inclusive": True}
    return {**made, "unit": unit, "scale": scale or "ones", "period": period, "sign_rule": row.get("sign", "positive"),
            "tolerance": tolerance | ({} if places is None else {"rounding": words})}  # fmt: skip


@pytest.mark.parametrize(("case", "answer"), [pytest.param(c, a, id=f"{c['name']}: {a['name']}") for c in CASES for a in c["answers"]])
def test_a_careful_reader_would_say_the_same(case, answer):
    score = Grader(rubric_of(draft_of(case), case["name"])).grade(answer["text"]).score
    told = {r.criterion: (r.found.outcome, r.found.value, r.found.why, r.found.quote[:80]) for r in score.results}
    unmet = {name for name, (outcome, *_) in told.items() if outcome not in (*GOOD, *OPEN)}
    assert unmet == set(answer["unmet"]), {n: told[n] for n in unmet ^ set(answer["unmet"])}
    assert {name for name, (outcome, *_) in told.items() if outcome in OPEN} == set(answer.get("open", ()))
    assert {r.criterion for r in score.results if r.found.consistent_with_error} == set(answer.get("consistent", ()))
    if "route" in answer:
        assert set(score.routes.values()) == {answer["route"]}


def test_every_kind_is_there():
    kinds = {row.get("kind", "numeric") for case in CASES for row in case["criteria"]}
    assert kinds == {"numeric", "date", "categorical", "set", "text", "derivation", "prohibited", "format"}
    assert len(CASES) >= 12
