"""Feedback never tells the belief: no sentence, id, option, parameter name or value gets through, whatever a check puts into its evidence."""

import re
from datetime import date

import pytest
from attrs import evolve
from hypothesis import given, settings
from hypothesis import strategies as st

from finassay.api.scorecard import Evaluator, Graded, Scorecard, TurnScore, Unread
from finassay.api.strategy import Belief, Item, Number, Strategy, Unit, Universe
from finassay.api.task import Conditions, Task
from finassay.api.verdict import Evidence, EvidenceKind, Measured, NotApplicable, Scored, Source, Unscored
from finassay.grading.dimensions import DIMENSIONS
from finassay.grading.feedback import feedback, feedback_text
from finassay.grading.redaction import PLACEHOLDER, VALUE, Redactor, clean

WINNERS = Item(
    "stock.factor:mom_12_1",
    "stock",
    "factor",
    "the stock picking",
    "I buy last year's winners and skip the latest month.",
    "last year's winners, skipping the latest month",
    ("which stocks",),
    (r"12 1 momentum", r"last year's winners"),
    (r"book to market", r"52 week high"),
)
DRAWDOWN = Item(
    "risk.option:drawdown_to_cash",
    "risk",
    "option",
    "the risk rule",
    "If the drawdown gets too deep I go to cash.",
    "going to cash in a drawdown",
    ("risk",),
    (r"to cash ~ drawdown", r"drawdown ~ to cash"),
    (r"trailing stop\w*", r"volatility target"),
)
THRESHOLD = Item(
    "risk.threshold",
    "risk",
    "threshold",
    "the risk rule",
    "Cut to cash once the drawdown reaches 17%.",
    "cash at a 17% drawdown",
    ("threshold",),
    (r"{number} ~ drawdown", r"drawdown ~ {number}"),
    (),
    Number(17, Unit.PERCENT),
)
COST = Item(
    "cost.rate",
    "cost",
    "rate",
    "the costs",
    "Charge 7 basis points a side.",
    "7 bp a side",
    ("costs",),
    (r"{number} (?:a|per) side",),
    (),
    Number(7, Unit.BASIS_POINTS),
)
NO_TIMING = Item(
    "timing.option:none",
    "timing",
    "option",
    "the timing",
    "Always be invested.",
    "always in",
    ("timing",),
    (r"always invested",),
    (r"moving average",),
)


def task(*items: Item, choices: dict[str, tuple[str, ...]] | None = None, parameters: dict[str, float] | None = None) -> Task:
    strategy = Strategy(
        "test",
        "1",
        0,
        choices or {"factor": ("mom_12_1",), "risk": ("drawdown_to_cash",), "timing": ("none",)},
        parameters or {"drawdown_limit": 17.0, "lookback": 252.0},
    )
    belief = Belief(items or (WINNERS, DRAWDOWN, THRESHOLD, COST), ("stock.factor:mom_12_1",), absent=(NO_TIMING,))
    return Task("t1", "test", "1", 0, "plain", strategy, belief, Conditions(date(2019, 12, 31), Universe("all", "all stocks"), ()))


TASK = task()


def card(text: str, *, found: str = "", where: str = "report.md", dimensions: tuple[str, ...] = ()) -> Scorecard:
    """A scorecard in which every dimension's reason and evidence holds `text`."""
    evidence = (Evidence(EvidenceKind.QUOTE, text, where, (text,), expected=text, found=found or text),)
    verdicts = tuple(
        Graded.of(
            one.id,
            Measured({text: 1.0, "turns": 2.0}, "finassay")
            if one.category == "cost"
            else Scored(1, Source.PROGRAM, "check", text, evidence, unverified=(text,)),
        )
        for one in DIMENSIONS
        if not dimensions or one.id in dimensions
    )
    return Scorecard(
        "s1",
        Evaluator("ab" * 32, "lexical", ()),
        "satisfied",
        "full",
        verdicts,
        {"data": 25.0},
        25.0,
        False,
        ("1.1", "2.1"),
        0.0,
        False,
        False,
        (f"2.1: unverified {text}",),
        (TurnScore(1, {"1.1": 4}, (), 50.0),),
    )


