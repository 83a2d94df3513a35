"""Every rule lets the worked rubrics be and rejects what breaks it."""

import copy
import json
import os
import re
import threading
import time
from pathlib import Path

import pytest

from finassay.api.guidance import Guidance, Principle, Rule, Violation
from finassay.testing.cases import ComponentConformance
from finassay_rubrics.guidance.general import GeneralPack, NoOptions
from finassay_rubrics.guidance.packs import combined
from finassay_rubrics.record.quotes import found_on, normal_form, quote_digest
from finassay_rubrics.record.reading import read_rubric
from finassay_rubrics.validate.rules import RULES, violations
from finassay_rubrics.validate.wording import wording_problem

SHARED = Path(os.environ.get("FINASSAY_SHARED", Path(__file__).parents[4] / "shared"))
WORKED = sorted(p.parent for p in (SHARED / "cases" / "rubrics").glob("*/rubric.json"))


@pytest.mark.skipif(not WORKED, reason="no worked rubrics: the shared folder is not beside the checkout (set FINASSAY_SHARED)")
@pytest.mark.parametrize("folder", WORKED, ids=lambda p: p.name)
def test_the_worked_rubrics_break_no_rule(folder):
    context, budget = (json.loads((folder / f"{name}.json").read_text()) for name in ("context", "budget"))
    rubric = read_rubric(folder).model_dump(mode="json", by_alias=True)
    assert violations(context, "context") == []
    assert violations(budget, "budget") == []
    assert violations(rubric, "rubric") == []


QUERY = "Report Acme's revenue for fiscal 2022. Why did it fall?"
CONTEXT = {
    "query": QUERY,
    "signature": "For one issuer and one annual period report {income_statement.level} and explain its movement.",
    "bindings": {
        "entities": [{"id": "ENT1", "span": "Acme", "start": 7, "end": 11}],
        "periods": [{"id": "PER1", "span": "fiscal 2022", "start": 26, "end": 37}],
        "metrics": [{"id": "MET1", "span": "revenue", "start": 14, "end": 21}],
        "assumptions": [],
        "deliverables": [
            {"id": "DEL1", "span": "Report", "start": 0, "end": 6},
            {"id": "DEL2", "span": "Why did it fall", "start": 39, "end": 54},
        ],
        "output_constraints": [],
        "convention_topics": [],
        "populations": [],
    },
    "cutoff": {"date": "2023-03-01", "inclusive": True, "written_by": "code"},
}
BUDGET = {"obligations": [{"id": "O1", "points": "50.00"}, {"id": "O2", "points": "50.00"}], "digest": "d"}
QUOTE = "Revenue 1,234 1,111"
SOURCE = {
    "kind": "source",
    "document": "ACME_10K",
    "page": 3,
    "published": "2023-02-08",
    "quote": QUOTE,
    "quote_sha256": quote_digest(QUOTE),
}
ROUTE = {
    "value": 1234,
    "unit": "USD",
    "scale": "millions",
    "period": "FY2022",
    "tolerance": {"rule": "stated precision", "abs": "0.5"},
    "evidence": [SOURCE],
}
RUBRIC = {
    "schema": "rubric/1",
    "query": QUERY,
    "cutoff": "2023-03-01",
    "obligations": [
        {"id": "O1", "what": "revenue", "spans": ["MET1"], "frozen": "50.00", "points": "50.00"},
        {"id": "O2", "what": "why", "spans": ["DEL2"], "frozen": "50.00", "points": "50.00"},
    ],
    "criteria": [
        {"id": "O1.a", "principles": ["P01"], "obligation_id": "O1", "text": "States fiscal 2022 revenue", "kind": "numeric", "points": "50.00", "expected": [ROUTE], "metric": "revenue", "period": "FY2022"},
        {"id": "O2.a", "principles": ["P01"], "obligation_id": "O2", "text": "Names lower volumes as a cause", "kind": "text", "points": "50.00", "expected": [{"value": "lower volumes", "evidence": [SOURCE]}]},
    ],
    "writer": {"family": "a"},
    "reviewer": {"family": "b"},
}  # fmt: skip


def changed(product, *path, **change):
    """A copy with some keys of the part at `path` changed."""
    whole = copy.deepcopy(product)
    part = whole
    for key in path:
        part = part[key]
    part.update(change)
    return whole


def test_the_small_examples_break_no_rule():
    assert violations(CONTEXT, "context") == []
    assert violations(BUDGET, "budget") == []
    assert violations(RUBRIC, "rubric") == []


