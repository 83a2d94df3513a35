"""Several models: of different families, one vote each, every vote recorded."""

from collections import Counter
from collections.abc import Mapping, Sequence
from statistics import median_low
from typing import Any

from attrs import frozen

from finassay.api.errors import JudgeError, UsageError
from finassay.api.grading import Answer, JudgeRequest, LabelQuestion, Quote
from finassay.api.model import ChatModel, Models
from finassay_judge_model.options import ModelJudgeOptions


@frozen
class Member:
    """One model of the panel, or the only one."""

    model: ChatModel

    @property
    def identity(self) -> Mapping[str, str]:
        return {"id": self.model.id, "family": self.model.family}


def members(options: ModelJudgeOptions, models: Models) -> tuple[Member, ...]:
    """The models that the options name. Raises `UsageError` unless there is one model, or a panel of different known families."""
    if options.model and options.panel:
        raise UsageError(
            "judge 'model' takes one of its options model and panel, and has both",
            hint="To grade a run with another judge, name it: finassay grade RUN --judge model -o … takes over no option of the run's judge.",
        )
    if not options.model and not options.panel:
        raise UsageError(
            "judge 'model' needs one of its options model and panel",
            hint="For example: -o judge.model=PROVIDER/NAME. For the providers that are installed: finassay plugins model",
        )
    if options.panel and len(options.panel) < 2:
        raise UsageError("judge 'model': a panel has at least two models", hint="For one model use the option model.")
    provided = {**options.options, **({"effort": options.effort} if options.effort else {})}
    found = tuple(Member(models.get(name, provided)) for name in options.panel or (options.model,))
    if options.panel:
        _of_different_families(found)
    return found


def _of_different_families(found: Sequence[Member]) -> None:
    by_family: dict[str, list[str]] = {}
    for member in found:
        by_family.setdefault(member.model.family, []).append(member.model.id)
    hint = "Models of one family share their mistakes: name one model a family."
    for family, ids in by_family.items():
        if family in ("", "unknown"):
            raise UsageError(f"judge 'model': the family of {' and '.join(ids)} is not known, so it cannot sit on a panel", hint=hint)
        if len(ids) > 1:
            raise UsageError(f"judge 'model': {' and '.join(ids)} are of one family ({family})", hint=hint)


def decide(request: JudgeRequest, votes: Sequence[tuple[Member, Answer | JudgeError]], rule: str) -> Answer | JudgeError:
    """The panel's answer: that of the one member, or the vote of more than half of the members. Every vote stands in its facts."""
    if len(votes) == 1:
        return votes[0][1]
    valid = [(member, answer) for member, answer in votes if isinstance(answer, Answer)]
    if 2 * len(valid) <= len(votes):
        failures = [answer for _, answer in votes if isinstance(answer, JudgeError)]
        error = JudgeError(f"{len(valid)} of {len(votes)} models of the panel answered: {failures[0]}"[:500])
        error.__cause__ = failures[0].__cause__
        return error
    steering = tuple({q.text: q for _, answer in valid for q in answer.steering}.values())
    if isinstance(request.question, LabelQuestion):
        return _labels(request.question, votes, [a for _, a in valid], steering)
    level = _level([answer.level or 0 for _, answer in valid], rule)
    behind = [answer for _, answer in valid if answer.level == level]
    quotes = tuple({q.text: q for answer in behind for q in answer.quotes}.values())
    return Answer(behind[0].reason, level=level, quotes=quotes, steering=steering, facts=_facts(votes, [a for _, a in valid], rule))


def _level(levels: list[int], rule: str) -> int:
    """Median or most frequent level; what is torn goes to the lower one, because every dimension is better the higher its level."""
    if rule == "median":
        return median_low(levels)
    counts = Counter(levels)
    most = max(counts.values())
    return min(level for level, count in counts.items() if count == most)


def _labels(
    question: LabelQuestion, votes: Sequence[tuple[Member, Answer | JudgeError]], valid: list[Answer], steering: tuple[Quote, ...]
) -> Answer:
    """The label that more than half of the answers give, by case; a case without one stays undecided."""
    labels: dict[str, str] = {}
    quotes: dict[str, Quote] = {}
    for case in question.cases:
        given = Counter(answer.labels[case] for answer in valid if case in answer.labels)
        label, count = given.most_common(1)[0] if given else ("", 0)
        if 2 * count > len(valid):
            labels[case] = label
            quoted = [a.case_quotes[case] for a in valid if a.labels.get(case) == label and case in a.case_quotes]
            quotes |= {case: quoted[0]} if quoted else {}
    facts = _facts(votes, valid, "majority")
    return Answer("the panel's majority by case", labels=labels, case_quotes=quotes, steering=steering, facts=facts)


def _facts(votes: Sequence[tuple[Member, Answer | JudgeError]], valid: Sequence[Answer], rule: str) -> dict[str, Any]:
    told: list[dict[str, Any]] = []
    for member, answer in votes:
        vote: dict[str, Any] = dict(member.identity)
        if isinstance(answer, JudgeError):
            told.append(vote | {"error": str(answer)[:200]})
            continue
        kept = {name: value for name, value in answer.facts.items() if name != "left_out"}
        said: dict[str, Any] = (
            {"labels": dict(answer.labels)} if answer.level is None else {"level": answer.level, "reason": answer.reason[:400]}
        )
        told.append(vote | kept | said)
    facts: dict[str, Any] = {"vote": rule, "votes": told}
    left_out = next((a.facts["left_out"] for a in valid if "left_out" in a.facts), None)
    return facts | ({"left_out": left_out} if left_out else {})
