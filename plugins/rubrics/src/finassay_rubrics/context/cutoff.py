"""The cutoff: an inclusive date, written by code, held against what the query itself says."""

import calendar
import re
from datetime import date
from typing import Final

from attrs import frozen

from finassay.api.errors import UsageError

_MONTHS: Final = {name.lower(): number for number, name in enumerate(calendar.month_name) if name} | {
    name.lower(): number for number, name in enumerate(calendar.month_abbr) if name
}
_MONTH: Final = "|".join(sorted(_MONTHS, key=len, reverse=True))
_LEAD: Final = (
    r"(?:as of|as at|by|up to|until|through|available (?:by|as of|on)|filed (?:by|before)|before|known (?:by|on)|dated (?:by|on or before))"
)
_PHRASES: Final = (
    re.compile(rf"\b{_LEAD}\s+(?P<day>\d{{1,2}})(?:st|nd|rd|th)?\s+(?P<month>{_MONTH})\.?,?\s+(?P<year>(?:19|20)\d\d)", re.IGNORECASE),
    re.compile(rf"\b{_LEAD}\s+(?P<month>{_MONTH})\.?\s+(?P<day>\d{{1,2}})(?:st|nd|rd|th)?,?\s+(?P<year>(?:19|20)\d\d)", re.IGNORECASE),
    re.compile(rf"\b{_LEAD}\s+(?P<year>(?:19|20)\d\d)-(?P<month>\d\d)-(?P<day>\d\d)", re.IGNORECASE),
    re.compile(rf"\b{_LEAD}\s+(?:the end of\s+)?(?P<month>{_MONTH})\.?,?\s+(?P<year>(?:19|20)\d\d)", re.IGNORECASE),
)
_ABOUT: Final = re.compile(r"\b(?:filing|report|source|document|information|data|available|public|known|knowledge|cutoff)", re.IGNORECASE)
"""Words that make a date one of knowledge, not of a balance sheet."""


@frozen
class Cutoff:
    """What stands in a context."""

    date: date
    phrase: str = ""
    agrees: bool | None = None
    """None where the query says nothing."""


def cutoff_of(query: str, given: date, today: date) -> Cutoff:
    """The cutoff with the query's own phrase. Raises `UsageError` for one that lies ahead, and where phrase and option disagree."""
    if given > today:
        raise UsageError(f"the cutoff {given} lies ahead of today, {today}", hint="What is not published yet cannot be looked up.")
    for pattern in _PHRASES:
        for match in pattern.finditer(query):
            if not _of_knowledge(query, match):
                continue
            said = _date(match)
            if said is None:
                continue
            if said != given:
                raise UsageError(f"the query says {match[0]!r}, which is {said}; the cutoff given is {given}", hint="Make them agree.")
            return Cutoff(given, match[0], True)
    return Cutoff(given)


def _of_knowledge(query: str, match: re.Match[str]) -> bool:
    sentence = query[query.rfind(".", 0, match.start()) + 1 : match.end() + 40]
    return bool(_ABOUT.search(sentence)) and not re.search(r"\b(?:balance|year[- ]end|ended)\s*$", query[: match.start()], re.IGNORECASE)


def _date(match: re.Match[str]) -> date | None:
    groups = match.groupdict()
    month = int(groups["month"]) if groups["month"].isdigit() else _MONTHS[groups["month"].lower()]
    try:
        day = int(groups["day"]) if groups.get("day") else calendar.monthrange(int(groups["year"]), month)[1]
        return date(int(groups["year"]), month, day)
    except (ValueError, calendar.IllegalMonthError):
        return None
