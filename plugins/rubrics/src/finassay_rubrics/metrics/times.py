"""The times that a text names: fiscal years, and parts of years, each with the label by which it is asked for."""

import re
from collections.abc import Iterator
from typing import Final

from attrs import frozen

from finassay_rubrics.metrics.terms import YEAR, fold, year_of

MAX_SPAN: Final = 10
"""Years between the ends of a range."""


@frozen(order=True)
class Time:
    """A fiscal year, or a part of one."""

    year: int
    part: str = ""
    """Empty for a whole year; else the period in words, `Q2 FY2023`."""

    @property
    def label(self) -> str:
        return self.part or f"FY{self.year}"


_ORDINALS: Final = {
    **dict.fromkeys(("first", "1st", "opening"), 1),
    **dict.fromkeys(("second", "2nd"), 2),
    **dict.fromkeys(("third", "3rd"), 3),
    **dict.fromkeys(("fourth", "4th", "final", "last"), 4),
}
_ORDINAL: Final = "|".join(_ORDINALS)
_YEAR: Final = r"(?:of\s+|in\s+|for\s+|,?\s*)?(?:the\s+)?(?P<fiscal>fy\s*'?|fiscal\s+(?:year\s+)?(?:of\s+)?|calendar\s+(?:year\s+)?|cy\s*'?)?'?(?P<year>(?:19|20)\d\d|\d\d)(?!\d|,\d)"
_BEFORE: Final = r"(?P<fiscal>fy\s*'?|fiscal\s+(?:year\s+)?|calendar\s+(?:year\s+)?|cy\s*'?)?(?P<year>(?:19|20)\d\d)(?:'s)?\s*[- ]?\s*"
_MONTHS: Final = (
    "january|february|march|april|may|june|july|august|september|october|november|december|jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec"
)
_DAY: Final = rf"(?P<day>(?:the\s+)?(?:(?:{_MONTHS})\.?\s+\d{{1,2}}(?:st|nd|rd|th)?,?\s+(?P<year>(?:19|20)\d\d)|\d{{1,2}}\s+(?:{_MONTHS})\.?,?\s+(?:19|20)\d\d|(?:{_MONTHS})\.?,?\s+(?:19|20)\d\d|(?:19|20)\d\d-\d\d-\d\d))"
_COUNT: Final = r"(?:three|six|nine|3|6|9|thirteen|twenty-six|thirty-nine|13|26|39)"
_QUARTERS: Final = (
    re.compile(rf"\bq(?P<number>[1-4])\s*{_YEAR}"),
    re.compile(rf"\b(?P<number>[1-4])q\s*{_YEAR}"),
    re.compile(rf"\b{_BEFORE}q(?P<number>[1-4])\b"),
    re.compile(rf"\b(?P<ordinal>{_ORDINAL})[\s-]+(?:fiscal\s+)?quarter(?:'s)?\s*{_YEAR}"),
    re.compile(rf"\b{_BEFORE}(?P<ordinal>{_ORDINAL})[\s-]+quarter\b"),
)
_HALVES: Final = (
    re.compile(rf"\bh(?P<number>[12])\s*{_YEAR}"),
    re.compile(rf"\b(?P<number>[12])h\s*{_YEAR}"),
    re.compile(rf"\b(?P<ordinal>first|second|1st|2nd)[\s-]+half\s*{_YEAR}"),
)
_ENDED: Final = re.compile(
    rf"\b(?P<what>(?:{_COUNT}[\s-]+(?:months?|weeks?)(?:\s+period)?|(?:fiscal\s+)?quarter|half[\s-]?year|(?:trailing|last)\s+twelve\s+months|ltm|ttm))"
    rf"\s+(?:that\s+)?(?:ended|ending|ends|to|through|as\s+of)\s+(?:on\s+)?{_DAY}"
)
_EACH: Final = re.compile(
    rf"\b(?P<what>(?:each|every|all|the\s+four)\s+(?:of\s+the\s+(?:four\s+)?)?quarters?)\s+{_YEAR}|\bquarterly\b[^.;?!]{{0,40}}?\b{_YEAR.replace('fiscal>', 'fiscal2>').replace('year>', 'year2>')}"
)
_AND_YEAR: Final = re.compile(
    r"\s*(?:,\s*and|,|and|or|versus|vs\.?|(?:as\s+)?compared\s+(?:to|with)|from|to)\s+((?:19|20)\d\d)(?![\d-]|,\d)"
)
_BARE: Final = re.compile(
    r"\bq[1-4]\b|\bquarter(?:ly|s)?\b|\bh[12]\b|\bhalf[- ]year\b|\b(?:first|second|1st|2nd|latter|last)[- ]half\b|\b(?:three|six|nine|twelve|trailing)[- ]months?\b|\bltm\b|\bttm\b|\byear[- ]to[- ]date\b|\bytd\b"
)
"""A part of a year that no year goes with."""


