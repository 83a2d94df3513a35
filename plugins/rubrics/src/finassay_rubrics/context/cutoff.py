"""The cutoff: an inclusive date, written by code, held against what the query itself says.

A date in a query is one of knowledge where words say so (`information available through`, `as known on`), or where `as of` stands apart from
what is asked and a period is named besides. The day of a balance sheet or the end of a fiscal period is none.
"""

import calendar
import re
from collections.abc import Iterator
from datetime import date, timedelta
from typing import Final

from attrs import frozen

from finassay.api.errors import UsageError

_MONTHS: Final = {name.lower(): number for number, name in enumerate(calendar.month_name) if name} | {
    name.lower(): number for number, name in enumerate(calendar.month_abbr) if name
}
_MONTH: Final = "|".join([*sorted(_MONTHS, key=len, reverse=True), "sept"])
_YEAR: Final = r"(?P<year>(?:19|20)\d\d)"
EXACT: Final = (
    rf"(?P<day>\d{{1,2}})(?:st|nd|rd|th)?\s+(?:of\s+)?(?P<month>{_MONTH})\.?,?\s+{_YEAR}",
    rf"(?P<month>{_MONTH})\.?\s+(?P<day>\d{{1,2}})(?:st|nd|rd|th)?,?\s+{_YEAR}",
    rf"{_YEAR}-(?P<month>\d\d)-(?P<day>\d\d)",
    rf"(?:the\s+)?(?:end\s+of\s+)?(?P<month>{_MONTH})\.?,?\s+{_YEAR}",
)
_ONLY_YEAR: Final = rf"(?:the\s+end\s+of\s+|year[- ]end\s+)?(?:calendar\s+(?:year\s+)?)?{_YEAR}(?![\d-])"
_UNTIL: Final = (
    r"(?:as\s+of|as\s+at|as\s+on|by|up\s+(?:to|until)|until|till|through|thru|(?:on|at)\s+or\s+before|no\s+later\s+than|not\s+later\s+than|prior\s+to|before"
    r"|as\s+late\s+as|(?:up\s+)?to\s+and\s+including)"
)
_ON: Final = rf"(?:{_UNTIL}|on|at)"
_MATTER: Final = r"(?:information|data|evidence|facts?|knowledge|filings?|reports?|documents?|disclosures?|sources?|materials?|publications?|statements?|news|research|10-?[kq]s?|8-?ks?)"
_MADE: Final = (
    r"(?:(?:that|which|it|was|were|is|are|had|has|have|been|being|made|becom\w+|became|publicly|officially|already|only|public|available|published|filed|released|known|issued|dated"
    r"|disclosed|accessible|submitted|furnished|out|existing|there|with|the|sec|(?:to|by)\s+(?:us|investors|the\s+public|the\s+market))\s+)*"
)
_PUBLIC: Final = r"(?:available|published|filed|public|publicly\s+known|disclosed|released|issued|accessible|dated)"
_LEADS: Final = (
    rf"\b{_MATTER}\s+{_MADE}{_UNTIL}\s+(?:the\s+close\s+of\s+)?",
    rf"\b{_PUBLIC}\s+(?:with\s+the\s+sec\s+)?{_UNTIL}\s+",
    rf"\b(?:what|as|as\s+(?:it|they|things))\s+(?:(?:was|were|is|are|stood|would\s+have\s+been|had\s+been|been|publicly|then|it|one|you|investors?|we|could|knew)\s+)*"
    rf"(?:known|understood|public|seen|available|knew)\s+(?:publicly\s+)?{_ON}\s+",
    rf"\b(?:known|available|public)\s+(?:publicly\s+)?{_ON}\s+",
    r"\b(?:knowledge|information|data|research|evidence)?\s*\bcut-?\s?off(?:\s+date)?\s*(?:of|is|at|on|=|:)?\s+",
    r"\b(?:assume|pretend|imagine|suppose|as\s+if|acting\s+as\s+if)\b[^.;?!]{0,30}\b(?:today(?:'s\s+date)?|it|the\s+date|now)\s+(?:is|was|were)\s+(?:now\s+)?",
    r"\b(?:today(?:'s\s+date)?\s+is|from\s+the\s+(?:standpoint|perspective|viewpoint|vantage\s+point)\s+of)\s+",
    rf"\b(?:ignore|disregard|exclude|not\s+use|don't\s+use|use\s+no)\b[^.;?!]{{0,20}}\b(?:anything|everything|{_MATTER})\b[^.;?!]{{0,30}}\b(?:after|later\s+than|since)\s+",
)
"""What says that a date is one of knowledge."""
_ASIDE: Final = re.compile(r"(?:^|[.?!;:,(]\s*|\n\s*|[-–—]\s+)(?:and\s+)?as\s+(?:of|at)\s+$", re.IGNORECASE)
"""`As of` that stands apart from what is asked."""
_BEHIND_PERIOD: Final = re.compile(
    r"(?:fy\s?'?\d{2,4}|fiscal\s+(?:year\s+)?(?:19|20)\d\d|\b(?:19|20)\d\d)\s+as\s+(?:of|at)\s+$", re.IGNORECASE
)
_AND_YEAR: Final = re.compile(r"\s*(?:,|and|or|versus|vs\.?|compared\s+(?:to|with))\s*(?:and\s+)?(?:19|20)\d\d", re.IGNORECASE)
_OF_STATEMENT: Final = re.compile(
    r"\b(?:balance\s+sheets?|year[- ]?end|quarter[- ]?end|period[- ]?end|(?:fiscal\s+|financial\s+)?(?:year|quarter|period|months|weeks|half)(?:\s+that|\s+which)?\s+end(?:ed|ing|s)?"
    r"|positions?|outstanding|balances?|statements?\s+of\s+financial\s+position)\W*(?:as\s+(?:of|at)|by|at|on|through)?\s*$",
    re.IGNORECASE,
)
_OTHER_PERIOD: Final = re.compile(
    r"\b(?:fy\s?'?\d{2,4}|q[1-4]\b|(?:first|second|third|fourth)\s+quarter|fiscal\s+(?:years?\s+)?(?:19|20)\d\d|(?<![\w$.,])(?:19|20)\d\d(?![\d,]|\.\d|\s*%)"
    r"|(?:latest|last|most\s+recent|prior|previous|past)\s+(?:\w+\s+)?(?:fiscal|financial|annual|reported|completed|full|quarter|year|10-k)|year[- ]to[- ]date|ltm|ttm)",
    re.IGNORECASE,
)
_DOCUMENT: Final = r"(?:10-?[kq](?:/a)?|8-?k|20-?f|annual\s+report|quarterly\s+report|proxy(?:\s+statement)?|earnings\s+(?:release|call)|press\s+release|filing)"
_DATED_DOCUMENT: Final = (
    rf"\b{_DOCUMENT}\s+(?:that\s+was\s+|which\s+was\s+)?(?:filed|dated|published|issued|released|of)\s+(?:with\s+the\s+sec\s+)?(?:on\s+)?"
)
DOCUMENT_OF: Final = re.compile(
    rf"\b(?:fy\s?|fiscal\s+(?:year\s+)?)?(?P<one>20\d\d)\s+(?:form\s+)?{_DOCUMENT}|\b{_DOCUMENT}\s+(?:for|of)\s+(?:fy\s?|the\s+)?(?:fiscal\s+)?(?:year\s+)?(?P<two>20\d\d)",
    re.IGNORECASE,
)


