"""When the user leaves, and when it stays."""

import time

import pytest
from attrs import evolve
from playing import Play, files

from finassay.api.conversation import Message
from finassay.api.simulator import Decision

WRONG = "We weight by inverse volatility. We rank by last year's return and rebalance monthly."


def played(*texts: str, delivered: dict[str, str] | None = None, patience: int = 3) -> Decision:
    play = Play(patience=patience)
    for text in texts[:-1]:
        assert play.reply(text, delivered).action != "block"
    return play.reply(texts[-1], delivered)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("I cannot do this.", "gave_up"),
        ("I'm unable to run a backtest.", "gave_up"),
        ("Sorry. I have to give up on this task.", "gave_up"),
        ("I won't help with investment strategies.", "refused"),
        ("I must decline to do this.", "refused"),
    ],
)
def test_a_declared_defeat_ends_the_session(text: str, reason: str) -> None:
    decision = played(text)
    assert (decision.action, decision.block_reason, decision.evidence) == ("block", reason, ("a1",))


@pytest.mark.parametrize(
    "text",
    [
        "I cannot run it on intraday data, but daily prices work.",
        "I can't access fundamentals. Shall I use prices only?",
        "I will not use data after 2019.",
        "I cannot find sector data, so I left it out for now. However, the rest is coming.",
        "I could not be happier to do this.",
    ],
)
def test_a_difficulty_is_no_defeat(text: str) -> None:
    assert played(text).action != "block"


def test_a_defeat_beside_a_delivery_is_none() -> None:
    assert played("I cannot do this any better.", delivered=files(WRONG)).action == "challenge"


def test_the_same_reply_three_times_is_enough() -> None:
    decision = played(*["Please wait, how many names?"] * 3)
    assert (decision.action, decision.block_reason) == ("block", "repeated")
    assert decision.evidence == ("a1", "a2", "a3")


def test_quoting_the_user_makes_no_new_reply() -> None:
    play = Play()
    decisions = []
    for _ in range(3):
        heard = play.scene.conversation.messages[-1].text
        decisions.append(play.reply(f'Reworked as you asked: "{heard}". The sizing rests on volatility.', files(WRONG)))
    assert [d.action for d in decisions] == ["challenge", "challenge", "block"]
    assert decisions[-1].block_reason == "repeated"


def test_three_replies_without_anything_are_a_stall() -> None:
    decision = played("I am on it.", "Getting there.", "Almost.")
    assert (decision.action, decision.block_reason) == ("block", "stalled")
    assert decision.evidence == ("a1", "a2", "a3")


def test_empty_replies_are_a_stall() -> None:
    assert played("", "", "").block_reason == "stalled"


def test_patience_can_be_set() -> None:
    assert played("I am on it.", "Getting there.", "Almost.", patience=5).action == "follow_up"
    assert played("I am on it.", "Getting there.", patience=2).block_reason == "stalled"


@pytest.mark.parametrize(
    "busy", ["How many names should I hold?", "I plan to use equal weights.", "So far the return is 8% and the Sharpe ratio 0.5."]
)
def test_questions_proposals_and_results_are_no_stall(busy: str) -> None:
    assert played("I am on it.", busy, "Almost.").action != "block"


def test_an_objection_ignored_twice_is_enough() -> None:
    decision = played("Here is the report.", "Here is more.", "And a chart.", delivered=files(WRONG))
    assert (decision.action, decision.block_reason) == ("block", "ignored_objection")
    assert decision.evidence == ("a2", "a3")


def test_an_agent_that_works_on_the_objection_is_not_left() -> None:
    replies = ("Here is the report.", "I changed the sizing.", "Does the sizing fit now?", "New sizing, have a look.", "Sizing once more.")
    assert played(*replies, delivered=files(WRONG)).action in ("challenge", "clarify")


def test_talk_about_something_else_ends_the_session() -> None:
    decision = played("The weather in the mountains is lovely in spring.", "My favourite soup has carrots, leeks and plenty of pepper.")
    assert (decision.action, decision.block_reason) == ("block", "off_topic")


def test_another_language_is_not_off_topic() -> None:
    assert played("我正在处理这个问题，请稍等一下，好吗。", "还需要一点时间，请稍等。我很快就好。").action == "follow_up"


@pytest.mark.parametrize("text", ["I cannot do this", "I won't help with", ""])
def test_a_cut_reply_never_ends_the_session(text: str) -> None:
    play = Play()
    for number in range(6):
        decision = play.reply(text, cut=True)
        assert decision.action == "follow_up"
        assert decision.message.startswith(("Your reply broke off", "That stopped midway")), number


def test_a_question_in_a_cut_reply_is_answered() -> None:
    message = Play().reply("How should I size the positions? And what", cut=True).message
    assert message.startswith(("Your reply broke off", "That stopped midway"))
    assert "same weight" in message


def test_no_message_is_ever_repeated() -> None:
    play = Play()
    said = [play.opening, *(play.reply(f"On it, {'again ' * number}how many names?").message for number in range(20))]
    assert len(set(said)) == len(said)


def test_long_waits_do_not_repeat_either() -> None:
    play = Play(patience=50)
    said = [play.reply("On it" + "." * number).message for number in range(2)]
    said += [play.reply(f"Still on it, day {number}.").message for number in range(20)]
    assert len(set(said)) == len(said)


@pytest.mark.parametrize(
    "text",
    [
        "x" * 1_000_000,
        "How many? " * 100_000,
        "a\n" * 500_000,
        "- weights 10%\n" * 70_000,
        "| 1 | 2 |\n" * 90_000,
        "((((" * 250_000,
        "é" * 1_000_000,
    ],
    ids=["letters", "questions", "lines", "points", "table", "brackets", "accents"],
)
def test_a_megabyte_is_bounded(text: str) -> None:
    play = Play.real(7)
    started = time.monotonic()
    play.simulator.decide(play.scene)
    base = time.monotonic() - started
    scene = evolve(play.scene, conversation=play.scene.conversation.with_message(Message("a1", 1, "agent", text)))
    started = time.monotonic()
    decision = play.simulator.decide(scene)
    assert len(decision.message) < 6000
    assert time.monotonic() - started < 20 + 10 * base


def test_the_same_scene_gives_the_same_decision() -> None:
    play = Play.real(3)
    play.reply("How should I size the positions?")
    assert play.simulator.decide(play.scene) == play.simulator.decide(play.scene)


def test_sessions_of_other_seeds_sound_different() -> None:
    messages = {Play(seed=seed).reply("How should I size the positions?").message for seed in range(8)}
    assert len(messages) > 1