CRITERION = ("criteria", 0)
FIRST = ("criteria", 0, "expected", 0)
BROKEN = [
    ("R01", "context", changed(CONTEXT, "bindings", "metrics", 0, span="revenues")),
    ("R01", "context", changed(CONTEXT, "bindings", "metrics", 0, start=-3)),
    ("R02", "context", changed(CONTEXT, signature="Report Acme's {income_statement.level}")),
    ("R02", "context", changed(CONTEXT, signature="Report three years of {income_statement.level}")),
    ("R02", "context", changed(CONTEXT, signature="Report it as of March for (NYSE: ACM)")),
    ("R02", "context", changed(CONTEXT, signature="")),
    ("R03", "context", changed(CONTEXT, "bindings", populations="none")),
    ("R03", "context", changed(CONTEXT, "bindings", surprise=[])),
    ("R03", "context", changed(CONTEXT, "bindings", deliverables=[CONTEXT["bindings"]["deliverables"][0]])),
    ("R04", "context", changed(CONTEXT, bank={"match": "T7", "candidates": ["T7", "T9"]})),
    ("R04", "context", changed(CONTEXT, bank={"match": "T7", "candidates": ["T7"], "unplaced": ["MET1"]})),
    ("R05", "context", changed(CONTEXT, cutoff={})),
    ("R05", "context", changed(CONTEXT, "cutoff", written_by="model")),
    ("R05", "context", changed(CONTEXT, "cutoff", agrees=False, phrase_in_query="by 1 May")),
    ("R06", "budget", changed(BUDGET, "obligations", 0, points="51.00")),
    ("R06", "budget", {**BUDGET, "obligations": [{"id": "O1", "points": "60.00"}, {"id": "O2", "points": "40.00"}]}),
    ("R06", "budget", changed(BUDGET, digest="")),
    ("R07", "rubric", changed(RUBRIC, *CRITERION, points="49.99")),
    ("R07", "rubric", changed(RUBRIC, "obligations", 0, points="55.00")),
    ("R08", "rubric", changed(RUBRIC, *FIRST, evidence=[])),
    ("R08", "rubric", changed(RUBRIC, *FIRST, "evidence", 0, quote="Revenue 1,235")),
    ("R09", "rubric", changed(RUBRIC, *FIRST, "evidence", 0, published="2023-03-02")),
    ("R09", "rubric", changed(RUBRIC, *FIRST, "evidence", 0, published=None)),
    ("R09", "rubric", changed(RUBRIC, *FIRST, "evidence", 0, period_end="2023-02-07")),
    ("R10", "rubric", changed(RUBRIC, *FIRST, unit="")),
    ("R10", "rubric", changed(RUBRIC, *FIRST, value="about a thousand")),
    ("R11", "rubric", changed(RUBRIC, *CRITERION, expected=[{**ROUTE, "route_id": r, "topic": "t", "value": v} for r, v in (("x", 2.31), ("y", 2.34))])),
    ("R12", "rubric", changed(RUBRIC, *CRITERION, text="States revenue and explains its fall")),
    ("R12", "rubric", changed(RUBRIC, *CRITERION, text="Gives a clear view of revenue")),
    ("R13", "rubric", changed(RUBRIC, "criteria", 1, text="States the fiscal 2022 revenue")),
    ("R14", "rubric", changed(RUBRIC, "criteria", 1, status="unresolved")),
    ("R15", "rubric", changed(RUBRIC, topics=[{"id": "t", "routes": ["x"]}])),
    ("R15", "rubric", changed(RUBRIC, *FIRST, topic="t", route_id="x")),
    ("R16", "rubric", changed(RUBRIC, *FIRST, evidence=[SOURCE, {"kind": "script", "inputs": [{"name": "revenue", "value": 9, "shown": "9,999", "quote_sha256": SOURCE["quote_sha256"]}]}])),
    ("R17", "rubric", changed(RUBRIC, *CRITERION, kind="prohibited")),
    ("R17", "rubric", changed(RUBRIC, *CRITERION, gate="must_pass", depends_on=["O2.a"])),
    ("R18", "review", RUBRIC),
    ("R18", "review", changed(RUBRIC, reviewer={"family": "a"})),
    ("R19", "grade", {"criteria": [{"id": "O1.a", "outcome": "met", "value": "1,234", "span": None}]}),
    ("R21", "rubric", changed(RUBRIC, *CRITERION, principles=[])),
    ("R22", "rubric", changed(RUBRIC | {"query": "State revenue, counting resale income as cash."}, *FIRST, evidence=[{**SOURCE, "quote": "Cash 1,234", "quote_sha256": quote_digest("Cash 1,234")}])),
    ("R20", "grade", {"topics": {"a": "t", "b": "t"}, "criteria": [{"id": i, "outcome": "met", "route": r} for i, r in (("a", "x"), ("b", "y"))]}),
]  # fmt: skip


@pytest.mark.parametrize(("rule", "stage", "product"), BROKEN, ids=[f"{r}-{n}" for n, (r, _, _) in enumerate(BROKEN)])
def test_a_broken_rule_is_told_with_its_place(rule, stage, product):
    told = violations(product, stage)
    assert rule in {v.rule for v in told}, told
    assert all(v.place and v.reason for v in told)


def test_every_rule_has_a_breaking_example():
    assert {r.id for r in RULES} == {rule for rule, _, _ in BROKEN}


