"""The days on which a text says that its periods end: what is asked as of June 30 no year that ends in September answers."""

import re
from collections.abc import Iterable
from datetime import date
from typing import Final

from finassay_rubrics.context.cutoff import EXACT, date_of, phrases

NEAR: Final = 16
"""Days by which a year of 52 or 53 weeks, and `the end of the year`, may miss the day that is named."""
_END: Final = (
    r"\b(?:as\s+of|as\s+at|at|ended|ending|ends|(?:end|close)\s+of|(?:through|until|to))\s+(?:on\s+)?(?:the\s+)?(?:(?:end|close)\s+of\s+)?"
)


def ends_in(text: str) -> list[date]:
    """The days named as ends, in order; the last of a month that is named without a day. Days of knowledge are none."""
    known = [(one.start, one.end) for one in phrases(text)]
    found: dict[int, date] = {}
    for body in EXACT:
        for match in re.finditer(_END + body, text, re.IGNORECASE):
            day = date_of(match)
            if day is not None and not any(start < match.end() and match.start() < end for start, end in known):
                found.setdefault(match.end(), day)
    return [found[place] for place in sorted(found)]


def other_end(text: str, ends: Iterable[date | None]) -> str:
    """Why figures of these periods are no answer: the text names days, and none of the periods ends near one in any year. Empty if they may be."""
    asked, there = ends_in(text), [end for end in ends if end is not None]
    if not asked or not there or any(_apart(day, end) <= NEAR for day in asked for end in there):
        return ""
    return f"asks for what ended {asked[0]:%B} {asked[0].day}, and the years of these annual statements end {there[0]:%B} {there[0].day}"


def _apart(one: date, other: date) -> int:
    """Days between two days of a year, whichever way is shorter."""
    days = abs(one.timetuple().tm_yday - other.timetuple().tm_yday)
    return min(days, 365 - days)
