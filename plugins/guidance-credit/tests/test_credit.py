"""The credit desk's pack: conformance, and for each rule what breaks it and what keeps it."""

import pytest

from finassay.testing.cases import ComponentConformance
from finassay_guidance_credit.pack import CreditOptions, CreditPack
from finassay_guidance_credit.rules import RULES

GUIDANCE = CreditPack(CreditOptions()).guidance


class TestConformance(ComponentConformance):
    kind = "guidance"
    id = "credit"


def criterion(text, *conventions, kind="numeric", status="grounded", id="O1.1"):
    routes = [{"convention": c, "value": 2.4} for c in conventions] or [{"value": 2.4}]
    return {"id": id, "text": text, "kind": kind, "status": status, "expected": routes}


def broken(*criteria):
    product = {"criteria": list(criteria)}
    return sorted({v.rule for rule in RULES for v in rule.check(product)})


@pytest.mark.parametrize(
    ("text", "conventions", "rules"),
    [
        ("States net debt to EBITDA at the fiscal 2022 year-end", (), ["CR-R1"]),
        ("States net debt to EBITDA with cash and short-term investments taken off", (), ["CR-R1"]),
        ("States net leverage for fiscal 2022", ("net of cash; lease liabilities are counted as debt",), []),
        ("States gross debt / EBITDA, leases left out", (), []),
        ("States interest coverage of fiscal 2022", (), ["CR-R2"]),
        ("States interest coverage of fiscal 2022", ("operating income over interest expense",), []),
        ("States EBITDA interest coverage of fiscal 2022", (), []),
        ("States the covenant headroom", (), ["CR-R3"]),
        ("States headroom of 0.8x below the maximum of 3.5x in the facility agreement", (), []),
        ("States headroom to 3.5x", (), ["CR-R3"]),
        ("States total liquidity", (), ["CR-R4"]),
        ("States liquidity as cash and the undrawn revolver against maturities of the next 12 months", (), []),
        ("Says that a downgrade is likely", (), ["CR-R5"]),
        ("Names leverage above 4.0x as the trigger of a downgrade, cash taken off, leases counted", (), []),
        ("States fiscal 2022 revenue", (), []),
        ("States the liquidity ratio", (), []),
    ],
)
def test_what_breaks_a_rule(text, conventions, rules):
    assert broken(criterion(text, *conventions)) == rules


def test_leases_are_treated_alike():
    within = criterion("States net leverage of 2022, cash taken off, lease liabilities included", id="O1.1")
    without = criterion("States net leverage of 2021, cash taken off, excluding leases", id="O1.2")
    (violation,) = [v for rule in RULES for v in rule.check({"criteria": [within, without]})]
    assert (violation.rule, violation.place) == ("CR-R6", "criterion O1.2")
    assert broken(within, within) == []
    both = criterion("States net leverage of 2021, cash taken off", "including leases", "excluding leases")
    assert broken(within, both) == []


def test_what_has_no_value_or_no_meaning_is_passed_over():
    assert broken(criterion("States net leverage", status="unresolved"), criterion("Leverage in one table", kind="format")) == []
    assert broken({"id": None, "text": None, "kind": "numeric", "expected": [1, {"convention": None}]}) == []


def test_every_role_is_told_something_and_ids_are_its_own():
    roles = {"signature", "criteria", "contextualizer", "writer", "reviewer", "composer", "global-reviewer", "judge", "session-judge"}
    assert set(GUIDANCE.instructions) == roles
    assert all(p.id.startswith("CR") for p in GUIDANCE.principles)
    assert all(r.id.startswith("CR-R") for r in GUIDANCE.rules)
    assert len(GUIDANCE.dimensions) == 1
