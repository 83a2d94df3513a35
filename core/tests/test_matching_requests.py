"""What counts as asking: questions, requests, and the points of a list below one."""

import pytest

from finassay.api.matching import MAX_TEXT, asks_about, sentences

TOPICS = (r"position sizing", r"siz(?:e|ing)")


@pytest.mark.parametrize(
    "text",
    [
        "What is your position sizing?",
        "Please tell me about the position sizing.",
        "Please provide the position sizing.",
        "I still need to know the position sizing.",
        "I'm not sure about the position sizing.",
        "On the position sizing, what do you have in mind",
        "Before I start, I have questions:\n- universe\n- position sizing\n- costs",
        "I need a few details from you:\n\n1. The ranking.\n2. Position sizing",
        "Could you fill this in?\n* ranking\n* position sizing",
        "Please specify:\nRanking:\nPosition sizing:\n",
        "**Open points to confirm:**\n**1. Ranking**\n**2. Position sizing**",
    ],
)
def test_asks(text: str) -> None:
    assert asks_about(TOPICS, text)


@pytest.mark.parametrize(
    "text",
    [
        "Position sizing is done.",
        "Positions are sized by score, which is the position sizing of the day.",
        "Here is what I used:\n- position sizing: by rank",
        "Any questions?\n\nThe position sizing was kept.",
        "Could you check?\n- the universe\n\nResults\nThe position sizing was kept.",
        "Please tell me:\n- the universe\nPosition sizing was kept.\n- position sizing",
    ],
)
def test_does_not_ask(text: str) -> None:
    assert not asks_about(TOPICS, text)


def test_offsets_are_those_of_the_text() -> None:
    text = "Please tell me:\n 1. Sizing\n 2. Costs, per side?\n\nThanks."
    assert all(text[s.start : s.start + len(s.text)] == s.text for s in sentences(text))
    assert [s.text for s in sentences(text) if s.question] == ["Please tell me:", "1.", "Sizing", "2.", "Costs, per side?"]


def test_text_is_bounded() -> None:
    assert sum(len(s.text) for s in sentences("a. " * MAX_TEXT)) <= MAX_TEXT