@frozen
class Cutoff:
    """What stands in a context."""

    date: date
    phrase: str = ""
    agrees: bool | None = None
    """None where the query says nothing."""


@frozen
class Phrase:
    """A date of knowledge that a query names."""

    start: int
    end: int
    text: str
    date: date
    """The last day that counts."""


def cutoff_of(query: str, given: date, today: date) -> Cutoff:
    """The cutoff with the query's own phrase. Raises `UsageError` for one that lies ahead, and where the query and the option disagree."""
    if given > today:
        raise UsageError(f"the cutoff {given} lies ahead of today, {today}", hint="What is not published yet cannot be looked up.")
    found = phrases(query)
    for one in found:
        if one.date != given:
            raise UsageError(
                f"the query says {one.text!r}, whose last day is {one.date}; the cutoff given is {given}",
                hint="Make them agree; if the day of a balance sheet is meant, write `at fiscal year end`.",
            )
    for said, day in _documents(query):
        if day > given:
            raise UsageError(
                f"the query names {said!r}, which is from {day} or later; the cutoff given is {given}",
                hint="Give a later --cutoff, or ask for an earlier document.",
            )
    return Cutoff(given, found[0].text, True) if found else Cutoff(given)


def phrases(query: str) -> list[Phrase]:
    """The dates of knowledge that a query names, in order of place."""
    found: list[Phrase] = []
    for match in (*_told(query), *_aside(query)):
        start, end, day = match.start(), match.end(), _last_day(match)
        if day is not None and not any(one.start < end and start < one.end for one in found):
            found.append(Phrase(start, end, match[0].strip(" ,.;(\n"), day))
    return sorted(found, key=lambda one: one.start)


