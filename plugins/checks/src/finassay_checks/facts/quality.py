"""`dq` (spec D.0.4): missing cells, missing sessions, duplicates, stale closes and outliers of a price table."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from attrs import Factory, frozen

from finassay_checks.sessions import sessions_between
from finassay_checks.shared import day_codes, factorized

LIMITS: Mapping[str, float] = {"m": 0.01, "g": 0.01, "u": 0.0, "s": 0.005, "o": 0.001}
NAMES: Mapping[str, str] = {
    "m": "empty cells",
    "g": "sessions without a row",
    "u": "duplicate rows",
    "s": "stale closes",
    "o": "unexplained jumps",
}
STALE_RUN = 5
JUMP, SPIKE = 0.5, 0.25
MAX_LISTED = 40
Array = np.ndarray[Any, Any]


@frozen
class Quality:
    """Counts and shares pooled over a table's cells. `shares` has the keys m, g, u, s, o; u is a count."""

    cells: int
    tickers: int
    counts: Mapping[str, int]
    shares: Mapping[str, float]
    worst: Mapping[str, tuple[str, float]] = Factory(dict)
    """The ticker with most of each, and its own share."""
    listed: Mapping[str, tuple[str, ...]] = Factory(dict)
    """`date ticker` of what was counted, cut to the first forty of each."""
    notes: tuple[str, ...] = ()

    @property
    def kept(self) -> tuple[str, ...]:
        """The limits that the table keeps."""
        return tuple(name for name, limit in LIMITS.items() if self.shares[name] <= limit)


@frozen(eq=False)
class _Panel:
    """Closes as dates × tickers over the union of dates, the first of duplicate rows; `present` marks cells that have a row."""

    dates: pd.DatetimeIndex
    tickers: Array
    close: Array
    present: Array
    extra: Mapping[str, Array]
    repeats: bool
    """Whether a cell has several rows."""


def _panel(frame: pd.DataFrame) -> _Panel:
    date_codes, dates = day_codes(frame, "date")
    ticker_codes, tickers = factorized(frame["ticker"])
    shape = (len(dates), len(tickers))
    present = np.zeros(shape, dtype=bool)
    present[date_codes, ticker_codes] = True
    repeats = int(present.sum()) < len(frame)
    order = slice(None, None, -1) if repeats else slice(None)

    def field(name: str) -> Array:
        values = np.full(shape, np.nan)
        values[date_codes[order], ticker_codes[order]] = frame[name].to_numpy(float)[order]
        return values

    extra = {name: field(name) for name in ("open", "high", "low", "adj_close", "volume") if frame[name].notna().any()}
    return _Panel(pd.DatetimeIndex(dates), np.asarray(tickers, dtype=object), field("close"), present, extra, repeats)


def quality_of(frame: pd.DataFrame, exchange: str) -> Quality:
    """`dq` of a canonical price frame (date, ticker, …, close). An empty frame has no cells and shares of zero."""
    panel = _panel(frame)
    first, last = _spans(panel)
    inside = (np.arange(len(panel.dates))[:, None] >= first) & (np.arange(len(panel.dates))[:, None] <= last)
    cells = int((inside & panel.present).sum())
    notes: list[str] = []
    empty = inside & panel.present & np.isnan(panel.close)
    gaps, expected = _gaps(panel, first, last, exchange, notes)
    stale = _stale(panel)
    jumps = _jumps(panel)
    duplicated = frame.duplicated(["date", "ticker"]) if panel.repeats else pd.Series(False, index=frame.index)
    marks = {"m": empty, "s": stale, "o": jumps}
    counts = {name: int(mark.sum()) for name, mark in marks.items()} | {"g": int(gaps.sum()), "u": int(duplicated.sum())}
    shares = {name: counts[name] / cells if cells else 0.0 for name in ("m", "s", "o")}
    shares |= {"g": counts["g"] / expected if expected else 0.0, "u": float(counts["u"])}
    listed = {name: _listed(panel, mark) for name, mark in marks.items()}
    listed["u"] = tuple(f"{d.date()} {t}" for d, t in frame.loc[duplicated, ["date", "ticker"]].head(MAX_LISTED).itertuples(index=False))
    per_ticker = {name: mark.sum(axis=0) / np.maximum(inside.sum(axis=0), 1) for name, mark in marks.items()} | {
        "g": gaps / np.maximum(inside.sum(axis=0) + gaps, 1)
    }
    worst = {name: (str(panel.tickers[int(np.argmax(v))]), float(v.max())) for name, v in per_ticker.items() if len(v) and v.max() > 0}
    return Quality(cells, len(panel.tickers), counts, shares, worst, listed, tuple(notes))


def _spans(panel: _Panel) -> tuple[Array, Array]:
    """Index of each ticker's first and last date with a close; an empty span for a ticker without any."""
    known = ~np.isnan(panel.close)
    count = len(panel.dates)
    any_known = known.any(axis=0)
    first = np.where(any_known, known.argmax(axis=0), count)
    last = np.where(any_known, count - 1 - known[::-1].argmax(axis=0), -1)
    return first, last


