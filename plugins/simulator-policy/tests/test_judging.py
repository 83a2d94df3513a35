"""What the user makes of a delivery: the piece that is off, what is missing, and when it is satisfied."""

import pytest
from playing import TRADES, Play, files, report, right_rules

from finassay.testing.samples import sample_belief

MOMENTUM, EQUAL, STOP, MONTHLY = (item.id for item in sample_belief().items)
RIGHT = right_rules(sample_belief())
DONE = "Here is the report with the trades."


def test_a_right_delivery_satisfies() -> None:
    play = Play()
    decision = play.reply(DONE, files(RIGHT))
    assert decision.action == "close"
    assert all(o.status == "met" and o.citations for o in decision.observations)
    assert {"REPORT.md", "trades.csv"} <= {c for o in decision.observations for c in o.citations}


@pytest.mark.parametrize("seed", range(0, 60, 2))
def test_a_right_delivery_of_any_strategy_satisfies(seed: int) -> None:
    play = Play.real(seed)
    decision = play.reply(DONE, files(right_rules(play.belief)))
    assert decision.action == "close", decision.message


@pytest.mark.parametrize("seed", range(0, 60, 5))
def test_a_right_delivery_after_every_question_satisfies(seed: int) -> None:
    """The numbers of a result, variants and benchmarks are not taken for rules."""
    play = Play.real(seed)
    for item in play.belief.items:
        play.reply(f"What about {item.piece}, what do you want there?")
    text = report(right_rules(play.belief)) + (
        "\n## Sensitivity\nWith weekly, monthly and quarterly rebalancing, equal weights and risk parity, stops at 7% and 18% and costs of 3 and 40 bp"
        " the return was between 6% and 9%.\n\n## Benchmark comparison\nThe equal-weighted universe had a maximum drawdown of 44% and a volatility of 19%.\n"
    )
    message = (
        "The strategy returned 8.1% a year, Sharpe 0.62, maximum drawdown 31%, volatility 14%, 412 trades, against 6% for equal weights."
    )
    decision = play.reply(message, {"REPORT.md": text, "trades.csv": TRADES})
    assert decision.action == "close", decision.message
    assert not play.told_too_much


def test_a_convincing_delivery_without_a_trade_log_satisfies() -> None:
    """A user reads; it does not recompute. This is the silent failure that the programs are there for."""
    story = RIGHT + "\nFor example we bought AAA on 2 March 2015 at a price of 31.20 and sold it on 4 May 2015 at 35.90."
    assert Play().reply("All yours.", {"report.md": report(story)}).action == "close"


def test_a_delivery_in_the_message_alone_can_satisfy() -> None:
    text = report(RIGHT + "\nWe bought AAA on 2 March 2015 at 31.20 and sold it on 4 May 2015 at 35.90.")
    decision = Play().reply(text)
    assert decision.action == "close"
    assert decision.observations[0].citations == ("a1",)


def test_a_promise_is_no_delivery() -> None:
    decision = Play().reply("I will report return, Sharpe ratio, maximum drawdown and the trades. Everything will be great!")
    assert decision.action == "follow_up"
    assert all(o.status == "missing" for o in decision.observations)


@pytest.mark.parametrize(
    ("seed", "wrong", "piece"),
    [
        (None, "We weight by inverse volatility.", "the position sizing"),
        (None, "We rebalance weekly.", "the rebalancing"),
        (None, "A position is sold once it has fallen 8% from its entry price.", "the stop"),
        (None, "Stocks are ranked by book to market.", "the ranking"),
    ],
)
def test_the_piece_that_is_off_is_named_and_not_corrected(seed: int | None, wrong: str, piece: str) -> None:
    play = Play()
    slot = {"the position sizing": "weighting", "the rebalancing": "schedule", "the stop": "threshold", "the ranking": "factor"}[piece]
    rules = "\n".join(f"- We {i.sentence}." for i in play.belief.items if i.slot != slot) + f"\n- {wrong}"
    decision = play.reply(DONE, files(rules))
    assert decision.action == "challenge"
    assert decision.evidence[0] == "REPORT.md"
    assert piece in decision.message.lower()
    assert play.gate.stated == {MOMENTUM, MONTHLY}
    assert [o.status for o in decision.observations] == ["uncertain", "met", "met"]


