"""Validation of the user's decisions: each rule refuses what it is for and lets its neighbour through."""

from collections.abc import Callable

import pytest
from attrs import evolve

from finassay.api.conversation import Conversation, Message
from finassay.api.received import missing_results, missing_sections, shows_trades
from finassay.api.simulator import Decision, Excerpt, Observation, Scene
from finassay.session.validation import (
    ASSISTANT_LIKE,
    INTERNAL,
    MAX_MESSAGE,
    RULES,
    validate,
    validate_opening,
)
from finassay.testing.samples import sample_persona, sample_task

REPORT = """# Summary
The strategy returned 8.1% a year with a Sharpe ratio of 0.62 and a maximum drawdown of 31%, in 412 trades.
# Method
Ranked once a month. Bought AAA on 2015-02-02 at a price of 31.20.
# Results
See above.
# Limitations
One data source.
"""
GOALS = ("backtest", "traceable-results", "report")


def scene(*replies: str, files: dict[str, str] | None = None, cut: bool = False, truncated: bool = False) -> Scene:
    said = Conversation((Message("u0", 0, "user", "I like last year's winners."),))
    for turn, text in enumerate(replies or ("Here is the report.",), start=1):
        said = said.with_message(Message(f"a{turn}", turn, "agent", text))
        if turn < len(replies):
            said = said.with_message(Message(f"u{turn}", turn, "user", f"Go on, part {turn}."))
    files = {"REPORT.md": REPORT} if files is None else files
    shown = tuple(Excerpt(path, text, truncated) for path, text in files.items() if text)
    return Scene(sample_task(), sample_persona(), said, shown, tuple(files), cut=cut, turns_left=3)


def observed(status: str = "met", *citations: str) -> tuple[Observation, ...]:
    return tuple(Observation(goal, status, citations) for goal in GOALS)  # type: ignore[arg-type]


def follow_up(message: str = "I still miss the trades.") -> Decision:
    return Decision("follow_up", observed("missing"), message)


def close(message: str = "That is what I wanted, thank you.", *citations: str) -> Decision:
    return Decision("close", observed("met", *(citations or ("REPORT.md",))), message)


def rules(decision: Decision, where: Scene) -> set[str]:
    return {problem.rule for problem in validate(decision, where)}


def test_sound_decisions_pass() -> None:
    where = scene("Here is the report.", "And again.")
    assert validate(follow_up(), where) == ()
    assert validate(close(), where) == ()
    assert validate(Decision("challenge", observed("uncertain"), "The position sizing is off.", ("REPORT.md",)), where) == ()
    assert validate(Decision("block", observed("missing"), "I leave it at that.", ("a1", "a2"), "repeated"), where) == ()
    assert validate_opening("I like last year's winners a lot.", scene()) == ()


BROKEN: dict[str, tuple[Callable[[], Decision], Callable[[], Scene]]] = {
    "empty-message": (lambda: follow_up(" \n"), scene),
    "over-long-message": (lambda: follow_up("word " * MAX_MESSAGE), scene),
    "goal-unobserved": (lambda: evolve(follow_up(), observations=observed("missing")[:2]), scene),
    "met-without-citation": (lambda: evolve(follow_up(), observations=observed("met")), scene),
    "unknown-citation": (lambda: evolve(follow_up(), observations=observed("met", "a7")), scene),
    "close-with-open-goal": (lambda: evolve(close(), observations=observed("uncertain", "REPORT.md")), scene),
    "close-without-results": (close, lambda: scene(files={"REPORT.md": REPORT.replace("Sharpe ratio", "score")})),
    "close-without-trades": (close, lambda: scene(files={"REPORT.md": REPORT.replace("2015-02-02", "a Monday")})),
    "close-without-report": (close, lambda: scene(files={"REPORT.md": REPORT.replace("Limitations", "Thanks")})),
    "close-asks-for-more": (lambda: close("All good. Please add a chart."), scene),
    "challenge-without-evidence": (lambda: Decision("challenge", observed("missing"), "The sizing is off."), scene),
    "block-without-evidence": (lambda: Decision("block", observed("missing"), "I stop.", (), "refused"), scene),
    "block-without-reason": (lambda: Decision("block", observed("missing"), "I stop.", ("a1",)), scene),
    "block-too-early": (lambda: Decision("block", observed("missing"), "I stop.", ("a1",), "stalled"), scene),
    "block-on-cut-turn": (lambda: Decision("block", observed("missing"), "I stop.", ("a1",), "refused"), lambda: scene(cut=True)),
    "reason-without-block": (lambda: evolve(follow_up(), block_reason="stalled"), scene),
    "internal-vocabulary": (lambda: follow_up("The scorecard needs the trades."), scene),
    "forbidden-term": (lambda: follow_up("Is that point-in-time?"), scene),
    "assistant-like": (lambda: follow_up("Let me lock a few things."), scene),
    "repeated-message": (lambda: follow_up("i  LIKE last year’s winners."), scene),
}


def test_every_rule_has_a_case() -> None:
    assert set(BROKEN) == set(RULES)


