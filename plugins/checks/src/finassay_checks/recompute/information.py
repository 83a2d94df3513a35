"""The information date of a delivered score: the last price that it needs, found by computing it again.

A score is compared date by date by its correlation across tickers, so that signs, scales and z-scores do not matter.
"""

from collections.abc import Iterator
from itertools import tee

import numpy as np
import pandas as pd
from attrs import frozen
from numpy.typing import NDArray

from finassay_checks.recompute.panel import Floats, Ints, Panel, carried, panel_of

LOOKBACKS = (
    252, 126, 21, 63, 5, 1, 2, 3, 10, 20, 30, 40, 42, 50, 60, 84, 90, 100, 105, 120, 125, 147, 150, 168, 180, 189, 200, 210, 231, 250, 251, 260, 273
)  # fmt: skip
WINDOWS = (10, 20, 21, 30, 40, 42, 60, 63, 90, 100, 120, 126, 150, 180, 200, 250, 252)
ENDS = (0, -21, -1, 1, 2, -2, -3, -5, -10, -20, -22, -42)
"""Sessions from the row's date to the last price used; positive looks ahead."""
AHEAD_ENDS = (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 15, 20, 21, 22, 42, 63)
FEW_AGREE = 0.75
"""Share of a third of the sampled dates that a formula must reproduce before all of them are looked at."""
AHEAD_WINDOWS = (20, 21, 60, 63, 126, 252)
"""Searched only for scores that no usual formula up to the date reproduces."""
SAMPLE, NAMES = 24, 40
"""Dates and tickers that are sampled, evenly."""
AGREE = 0.95
MIN_ROWS = 50
"""Sampled values that must be comparable (spec D.0.6, 3.1 information date)."""


@frozen(eq=False)
class Information:
    """Where a score's last price lies: `ends` sessions after the row's session (0 or negative is the past), for each row date."""

    name: str
    formula: str
    dates: pd.DatetimeIndex
    last_price: pd.DatetimeIndex
    """Session of the last price used, one a date."""
    share: float
    rows: int
    """Sampled values that were compared."""


def information_of(signals: pd.DataFrame, panel: Panel) -> tuple[Information, ...]:
    """For each named score of a canonical `signals` frame that usual price formulas reproduce: its information dates. The rest are left
    out."""
    found = []
    names = signals["name"].astype("object").where(signals["name"].notna(), "")
    known: _Known = {}
    for name, rows in signals.groupby(names, sort=False):
        one = _information(str(name), rows, panel, known)
        if one is not None:
            found.append(one)
    return tuple(found[:20])


def information_of_log(signals: pd.DataFrame, fills: pd.DataFrame) -> tuple[Information, ...]:
    """The same where no prices were delivered: month-end returns between the log's own fill prices, value by value."""
    prices = fills.rename(columns={"price": "close"})[["date", "ticker", "close"]].assign(adj_close=np.nan)
    panel = panel_of(prices)
    found = []
    if panel is not None:
        for name, rows in signals.groupby(signals["name"].astype("object").where(signals["name"].notna(), ""), sort=False):
            one = _by_months(str(name), rows, panel)
            if one is not None:
                found.append(one)
    return tuple(found[:20])


def _by_months(name: str, signals: pd.DataFrame, panel: Panel) -> Information | None:
    rows = signals[signals["score"].notna() & signals["date"].notna() & signals["ticker"].notna()]
    if len(rows) < MIN_ROWS:
        return None
    score, days = rows["score"].to_numpy(dtype=float), pd.DatetimeIndex(rows["date"])
    sessions = np.asarray(panel.dates.searchsorted(days, side="right"), dtype=np.int64) - 1
    columns = panel.ticker_codes(rows["ticker"])
    for last in (0, 1):
        ends = _month_rows(panel.dates, sessions, last)
        for first in (3, 6, 7, 9, 12, 13):
            begins = _month_rows(panel.dates, sessions, first)
            with np.errstate(all="ignore"):
                own = panel.at(panel.close, ends, columns) / panel.at(panel.close, begins, columns) - 1.0
            known = np.isfinite(own)
            if known.sum() >= MIN_ROWS and float(np.mean(np.abs(own - score)[known] <= 1e-4 + 1e-3 * np.abs(score[known]))) >= AGREE:
                dates = pd.DatetimeIndex(np.unique(days))
                used = pd.DatetimeIndex((dates.to_period("M") - last).to_timestamp(how="end").normalize())
                return Information(name, f"return from month-end m-{first} to m-{last}", dates, used, 1.0, int(known.sum()))
    return None