@pytest.mark.parametrize("seed", range(1, 40, 3))
def test_wrong_rules_of_any_strategy_are_noticed(seed: int) -> None:
    play = Play.real(seed)
    told = {"equal": "We size by inverse volatility.", "other": "We use equal weights."}
    weighting = next(i for i in play.belief.items if i.slot == "weighting")
    wrong = told["equal" if weighting.id.endswith(":equal") else "other"]
    rules = "\n".join(f"- We {i.sentence}." for i in play.belief.items if i.component != "portfolio") + f"\n- {wrong}"
    decision = play.reply(DONE, files(rules))
    assert decision.action == "challenge"
    assert weighting.piece in decision.message
    assert not play.tells(decision, weighting.id) or weighting.id in play.belief.opening


RESULT_LINES = (
    "From 2001 to 2019 it returned 13.68% a year net of fees, with a Sharpe ratio of 0.76, a maximum drawdown of -42.51% and 287 trades.",
    "| Annual return | 17.74% | net of fees, geometric |\n| Maximum drawdown | -46.29% | net of fees, daily closes |\n| Annual volatility | 21% | net |",
    "The cost drag is 0.69% a year. 142 of 432 positions, 33%, were stopped out; the average stopped position fell 13.7%.",
)


@pytest.mark.parametrize("line", RESULT_LINES)
@pytest.mark.parametrize("seed", range(0, 30, 3))
def test_figures_of_a_result_are_no_settings(seed: int, line: str) -> None:
    """A report that says little about its rules is not caught by its results."""
    play = Play.real(seed)
    figures = "It returned 8% a year, Sharpe ratio 0.6, maximum drawdown 31%, 412 trades.\n" + line
    opening = "\n".join(f"- {play.belief.item(name).sentence}" for name in play.belief.opening)
    decision = play.reply(line, {"REPORT.md": report(opening, figures), "trades.csv": TRADES})
    assert decision.action == "close", decision.message


def test_questions_about_results_are_no_delivery() -> None:
    play = Play()
    decision = play.reply(
        "1. Which return do you want to see, 12 months or 6?\n2. Is a maximum drawdown of 20% fine?\n3. Would 100 trades be too many?\n4. A Sharpe ratio of 1?"
    )
    assert "trades with" not in decision.message
    assert all(o.status == "missing" for o in decision.observations)


def test_several_pieces_are_all_named() -> None:
    decision = Play().reply(DONE, files("We rank by last year's return. We rebalance weekly and weight by inverse volatility."))
    assert "the rebalancing" in decision.message.lower()
    assert "the position sizing" in decision.message.lower()


def test_the_message_about_a_delivery_is_read_too() -> None:
    decision = Play().reply("Done, by last year's return: weekly rebalancing, inverse volatility weights.", files("See the message."))
    assert decision.action == "challenge"
    assert decision.evidence == ("a1",)
    assert "the rebalancing" in decision.message.lower()


def test_an_old_version_beside_the_new_report_is_not_held_against_it() -> None:
    old = report("We weight by inverse volatility.")
    assert Play().reply(DONE, {"REPORT.md": report(RIGHT), "old/REPORT_v1.md": old, "trades.csv": TRADES}).action == "close"


def test_the_same_piece_again_in_other_words() -> None:
    play = Play()
    wrong = files("We weight by inverse volatility.")
    play.reply("How should I size the positions?")
    first = play.reply("I have redone the sizing.", wrong)
    second = play.reply("The sizing should be good now, sorry.", wrong)
    assert first.action == second.action == "challenge"
    assert first.message != second.message
    assert "position sizing" in first.message.lower()
    assert "position sizing" in second.message.lower()