@pytest.mark.parametrize("rule", BROKEN)
def test_rule_refuses(rule: str) -> None:
    decision, where = (make() for make in BROKEN[rule])
    problems = validate(decision, where)  # type: ignore[arg-type]
    assert rule in {p.rule for p in problems}
    assert all(RULES[p.rule] in p.reason for p in problems)


@pytest.mark.parametrize("goals", [(*GOALS, "report"), (*GOALS, "wealth")])
def test_goals_are_observed_once_and_only_known_ones(goals: tuple[str, ...]) -> None:
    decision = evolve(follow_up(), observations=tuple(Observation(goal, "missing") for goal in goals))
    assert rules(decision, scene()) == {"goal-unobserved"}


@pytest.mark.parametrize("status", ["missing", "uncertain", "not_applicable"])
def test_closing_needs_every_core_goal_met(status: str) -> None:
    assert "close-with-open-goal" in rules(evolve(close(), observations=observed(status, "REPORT.md")), scene())


def test_a_user_message_or_a_file_not_delivered_is_no_evidence() -> None:
    decision = Decision("challenge", observed("missing"), "The sizing is off.", ("u0", "notes.md"))
    assert [p.rule for p in validate(decision, scene())] == ["unknown-citation", "unknown-citation"]


def test_closing_on_messages_alone_is_possible() -> None:
    assert rules(close("Thank you.", "a1"), scene(REPORT, files={})) == set()


def test_closing_on_a_cut_turn_is_possible() -> None:
    assert rules(close(), scene(cut=True)) == set()


def test_what_lies_beyond_sight_is_not_held_against_the_user() -> None:
    short = REPORT.split("# Method")[0]
    assert rules(close(), scene(files={"REPORT.md": short})) == {"close-without-trades", "close-without-report"}
    assert rules(close(), scene(files={"REPORT.md": short}, truncated=True)) == set()
    assert rules(close("Thanks.", "REPORT.md", "trades.xlsx"), scene(files={"REPORT.md": short, "trades.xlsx": ""})) == set()


def test_four_figures_must_be_named_in_what_is_cited() -> None:
    where = scene("All done.", files={"REPORT.md": REPORT, "notes.md": "nothing here"})
    assert "close-without-results" in rules(close("Thanks.", "a1", "notes.md"), where)


@pytest.mark.parametrize(
    "message",
    [
        "I wouldn't change a thing, thank you.",
        "That is exactly what I want.",
        "Nothing to add from my side.",
        "The numbers add up. Thanks!",
        "I don't need anything else.",
    ],
)
def test_a_closing_may_say_that_nothing_is_wanted(message: str) -> None:
    assert rules(close(message), scene()) == set()


@pytest.mark.parametrize(
    "message",
    [
        "Good. Can you also send the code?",
        "Fine, but I still need the trades.",
        "Not complete, please add prices.",
        "Great, now fix the title.",
        "Where are the prices?",
    ],
)
def test_a_closing_asks_for_nothing(message: str) -> None:
    assert rules(close(message), scene()) == {"close-asks-for-more"}


@pytest.mark.parametrize(
    "message",
    [
        *INTERNAL,
        "portfolio.weighting:equal",
        "my traceable-results are missing",
        "what about dimension 3.2",
        "it fails check 2.8b",
        "a Cut-Off date",
    ],
)
def test_internal_words_are_refused(message: str) -> None:
    assert rules(follow_up(f"About {message} now."), scene()) >= {"internal-vocabulary"}


@pytest.mark.parametrize(
    "message",
    [
        "The report is missing.",
        "Where is the backtest?",
        "At that point in time it was cheap.",
        "Return is 3.2% and the check cleared.",
        "No investment grade bonds, please.",
    ],
)
def test_ordinary_words_are_not_internal(message: str) -> None:
    assert rules(follow_up(message), scene()) == set()


@pytest.mark.parametrize("phrase", ASSISTANT_LIKE)
def test_assistant_phrases_are_refused(phrase: str) -> None:
    assert rules(follow_up(f"Well, {phrase}."), scene()) == {"assistant-like"}


@pytest.mark.parametrize("reason", ["refused", "gave_up", "off_topic"])
def test_a_refusal_may_end_the_session_at_once(reason: str) -> None:
    decision = Decision("block", observed("missing"), "I stop here.", ("a1",), reason)  # type: ignore[arg-type]
    assert rules(decision, scene("I cannot do this.")) == set()


def test_an_opening_is_held_to_the_words_too() -> None:
    assert [p.rule for p in validate_opening("Respect the cutoff.", scene())] == ["internal-vocabulary", "forbidden-term"]


def test_lexical_helpers() -> None:
    assert missing_results("Return, Sharpe and draw-down.") == ("number of trades",)
    assert missing_results("CAGR 3%, Sharpe 1, max DD 2%, 30 fills") == ()
    assert missing_sections("Overview. How it works. Performance.") == ("limitations",)
    assert shows_trades("Bought on 2 March 2015 at 31.20")
    assert shows_trades("Mar 2, 2015 | BUY | $31")
    assert not shows_trades("Bought in 2015 for $31")
