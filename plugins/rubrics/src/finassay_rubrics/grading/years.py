"""Fiscal years in a text, and which figure of a sentence goes with which.

A fiscal year is told by its end, not by a bare number: `February 3, 2024` is the fiscal year whose end is known to lie there, whatever its label.
"""

import re
from bisect import bisect_left
from collections.abc import Sequence
from datetime import date
from functools import lru_cache
from itertools import islice
from typing import Final

from attrs import frozen

from finassay_rubrics.grading.dates import Day, dates
from finassay_rubrics.grading.numbers import Number

YEAR: Final = re.compile(
    r"(?<!\d)((?:19|20)\d\d)(?![\d,]\d|\d)|\bFY\s?['’]?(\d\d)\b(?!\d)|\b(?:[1-4]Q|Q[1-4]|[12]H|H[12])\s?['’]?(\d\d)\b", re.IGNORECASE
)
PART: Final = re.compile(
    r"\bQ([1-4])(?!\d)|\b([1-4])Q(?=\s?['’]?\d\d|\b)|\b(first|second|third|fourth)[\s-]quarter\b|\bH([12])\b|\b([12])H\b|\b(first|second) half\b",
    re.IGNORECASE,
)
_ORDER: Final = {"first": "1", "second": "2", "third": "3", "fourth": "4"}
_POST: Final = re.compile(
    r"^\s*\(?\s*(?:(?:in|for|at|during|of|on|as of)\s+)?(?:the\s+)?(?:(?:end of|year[- ]end of|year ended|full year|(?:first|second|third|fourth) quarter(?: of)?|(?:first|second) half(?: of)?|(?:three|six|nine) months(?: of)?|Q[1-4])\s+)?(?:the\s+)?(?:fiscal(?: year)?\s+|fy\s?|the\s+)*['’]?$",
    re.IGNORECASE,
)
"""Between a figure and the year that belongs to it: `2.77% in fiscal 2022`, `38.4% (FY2023`."""
_PRE: Final = re.compile(
    r"^\)?\s*(?:year[- ]end\s*)?(?:[:=|–-]|was|is|were|of|at|came to|stood at|amounted to|to|\()?\s*(?:about |approximately |around )?\(?(?:[$€£¥]|[A-Z]{3}\s)?$",
    re.IGNORECASE,
)
"""Between a year and the figure that belongs to it: `2019: 10.82`, `FY2022 was 2.77%`."""
_AWAY: Final = re.compile(
    r"^\)?,?\s*\)?\s*(?:to|and|from|against|compared (?:to|with)|versus|vs\.?|after|up from|down from|but|while)\b|^\)?\s*[,;]|^\)",
    re.IGNORECASE,
)
"""What parts a year from the figure that follows it."""
_COMPARES: Final = re.compile(
    r"^[\s)*,(]*(?:\w+\s+){0,2}?(?:from|against|versus|vs\.?|compared (?:to|with)|up from|down from|after)\s+(?:about |approximately )?[(+\-−–]?[$€£¥]?(?:[A-Z]{3}\s?)?$",
    re.IGNORECASE,
)
"""Between a figure and the one that it is compared with."""
_OWN_FIGURE: Final = re.compile(
    r"^\s*(?:[:=]|was\b|is\b|were\b)\s*(?:about |approximately )?[(+\-−–]?\s?(?:[$€£¥]|[A-Z]{3}\s)?\s?[(+\-−–]?[\d.]"
)
"""After a year that a figure of its own follows: `8.0% (2022: 8.8%)`."""
_APPOSED: Final = re.compile(
    r"^\)?\s*(?:[(,:–-]|which|that|is|was)?\s*(?:is |was )?(?:the )?(?:fiscal |financial )?(?:(?:year|period|5[23] weeks|twelve months)\s*)?(?:end(?:ed|ing|s)|to|through)?\s*(?:on |at |in )?(?:the )?$",
    re.IGNORECASE,
)
"""Between a year's name and its end: `fiscal 2023 (year ended`."""
_NAMED: Final = re.compile(
    r"^\)?\s*(?:[(,:–=-]|is|was)?\s*(?:also |i\.e\.,? |called |named )?(?:the )?(?:fiscal(?: year)?\s*|fy\s?['’]?|our )$", re.IGNORECASE
)
"""Between a year's end and its name: `The year ended February 3, 2024 is fiscal`."""
MAX_MARKS: Final = 20
REACH: Final = 100
"""Characters that are looked at between a figure and a year."""
NEAR: Final = 45
"""Days by which the ends of an issuer's fiscal years differ, besides whole years."""


@frozen
class Calendar:
    """How the fiscal years that are asked about are named: the label of one of them, and its end where it is known."""

    label: str = ""
    end: date | None = None
    shift: int = 0
    """Without a known end: -1 where years that end in January or February have the number of the year before."""

    def label_of(self, day: Day) -> str:
        """The label of the fiscal year that ends on a day; its calendar year where no fiscal year ends there."""
        if self.end is not None and self.label.isdigit():
            away = (date(day.year, day.month, min(day.day or 28, 28)) - self.end.replace(day=min(self.end.day, 28))).days
            years = round(away / 365.25)
            return str(int(self.label) + years) if abs(away - years * 365.25) <= NEAR else str(day.year)
        if day.month == 1 and (day.day or 31) <= 7:
            return str(day.year - 1)  # 52 weeks from the last days of December
        return str(day.year + (self.shift if day.month <= 2 else 0))


