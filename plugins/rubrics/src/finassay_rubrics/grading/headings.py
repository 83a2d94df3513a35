"""Headings of an answer: under which company's name a line or a table stands."""

import re
from bisect import bisect_right
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from finassay_rubrics.grading.answer import Answer

MAX_HEADINGS: Final = 1_000
MAX_ABOVE: Final = 60
"""Headings above a place that are looked at."""
MAX_WORDS: Final = 9
PLAIN: Final = 9
"""The level of a heading without marks."""
_MARKED: Final = re.compile(r"^\s{0,3}(?P<marks>#{1,6})\s+(?P<text>\S.*)$")
_PLAIN: Final = re.compile(r"^\s{0,3}(?:(?:\d{1,2}|[A-Za-z])[.)]\s+|[-*•]\s+)?(?P<text>[A-Z][^|=]{1,80}?)\s*:?\s*$")


Heading = tuple[int, frozenset[str], int]

_YEAR: Final = re.compile(r"\b(?:FY\s?)?(?:(?:19|20)\d\d|[1-4]Q|Q[1-4])\b", re.IGNORECASE)


def headings(answer: "Answer") -> list[Heading]:
    """(place, words, level) of each heading: lines with `#`, and short lines without a figure; of these the level is `PLAIN`."""
    if "headings" not in answer.kept:
        found: list[Heading] = []
        start = 0
        for line in answer.prose.splitlines(keepends=True):
            text = line.strip()
            marked = _MARKED.match(line)
            if marked:
                found.append((start, _words(marked["text"]), len(marked["marks"])))
            elif text and len(text) < 90 and (plain := _PLAIN.match(line)) and _is_short(plain["text"]):
                found.append((start, _words(plain["text"]), PLAIN))
            start += len(line)
            if len(found) >= MAX_HEADINGS:
                break
        answer.kept["headings"] = found
    return answer.kept["headings"]


def _words(text: str) -> frozenset[str]:
    return frozenset(re.sub(r"['’]s?$", "", w.lower()) for w in re.findall(r"[\w&’'-]+", text[:200]))


def _is_short(text: str) -> bool:
    return len(text.split()) <= MAX_WORDS and text[-1:] not in ".,;!?" and not re.search(r"\d", _YEAR.sub(" ", text))


def above(answer: "Answer", at: int, telling: Sequence[frozenset[str]]) -> int | None:
    """Which of the sets of words the nearest heading above a place names, the last set that it names; None where none does.

    A heading of the same or a higher level that names none of them ends what stood above it.
    """
    found = headings(answer)
    index = bisect_right(found, at, key=lambda heading: heading[0]) - 1
    level = PLAIN + 1
    for _, words, own in reversed(found[max(0, index + 1 - MAX_ABOVE) : index + 1]):
        if own >= level:
            continue
        named = [n for n, names in enumerate(telling) if names & words]
        if named:
            return named[0] if len(named) == 1 else None
        level = own if own < PLAIN else level
    return None
