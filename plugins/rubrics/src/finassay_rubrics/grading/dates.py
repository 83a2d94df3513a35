"""Days and months in a text, and whether one is the expected one."""

import re
from collections.abc import Iterator
from datetime import date
from typing import Final

from attrs import frozen

_MONTHS: Final = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_NAME: Final = r"(?P<{0}>jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\.?"
_DATE: Final = re.compile(
    r"(?<!\d)(?P<y1>(?:19|20)\d\d)[-/.](?P<n1>\d{1,2})(?:[-/.](?P<d1>\d{1,2}))?(?!\d)"
    rf"|\b{_NAME.format('m2')}\s+(?P<d2>\d{{1,2}})(?:st|nd|rd|th)?,?\s+(?P<y2>(?:19|20)\d\d)\b"
    rf"|\b(?P<d3>\d{{1,2}})(?:st|nd|rd|th)?\s+(?:of\s+)?{_NAME.format('m3')},?\s+(?P<y3>(?:19|20)\d\d)\b"
    rf"|\b{_NAME.format('m4')},?\s+(?P<y4>(?:19|20)\d\d)\b"
    r"|(?<![\d/])(?P<n6>\d{1,2})/(?P<d6>\d{1,2})/(?P<y6>(?:19|20)\d\d)(?!\d)"
    r"|(?<![\d.])(?P<d5>\d{1,2})\.(?P<n5>\d{1,2})\.(?P<y5>(?:19|20)\d\d)(?!\d)",
    re.IGNORECASE,
)


@frozen
class Day:
    """A date where it stands; `day` None for a month."""

    start: int
    end: int
    year: int
    month: int
    day: int | None

    @property
    def as_date(self) -> date:
        """The day itself; of a month its 28th, of an impossible day the last one that there is."""
        for number in (self.day or 28, 30, 29):
            try:
                return date(self.year, self.month, number)
            except ValueError:
                continue
        return date(self.year, self.month, 28)


def dates(text: str) -> Iterator[Day]:
    """The dates of a text, in order: 2031-06-15, June 15, 2031, 15 June 2031, June 2031."""
    for match in _DATE.finditer(text):
        year, name, number, day = (
            next((match[f"{k}{i}"] for i in at if match[f"{k}{i}"]), "")
            for k, at in (("y", "123456"), ("m", "234"), ("n", "156"), ("d", "12356"))
        )
        month = _MONTHS.index(name[:3].lower()) + 1 if name else int(number)
        if match["y6"] and month > 12:
            month, day = int(day), str(month)  # 28/01/2023, day first
        if 1 <= month <= 12 and (not day or 1 <= int(day) <= 31):
            yield Day(match.start(), match.end(), int(year), month, int(day) if day else None)


def same(said: Day, expected: Day) -> bool:
    """Whether a date is the expected one. Where a month is expected a day of it will do; a month alone is no day."""
    if (said.year, said.month) != (expected.year, expected.month):
        return False
    return expected.day is None or said.day == expected.day