@pytest.mark.parametrize(
    "product", [{}, {"bindings": 3}, {"obligations": "x"}, {"criteria": [1, None]}, {"query": "q", "bindings": {"entities": [None, 1]}}]
)
def test_rules_hold_against_nonsense(product):
    for stage in ("context", "budget", "rubric", "review", "grade"):
        for told in violations(product, stage):
            assert "the rule itself failed" not in told.reason


def test_a_rule_of_a_pack_that_crashes_counts_as_broken():
    rule = Rule("X1", "rubric", "crashes", lambda product: 1 / 0)
    (told,) = violations({}, "rubric", [rule])
    assert (told.rule, "ZeroDivisionError" in told.reason) == ("X1", True)


def test_packs_add_up_and_never_override():
    own = Guidance(
        "desk",
        "2",
        (Principle("CR01", "t", "s"),),
        {"writer": "Ours."},
        (Rule("CR1", "rubric", "t", lambda p: (Violation("CR1", "x", "y"),)),),
        {"t": ("a",)},
    )
    general = GeneralPack(NoOptions()).guidance
    both = combined([general, own])
    assert both.id == "general+desk"
    assert both.instructions["writer"].endswith("Ours.")
    assert len(both.principles) == len(general.principles) + 1
    assert [v.rule for v in violations(RUBRIC, "rubric", both.rules)] == ["CR1"]
    with pytest.raises(Exception, match="have a principle 'P01'"):
        combined([general, general])


def test_quotes_in_their_normal_form():
    page = "Net earnings attrib\ufffe\nutable to share\u00adholders\u00a0$ 1,228 \u2014 \u201cnote\u201d e\ufb00ective"
    assert normal_form(page) == 'Net earnings attributable to shareholders $ 1,228 - "note" effective'
    assert found_on(page, "attributable to shareholders $ 1,228") == "after normalisation"
    assert found_on(page, "$\u00a01,228") in ("", "exact", "after normalisation")
    assert found_on(page, "1,229") == ""
    assert found_on(page, " ") == ""
    assert quote_digest("a\u00a0 b") == quote_digest("a b")


@pytest.mark.parametrize(
    "text",
    [
        "States fiscal 2022 net revenue",
        "Names charges associated with the Russia-Ukraine conflict as a cause of the margin decline",
        "Says that the average is lower without discontinued operations",
    ],
)
def test_plain_criteria_are_well_worded(text):
    assert wording_problem(text) == ""


class TestGeneralPack(ComponentConformance):
    kind = "guidance"
    id = "general"


# -- rules of a pack that do not end ----------------------------------------------------------------------------------


def endless_violations(product):
    while True:
        yield Violation("CR01", "x", "again")


def busy(product):
    while True:
        pass


def asleep(product):
    time.sleep(60)


def backtracking(product):
    return tuple(re.findall(r"(a+)+$", "a" * 60 + "b"))


def leaving(product):
    raise SystemExit(3)


@pytest.mark.parametrize("check", [busy, asleep, backtracking])
def test_a_rule_that_never_returns_is_broken_and_is_not_asked_again(check, monkeypatch):
    monkeypatch.setattr("finassay_rubrics.validate.rules.RULE_SECONDS", 0.2)
    rule = Rule("CR01", "rubric", check.__name__, check)
    started = time.monotonic()
    told = [violations({}, "rubric", [rule]) for _ in range(3)]
    assert time.monotonic() - started < 5
    assert [[(v.rule, v.place) for v in found] for found in told] == [[("CR01", "rule")]] * 3
    assert "took longer" in told[0][0].reason
    assert told[0] == told[1] == told[2], "a person who accepted it meets it again in the same words"


def test_a_rule_is_bounded_outside_the_main_thread_too(monkeypatch):
    monkeypatch.setattr("finassay_rubrics.validate.rules.RULE_SECONDS", 0.2)
    found = []
    rules = [Rule("CR01", "rubric", "busy elsewhere", lambda product: busy(product)), Rule("CR02", "rubric", "kept", lambda product: ())]
    thread = threading.Thread(target=lambda: found.extend(violations({}, "rubric", rules)))
    thread.start()
    thread.join(10)
    assert [(v.rule, v.place) for v in found] == [("CR01", "rule")]
    deadline = time.monotonic() + 10
    while any(t.name == "rule" for t in threading.enumerate()) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not [t for t in threading.enumerate() if t.name == "rule"], "the rule was told to end"


def test_what_else_a_rule_may_do_is_one_violation():
    assert len(violations({}, "rubric", [Rule("CR01", "rubric", "endless", endless_violations)])) == 500
    assert "SystemExit" in violations({}, "rubric", [Rule("CR01", "rubric", "leaving", leaving)])[0].reason
    product = {"criteria": [{"id": "O1.1"}]}
    violations(product, "rubric", [Rule("CR01", "rubric", "changing", lambda given: given["criteria"].clear() or ())])
    assert product == {"criteria": [{"id": "O1.1"}]}
    said = violations({}, "rubric", [Rule("CR01", "rubric", "odd", lambda product: [Violation("CR01", None, 3)])])
    assert "something else than violations" in said[0].reason
