"""Fiscal years in a text, and which figure of a sentence goes with which."""

import re
from collections.abc import Sequence
from typing import Final

from finassay_rubrics.grading.numbers import Number

YEAR: Final = re.compile(r"(?<!\d)((?:19|20)\d\d)(?![\d,]\d|\d)|\bFY\s?['’]?(\d\d)\b(?!\d)", re.IGNORECASE)
_POST: Final = re.compile(
    r"^\s*\(?\s*(?:(?:in|for|at|during|of|on|as of)\s+)?(?:the\s+)?(?:(?:end of|year[- ]end of|year ended|full year)\s+)?(?:fiscal(?: year)?\s+|fy\s?|the\s+)*['’]?$",
    re.IGNORECASE,
)
"""Between a figure and the year that belongs to it: `2.77% in fiscal 2022`, `38.4% (FY2023`."""
_PRE: Final = re.compile(
    r"^\)?\s*(?:year[- ]end\s*)?(?:[:=|–-]|was|is|were|of|at|came to|stood at|amounted to|to|\()?\s*(?:about |approximately |around )?\(?[$€£]?$",
    re.IGNORECASE,
)
"""Between a year and the figure that belongs to it: `2019: 10.82`, `FY2022 was 2.77%`."""
_AWAY: Final = re.compile(
    r"^\)?,?\s*\)?\s*(?:to|and|from|against|compared (?:to|with)|versus|vs\.?|after|up from|down from|but|while)\b|^\)?\s*[,;]|^\)",
    re.IGNORECASE,
)
"""What parts a year from the figure that follows it."""


def marked(text: str) -> list[tuple[int, int, str]]:
    """(start, end, year of four digits) of each year."""
    return [(m.start(), m.end(), m[1] or f"20{m[2]}") for m in YEAR.finditer(text)]


def years_in(text: str) -> list[str]:
    """The years that a text names, as four digits."""
    return [year for _, _, year in marked(text)]


def years_of(sentence: str, begin: int, figures: Sequence[Number]) -> list[str | None]:
    """For each figure the year that it goes with; None where the sentence names none.

    `3.1%, 2.0% and 3.2% for FY2015, FY2016 and FY2017` in order; else the year that stands beside it; else the last one named before it.
    """
    marks = marked(sentence)
    if not marks or not figures:
        return [None] * len(figures)
    places = [(n.start - begin, n.end - begin) for n in figures]
    found = _beside(sentence, places, marks)
    for first, last in ((0, sum(p[1] <= marks[0][0] for p in places)), (sum(p[0] < marks[-1][1] for p in places), len(places))):
        between = any(marks[0][1] <= start < marks[-1][0] for start, _ in places)
        if last - first == len(marks) > 1 and not between:  # a list of figures and a list of years
            found[first:last] = [year for _, _, year in marks]
    return found


def _beside(sentence: str, places: Sequence[tuple[int, int]], marks: Sequence[tuple[int, int, str]]) -> list[str | None]:
    found: list[str | None] = []
    for index, (start, end) in enumerate(places):
        following = next((m for m in marks if m[0] >= end), None)
        preceding = next((m for m in reversed(marks) if m[1] <= start), None)
        next_figure = places[index + 1][0] if index + 1 < len(places) else len(sentence)
        after = sentence[end : following[0]] if following and following[0] < next_figure else None
        before = sentence[preceding[1] : start] if preceding else None
        if after is not None and _POST.match(after):
            found.append(following[2] if following else None)
        elif before is not None and _PRE.match(before):
            found.append(preceding[2] if preceding else None)
        elif after is not None and len(after) < 40 and (before is None or _AWAY.match(before)):
            found.append(following[2] if following else None)
        else:
            found.append(preceding[2] if preceding else following[2] if following else None)
    return found