PLAIN: Final = Calendar()


_DATED: Final = re.compile(r"\d[-/.]\d|\b(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)", re.IGNORECASE)


@lru_cache(maxsize=8_192)
def marked(text: str, calendar: Calendar = PLAIN) -> tuple[tuple[int, int, str], ...]:
    """(start, end, fiscal year of four digits) of each year; of a year that is named together with its end only the name."""
    years = [(m.start(), m.end(), m[1] or f"20{m[2] or m[3]}") for m in YEAR.finditer(text)]
    days = [d for d in dates(text) if d.day is not None] if years and _DATED.search(text) else []
    if not days:
        return tuple(years)
    starts = [y[0] for y in years]
    ends = {index: d for d in days for index in range(bisect_left(starts, d.start), bisect_left(starts, d.end))}
    found = []
    for index, (start, end, year) in enumerate(years):
        day = ends.get(index)
        if day is None:
            found.append((start, end, year))
            continue
        before = years[index - 1] if index and index - 1 not in ends else None
        after = years[index + 1] if index + 1 < len(years) and index + 1 not in ends else None
        if before and _APPOSED.match(text[before[1] : day.start]):
            continue
        if after and _NAMED.match(text[day.end : after[0]]):
            continue
        found.append((day.start, day.end, calendar.label_of(day)))
    return tuple(found)


def years_in(text: str, calendar: Calendar = PLAIN) -> list[str]:
    """The fiscal years that a text names, as four digits."""
    return [year for _, _, year in marked(text, calendar)]


@lru_cache(maxsize=8_192)
def part_in(text: str) -> str:
    """The part of a year that a text names last: `Q2`, `H1`; empty for none."""
    found = ""
    for m in PART.finditer(text):
        quarter = m[1] or m[2] or _ORDER.get((m[3] or "").lower(), "")
        half = m[4] or m[5] or _ORDER.get((m[6] or "").lower(), "")
        found = f"Q{quarter}" if quarter else f"H{half}"
    return found


def ends_named(text: str) -> list[tuple[str, date]]:
    """Fiscal years that a text names together with their ends: `fiscal 2023 (year ended 3 February 2024)`, `January 28, 2023 (fiscal 2022)`."""
    years = [(m.start(), m.end(), m[1] or f"20{m[2] or m[3]}") for m in YEAR.finditer(text)]
    found = []
    for day in dates(text):
        if day.day is None:
            continue
        before = next((y for y in reversed(years) if y[1] <= day.start), None)
        after = next((y for y in years if y[0] >= day.end), None)
        between = text[before[1] : day.start] if before else ""
        if before and len(between) < 60 and re.search(r"\bend", between, re.IGNORECASE) and _APPOSED.match(between):
            found.append((before[2], day.as_date))
        elif after and _NAMED.match(text[day.end : after[0]]):
            found.append((after[2], day.as_date))
    return found


_ELSEWHERE: Final = re.compile(
    r";|,\s*(?:which|that|who|but)\b|\b(?:due|matur\w*|repa\w+|expir\w*|until|payable|callable)\b", re.IGNORECASE
)
"""Between a figure and a year that is about something else: `$1.25 billion, which matures in May 2026`."""
_BEFORE: Final = re.compile(
    r"\b(?:a|one|the) year (?:earlier|ago|before|prior)\b|\b(?:the )?(?:prior|previous|preceding)[- ](?:fiscal |financial )?year\b|\byear-ago\b|\blast year\b",
    re.IGNORECASE,
)
"""The year before the one that is spoken of."""


def _relative(
    sentence: str, places: Sequence[tuple[int, int]], marks: Sequence[tuple[int, int, str]], spoken: str | None, found: list[str | None]
) -> None:
    """Gives the figure beside `a year earlier` the year before: of the one named before it, else after it, else in the text before."""
    for match in islice(_BEFORE.finditer(sentence), MAX_MARKS):
        base = next((year for _, end, year in reversed(marks) if end <= match.start()), None) or next(
            (year for _, _, year in marks), spoken
        )
        if base is None or not base.isdigit():
            continue
        ends = bisect_left([end for _, end in places], match.start() + 1)
        if ends and match.start() - places[ends - 1][1] < 40 and not any(places[ends - 1][1] <= m[0] < match.start() for m in marks):
            found[ends - 1] = str(int(base) - 1)
        elif ends < len(places) and places[ends][0] - match.end() < 40:
            found[ends] = str(int(base) - 1)


