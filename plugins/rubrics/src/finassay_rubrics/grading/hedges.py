"""Figures that an answer gives beside one as if either would do, and whether two figures are one value."""

import re
from bisect import bisect_left
from decimal import Decimal
from typing import Final

from finassay_rubrics.grading.answer import Sentence
from finassay_rubrics.grading.numbers import Number

FROM_TO: Final = re.compile(r"\bfrom\s+$", re.IGNORECASE)
_EITHER: Final = re.compile(
    r"^[\s)*]*,?\s*(?:or|or else|to|-|–|—|/)\s+(?:even |perhaps |maybe |possibly |about )?\(?[$€£]?\s*$|^[\s)*]*[-–/][$€£]?$", re.IGNORECASE
)
_BOTH_ENDS: Final = re.compile(r"^[\s)*]*and\s*[$€£]?$", re.IGNORECASE)
_LABELLED: Final = re.compile(
    r"^[\s)*,(]*(?:if|when|excluding|including|under|on|using|with|without|before|after|adjusted|as|by|ex[- ]|incl|excl|in (?:the )?(?:19|20)|(?:for |in )?(?:fiscal|FY)|of )",
    re.IGNORECASE,
)


def hedges(one: Sentence, number: Number) -> list[Number]:
    """Figures that the answer gives beside one without saying which holds: `either 6.1% or 5.8%`, `between 16.9% and 17.8%`, a range."""
    place = bisect_left(one.numbers, number.start, key=lambda n: n.start)
    found: list[Number] = []
    for here, there, other in (
        (place, place + 1, one.numbers[place + 1] if place + 1 < len(one.numbers) else None),
        (place - 1, place, one.numbers[place - 1] if place else None),
    ):
        if other is None or other.kind != number.kind or same(other, number):
            continue
        first, second = one.numbers[here], one.numbers[there]
        between = one.text[first.end - one.start : second.start - one.start]
        before = just_before(one.text, first.start - one.start, 40)
        moves = bool(FROM_TO.search(before)) or bool(re.search(r"\bfrom\b[^.;]*$", before, re.IGNORECASE))
        ends = _BOTH_ENDS.match(between) and re.search(r"\bbetween\s*[$€£]?$", before, re.IGNORECASE)
        either = _EITHER.match(between) and not moves
        after = one.text[second.end - one.start : second.end - one.start + 30]
        if (ends or either) and not _LABELLED.match(after):
            found.append(other)
    return found


def just_before(sentence: str, at: int, characters: int = 40) -> str:
    """What stands just before a place."""
    return sentence[max(0, at - characters) : at]


def same(one: Number, two: Number) -> bool:
    """Whether two figures are one value, as finely as the coarser of them shows it."""
    coarse, fine = sorted((one, two), key=lambda n: n.decimals - _power(n))
    half = Decimal(5).scaleb(-coarse.decimals - 1) * (coarse.scale or 1)
    return abs(abs(coarse.units) - abs(fine.units)) <= half


def _power(number: Number) -> int:
    return int((number.scale or Decimal(1)).log10())
