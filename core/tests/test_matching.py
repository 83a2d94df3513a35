"""The phrase matcher: notations of numbers, negation, alternatives, lists of questions, what a user states."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from finassay.api.matching import (
    MAX_SENTENCE,
    Polarity,
    asked,
    asks_about,
    contains_quote,
    contains_term,
    mentions,
    normalise,
    open_topics_asked,
    proposed,
    raised,
    sentences,
    stated,
)
from finassay.api.strategy import Item, Number, OpenTopic, Unit

STOP_SAYS = (
    r"stop\w* ~ {number}",
    r"{number} stop\w*",
    r"(?:falls?|fallen|drops?|loss) ~ {number}",
    r"stop\w* ~ (?:pct|percent|%) ~ {number}!",
)


def stop(value: float) -> Item:
    topics = (r"stops?(?: loss)?", r"(?:what|which) level")
    return Item(
        "risk.threshold", "risk", "threshold", "the stop", f"stop at {value}%", "", topics, STOP_SAYS, (), Number(value, Unit.PERCENT)
    )


def fee(value: float) -> Item:
    says = (r"costs? ~ {number}", r"{number} ~ (?:per|a) side", r"bps ~ {number}!", r"costs? {number}")
    topics = (r"costs?", r"fees?")
    return Item("cost.rate", "cost", "cost", "the cost assumption", "", "", topics, says, (r"no costs?",), Number(value, Unit.BASIS_POINTS))


MONTHLY = Item(
    "execution.schedule:monthly",
    "execution",
    "schedule",
    "the trading schedule",
    "rebalance once a month",
    "a monthly refresh",
    (r"how often", r"re ?balanc\w*"),
    (r"monthly", r"once a month"),
    (r"weekly", r"quarterly"),
)
EQUAL = Item(
    "portfolio.weighting:equal",
    "portfolio",
    "weighting",
    "the position sizing",
    "give every position the same weight",
    "equal weights",
    (r"weight\w*", r"siz(?:e|ing)"),
    (r"equal(?:ly)? weight\w*", r"same weight"),
    (r"inverse vol\w*",),
)


def polarity(item: Item, text: str) -> Polarity | None:
    found = mentions(item, text)
    return found[-1].polarity if found else None


@pytest.mark.parametrize(
    ("text", "normal"),
    [
        ("A fifth", "20%"),
        ("twenty-five per cent", "25%"),
        ("20-percent", "20%"),
        ("20 percentage points", "20%"),
        ("Fifteen bps", "15bp"),
        ("two thousand basis points", "2000bp"),
        ("2,000 bps", "2000bp"),
        ("one percent", "1%"),
        ("half a percent", "0.5%"),
        ("0,15 %", "0.15%"),
        ("one of them", "one of them"),
        ("`mom_12_1`", "mom 12 1"),
        ("12\u2011month", "12-month"),
        ("**Weekly**", "weekly"),
        ("a third factor", "a third factor"),
    ],
)
def test_normalised(text, normal):
    assert normalise(text) == normal


@pytest.mark.parametrize(
    "text",
    [
        "stop at 20%",
        "a stop of twenty percent",
        "a 20% stop",
        "stop: 0.20",
        "stop at a fifth",
        "stop of 2000 bps",
        "stop-loss, set at 20 per cent",
        "stop_loss = 0.2",
        "| stop | -20% |",
        "stop_loss_pct: 20",
        "the stop moves from 15% to 20%",
        "sold once it falls by twenty per cent",
        "No position may fall more than 20%.",
    ],
)
def test_a_value_in_any_notation(text):
    assert polarity(stop(20), text) is Polarity.ACCEPTS
    assert polarity(stop(15), text) is Polarity.CONTRADICTS


@pytest.mark.parametrize(
    "text", ["15 basis points a side", "costs of 15 bps", "cost 0.15%", "costs: 0.0015", "cost_bps = 15", "fifteen bp per side"]
)
def test_basis_points_in_any_notation(text):
    assert polarity(fee(15), text) is Polarity.ACCEPTS
    assert polarity(fee(10), text) is Polarity.CONTRADICTS


@pytest.mark.parametrize(
    ("item", "text"),
    [
        (stop(20), "The stop fired 20 times."),
        (stop(20), "The stop was hit in 2020."),
        (stop(20), "Stops were compared at 15%, 20% and 25%."),
        (stop(10), "There is a stop, and costs of 10 bps."),
        (stop(10), "Weights are capped at 10%."),
        (fee(15), "The stop is 15% and costs are to be settled."),
    ],
)
def test_a_number_that_belongs_to_something_else_says_nothing(item, text):
    assert polarity(item, text) is not Polarity.ACCEPTS


def test_each_number_belongs_to_the_nearest_word():
    text = "I use a stop at 20% and costs of 15 bps."
    assert polarity(stop(20), text) is Polarity.ACCEPTS
    assert polarity(fee(15), text) is Polarity.ACCEPTS
    assert polarity(fee(2000), text) is Polarity.CONTRADICTS


@pytest.mark.parametrize(
    ("item", "text", "expected"),
    [
        (MONTHLY, "We do not rebalance monthly.", Polarity.CONTRADICTS),
        (MONTHLY, "Weekly, not monthly.", Polarity.CONTRADICTS),
        (MONTHLY, "Monthly, not weekly.", Polarity.ACCEPTS),
        (MONTHLY, "Not weekly but monthly.", Polarity.ACCEPTS),
        (MONTHLY, "No leverage, monthly rebalancing.", Polarity.ACCEPTS),
        (MONTHLY, "No leverage with monthly rebalancing.", Polarity.ACCEPTS),
        (MONTHLY, "I replaced weekly with monthly.", Polarity.ACCEPTS),
        (MONTHLY, "I replaced monthly with weekly.", Polarity.CONTRADICTS),
        (MONTHLY, "Monthly rebalancing is not used.", Polarity.CONTRADICTS),
        (MONTHLY, "Monthly rebalancing: no", Polarity.CONTRADICTS),
        (MONTHLY, "Not only monthly, also at the start.", Polarity.ACCEPTS),
        (MONTHLY, "It isn't rebalanced monthly.", Polarity.CONTRADICTS),
        (EQUAL, "Inverse vol rather than equal weights.", Polarity.CONTRADICTS),
        (EQUAL, "Equal weights instead of inverse vol.", Polarity.ACCEPTS),
        (EQUAL, "We avoid equal weighting.", Polarity.CONTRADICTS),
        (EQUAL, "To avoid concentration we choose, as planned, equal weights.", Polarity.ACCEPTS),
        (EQUAL, "The weights are fine.", None),
        (MONTHLY, "", None),
    ],
)
def test_negation_and_alternatives(item, text, expected):
    assert polarity(item, text) is expected


@pytest.mark.parametrize(
    "text",
    [
        "A few questions before I start:\n- Position sizing\n- Rebalancing frequency\n- Costs",
        "To build this I need:\n1. position sizing\n2. dates",
        "Could you tell me the following?\n\n* dates\n* sizing (equal or by risk)",
        "| Question | Options |\n|---|---|\n| Position sizing | equal, inverse vol |",
        "How are dates set, how should I handle sizing and is there a stop?",
        "I am not sure about position sizing.",
        "Please clarify the weighting.",
        "I was wondering how to weight the names.",
    ],
)
def test_ways_to_ask(text):
    assert asks_about(EQUAL.topics, text)


@pytest.mark.parametrize(
    "text",
    [
        "- Position sizing: by risk",
        "## How it works\n\nSizing is by risk.",
        "Let me know what you think.\n\nPosition sizing is by risk.",
        "Any weight above that is cut.",
        "Should the index fall, weights go to cash.",
        "To clarify, sizing is by risk.",
        "What I did: sizing by risk.",
    ],
)
def test_what_does_not_ask(text):
    assert not asks_about(EQUAL.topics, text)


def test_wrapped_lines_are_one_sentence_and_lists_are_not():
    text = "This is a line of prose that is long enough to be wrapped, and we rebalance\nonce a month.\n- weekly\n- other"
    assert [" ".join(s.text.split()) for s in sentences(text)][1:] == ["- weekly", "- other"]
    assert polarity(MONTHLY, text.split("- weekly")[0]) is Polarity.ACCEPTS
    assert all(text[s.start : s.start + len(s.text)] == s.text for s in sentences(text))


def test_abbreviations_do_not_end_sentences():
    assert len(sentences("Weights, e.g. equal weights, i.e. the same for each, of approx. 5% each.")) == 1


def test_raised_is_asked_or_proposed_rightly_or_wrongly():
    items = (MONTHLY, EQUAL, stop(20))
    assert asked(items, "How often should I rebalance?") == {MONTHLY.id}
    assert proposed(items, "I will trade weekly with equal weights.") == {MONTHLY.id: Polarity.CONTRADICTS, EQUAL.id: Polarity.ACCEPTS}
    assert raised(items, "I will trade weekly. Any stop?") == {MONTHLY.id, "risk.threshold"}
    assert raised(items, "Working on it.") == frozenset()


@pytest.mark.parametrize(
    ("user", "agent", "expected"),
    [
        ("I want to rebalance once a month.", "", {MONTHLY.id}),
        ("Monthly, please.", "How often?", {MONTHLY.id}),
        ("Fifteen percent.", "What level for the stop?", set()),
        ("Twenty percent, I think.", "What level for the stop?", {"risk.threshold"}),
        ("20%", "Where is the stop?", {"risk.threshold"}),
        ("20%", "", set()),
        ("20% or so?", "Where is the stop?", set()),
        ("Yes.", "Shall I rebalance monthly?", {MONTHLY.id}),
        ("Yes.", "Shall I rebalance weekly?", set()),
        ("Yes.", "Shall I rebalance monthly with equal weights?", set()),
        ("Yes to all of it.", "Shall I rebalance monthly with equal weights?", {MONTHLY.id, EQUAL.id}),
        ("The position sizing is fine.", "I propose equal weights.", {EQUAL.id}),
        ("The position sizing is not right.", "I propose equal weights.", set()),
        ("The position sizing is fine.", "I propose inverse vol.", set()),
        ("No preference on equal weights.", "Equal weights?", set()),
        ("Equal weights? You choose.", "Sizing?", set()),
        ("Not monthly.", "How often?", set()),
    ],
)
def test_what_a_user_states(user, agent, expected):
    assert stated((MONTHLY, EQUAL, stop(20)), user, agent) == expected


def test_open_topics():
    names = OpenTopic("names", "the number of names", (r"how many (?:names|stocks)",))
    assert open_topics_asked((names,), "How many stocks?") == (names,)
    assert open_topics_asked((names,), "However many stocks I used, it works.") == ()


def test_terms_and_quotes():
    assert contains_term(("cut-off", "veto"), "There is a CUT-OFF.") == "cut-off"
    assert contains_term(("veto",), "vetoed") is None
    assert contains_quote("two  words", "these two\nwords here")
    assert not contains_quote(" ", "anything")


@pytest.mark.parametrize(
    "text",
    [
        "stop" + "-" * 50_000 + "x",
        "stop " + "." * 50_000,
        "stop " + "a." * 30_000,
        "stop " + "'" * 1_000 + "a'" * 20_000,
        "stop " + "1,000" * 20_000,
        "not " * 40_000,
        "- a:\n" * 40_000,
        "a. " * 66_000,
        "stop " + "5% " * 40_000,
        "| " * 100_000,
        "\n" * 200_000,
        "stop (" * 30_000,
    ],
    ids=range(12),
)
def test_hostile_text_does_not_run_long(text):
    started = time.process_time()
    mentions(stop(20), text)
    raised((MONTHLY, EQUAL), text)
    stated((MONTHLY, stop(20)), text, text[:2000])
    assert time.process_time() - started < 10


@given(st.text(max_size=300))
def test_sentences_lie_in_the_text_in_order(text):
    found = sentences(text)
    assert all(text[s.start : s.start + len(s.text)] == s.text and len(s.text) <= MAX_SENTENCE for s in found)
    assert [s.start for s in found] == sorted({s.start for s in found})


@given(st.text(max_size=200))
def test_normalising_twice_changes_nothing(text):
    assert normalise(normalise(text)) == normalise(text)
