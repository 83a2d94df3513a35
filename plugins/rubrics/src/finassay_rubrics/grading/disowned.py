"""Figures that an answer names but does not give: denied, laid at another's door, put right afterwards."""

import re
from typing import Final

from finassay_rubrics.grading.answer import Sentence
from finassay_rubrics.grading.cells import Cell
from finassay_rubrics.grading.vocabulary import spread
from finassay_rubrics.grading.years import years_in

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
_CORRECTION: Final = re.compile(
    r"^\W*(?:correction|erratum|corrigendum)\b"
    r"|\b(?:figures?|numbers?|amounts?|values?|answers?|statements?)\b[^.;,]{0,40}\b(?:is|was|are|were)\s+(?:wrong|incorrect|mistaken|erroneous|false|inaccurate|an? (?:error|mistake|typo))\b"
    r"|\bI (?:made|must correct|need to correct|should correct)\b[^.;]{0,40}\b(?:mistake|error|figure|number|amount|that|this|myself)\b",
    re.IGNORECASE,
)
_ABOVE: Final = re.compile(r"\b(?:above|earlier|previous(?:ly)?|first|initial(?:ly)?|correction|erratum|corrigendum|I)\b", re.IGNORECASE)


def denied(text: str, start: int, end: int) -> bool:
    """Whether the sentence says of the figure at these places that it is not so: `was not $4 million`, `some claim $4 million, but …`."""
    before, after = text[max(0, start - _AROUND) : start], text[end : end + _AROUND]
    if _NOT.search(before) or _WRONG.match(after) or _PUT_RIGHT.match(after):
        return True
    told = _ELSEWHERE.search(before)
    return told is not None and not _TURN.search(told[0])


def takes_back(one: Sentence, cell: Cell) -> bool:
    """Whether a sentence takes back what was said of the cell before: `Correction: the 2021 figure above is wrong`."""
    if not _CORRECTION.search(one.text) or not _ABOVE.search(one.text):
        return False
    years = years_in(one.text, cell.calendar)
    if cell.years and years and not set(years) & set(cell.years):
        return False
    others = {w for w, weight in cell.weights.items() if weight >= 0.5} - cell.words
    said = one.about(cell.entities)
    return not said & others or bool(said & spread(cell.words))