def shown(text: str, **more: str) -> str:
    return feedback_text(feedback(card(text, **more), TASK))


@pytest.mark.parametrize(
    "leak",
    [
        "I buy last year's winners and skip the latest month.",
        "uses last year's WINNERS",
        "12-1 momentum",
        "mom_12_1",
        "mom-12-1",
        "MOM 12 1",
        "stock.factor:mom_12_1",
        "risk.threshold",
        "drawdown_to_cash",
        "going to cash in a drawdown",
        "drawdown_limit",
        "lookback",
        "17%",
        "17 %",
        "17 per cent",
        "17 percent",
        "seventeen percent",
        "0.17",
        ".17",
        "1700 bp",
        "1,700 basis points",
        "17.0%",
        "17pct",
        "1.7e1 %",
        "7 bp",
        "7bps",
        "seven basis points",
        "0.0007",
        "0.07%",
        "value 7",
        "17/100",
        "not a trailing stop",
        "a moving average",
        "always invested",
        "no volatility target",
    ],
)
def test_no_leak(leak: str) -> None:
    said = shown(f"The check looked. It saw {leak} here.", where=f"files/{leak}.csv".replace(" ", "_"))
    assert leak.casefold() not in said.casefold()


def test_words_spread_over_a_break_do_not_slip_through() -> None:
    assert "winners" not in shown("uses last year's\nwinners")


def test_invisible_characters_do_not_help() -> None:
    said = shown("uses last year's win\u200bners and mom\u200b_12_1")
    assert "winners" not in said
    assert "mom_12_1" not in said


def test_useful_evidence_gets_through() -> None:
    said = shown("Maximum drawdown recomputes to -21.91%, the report says -18.96%.", where="results/equity.csv")
    assert "-21.91%" in said
    assert "-18.96%" in said
    assert "results/equity.csv" in said


def test_data_and_strategy_give_no_reason_except_1_1() -> None:
    rows = {row.dimension: row for row in feedback(card("Row 3 is late."), TASK).rows}
    for one in DIMENSIONS:
        row = rows[one.id]
        if one.category in ("data", "strategy") and one.id != "1.1":
            assert (row.reason, row.evidence, row.level) == ("", (), 1), one.id
        else:
            assert row.reason, one.id
    assert rows["1.1"].reason == "Row 3 is late."
    assert rows["1.1"].failed
    assert rows["1.1"].veto == 4


def test_not_applicable_in_strategy_looks_like_no_verdict() -> None:
    both = [
        evolve(card("x"), verdicts=(Graded.of("2.2", v),), failed_vetoes=(), incomplete=())
        for v in (NotApplicable("the belief voices no timing"), Unscored("check crashed", "timing"))
    ]
    first, second = (feedback(c, TASK).rows for c in both)
    assert first == second


def test_the_gap_is_the_same_for_the_beliefs_value_and_for_another() -> None:
    redactor = Redactor.of(TASK)
    assert redactor.text("Sold at 17% below.") == redactor.text("Sold at 18% below.") == f"Sold at {VALUE} below."
    assert redactor.text("A trailing stop was used.") == redactor.text("Going to cash in a drawdown.") == PLACEHOLDER


def test_dates_and_dimension_numbers_stay() -> None:
    text = "Row of 2017-07-17 in 3.2 came late."
    assert Redactor.of(TASK).text(text) == text


def test_items_that_nobody_could_decide_are_not_named() -> None:
    said = shown("stock.combination:rank_mean")
    assert "rank_mean" not in said
    assert "Grading incomplete" in said


def test_hostile_text_is_bounded_and_harmless() -> None:
    said = shown("\x1b[31mred\x07 \u202eevil " + "x" * 100_000)
    assert not re.search(r"[\x00-\x09\x0b-\x1f\u202e]", said)
    assert len(said) < 2_000_000
    assert len(clean("y" * 5000)) == 2001


def test_scores_by_turn_and_the_end_reason_are_told() -> None:
    said = shown("fine")
    assert "End reason: satisfied." in said
    assert "turn 1: mean 50 of 100, failed vetoes: none" in said
    assert "2.1 Stock selection: 1 of 4 [P, check]  VETO FAILED, needs 2" in said


