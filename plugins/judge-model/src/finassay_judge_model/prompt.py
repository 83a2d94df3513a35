"""One call in words."""

import json
from collections.abc import Mapping
from typing import Any, Final

from finassay.api.grading import LabelQuestion
from finassay.api.model import ChatMessage, ChatRequest
from finassay.api.verdict import Json
from finassay_judge_model import wording
from finassay_judge_model.fence import shown
from finassay_judge_model.form import labels_form, levels_form
from finassay_judge_model.options import ModelJudgeOptions
from finassay_judge_model.profiles import Group, Place
from finassay_judge_model.selection import Shown

MAX_FACTS: Final = 12_000
"""Characters of one question's facts."""
CUTS: Final = ((400, 4_000), (100, 1_000), (40, 600), (20, 300), (10, 200), (5, 120), (2, 60), (0, 30))
"""Entries of a list or mapping, and characters of a text, that are kept at most: the first pair with which the facts fit is taken."""


def facts_text(facts: Mapping[str, Json], limit: int = MAX_FACTS) -> tuple[str, str]:
    """Facts as JSON within a limit, and what was cut off, in words."""
    text = _dumped(facts)
    if len(text) <= limit:
        return text, ""
    for entries, characters in CUTS:
        text = _dumped(_cut(facts, entries, characters, 0))
        if len(text) <= limit:
            return text, f"facts were cut to {entries} entries of a list and {characters} characters of a text"
    return text[:limit], f"facts were cut to {limit} characters"


def _dumped(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False, default=str, sort_keys=True)


def _cut(value: Any, entries: int, characters: int, depth: int) -> Json:
    if depth > 12:
        return "…"
    if isinstance(value, str):
        return value if len(value) <= characters else f"{value[:characters]}… ({len(value) - characters} characters more)"
    if isinstance(value, Mapping):
        kept = max(entries, 40) if depth == 0 else max(entries, 8)  # names of facts come first; their contents are what is long
        found = {str(k)[:200]: _cut(v, entries, characters, depth + 1) for k, v in list(value.items())[:kept]}
        return found if len(value) <= kept else {**found, "…": f"{len(value) - kept} more"}
    if isinstance(value, list | tuple):
        items = [_cut(v, entries, characters, depth + 1) for v in value[:entries]]
        return items if len(value) <= entries else [*items, f"… {len(value) - entries} more"]
    return value


def chat_request(group: Group, material: Shown, options: ModelJudgeOptions) -> ChatRequest:
    """The call of a group. The material comes first and is the same in every call of a session, which providers can cache."""
    names = [place.name for place in sorted(group.places, key=lambda p: int(p.name[1:]))]
    form = labels_form if group.places[0].by_labels else levels_form
    questions = "\n\n".join(question(place, material) for place in group.places)
    asked = f"{wording.QUESTIONS.format(names=', '.join(names))}\n{questions}\n\n{wording.REMINDER}"
    text = f"{wording.MATERIAL}\n{material.text or '(nothing was delivered)'}\n\n{_left_out(material)}{asked}"
    return ChatRequest(
        messages=(ChatMessage("system", _instructions(group, material.fence.token)), ChatMessage("user", text)),
        schema=form(names),
        max_output_tokens=options.max_output_tokens,
        repeat=options.repeat + group.places[0].request.sample,
        role="judge",
        about=",".join(dict.fromkeys(place.request.dimension.id for place in group.places)),
        seconds=options.seconds,
    )


def _instructions(group: Group, token: str) -> str:
    added = group.places[0].request.guidance
    return wording.SYSTEM.format(token=token) + (wording.GUIDANCE.format(guidance=added) if added else "")


def _left_out(material: Shown) -> str:
    count = sum(1 if "where" in one else int(one["more"]) for one in material.omitted)
    return f"Left out above, in whole or in part, for want of room: {count} texts.\n\n" if count else ""


def question(place: Place, material: Shown) -> str:
    """One question with its levels or labels, the programs' facts, and quotes that were refused."""
    request, fence = place.request, material.fence
    one, asked = request.dimension, request.question
    if isinstance(asked, LabelQuestion):
        cases = "\n".join(f"- {case}: {flat_case}" for case, flat_case in _ordered(list(asked.cases.items()), place.reversed))
        labels = " | ".join(_ordered(list(asked.labels), place.reversed))
        text = wording.LABELS.format(name=place.name, id=one.id, title=one.title, text=asked.text, labels=labels, cases=cases)
    else:
        anchors = "\n".join(f"  {level}: {anchor}" for level, anchor in _ordered(list(enumerate(one.anchors)), place.reversed))
        text = wording.LEVEL.format(name=place.name, id=one.id, title=one.title, looks_at=one.looks_at, anchors=anchors)
    parts = [text]
    if request.facts:
        told, cut = facts_text(request.facts)
        parts += [wording.FACTS.format(name=place.name), fence.block("facts", place.name, told, cut)]
    refused = [quote for quote in request.refused if quote]
    if refused:
        parts += [wording.REFUSED.format(name=place.name), fence.block("refused", place.name, "\n".join(f"- {shown(q)}" for q in refused))]
    elif request.refused:
        parts.append(wording.NO_QUOTE.format(name=place.name))
    return "\n".join(parts)


def _ordered(values: list[Any], backwards: bool) -> list[Any]:
    return values[::-1] if backwards else values