def _told(query: str) -> Iterator[re.Match[str]]:
    """Dates of which words say that they are of knowledge, with those words as `lead`."""
    for lead in _LEADS:
        for body in (*EXACT, _ONLY_YEAR):
            for match in re.finditer(rf"(?P<lead>{lead}){body}", query, re.IGNORECASE):
                if not _OF_STATEMENT.search(query[: match.end("lead")]):
                    yield match


def _aside(query: str) -> Iterator[re.Match[str]]:
    """`As of` a day that stands apart from what is asked, where the query names a period besides, or no day."""
    for body in EXACT:
        for match in re.finditer(rf"(?P<lead>\bas\s+(?:of|at)\s+){body}", query, re.IGNORECASE):
            lead = query[: match.end("lead")]
            if _OF_STATEMENT.search(lead) or not (_ASIDE.search(lead) or _BEHIND_PERIOD.search(lead)):
                continue
            if _AND_YEAR.match(query, match.end()):
                continue  # `as of December 31, 2021 and 2020` is two balance sheets
            elsewhere = query[: match.start()] + " ; " + query[match.end() :]
            if match.groupdict().get("day") is None or _OTHER_PERIOD.search(elsewhere):
                yield match


def _last_day(match: re.Match[str]) -> date | None:
    """The last day that counts; the one before, where the words say `before`."""
    day = date_of(match)
    if day is None or not re.search(r"(?<!or )(?<!or\s )\b(?:before|prior\s+to)\s+$", match["lead"], re.IGNORECASE):
        return day
    first = day if match.groupdict().get("day") else day.replace(day=1) if match.groupdict().get("month") else day.replace(month=1, day=1)
    return first - timedelta(days=1)


def date_of(match: re.Match[str]) -> date | None:
    """The day, or the last day of the month or year."""
    groups = match.groupdict()
    told = groups.get("month") or "12"
    month = int(told) if told.isdigit() else _MONTHS[told.lower()[:3]]
    try:
        day = int(groups["day"]) if groups.get("day") else calendar.monthrange(int(groups["year"]), month)[1]
        return date(int(groups["year"]), month, day)
    except (ValueError, calendar.IllegalMonthError):
        return None


def _documents(query: str) -> Iterator[tuple[str, date]]:
    """Documents that a query names, with the earliest day on which they can have been published."""
    for body in EXACT:
        for match in re.finditer(_DATED_DOCUMENT + body, query, re.IGNORECASE):
            if (day := date_of(match)) is not None:
                yield match[0], day if match.groupdict().get("day") else day.replace(day=1)
    for match in DOCUMENT_OF.finditer(query):
        yield match[0], date(int(match["one"] or match["two"]), 1, 1)