def times_in(text: str) -> list[Time]:
    """The times named, in order; the years between the ends of a range too. A part of a year stands for itself, not for its year."""
    folded = fold(text)
    parts = list(_parts(folded))
    rest = list(folded)
    for start, end, _ in parts:
        rest[start:end] = " " * (end - start)
    return sorted({*(time for _, _, time in parts), *(Time(year) for year in years_in("".join(rest)))})


def part_spans(text: str) -> list[tuple[int, int]]:
    """Where a text names parts of years."""
    return [(start, end) for start, end, _ in _parts(fold(text))]


def lacks_year(text: str) -> bool:
    """Whether a part of a year is named of which no year is told: `last quarter`."""
    folded = list(fold(text))
    for start, end, _ in _parts("".join(folded)):
        folded[start:end] = " " * (end - start)
    return _BARE.search("".join(folded)) is not None


def years_in(text: str) -> list[int]:
    """The years named, in order; those between them too for a range."""
    folded = fold(text)
    found = sorted({year_of(match) for match in YEAR.finditer(folded)})
    span = re.search(r"\d\s*(?:-|to|through|until|till)\s*(?:fy\s*|fiscal\s*(?:year\s*)?)?'?\d", folded)
    return list(range(found[0], found[-1] + 1)) if span and len(found) == 2 and found[-1] - found[0] <= MAX_SPAN else found


def _parts(folded: str) -> Iterator[tuple[int, int, Time]]:
    """(start, end, time), also of the bare years behind a part: `Q2 2023 and 2022` are two quarters."""
    taken: list[tuple[int, int]] = []
    for match, times in _found(folded):
        if any(match.start() < end and start < match.end() for start, end in taken):
            continue
        taken.append(match.span())
        yield *match.span(), times
        end = match.end()
        while more := _AND_YEAR.match(folded, end):
            year = int(more[1])
            taken.append((end, more.end()))
            yield end, more.end(), Time(year, times.part.replace(str(times.year), str(year)))
            end = more.end()


def _found(folded: str) -> Iterator[tuple[re.Match[str], Time]]:
    for kind, patterns in (("Q", _QUARTERS), ("H", _HALVES)):
        for pattern in patterns:
            for match in pattern.finditer(folded):
                yield match, _numbered(kind, match)
    for match in _ENDED.finditer(folded):
        year = re.search(r"(?:19|20)\d\d", match["day"])
        yield match, Time(int(year[0]) if year else 0, f"{match['what']} ended {_shown(match['day'])}")
    for match in _EACH.finditer(folded):
        full = _full(match["year"] or match["year2"])
        yield match, Time(full, f"each quarter of FY{full}")


def _numbered(kind: str, match: re.Match[str]) -> Time:
    groups = match.groupdict()
    number = groups.get("number") or str(_ORDINALS[groups["ordinal"]])
    year = _full(groups["year"])
    fiscal = not (groups.get("fiscal") or "fy").startswith("c")
    return Time(year, f"{kind}{number} {'FY' if fiscal else ''}{year}")


def _full(year: str) -> int:
    return int(year) if len(year) == 4 else 2000 + int(year)


def _shown(day: str) -> str:
    return re.sub(r"\b[a-z]", lambda m: m[0].upper(), day.removeprefix("the "))
