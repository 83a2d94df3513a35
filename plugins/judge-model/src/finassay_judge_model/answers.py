"""A model's reply, read strictly: what does not fit the form is no answer, and nothing is put right."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from finassay.api.errors import JudgeError
from finassay.api.grading import Answer, LabelQuestion, Quote
from finassay.api.model import ChatReply
from finassay_judge_model.profiles import Group, Place
from finassay_judge_model.selection import Shown

MAX_QUOTES: Final = 8
MAX_QUOTE: Final = 2_000
MAX_REASON: Final = 1_500
UNUSABLE: Final = {
    "refusal": "the model refused to answer",
    "length": "the answer was cut at the token limit",
    "empty": "the answer was empty",
    "invalid": "the answer does not fit the form",
    "tool": "the model called a tool instead of answering",
}


def read(reply: ChatReply, group: Group, material: Shown, found: Sequence[Quote]) -> dict[int, Answer | JudgeError]:
    """Request index to its answer, or to why it has none. `found` are passages that a program saw trying to steer."""
    if reply.finish != "stop" or not isinstance(reply.value, Mapping):
        why = UNUSABLE.get(reply.finish, "there is no value in the answer")
        return {place.index: JudgeError(f"{why} ({reply.model})") for place in group.places}
    value: Mapping[str, Any] = reply.value
    given: dict[str, list[Mapping[str, Any]]] = {}
    for entry in _list(value.get("answers")):
        if isinstance(entry, Mapping):
            given.setdefault(str(entry.get("question")), []).append(entry)
    said = _passages(value.get("steering"), material)
    steering = tuple({q.text: q for q in (*found, *said)}.values())
    return {place.index: _answer(place, given.get(place.name, []), steering, reply, group, material) for place in group.places}


def _answer(
    place: Place, entries: list[Mapping[str, Any]], steering: tuple[Quote, ...], reply: ChatReply, group: Group, material: Shown
) -> Answer | JudgeError:
    if len(entries) != 1:
        why = "is not answered" if not entries else f"is answered {len(entries)} times"
        return JudgeError(f"dimension {place.request.dimension.id} {why} ({reply.model})")
    entry, facts = entries[0], _facts(place, reply, group, material)
    reason = entry.get("reason")
    reason = reason.strip()[:MAX_REASON] if isinstance(reason, str) else ""
    if isinstance(place.request.question, LabelQuestion):
        labels, quotes = _labels(place.request.question, _list(entry.get("cases")), material)
        return Answer(reason, labels=labels, case_quotes=quotes, steering=steering, facts=facts)
    level = entry.get("level")
    if isinstance(level, bool) or not isinstance(level, int) or not 0 <= level <= 4:
        return JudgeError(f"level {str(level)[:40]!r} is not between 0 and 4 ({reply.model})")
    return Answer(reason, level=level, quotes=_passages(entry.get("quotes"), material)[:MAX_QUOTES], steering=steering, facts=facts)


def _labels(question: LabelQuestion, cases: list[Any], material: Shown) -> tuple[dict[str, str], dict[str, Quote]]:
    """Labels of known cases, and their quotes; a case with two different labels has none."""
    labels: dict[str, str] = {}
    quotes: dict[str, Quote] = {}
    torn = set()
    for entry in cases:
        case, label = (str(entry.get("case")), str(entry.get("label"))) if isinstance(entry, Mapping) else ("", "")
        if case not in question.cases or label not in question.labels:
            continue
        if labels.setdefault(case, label) != label:
            torn.add(case)
        passage = _passages([{"text": entry.get("quote"), "where": entry.get("where")}], material)
        if passage:
            quotes.setdefault(case, passage[0])
    return {c: label for c, label in labels.items() if c not in torn}, {c: q for c, q in quotes.items() if c not in torn}


def _passages(value: Any, material: Shown) -> tuple[Quote, ...]:
    found = []
    for entry in _list(value):
        text = entry.get("text") if isinstance(entry, Mapping) else None
        if isinstance(text, str) and text.strip():
            where = entry.get("where")
            found.append(Quote(material.originals.restored(text[:MAX_QUOTE]), where[:300] if isinstance(where, str) else ""))
    return tuple(found)


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _facts(place: Place, reply: ChatReply, group: Group, material: Shown) -> dict[str, Any]:
    """What the record keeps: who answered, what shared the call, the order of things, what was left out."""
    facts: dict[str, Any] = {"model": reply.model}
    if len(group.places) > 1:
        facts["call"] = {"place": [p.index for p in group.places].index(place.index) + 1, "of": len(group.places)}
    if place.reversed:
        facts["order"] = "last label first" if place.by_labels else "level 4 first"
    if group.why_alone:
        facts["asked_alone"] = group.why_alone
    if material.omitted:
        facts["left_out"] = list(material.omitted)
    return facts
