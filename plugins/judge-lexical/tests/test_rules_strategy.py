"""2.8a: a reason in words of its own counts, whatever words it uses; a claim that it works does not."""

import pytest

from finassay.api.dimension import Dimension, JudgedBy
from finassay.api.grading import Document, JudgeRequest, LevelQuestion, Material
from finassay_judge_lexical.judge import LexicalJudge, LexicalOptions

RATIONALE = Dimension("2.8a", "d", "D", "c", JudgedBy.JUDGE, ("", "", "", "", ""))


def level(sentence: str, *signals: str) -> int | None:
    report = Document("REPORT.md", f"# Report\n\n## Why it should work\n\n{sentence}\n")
    material = Material(messages=(Document("u0", "I like winners."),), reports=(report,), tables=(), code=())
    return LexicalJudge(LexicalOptions()).answer(JudgeRequest(RATIONALE, LevelQuestion(), material, {"signals": list(signals)})).level


@pytest.mark.parametrize(
    ("sentence", "signal"),
    [
        ("Low beta: investors who may not borrow overpay for stocks with a high beta.", "low_beta"),
        ("rev_5d: sellers in a hurry push a price too far for a few days and pay those who step in.", "rev_5d"),
        ("Traders anchor on the yearly high and are slow to bid a stock above it on good news.", "high_52w"),
        ("mom_6_1: the same slow reaction to news over half a year carries past winners on.", "mom_6_1"),
        ("Momentum persists because analysts revise their estimates in small steps after good news.", "mom_12_1"),
    ],
)
def test_a_mechanism_is_found(sentence: str, signal: str) -> None:
    assert level(sentence, signal) == 2


@pytest.mark.parametrize("sentence", ["The strategy ranks stocks by their return and buys the best twenty each month.", "All went well."])
def test_a_description_is_no_mechanism(sentence: str) -> None:
    assert level(sentence, "mom_12_1") == 0
