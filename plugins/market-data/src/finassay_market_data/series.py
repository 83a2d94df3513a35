"""Prices in memory: series by ticker and field, joined, cut and made coarser. Dates are days (datetime64[D]); NaN is missing."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, Literal

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from finassay_market_data.words import Aggregation, aggregation_of

Days = NDArray[np.datetime64]
Values = NDArray[np.float64]
Frequency = Literal["daily", "weekly", "monthly"]

_MONDAY: Final = np.datetime64("1970-01-05", "D")


class MarketError(Exception):
    """What was asked for cannot be told; the message is one sentence for whoever asked."""


@frozen(eq=False)
class Series:
    """One ticker: fields over days. Every array of `fields` has their length. Days increase strictly, but for what was just read."""

    days: Days
    fields: Mapping[str, Values]

    def upto(self, cutoff: np.datetime64 | None) -> "Series":
        """Nothing after `cutoff`."""
        if cutoff is None or not len(self.days) or self.days[-1] <= cutoff:
            return self
        end = int(np.searchsorted(self.days, cutoff, "right"))
        return Series(self.days[:end], {name: values[:end] for name, values in self.fields.items()})

    def trimmed(self) -> "Series":
        """Without days on which nothing is known, and without fields of which nothing is."""
        known = {name: values for name, values in self.fields.items() if bool(np.isfinite(values).any())}
        if not known:
            return Series(self.days[:0], {})
        rows = np.zeros(len(self.days), bool)
        for values in known.values():
            rows |= np.isfinite(values)
        if rows.all():
            return Series(self.days, known)
        return Series(self.days[rows], {name: values[rows] for name, values in known.items()})


def in_order(days: Days, fields: Mapping[str, Values], about: str) -> Series:
    """A series from rows in any order. Rows of one day are one if they do not contradict each other, else a `MarketError`."""
    if len(days) > 1 and not bool((days[1:] > days[:-1]).all()):
        order = np.argsort(days, kind="stable")
        days, fields = days[order], {name: values[order] for name, values in fields.items()}
    if len(days) < 2 or bool((days[1:] > days[:-1]).all()):
        return Series(days, fields)
    starts = np.flatnonzero(np.concatenate(([True], days[1:] != days[:-1])))
    single = {}
    for name, values in fields.items():
        low, high = np.fmin.reduceat(values, starts), np.fmax.reduceat(values, starts)
        wrong = np.flatnonzero(np.isfinite(low) & (low != high))
        if len(wrong):
            raise MarketError(f"{about} has two different values of {name} on {days[starts[wrong[0]]]}")
        single[name] = low
    return Series(days[starts], single)


def joined(parts: Sequence[Series], about: str) -> Series:
    """Several parts of one ticker, of other days or other fields, as one."""
    if len(parts) == 1:
        return in_order(parts[0].days, parts[0].fields, about)
    whole = appended(*parts)
    return in_order(whole.days, whole.fields, about)


def appended(*parts: Series) -> Series:
    """The rows of several parts one after the other, in no order; fields that a part does not have are missing in its rows."""
    names = sorted({name for part in parts for name in part.fields})
    days = np.concatenate([part.days for part in parts])
    return Series(days, {n: np.concatenate([p.fields.get(n, np.full(len(p.days), np.nan)) for p in parts]) for n in names})


@frozen(eq=False)
class Block:
    """Rows by day, columns by (ticker, field)."""

    days: Days
    columns: tuple[tuple[str, str], ...]
    values: Values
    """Shape (days, columns)."""


def block(series: Mapping[str, Series], fields: Sequence[str], start: np.datetime64 | None, end: np.datetime64 | None) -> Block:
    """Tickers side by side over the days between `start` and `end`, inclusive, on which any of them is known."""
    columns = tuple((ticker, field) for ticker in series for field in fields)
    calendars = {id(s.days): s.days for s in series.values()}
    days = _between(next(iter(calendars.values())), start, end) if len(calendars) == 1 else _union(calendars.values(), start, end)
    values = np.full((len(days), len(columns)), np.nan)
    places: dict[int, tuple[slice, Any]] = {}
    for number, (ticker, field) in enumerate(columns):
        one = series[ticker]
        if field not in one.fields or not len(days):
            continue
        if id(one.days) not in places:
            part = _range(one.days, start, end)
            places[id(one.days)] = (part, np.searchsorted(days, one.days[part]))
        part, rows = places[id(one.days)]
        values[rows, number] = one.fields[field][part]
    known = np.isfinite(values).any(axis=1)
    return Block(days, columns, values) if bool(known.all()) else Block(days[known], columns, values[known])


def coarser(given: Block, frequency: Frequency) -> Block:
    """Weeks (Monday to Sunday) or months of a block, dated by their last day in it; each field by its own rule."""
    if frequency == "daily" or not len(given.days):
        return given
    if frequency == "weekly":
        periods = (given.days - _MONDAY).astype(np.int64) // 7
    else:
        periods = given.days.astype("datetime64[M]").astype(np.int64)
    starts = np.flatnonzero(np.concatenate(([True], periods[1:] != periods[:-1])))
    ends = np.concatenate((starts[1:], [len(periods)])) - 1
    values = np.empty((len(starts), len(given.columns)))
    for number, (_, field) in enumerate(given.columns):
        values[:, number] = _aggregated(given.values[:, number], starts, ends, aggregation_of(field))
    return Block(given.days[ends], given.columns, values)


def _aggregated(column: Values, starts: NDArray[np.int64], ends: NDArray[np.int64], how: Aggregation) -> Values:
    known = np.isfinite(column)
    if how in ("max", "min"):
        return np.asarray((np.fmax if how == "max" else np.fmin).reduceat(column, starts), np.float64)
    if how in ("sum", "product"):
        neutral, reduce = (0.0, np.add) if how == "sum" else (1.0, np.multiply)
        whole = reduce.reduceat(np.where(known, column, neutral), starts)
        return np.asarray(np.where(np.logical_or.reduceat(known, starts), whole, np.nan), np.float64)
    rows = np.arange(len(column))
    if how == "last":
        at = np.maximum.accumulate(np.where(known, rows, -1))[ends]
        inside = at >= starts
    else:
        at = np.minimum.accumulate(np.where(known, rows, len(rows))[::-1])[::-1][starts]
        inside = at <= ends
    return np.where(inside, column[np.where(inside, at, 0)], np.nan)


def _range(days: Days, start: np.datetime64 | None, end: np.datetime64 | None) -> slice:
    first = 0 if start is None else int(np.searchsorted(days, start, "left"))
    last = len(days) if end is None else int(np.searchsorted(days, end, "right"))
    return slice(first, max(first, last))


def _between(days: Days, start: np.datetime64 | None, end: np.datetime64 | None) -> Days:
    return days[_range(days, start, end)]


def _union(calendars: Iterable[Days], start: np.datetime64 | None, end: np.datetime64 | None) -> Days:
    parts = [_between(days, start, end) for days in calendars]
    return np.unique(np.concatenate(parts)) if parts else np.empty(0, "datetime64[D]")