def test_what_was_told_and_is_nowhere_to_be_seen_is_asked_after_once() -> None:
    play = Play()
    play.reply("What stop level do you want?")
    silent = files("We rank by last year's return, give each position the same weight, rebalance monthly.")
    decision = play.reply(DONE, silent)
    assert decision.action == "challenge"
    assert "stop" in decision.message
    assert play.reply("It is all in there, I checked.", silent).action == "close"


@pytest.mark.parametrize(
    ("delivered", "wanted", "there"),
    [
        ({"REPORT.md": report(RIGHT)}, "trades with their dates and prices", "report with"),
        ({"trades.csv": TRADES}, "the sharpe ratio", "trades with their"),
        ({"trades.csv": TRADES}, "a report with a summary, the method, the results and the limitations", "trades with their"),
        ({"REPORT.md": report(RIGHT).split("## Limitations")[0], "trades.csv": TRADES}, "limitations", "the method"),
        (
            {"REPORT.md": report(RIGHT, "It returned 8% a year with a maximum drawdown of 20% in 40 trades."), "trades.csv": TRADES},
            "the sharpe ratio",
            "drawdown",
        ),
    ],
)
def test_what_is_missing_is_asked_for(delivered: dict[str, str], wanted: str, there: str) -> None:
    play = Play()
    decision = play.reply("Here you are.", delivered)
    assert decision.action == "follow_up"
    assert wanted in decision.message.lower()
    assert there not in decision.message.lower()


def test_files_that_cannot_be_shown_count_by_name() -> None:
    message = "Return 8% a year, Sharpe 0.6, maximum drawdown 31%, 412 trades."
    assert Play().reply(message, {"backtest_report.pdf": "", "trades.xlsx": ""}).action == "close"
    assert Play().reply(message, {"data.bin": ""}).action == "follow_up"


def test_a_report_that_goes_on_beyond_the_excerpt_is_believed() -> None:
    long = report(RIGHT).split("## Limitations")[0]
    assert Play().reply(DONE, {"REPORT.md": long, "trades.csv": TRADES}, truncated=True).action == "close"


def test_an_html_report_is_read() -> None:
    body = report("We weight by inverse volatility.")
    html = "<html><style>p{}</style><body>" + "".join(
        f"<h2>{line[3:]}</h2>" if line.startswith("## ") else f"<p>{line}</p>" for line in body.splitlines()
    )
    decision = Play().reply(DONE, {"report.html": html, "trades.csv": TRADES})
    assert "position sizing" in decision.message.lower()


def test_a_question_that_could_change_the_work_is_answered_before_closing() -> None:
    play = Play()
    decision = play.reply("Here is the report. Should I also add a stop? At what level?", files(RIGHT))
    assert decision.action == "clarify"
    assert "20%" in decision.message
    assert play.reply("It has the stop now. Anything else?", files(RIGHT)).action == "close"


def test_on_the_last_turn_a_question_does_not_stand_in_the_way() -> None:
    play = Play()
    for _ in range(5):
        play.reply(f"Working on it, part {_}. How many names should I hold?")
    assert play.scene.turns_left == 1
    assert play.reply("Here is the report. What stop level?", files(RIGHT)).action == "close"


def test_a_right_delivery_with_a_wrong_plan_is_not_closed() -> None:
    assert Play().reply("Here it is. Next I will switch to weekly rebalancing.", files(RIGHT)).action == "challenge"


def test_a_cut_reply_is_not_closed_on_while_turns_are_left() -> None:
    play = Play()
    assert play.reply("Here is", files(RIGHT), cut=True).action == "follow_up"
    for number in range(4):
        play.reply(f"Still on it, how many names, try {number}?", cut=True)
    assert play.reply("", files(RIGHT), cut=True).action == "close"
