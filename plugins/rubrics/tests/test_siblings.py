"""Rubrics and answers of many styles: the grader says what a careful reader would."""

import tomllib
from decimal import Decimal
from pathlib import Path

import pytest

from finassay_rubrics.grading.grade import Grader
from finassay_rubrics.record.rubric import Criterion, Obligation, Route, Rubric, Tolerance, Topic

CASES = tomllib.loads((Path(__file__).parent / "siblings.toml").read_text("utf-8"), parse_float=Decimal)["case"]


def rubric_of(case):
    rows = case["criteria"]
    share = Decimal(100) / len(rows)
    obligation = Obligation(id="O1", what=case["query"], spans=("?",), frozen=Decimal(100), points=Decimal(100))
    topics = tuple(Topic(id=t, routes=tuple(r)) for t, r in case.get("topics", {}).items())
    criteria = tuple(criterion_of(row, share) for row in rows)
    return Rubric(query=case["query"], cutoff="2024-12-31", obligations=(obligation,), criteria=criteria, topics=topics)


def criterion_of(row, points):
    routes = tuple(route_of(row, route) for route in row["routes"])
    kind = row.get("kind", "numeric")
    return Criterion(
        id=row["id"], obligation_id="O1", text=row["text"], kind=kind, points=points, expected=routes, entity=row.get("entity", "")
    )


def route_of(row, route):
    name, value, unit, scale, period = (*route, *[""] * (5 - len(route)))
    if isinstance(value, str):
        return Route(route_id=name, topic=row.get("topic"), value=value)
    places = row.get("decimals")
    half = Decimal("0.5") if places is None else Decimal(5).scaleb(-places - 1)
    known = max(0, -Decimal(str(value)).as_tuple().exponent)
    tolerance = (
        Tolerance(rule="exact")
        if row.get("exact")
        else Tolerance(rule="stated precision", abs=min(half, Decimal(5).scaleb(-known - 1)) if known else half, decimals=places)
    )
    return Route(
        route_id=name, topic=row.get("topic"), value=Decimal(str(value)), unit=unit, scale=scale, period=period, tolerance=tolerance, sign_rule=row.get("sign", "")
    )  # fmt: skip


@pytest.mark.parametrize(("case", "answer"), [pytest.param(c, a, id=f"{c['name']}: {a['name']}") for c in CASES for a in c["answers"]])
def test_a_careful_reader_would_say_the_same(case, answer):
    score = Grader(rubric_of(case)).grade(answer["text"]).score
    told = {r.criterion: (r.found.outcome, r.found.value, r.found.why, r.found.quote[:80]) for r in score.results}
    unmet = [name for name, (outcome, *_) in told.items() if outcome != "met"]
    assert sorted(unmet) == sorted(answer["unmet"]), {n: told[n] for n in set(unmet) ^ set(answer["unmet"])}
    if "route" in answer:
        assert set(score.routes.values()) == {answer["route"]}


def test_there_are_enough_of_them():
    assert len(CASES) >= 6
    assert all(len(case["answers"]) >= 4 for case in CASES)
