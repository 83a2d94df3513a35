"""The disclosure gate: what a user may tell, and when."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from finassay.api.matching import raised
from finassay.session.disclosure import RULES, Disclosure
from finassay.testing.samples import sample_belief

MOMENTUM, EQUAL, STOP, MONTHLY = (item.id for item in sample_belief().items)
OPENING = "I like last year's winners, skipping the latest month, and a monthly refresh."


@pytest.fixture
def gate() -> Disclosure:
    return Disclosure(sample_belief()).after(OPENING, "")


def rules(gate: Disclosure, message: str, agent: str) -> list[str]:
    return [problem.rule for problem in gate.check(message, agent)]


def test_opening_with_exactly_the_opening_items() -> None:
    gate = Disclosure(sample_belief())
    assert gate.check_opening(OPENING) == ()
    assert gate.after(OPENING, "").stated == {MOMENTUM, MONTHLY}


def test_opening_that_leaves_an_item_out_or_adds_one() -> None:
    gate = Disclosure(sample_belief())
    problems = gate.check_opening("I like last year's winners, skipping the latest month. Equal weights, please.")
    assert [(p.rule, p.reason.split()[-1]) for p in problems] == [("opening-incomplete", MONTHLY), ("opening-tells-too-much", EQUAL)]


def test_opening_that_settles_an_absent_component() -> None:
    assert [p.rule for p in Disclosure(sample_belief()).check_opening(f"{OPENING} Ignore costs.")] == ["opening-tells-too-much"]


def test_an_answer_to_a_question_passes(gate: Disclosure) -> None:
    message, asked = "Give every position the same weight.", "How should I size the positions?"
    assert gate.check(message, asked) == ()
    assert gate.after(message, asked).stated == {MOMENTUM, MONTHLY, EQUAL}


def test_what_was_not_asked_is_refused_by_name(gate: Disclosure) -> None:
    (problem,) = gate.check("Same weight for all, and a stop at 20%.", "How should I size the positions?")
    assert problem.rule == "volunteered"
    assert STOP in problem.reason


def test_an_objection_to_a_proposal_may_say_what_is_wanted(gate: Disclosure) -> None:
    assert rules(gate, "No. Same weight for everything.", "I plan to use inverse volatility weights.") == []


def test_a_yes_states_what_was_proposed(gate: Disclosure) -> None:
    assert EQUAL in gate.after("Yes, that's right.", "Shall I weight them equally?").stated


def test_approval_that_names_the_piece_states_what_was_proposed(gate: Disclosure) -> None:
    assert EQUAL in gate.after("The position sizing is fine.", "I plan to weight them equally.").stated


def test_repeating_what_was_told_is_free(gate: Disclosure) -> None:
    assert rules(gate, "As I said, once a month.", "Anything else?") == []


def test_no_preference_states_nothing_and_is_not_undecided(gate: Disclosure) -> None:
    after = gate.after("On the position sizing I have no preference.", "How should I size the positions?")
    assert after.stated == gate.stated
    assert after.undecided == frozenset()


def test_an_absent_component_may_be_settled_only_when_it_was_raised(gate: Disclosure) -> None:
    assert rules(gate, "Ignore costs.", "What trading costs should I assume?") == []
    assert rules(gate, "Ignore costs.", "How should I size the positions?") == ["volunteered"]
    assert "cost.option:none" not in gate.after("Ignore costs.", "What trading costs should I assume?").stated


def test_words_that_the_matcher_does_not_know_are_undecided(gate: Disclosure) -> None:
    asked = "How should I size the positions?"
    after = gate.after("For the sizing, think of a pizza cut fairly.", asked)
    assert after.undecided == {EQUAL}
    assert after.after("Give every position the same weight.", asked).undecided == frozenset()


def test_naming_a_piece_is_undecided_rather_than_stated(gate: Disclosure) -> None:
    after = gate.after("The position sizing is off.", "Here is the report.")
    assert EQUAL not in after.stated
    assert after.undecided == {EQUAL}


@given(st.text(max_size=200), st.text(max_size=200))
def test_the_gate_never_lets_an_unraised_item_in(message: str, agent: str) -> None:
    gate = Disclosure(sample_belief(), frozenset({MOMENTUM}))
    if not gate.check(message, agent):
        assert gate.after(message, agent).stated - gate.stated <= raised(gate.belief.items, agent)


def test_every_rule_is_listed(gate: Disclosure) -> None:
    problems = [*Disclosure(sample_belief()).check_opening("Equal weights."), *gate.check("A stop at 20%.", "Hello.")]
    assert {p.rule for p in problems} == set(RULES)
