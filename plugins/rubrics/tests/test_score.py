"""Verdicts to figures: routes, points, gates, what is open."""

import json
import os
from decimal import Decimal
from pathlib import Path

import pytest

from finassay_rubrics.grading.score import Found, score, topic_of
from finassay_rubrics.record.reading import read_rubric
from finassay_rubrics.record.rubric import Criterion, Obligation, Route, Rubric, Topic

SHARED = Path(os.environ.get("FINASSAY_SHARED", Path(__file__).parents[4] / "shared"))
WORKED = sorted(p.parent for p in (SHARED / "cases" / "rubrics").glob("*/rubric.json"))


@pytest.mark.skipif(not WORKED, reason="no worked rubrics: the shared folder is not beside the checkout (set FINASSAY_SHARED)")
def test_the_worked_verdicts_give_the_worked_points():
    for folder in WORKED:
        rubric = read_rubric(folder)
        for answer in json.loads((folder / "answers.json").read_text()):
            chosen = {topic: words.split(" ")[0] for topic, words in answer["route"].items()}
            findings = {}
            for criterion in rubric.criteria:
                outcome = answer["verdicts"][criterion.id]
                if criterion.kind == "prohibited" and outcome == "met":
                    outcome = "fault absent"
                topic = topic_of(criterion)
                route = chosen.get(topic, "any") if topic else "any"
                findings[criterion.id] = {route: Found(outcome)}
            graded = score(rubric, findings)
            assert f"{graded.points:f}" == answer["points"], (folder.name, answer["id"])
            assert f"{graded.gated:f}" == answer["gated_points"]
            assert list(graded.failed_gates) == answer["failed_gates"]
            assert graded.all_pass is answer["all_pass"]
            assert {r.criterion for r in graded.results if r.found.outcome == "unmet"} == set(answer["unmet"])


def criterion(id, points, topic=None, routes=("any",), **more):
    expected = tuple(Route(route_id=r, topic=topic, value=Decimal(n)) for n, r in enumerate(routes))
    return Criterion(id=id, obligation_id="O1", text=id, kind="numeric", points=Decimal(points), expected=expected, **more)


def rubric(*criteria, topics=()):
    obligation = Obligation(id="O1", what="x", spans=("MET1",), frozen=Decimal(100), points=Decimal(100))
    return Rubric(query="q", cutoff="2023-03-01", obligations=(obligation,), criteria=criteria, topics=tuple(topics))


def on(**routes):
    return {route: Found(outcome) for route, outcome in routes.items()}


TWO = Topic(id="t", routes=("a", "b"))


def test_the_single_best_route_counts_and_mixing_is_told():
    one = rubric(*(criterion(f"c{n}", 25, "t", ("a", "b")) for n in range(4)), topics=[TWO])
    first, second = on(a="met", b="unmet"), on(a="unmet", b="met")
    graded = score(one, {"c0": first, "c1": second, "c2": second, "c3": on(a="met", b="met")})
    assert (graded.routes, graded.points, graded.mixed) == ({"t": "b"}, Decimal("75.00"), ("t",))
    graded = score(one, {"c0": first, "c1": second, "c2": on(a="met", b="met"), "c3": on(a="met", b="met")})
    assert graded.routes == {"t": "a"}  # a tie: the first in the rubric's order
    assert score(one, dict.fromkeys(("c0", "c1", "c2", "c3"), second)).mixed == ()


def test_forbidden_pairs_take_the_best_that_is_left():
    topics = [Topic(id="t", routes=("a", "b"), forbidden=(("a", "u:x"),)), Topic(id="u", routes=("x", "y"))]
    one = rubric(criterion("c0", 60, "t", ("a", "b")), criterion("c1", 40, "u", ("x", "y")), topics=topics)
    graded = score(one, {"c0": on(a="met", b="unmet"), "c1": on(x="met", y="unmet")})
    assert (graded.routes, graded.points) == ({"t": "a", "u": "y"}, Decimal("60.00"))


def test_what_cannot_be_assessed_leaves_both_sides():
    one = rubric(criterion("a", 40), criterion("b", 20), criterion("c", 40))
    graded = score(one, {"a": on(any="met"), "b": on(any="unmet"), "c": on(any="judge failed")})
    assert (graded.points, graded.assessable, graded.open, graded.all_pass) == (Decimal("66.67"), 60, ("c",), False)
    graded = score(one, {"a": on(any="met"), "b": on(any="cannot assess")})
    assert (graded.points, graded.gated, graded.all_pass) == (None, None, None)
    assert score(one, {"a": on(any="met"), "b": on(any="met")}).all_pass is None


def test_a_route_that_nobody_can_judge_does_not_win():
    one = rubric(criterion("c0", 50, "t", ("a", "b")), criterion("c1", 50, "t", ("a", "b")), topics=[TWO])
    graded = score(one, {"c0": {"a": Found("met"), "b": Found("met")}, "c1": {"a": Found("unmet"), "b": Found("cannot assess")}})
    assert graded.routes == {"t": "a"}


def test_gates_and_faults():
    fault = criterion("x", 0).model_copy(update={"kind": "prohibited", "gate": "must_pass"})
    one = rubric(criterion("a", 100), fault)
    graded = score(one, {"a": on(any="met"), "x": on(any="fault present")})
    assert (graded.points, graded.gated, graded.failed_gates, graded.all_pass) == (Decimal("100.00"), Decimal("0.00"), ("x",), False)
    assert score(one, {"a": on(any="met"), "x": on(any="fault absent")}).all_pass
    gated = rubric(
        criterion("c0", 50, "t", ("a", "b")), criterion("c1", 50, "t", ("a", "b")), topics=[TWO.model_copy(update={"gate_mixed": True})]
    )
    mixed = score(gated, {"c0": on(a="met", b="unmet"), "c1": on(a="unmet", b="met")})
    assert mixed.failed_gates == ("mixed t",)
    assert mixed.gated == 0