_Known = dict[tuple[tuple[bytes, bytes], bool], Iterator[tuple[str, "int | str", Floats]]]
"""Candidates by tickers and sampled sessions, and whether they reach ahead: several scores of one table are compared with the same ones."""


def _information(name: str, signals: pd.DataFrame, panel: Panel, tried: _Known) -> Information | None:
    values = signals["score"].to_numpy(dtype=float)
    usable = np.isfinite(values) & signals["date"].notna().to_numpy() & signals["ticker"].notna().to_numpy()
    if usable.sum() < MIN_ROWS:
        return None
    signals, values = signals[usable], values[usable]
    codes, dates = pd.factorize(signals["date"], sort=True)
    columns = panel.ticker_codes(signals["ticker"])
    days = pd.DatetimeIndex(dates)
    sessions = np.asarray(panel.dates.searchsorted(days, side="right"), dtype=np.int64) - 1
    score = np.full((len(days), len(panel.tickers)), np.nan)
    known = columns >= 0
    score[codes[known], columns[known]] = values[known]
    enough = np.flatnonzero((np.isfinite(score).sum(axis=1) >= 3) & (sessions >= 0))
    if not len(enough):
        return None
    picked = enough[np.unique(np.linspace(0, len(enough) - 1, SAMPLE).astype(int))]
    names = np.flatnonzero(np.isfinite(score[picked]).any(axis=0))
    names = names[np.unique(np.linspace(0, len(names) - 1, NAMES).astype(int))]
    closes, score = carried(panel.close[:, names]), score[:, names]
    key = (names.tobytes(), sessions[picked].tobytes())
    candidates, tried[key, False] = tee(tried.get((key, False)) or _candidates(closes, panel.dates, sessions[picked]))
    best = _best(score[picked], candidates)
    if best is None:
        few = picked[::3]
        ahead, tried[key, True] = tee(tried.get((key, True)) or _reaching(closes, sessions[few]))
        made = [(f, e) for f, e, c in ahead if agreement(score[few], c)[0] >= FEW_AGREE]
        if made:
            best = _best(score[picked], ((f, e, c) for f, e, c in _reaching(closes, sessions[picked]) if (f, e) in made))
    if best is None:
        return None
    share, rows, formula, end = best
    last = _month_rows(panel.dates, sessions, 1) if isinstance(end, str) else np.clip(sessions + end, 0, len(panel.dates) - 1)
    return Information(name, formula, days, panel.dates[last], share, rows)


def _best(score: Floats, candidates: "Iterator[tuple[str, int | str, Floats]]") -> "tuple[float, int, str, int | str] | None":
    """Share of dates, values compared, formula and end of the candidate that reproduces the most dates; None below `AGREE`."""
    best: tuple[float, int, str, int | str] | None = None
    enough = min(MIN_ROWS, int(np.isfinite(score).sum() * 0.5))
    for formula, end, candidate in candidates:
        share, rows = agreement(score, candidate)
        if share >= AGREE and rows >= enough and (best is None or share > best[0] + 1e-12):
            best = (share, rows, formula, end)
        if best is not None and best[0] >= 0.999:
            break
    return best


def agreement(score: Floats, candidate: Floats) -> tuple[float, int]:
    """Share of dates on which two cross-sections are the same line, and the values compared."""
    alike, enough = alike_dates(score, candidate)
    if not enough.any():
        return 0.0, 0
    compared = int((np.isfinite(score) & np.isfinite(candidate))[enough].sum())
    return float(alike[enough].mean()) if enough.mean() > 0.5 else 0.0, compared


def alike_dates(score: Floats, candidate: Floats) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """For each date whether two cross-sections are the same line, and whether they share the three values that telling it takes."""
    both = np.isfinite(score) & np.isfinite(candidate)
    enough = both.sum(axis=1) >= 3
    alike = np.zeros(len(score), dtype=bool)
    if not enough.any():
        return alike, enough
    both = both[enough]
    x, y = _centred(score[enough], both), _centred(candidate[enough], both)
    with np.errstate(all="ignore"):
        related = np.abs((x * y).sum(axis=1)) / np.sqrt((x * x).sum(axis=1) * (y * y).sum(axis=1))
    alike[enough] = related > ALIKE
    return alike, enough