NOTATIONS = st.sampled_from(
    [
        "{p:g}%",
        "{p:g} %",
        "{p:g} percent",
        "{p:g} per cent",
        "{p:.1f}%",
        "{f:.4f}",
        "{f:g}",
        "{b:g} bp",
        "{b:g} basis points",
        "{p:g}pct",
        "{p:g}",
    ]
)


@settings(max_examples=150, deadline=None)
@given(
    percent=st.one_of(st.integers(1, 99).map(float), st.decimals(1, 60, places=1).map(float)),
    notation=NOTATIONS,
    before=st.sampled_from(["", "(", "at ", "=", "about -", "between 3.77 and ", "≤"]),
    dimension=st.sampled_from(["1.1", "3.2", "3.7", "4.1", "5.2", "7.4"]),
)
def test_no_notation_of_a_value_gets_through(percent: float, notation: str, before: str, dimension: str) -> None:
    item = evolve(THRESHOLD, number=Number(percent, Unit.PERCENT), sentence=f"Stop at {percent:g}%.", opening="stopping")
    written = notation.format(p=percent, f=percent / 100, b=percent * 100)
    said = feedback_text(feedback(card(f"The rule {before}{written} holds.", dimensions=(dimension,)), task(WINNERS, item)))
    body = said.split("Program scores")[0]
    assert not re.search(rf"(?<![\w.]){re.escape(written)}(?![\w.%])", _without_frame(body)), said


def _without_frame(said: str) -> str:
    """The reasons and evidence only: levels, thresholds and means are the frame of every feedback."""
    return "\n".join(line for line in said.splitlines() if line.startswith("      "))


OPTIONS = st.text("abcdefghijklmnopqrstuvwxyz", min_size=4, max_size=9)


@settings(max_examples=100, deadline=None)
@given(
    options=st.lists(OPTIONS, min_size=2, max_size=4, unique=True),
    number=st.integers(2, 400),
    form=st.sampled_from(["{o}_{n}", "{o}-{n}", "{o} {n}", "{O}_{N}", "used '{o}_{n}'", "strategy/{o}_{n}.csv"]),
)
def test_no_option_or_parameter_name_gets_through(options: list[str], number: int, form: str) -> None:
    option, parameter = f"{options[0]}_{number}", f"{options[1]}_size"
    secret = task(WINNERS, choices={"factor": (option,)}, parameters={parameter: 3.0})
    told = form.format(o=options[0], n=number, O=options[0].upper(), N=number)
    said = _without_frame(feedback_text(feedback(card(f"It has {told} and {parameter}.", where=told, dimensions=("3.2",)), secret)))
    for form_of_name in (option, option.replace("_", "-"), option.replace("_", " "), parameter, told):
        assert form_of_name.casefold() not in said.casefold()


def test_a_failed_veto_says_what_passes_it_and_no_other_row_does():
    rows = {row.dimension: row for row in feedback(evolve(card("x"), failed_vetoes=("2.4", "3.7")), TASK).rows}
    assert {name for name, row in rows.items() if row.to_pass} == {"2.4", "3.7"}
    text = feedback_text(feedback(evolve(card("x"), failed_vetoes=("3.7",)), TASK))
    assert "To pass: Let one run write every file" in text


@pytest.mark.parametrize("one", [d for d in DIMENSIONS if d.veto is not None], ids=lambda d: d.id)
def test_every_veto_has_advice_of_its_own(one):
    assert one.to_pass.endswith(".")
    assert one.to_pass not in one.anchors
    assert len(one.to_pass.split()) > 8
    assert Redactor.of(TASK).text(one.to_pass) == one.to_pass


def test_files_that_were_not_read_are_told_without_what_their_names_tell():
    unread = (
        Unread("prices.pkl", "is a serialised object"),
        Unread("\x1b[2Jx.csv", "not taken: is a link"),
        Unread("12_1_momentum.zip", "is"),
    )
    text = feedback_text(feedback(evolve(card("x"), unread=unread), TASK))
    assert "  prices.pkl: is a serialised object" in text
    assert "not taken: is a link" in text
    assert "\x1b" not in text
    assert "momentum" not in text