def _gaps(panel: _Panel, first: Array, last: Array, exchange: str, notes: list[str]) -> tuple[Array, int]:
    """Sessions without a row in each ticker's span, and the number of sessions in all spans."""
    gaps = np.zeros(len(panel.tickers), dtype=int)
    spanned = last >= first
    if not spanned.any():
        return gaps, 0
    sessions = sessions_between(exchange, panel.dates[int(first[spanned].min())], panel.dates[int(last.max())])
    absent = ~sessions.isin(panel.dates)
    lonely = absent & ~np.roll(absent, 1) & ~np.roll(absent, -1)
    if absent.any() and (absent == lonely).all() and absent.sum() <= max(2, 0.001 * len(sessions)) and len(panel.tickers) > 1:
        notes.append(f"no ticker has a row on {', '.join(str(d.date()) for d in sessions[absent][:5])}: the calendar may be wrong")
        sessions = sessions[~absent]
    extra = panel.dates[~panel.dates.isin(sessions_between(exchange, panel.dates[0], panel.dates[-1]))]
    if len(extra):
        notes.append(f"{len(extra)} dates are no sessions of {exchange}, the first {extra[0].date()}")
    place = np.searchsorted(panel.dates.to_numpy(), sessions.to_numpy())
    has_row = np.zeros((len(sessions), len(panel.tickers)), dtype=bool)
    matched = (place < len(panel.dates)) & (panel.dates.to_numpy()[np.minimum(place, len(panel.dates) - 1)] == sessions.to_numpy())
    has_row[matched] = panel.present[place[matched]]
    starts = np.where(spanned, first, 0)
    ends = np.where(spanned, last, 0)
    within = (
        (sessions.to_numpy()[:, None] >= panel.dates.to_numpy()[starts])
        & (sessions.to_numpy()[:, None] <= panel.dates.to_numpy()[ends])
        & spanned
    )
    return (within & ~has_row).sum(axis=0), int(within.sum())


def _stale(panel: _Panel) -> Array:
    """Repeats after the first close in runs of at least five equal closes."""
    marks = np.zeros_like(panel.present)
    whole, same = ~np.isnan(panel.close).any(axis=0), panel.close[1:] == panel.close[:-1]
    run = same[3:] & same[2:-1] & same[1:-2] & same[:-3]  # of a column without gaps, each run of five has four repeats in a row
    for column in np.flatnonzero(~whole | run.any(axis=0)):
        rows = np.flatnonzero(~np.isnan(panel.close[:, column]))
        values = panel.close[rows, column]
        if len(values) < STALE_RUN:
            continue
        starts = np.flatnonzero(np.concatenate([[True], values[1:] != values[:-1]]))
        lengths = np.diff(np.concatenate([starts, [len(values)]]))
        for start, length in zip(starts[lengths >= STALE_RUN], lengths[lengths >= STALE_RUN], strict=True):
            marks[rows[start + 1 : start + length], column] = True
    return marks


def _jumps(panel: _Panel) -> Array:
    """One-day moves beyond 50 % that no split, volume, open, high or low explains, spikes that return the next day, and closes
    that no share can have."""
    marks = panel.close <= 0
    with np.errstate(all="ignore"):
        moved = np.abs(panel.close[1:] / panel.close[:-1] - 1) > SPIKE
    whole = (panel.close > 0).all(axis=0)
    for column in map(int, np.flatnonzero(~whole | moved.any(axis=0))):
        rows = np.flatnonzero(~np.isnan(panel.close[:, column]) & (panel.close[:, column] > 0))
        values = panel.close[rows, column]
        if len(values) < 3:
            continue
        moves = values[1:] / values[:-1] - 1
        for step in map(int, np.flatnonzero(np.abs(moves) > SPIKE)):
            day = step + 1
            back = day + 1 < len(values) and abs(values[day + 1] / values[day - 1] - 1) < 0.05
            if back or (abs(moves[step]) > JUMP and not _explained(panel, rows, day, column, moves[step])):
                marks[rows[day], column] = True
    return marks


def _explained(panel: _Panel, rows: Array, day: int, column: int, move: float) -> bool:
    now, before = rows[day], rows[day - 1]
    adjusted = panel.extra.get("adj_close")
    if adjusted is not None and not np.array_equal(adjusted[:, column], panel.close[:, column], equal_nan=True):
        moved = adjusted[now, column] / adjusted[before, column] - 1
        if np.isfinite(moved) and abs(moved) < 0.2:
            return True
    volume = panel.extra.get("volume")
    if volume is not None:
        recent = volume[rows[max(day - 21, 0) : day], column]
        if np.isfinite(recent).any() and volume[now, column] > 2 * np.nanmedian(recent) > 0:
            return True
    opened = panel.extra.get("open")
    if opened is not None and np.isfinite(opened[now, column]):
        gap = opened[now, column] / panel.close[before, column] - 1
        return bool(np.sign(gap) == np.sign(move) and abs(gap) > 0.5 * abs(move))
    return False


def _listed(panel: _Panel, mark: Array) -> tuple[str, ...]:
    rows, columns = np.nonzero(mark)
    return tuple(f"{panel.dates[r].date()} {panel.tickers[c]}" for r, c in zip(rows[:MAX_LISTED], columns[:MAX_LISTED], strict=True))