def years_of(
    sentence: str, begin: int, figures: Sequence[Number], calendar: Calendar = PLAIN, spoken: str | None = None
) -> list[str | None]:
    """For each figure the year that it goes with; None where the sentence names none.

    `3.1%, 2.0% and 3.2% for FY2015, FY2016 and FY2017` in order; else the year that stands beside it; else the last one named before it.
    """
    marks = marked(sentence, calendar)
    if not figures or not (marks or _BEFORE.search(sentence)):
        return [None] * len(figures)
    places = [(n.start - begin, n.end - begin) for n in figures]
    found = _beside(sentence, places, marks)
    _relative(sentence, places, marks, spoken, found)
    if not marks:
        return found
    for first, last in ((0, sum(p[1] <= marks[0][0] for p in places)), (sum(p[0] < marks[-1][1] for p in places), len(places))):
        between = any(marks[0][1] <= start < marks[-1][0] for start, _ in places)
        between = between or (first > 0 and "(" in sentence[marks[0][1] : marks[-1][0]])  # `of 94 in 2022 (2021: 86), with 10.3%`
        if last - first == len(marks) > 1 and not between:  # a list of figures and a list of years
            found[first:last] = [year for _, _, year in marks]
    return found


def _beside(sentence: str, places: Sequence[tuple[int, int]], marks: Sequence[tuple[int, int, str]]) -> list[str | None]:
    found: list[str | None] = []
    compared = _compared(sentence, places, marks)
    aside = _aside(sentence, places, marks)
    at = 0  # marks before `at` end before the figure
    for index, (start, end) in enumerate(places):
        while at < len(marks) and marks[at][1] <= start:
            at += 1
        preceding = marks[at - 1] if at else None
        if at and at - 1 in aside and not _PRE.match(sentence[marks[at - 1][1] : start][:60]):
            preceding = next((marks[i] for i in range(at - 1, -1, -1) if i not in aside), None)
        following = next((m for m in marks[at : at + 3] if m[0] >= end), None)
        next_figure = places[index + 1][0] if index + 1 < len(places) else len(sentence)
        near = following is not None and following[0] < next_figure
        if following is not None and near and _OWN_FIGURE.match(sentence[following[1] : following[1] + 40]):
            following, near = None, False
        if following is not None and not near and index in compared:
            following = None
        found.append(_year_of(sentence, (start, end), preceding, following, near=near))
    return found


def _aside(sentence: str, places: Sequence[tuple[int, int]], marks: Sequence[tuple[int, int, str]]) -> frozenset[int]:
    """Years that have their one figure in passing: `… (2022: 94)`, `from 95.3% in 2021`. What follows is not of them."""
    found: set[int] = set()
    for index, (start, end, _) in enumerate(marks):
        opened = sentence.rfind("(", max(0, start - REACH), start)
        closed = sentence.find(")", end, end + REACH)
        if opened >= 0 and closed >= 0 and sentence.rfind(")", opened, start) < 0:
            if any(end <= s < closed for s, _ in places):
                found.add(index)
            continue
        before = bisect_left([e for _, e in places], start + 1) - 1
        if before < 0 or (index and marks[index - 1][0] >= places[before][1]):
            continue
        lead = sentence[max(0, places[before][0] - 40) : places[before][0]]
        if _POST.match(sentence[places[before][1] : start]) and _COMPARED_WITH.search(lead):
            found.add(index)
    return frozenset(found)


_COMPARED_WITH: Final = re.compile(
    r"\b(?:from|against|versus|vs\.?|compared (?:to|with)|after|than|nach|gegenüber)\s+(?:about |approximately )?[(+\-−–]?[$€£¥]?(?:[A-Z]{3}\s?)?$",
    re.IGNORECASE,
)


def _compared(sentence: str, places: Sequence[tuple[int, int]], marks: Sequence[tuple[int, int, str]]) -> frozenset[int]:
    """Figures before one that is compared with: of `EUR 742 million, 7.8% against 9.6% in 2021` the first two. The year is the last one's."""
    found: set[int] = set()
    ends = [mark[1] for mark in marks]
    for index in range(len(places) - 2, -1, -1):
        (_, end), (start, _) = places[index], places[index + 1]
        parted = bisect_left(ends, end) != bisect_left(ends, start)
        if not parted and (index + 1 in found or _COMPARES.match(sentence[end : min(start, end + REACH)])):
            found.add(index)
    return frozenset(found)


def _year_of(
    sentence: str, place: tuple[int, int], preceding: tuple[int, int, str] | None, following: tuple[int, int, str] | None, *, near: bool
) -> str | None:
    after = sentence[place[1] : min(following[0], place[1] + REACH)] if following and near else None
    before = sentence[preceding[1] : min(place[0], preceding[1] + REACH)] if preceding else None
    if following and after is not None and len(after) < 80 and _POST.match(after):
        return following[2]
    if preceding and before is not None and len(before) < 60 and _PRE.match(before):
        return preceding[2]
    if (
        following
        and after is not None
        and len(after) < 40
        and not _ELSEWHERE.search(after)
        and (before is None or _AWAY.match(before[:40]))
    ):
        return following[2]
    if preceding or following is None:
        return preceding[2] if preceding else None
    between = sentence[place[1] : min(following[0], place[1] + REACH)]
    return None if _ELSEWHERE.search(between) else following[2]
