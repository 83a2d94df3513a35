"""Whether a sentence tells a figure to be an average over periods."""

import re
from typing import Final

from finassay_rubrics.grading.numbers import Number
from finassay_rubrics.grading.vocabulary import AVERAGE
from finassay_rubrics.grading.years import YEAR

_BEHIND: Final = re.compile(
    r"^[\s)*]*,?\s*(?:on average(?!\s+(?!(?:over|across|for|in|during|from|between|per|an?|each|every|and|but|which|while|with)\b)[a-z])|as (?:an|the) average|(?:is|was) (?:the|an) (?:\S+ ){0,2}(?:average|mean))\b",
    re.IGNORECASE,
)
"""Behind a figure that is one; `on average inventories` says what it was computed on."""
_BEFORE: Final = 200
"""Characters before a figure that can call it an average."""
_ARITHMETIC: Final = re.compile(r"[\d($€£][\d\s.,$€£%()+\-−–*×÷/x]*[=≈]\s*$")
"""The sum that a result follows: `the average is (3.1% + 2.3%) / 2 = `."""
_RANGE: Final = re.compile(
    r"\b(?:FY|fiscal(?: years?)?)?\s?'?(?:19|20)\d\d\s*(?:-|–|—|to|through|and|,|/)\s*(?:(?:FY|fiscal(?: years?)?)\s?'?)?(?:19|20)?\d\d\b",
    re.IGNORECASE,
)
"""The years that an average is taken over, which give none of them."""


def is_average(sentence: str, begin: int, number: Number) -> bool:
    """Whether a figure of a sentence that begins at `begin` is told to be an average; what stands in brackets before it is a remark."""
    at = number.start - begin
    if _BEHIND.match(sentence[number.end - begin : number.end - begin + 40]):
        return True
    before = re.sub(r"\([^()\d]*\)", " ", sentence[max(0, at - _BEFORE) : at])
    last = next(reversed(list(AVERAGE.finditer(before))), None)
    if last is None:
        return False
    between = _ARITHMETIC.sub(" ", _RANGE.sub(" ", before[last.end() :]))
    return not re.search(r"[.;]|,(?!\s*(?:or|i\.e))", between) and not YEAR.search(between)
