"""Several families vote; every vote is recorded; what is torn goes to the worse side."""

import pytest

from finassay.api.errors import JudgeError, ProviderError, UsageError
from finassay.api.grading import Answer, Quote
from finassay.api.model import ChatReply
from finassay.testing.fakes import FunctionChatModel

from .scripted import RISKS, asks, judge, labels, level, model, quote

FAMILIES = ("claude", "gpt", "gemini", "kimi")


def panel(*levels: object, **options: object) -> tuple[Answer | JudgeError, list[FunctionChatModel]]:
    """What a panel of voters says of 4.4; an exception is a voter that fails."""
    voters = []
    for family, vote in zip(FAMILIES, levels, strict=False):
        if isinstance(vote, Exception):
            voters.append(FunctionChatModel(lambda r, vote=vote: vote, id=f"p/{family}", family=family))  # type: ignore[misc]
        else:
            given = level(vote, quote(RISKS if vote == 3 else "Here is the report."), reason=f"{family} says {vote}")
            voters.append(model(lambda n, r, given=given: given, name=f"p/{family}", family=family))  # type: ignore[misc]
    return judge(*voters, **options).answer_all(asks("4.4"))[0], voters


@pytest.mark.parametrize(
    ("votes", "rule", "expected"),
    [
        ((3, 2, 4), "median", 3),
        ((0, 4, 4), "median", 4),
        ((2, 3), "median", 2),
        ((1, 4), "median", 1),
        ((1, 2, 3, 4), "median", 2),
        ((3, 3, 1), "majority", 3),
        ((3, 3, 1, 1), "majority", 1),
        ((4, 3, 2), "majority", 2),
        ((0, 4, 4), "majority", 4),
    ],
)
def test_votes(votes: tuple[int, ...], rule: str, expected: int) -> None:
    found, voters = panel(*votes, vote=rule)
    assert isinstance(found, Answer)
    assert found.level == expected
    assert found.reason.endswith(f"says {expected}")
    assert [(v["id"], v["family"], v["level"]) for v in found.facts["votes"]] == [
        (m.id, m.family, vote) for m, vote in zip(voters, votes, strict=True)
    ]
    assert found.facts["vote"] == rule
    assert all(len(m.requests) == 1 for m in voters)


def test_quotes_come_from_those_who_carry_the_level() -> None:
    found, _ = panel(3, 2, 3)
    assert isinstance(found, Answer)
    assert found.quotes == (Quote(RISKS, "REPORT.md"),)


def test_one_voter_may_fail() -> None:
    found, _ = panel(3, ProviderError("529"), 2)
    assert isinstance(found, Answer)
    assert found.level == 2
    assert found.facts["votes"][1] == {"id": "p/gpt", "family": "gpt", "error": "529"}


def test_without_a_majority_of_voters_there_is_no_verdict() -> None:
    found, _ = panel(3, ProviderError("529"), ProviderError("529"))
    assert isinstance(found, JudgeError)
    assert "1 of 3" in str(found)
    assert isinstance(found.__cause__, ProviderError)
    assert isinstance(panel(3, ProviderError("529"))[0], JudgeError)


def test_a_voter_whose_level_is_out_of_range_has_no_vote() -> None:
    found, _ = panel(3, 9, 3)
    assert isinstance(found, Answer)
    assert found.level == 3
    assert "not between" in found.facts["votes"][1]["error"]


def test_labels_need_more_than_half() -> None:
    def voter(family: str, ties: str, halts: str) -> FunctionChatModel:
        cases = [
            {"case": "ties", "label": ties, "quote": "# ties go to the smaller ticker" if ties == "handled" else "", "where": "run.py"},
            {"case": "halts", "label": halts, "quote": "", "where": ""},
        ]
        return model(lambda n, r: {"reason": "", "cases": cases}, name=f"p/{family}", family=family)

    three = [voter("claude", "handled", "absent"), voter("gpt", "handled", "handled"), voter("gemini", "absent", "absent")]
    found = judge(*three).answer_all([labels()])[0]
    assert isinstance(found, Answer)
    assert found.labels == {"ties": "handled", "halts": "absent"}
    assert found.case_quotes["ties"].where == "run.py"
    torn = judge(*three[1:]).answer_all([labels()])[0]
    assert isinstance(torn, Answer)
    assert torn.labels == {}
    assert [v["labels"] for v in torn.facts["votes"]] == [{"ties": "handled", "halts": "handled"}, {"ties": "absent", "halts": "absent"}]


def silent(name: str, family: str) -> FunctionChatModel:
    return FunctionChatModel(lambda r: ChatReply("", "empty", name), id=name, family=family)


@pytest.mark.parametrize(
    ("families", "told"),
    [
        (("claude", "claude"), "one family"),
        (("claude", "gpt", "claude"), "one family"),
        (("claude", "unknown"), "not known"),
        (("", "gpt"), "not known"),
    ],
)
def test_a_panel_has_members_of_different_known_families(families: tuple[str, ...], told: str) -> None:
    voters = [silent(f"p{number}/m", family) for number, family in enumerate(families)]
    with pytest.raises(UsageError, match=told) as refused:
        judge(*voters)
    assert all(m.id in str(refused.value) for m in voters if families.count(m.family) > 1 or m.family in ("", "unknown"))
    assert not any(m.requests for m in voters)


def test_a_panel_of_one_is_none() -> None:
    voter = silent("p/m", "claude")
    with pytest.raises(UsageError, match="at least two"):
        judge(voter, model="", panel=["p/m"])


def test_a_model_beside_a_panel_is_told_with_the_way_to_another_judge() -> None:
    with pytest.raises(UsageError, match="has both") as refused:
        judge(silent("p/m", "claude"), model="p/m", panel=["p/m", "q/m"])
    assert "finassay grade RUN --judge model" in refused.value.hint
