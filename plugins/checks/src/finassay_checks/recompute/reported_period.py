"""The period that the text reports, with the granularity in which it is printed."""

import re
from collections.abc import Iterator

import pandas as pd
from attrs import frozen

from finassay_checks.model import Delivered
from finassay_checks.recompute import stated

_MONTH = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?"
_DATE = (
    rf"(?:\d{{4}}-\d{{2}}-\d{{2}}|\d{{4}}-\d{{2}}(?!\d)|\d{{4}}/\d{{1,2}}/\d{{1,2}}|\d{{1,2}}\.\d{{1,2}}\.\d{{4}}|\d{{1,2}}\s+{_MONTH}\s+\d{{4}}"
    rf"|{_MONTH}\s+\d{{1,2}},?\s+\d{{4}}|{_MONTH}\s+\d{{4}}|\b(?:19|20)\d{{2}}\b)"
)
_SPAN = re.compile(rf"(?P<first>{_DATE})\s*(?:-|–|—|to|through|until|till|and|\.\.+|→)\s*(?:the\s+)?(?P<last>{_DATE})", re.IGNORECASE)


@frozen
class Edge:
    """A printed date: `kind` says whether day, month or year was printed."""

    date: pd.Timestamp
    kind: str


@frozen
class Period:
    first: Edge
    last: Edge
    where: str
    text: str


def edge(text: str) -> Edge | None:
    """A printed date, None if it is none."""
    text = text.strip()
    if re.fullmatch(r"\d{4}", text):
        return Edge(pd.Timestamp(int(text), 1, 1), "year")
    kind = "month" if re.fullmatch(rf"\d{{4}}-\d{{2}}|{_MONTH}\s+\d{{4}}", text, re.IGNORECASE) else "day"
    if kind == "month" and not text[0].isdigit():
        text = f"1 {text}"
    try:
        stamp = pd.to_datetime(
            text.replace(".", "-") if re.fullmatch(r"[\d.]+", text) else text.replace(".", ""), dayfirst="-" not in text[:5]
        )
    except (ValueError, TypeError):
        return None
    return Edge(pd.Timestamp(stamp), kind)


def periods_in(text: str, where: str) -> Iterator[Period]:
    """Spans of dates in a text, in order."""
    for match in _SPAN.finditer(text):
        first, last = edge(match["first"]), edge(match["last"])
        if first is not None and last is not None and first.date < last.date:
            yield Period(first, last, where, match[0])


CORE = ("total_return", "annual_return", "sharpe", "max_drawdown")


def reported_periods(delivered: Delivered) -> tuple[tuple[Period, ...], tuple[Period, ...]]:
    """(periods in the sentences or rows of the core figures, all periods of the last report and message)."""
    own = [p for f in delivered.figures if f.metric in CORE for p in periods_in(f.text, f.where)]
    every = [p for where, line in stated.lines(delivered) for p in periods_in(line, where)]
    return tuple(own), tuple(every[:200])


def agrees(period: Period, first: pd.Timestamp, last: pd.Timestamp, sessions: pd.DatetimeIndex) -> bool:
    """Whether a printed period is that of a curve: days within five sessions, months and years as printed."""
    return _same(period.first, first, sessions) and _same(period.last, last, sessions)


def _same(printed: Edge, actual: pd.Timestamp, sessions: pd.DatetimeIndex) -> bool:
    if printed.kind == "year":
        return printed.date.year == actual.year
    if printed.kind == "month":
        return (printed.date.year, printed.date.month) == (actual.year, actual.month)
    return abs(int(sessions.searchsorted(printed.date)) - int(sessions.searchsorted(actual))) <= 5
