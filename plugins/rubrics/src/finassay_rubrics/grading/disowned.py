"""Figures that an answer names but does not give: denied, laid at another's door, put right afterwards."""

import re
from collections.abc import Sequence
from typing import Final

from attrs import evolve

from finassay_rubrics.grading.answer import Sentence
from finassay_rubrics.grading.numbers import Number
from finassay_rubrics.grading.years import Calendar, years_in

_AROUND: Final = 160
"""Characters beside a figure that can disown it."""
_LINK: Final = r"(?:\s+(?:the|an?|equal|to|amount|amounted|come|came|reach|be|been|total|report|reported|earn|about|approximately|exactly|actually|in fact|USD|at))"
_NOT: Final = re.compile(
    rf"(?:\bnot|n['’]t|\bnever|\brather than|\binstead of|\b(?:wrongly|incorrectly|mistakenly|falsely|erroneously)(?:\s+\w+){{0,3}}){_LINK}{{0,4}}\s*[$€£(]?\s*$",
    re.IGNORECASE,
)
_ELSEWHERE: Final = re.compile(
    r"\b(?:some|other|many|certain|several|various|most|a few)\s+(?:[\w-]+\s+)?(?:sources?|sites?|websites?|articles?|databases?|people|commentators?|providers?|blogs?)\b"
    r"[^.;]*?\b(?:claim|say|report|give|state|quote|put|list|suggest|show|cite|believe)\w*\b(?:[^.;]|\.(?=\d))*$",
    re.IGNORECASE,
)
_TURN: Final = re.compile(r"\b(?:but|however|although|though|whereas|while|yet)\b", re.IGNORECASE)
_WRONG: Final = re.compile(
    r"^[\s)*]*,?\s*(?:(?:which|that|this|and this)\s+)?(?:is|was|would be|has been|were|are)\s+(?:an?\s+|all\s+|simply\s+|plainly\s+)?"
    r"(?:wrong|incorrect|false|mistaken|erroneous|inaccurate|error|mistake|typo|not (?:the )?(?:right|correct|true|accurate))\b",
    re.IGNORECASE,
)
_PUT_RIGHT: Final = re.compile(
    r"^(?:[^.]|\.(?=\d)){0,60}?\b(?:but|however|yet)\b[^.;]{0,30}\b(?:correct|actual|true|right|real|accurate)\s+(?:\w+\s+){0,3}?(?:is|was|being|:)",
    re.IGNORECASE,
)
_CANDIDATES: Final = re.compile(
    r"\b(?:candidates?|options?|possibilit(?:y|ies)|possible (?:values?|figures?|answers?|amounts?)|guess(?:es)?|could be|may be|might be|one of|any of|choices?)\b",
    re.IGNORECASE,
)
MAX_LIST: Final = 20
"""Figures of a list that are looked at."""
_APART: Final = re.compile(r"^[\s)*]*(?:[;,/]|\bor\b)\s*(?:or\s+|and\s+)?[$€£(]?\s*$", re.IGNORECASE)
"""Between figures that no word tells apart."""
_SEVERAL: Final = re.compile(
    r"\b(?:respectively|years|quarters|periods|months|segments|divisions|regions|each|both)\b|[,/&]|\band\b", re.IGNORECASE
)
"""What can stand before figures that are told apart in order."""


def listed(one: Sentence, number: Number, calendar: Calendar) -> list[Number]:
    """The figures of a bare list that a figure stands in, where nothing says which of them holds: `candidates: 4,029; 2,539; 5,727`."""
    place = next((at for at, n in enumerate(one.numbers) if n.start == number.start), None)
    if place is None:
        return []
    first = last = place
    while first and _stand_apart(one, first - 1):
        first -= 1
    while last + 1 < len(one.numbers) and _stand_apart(one, last):
        last += 1
    run = one.numbers[first : last + 1]
    lead = one.text[: run[0].start - one.start]
    told = len(years_in(one.text, calendar)) > 1 or bool(_SEVERAL.search(lead)) or "respectively" in one.text
    bare = bool(_CANDIDATES.search(lead)) if len(run) == 2 or told else len(run) > 2
    return [n for n in run if n.start != number.start and n.units != number.units] if bare else []


def with_list(sentences: Sequence[Sentence], place: int) -> Sentence:
    """The sentence at a place, together with those beside it that hold nothing but a figure after a semicolon."""
    first = last = place
    while first and place - first < MAX_LIST and _goes_on(sentences[first - 1], sentences[first]):
        first -= 1
    while last + 1 < len(sentences) and last - first < MAX_LIST and _goes_on(sentences[last], sentences[last + 1]):
        last += 1
    parts = sentences[first : last + 1]
    figures = tuple(n for part in parts for n in part.numbers)
    return sentences[place] if first == last else evolve(parts[0], text="".join(p.text for p in parts), numbers=figures)


def _goes_on(this: Sentence, following: Sentence) -> bool:
    """Whether the next sentence is only the next figure of a list."""
    if len(following.numbers) != 1 or following.start != this.start + len(this.text) or not this.text.rstrip().endswith(";"):
        return False
    number = following.numbers[0]
    rest = following.text[: number.start - following.start] + following.text[number.end - following.start :]
    return not re.sub(r"\b(?:or|and)\b", "", rest).strip(" ;.,\r\n")


def _stand_apart(one: Sentence, at: int) -> bool:
    """Whether nothing but a comma or the like stands between a figure and the next, of one kind."""
    this, following = one.numbers[at], one.numbers[at + 1]
    return this.kind == following.kind and bool(_APART.match(one.text[this.end - one.start : following.start - one.start]))


def denied(text: str, start: int, end: int) -> bool:
    """Whether the sentence says of the figure at these places that it is not so: `was not $4 million`, `some claim $4 million, but …`."""
    before, after = text[max(0, start - _AROUND) : start], text[end : end + _AROUND]
    if _NOT.search(before) or _WRONG.match(after) or _PUT_RIGHT.match(after):
        return True
    told = _ELSEWHERE.search(before)
    return told is not None and not _TURN.search(told[0])