def _centred(values: Floats, known: NDArray[np.bool_]) -> Floats:
    """Values less the mean of those known in their row; 0 where unknown."""
    kept = np.where(known, values, 0.0)
    return np.where(known, kept - kept.sum(axis=1, keepdims=True) / known.sum(axis=1, keepdims=True), 0.0)


ALIKE = 1.0 - 2e-6
"""Scores printed to four decimals still correlate this well with the exact ones."""


def _at(closes: Floats, rows: Ints) -> Floats:
    outside = (rows < 0) | (rows >= len(closes))
    if not outside.any():
        return closes[rows]
    out = closes[np.where(outside, 0, rows)]
    out[outside] = np.nan
    return out


def _candidates(closes: Floats, dates: pd.DatetimeIndex, rows: Ints) -> Iterator[tuple[str, "int | str", Floats]]:
    """Usual scores at the given rows, by formula and end: returns between two sessions, month-end returns, nearness to a high, volatility,
    distance from an average."""
    with np.errstate(all="ignore"):
        for end in ENDS:
            last = _at(closes, rows + end)
            for back in LOOKBACKS:
                if back > -end:
                    yield f"return from t-{back} to t{end:+d}", end, last / _at(closes, rows - back) - 1.0
                if end in (1, 0, -1) and back > 1:
                    yield f"return over {back} sessions to t{end:+d}", end, last / _at(closes, rows + end - back) - 1.0
        for first in (3, 6, 7, 9, 12, 13):
            ends = _at(closes, _month_rows(dates, rows, 1))
            yield f"return from month-end m-{first} to m-1", "m-1", ends / _at(closes, _month_rows(dates, rows, first)) - 1.0
        for end in (1, 0, -1):
            longest = np.stack([_at(closes, rows + end - k) for k in range(WINDOWS[-1] + 1)])
            for window in WINDOWS:
                stack = longest[: window + 1]
                yield f"close over the high of {window} sessions to t{end:+d}", end, stack[0] / np.max(stack[:window], axis=0)
                steps = stack[:-1] / stack[1:] - 1.0
                yield f"volatility of {window} sessions to t{end:+d}", end, np.std(steps, axis=0)
                yield f"close over the average of {window} sessions to t{end:+d}", end, stack[0] / np.mean(stack[:window], axis=0)


def _reaching(closes: Floats, rows: Ints) -> Iterator[tuple[str, "int | str", Floats]]:
    """Usual scores as a ranking that is dated too early has them: their last price lies after the row's session."""
    with np.errstate(all="ignore"):
        for end in AHEAD_ENDS:
            last = _at(closes, rows + end)
            for back in LOOKBACKS:
                yield f"return over {back} sessions to t{end:+d}", end, last / _at(closes, rows + end - back) - 1.0
                yield f"return from t-{back} to t{end:+d}", end, last / _at(closes, rows - back) - 1.0
            longest = np.stack([_at(closes, rows + end - k) for k in range(max(AHEAD_WINDOWS) + 1)])
            for window in AHEAD_WINDOWS:
                stack = longest[: window + 1]
                yield f"close over the high of {window} sessions to t{end:+d}", end, stack[0] / np.max(stack[:window], axis=0)
                yield f"volatility of {window} sessions to t{end:+d}", end, np.std(stack[:-1] / stack[1:] - 1.0, axis=0)
                yield f"close over the average of {window} sessions to t{end:+d}", end, stack[0] / np.mean(stack[:window], axis=0)


def _month_rows(dates: pd.DatetimeIndex, rows: Ints, back: int) -> NDArray[np.int64]:
    """Row of the last session of the month `back` months before each row's month; -1 before the data."""
    months = np.asarray(dates.year, dtype=np.int64) * 12 + np.asarray(dates.month, dtype=np.int64)
    return np.asarray(np.searchsorted(months, months[np.clip(rows, 0, None)] - back, side="right"), dtype=np.int64) - 1
