"""Exchange sessions and the periods they lie in."""

from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from finassay_checks.shared import day_codes, factorized

Frequency = Literal["weekly", "monthly", "quarterly"]
FREQUENCIES: tuple[Frequency, ...] = ("weekly", "monthly", "quarterly")


def period_numbers(dates: pd.DatetimeIndex, frequency: Frequency) -> NDArray[np.int64]:
    """A running number of each date's ISO week, calendar month or quarter; consecutive periods differ by one."""
    if frequency == "weekly":
        days = dates.to_numpy().astype("datetime64[D]").astype(np.int64)
        return (days + 3) // 7  # 1970-01-01 was a Thursday: weeks start on Monday
    months = np.asarray(dates.year, dtype=np.int64) * 12 + np.asarray(dates.month, dtype=np.int64) - 1
    return months if frequency == "monthly" else months // 3


def session_number(sessions: pd.DatetimeIndex, dates: pd.DatetimeIndex) -> NDArray[np.int64]:
    """Position of each date among the sessions; a date that is none counts as the session before it. Missing dates give -1."""
    numbers = np.searchsorted(sessions.to_numpy(), dates.to_numpy(), side="right").astype(np.int64) - 1
    numbers[np.asarray(dates.isna())] = -1
    return numbers


def flat_spells(trades: pd.DataFrame) -> tuple[tuple[pd.Timestamp, pd.Timestamp], ...]:
    """Spans between a fill after which nothing is held and the next fill; `trades` has fill_date, ticker and signed shares."""
    columns, names = factorized(trades["ticker"])
    rows, days = day_codes(trades, "fill_date")
    shares, known = trades["shares"].to_numpy(dtype=float), (rows >= 0) & (columns >= 0)
    if not known.all():
        rows, columns, shares = rows[known], columns[known], shares[known]
    if not len(rows) or np.isnan(shares).any():
        return ()
    change = np.bincount(rows * len(names) + columns, shares, len(days) * len(names)).reshape(len(days), len(names))
    filled = np.bincount(rows, minlength=len(days)) > 0
    change, days = change[filled], days[filled]
    held = np.abs(np.cumsum(change, axis=0))
    flat = (held <= 1e-6 * np.maximum(np.abs(change).max(axis=0), 1e-9)).all(axis=1)
    return tuple((days[int(k)], days[int(k) + 1]) for k in np.flatnonzero(flat[:-1]))


def empty_spells(weights: pd.DataFrame | None) -> tuple[tuple[pd.Timestamp, pd.Timestamp], ...]:
    """Spans of sessions at whose close nothing is held, from weights at the close (date × ticker): unlike shares in a log, they know splits."""
    if weights is None or weights.empty:
        return ()
    held = np.nan_to_num(weights.to_numpy(dtype=float))
    edges = np.diff(np.concatenate([[False], (np.abs(held) <= 1e-9).all(axis=1), [False]]).astype(np.int8))
    days = pd.DatetimeIndex(weights.index)
    return tuple(
        (days[int(begin)], days[int(end) - 1]) for begin, end in zip(np.flatnonzero(edges > 0), np.flatnonzero(edges < 0), strict=True)
    )


def unchanged_targets(targets: pd.DataFrame | None) -> tuple[tuple[pd.Timestamp, pd.Timestamp], ...]:
    """Dates on which a plan (date × ticker, NaN or 0 for none) was decided anew and stayed what it was, each as a span of one day."""
    if targets is None or len(targets) < 2:
        return ()
    plan = targets.sort_index().fillna(0.0)
    values = plan.to_numpy(dtype=float)
    same = np.flatnonzero((np.abs(np.diff(values, axis=0)) <= 1e-9).all(axis=1))
    return tuple((day, day) for day in pd.DatetimeIndex(plan.index)[same + 1])


def _days(periods: NDArray[np.int64], frequency: Frequency) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """First and last calendar day of periods, as days since 1970."""
    if frequency == "weekly":
        first = periods * 7 - 3
        return first, first + 6
    step = 1 if frequency == "monthly" else 3
    month = (periods * step - 1970 * 12).astype("timedelta64[M]") + np.datetime64("1970-01", "M")
    following = month + np.timedelta64(step, "M")
    return month.astype("datetime64[D]").astype(np.int64), following.astype("datetime64[D]").astype(np.int64) - 1


def _excused(periods: NDArray[np.int64], frequency: Frequency, spells: tuple[tuple[pd.Timestamp, pd.Timestamp], ...]) -> NDArray[np.bool_]:
    """Periods at whose start or end one of the spells lies, with the sessions that a holiday or the fill after a decision may move it by."""
    first, last = _days(periods, frequency)
    slack, after = (1, 4) if frequency == "weekly" else (4, 4)
    found = np.zeros(len(periods), dtype=bool)
    for span in spells:
        begin, end = (int(day.to_datetime64().astype("datetime64[D]").astype(np.int64)) for day in span)
        found |= (begin <= first + slack) & (end >= first)
        found |= (begin <= last + after) & (end >= last - slack)
    return found


def schedule_share(
    dates: pd.DatetimeIndex,
    fills: NDArray[np.int64],
    frequency: Frequency,
    spells: tuple[tuple[pd.Timestamp, pd.Timestamp], ...] = (),
) -> float:
    """Share of fills whose period has exactly one date (spec D.0.4, `schedule`). A period is not a missed one if one of the `spells`, without
    holdings or with a plan that stayed, lies at its start or end.

    `dates` are distinct and sorted, `fills` the number of fills on each. 0 if consecutive periods are not one apart in the median, or with
    fewer than two dates.
    """
    if len(dates) < 2:
        return 0.0
    numbers = period_numbers(dates, frequency)
    periods, inverse, counts = np.unique(numbers, return_inverse=True, return_counts=True)
    if len(periods) < 2:
        return 0.0
    missed = np.setdiff1d(np.arange(periods[0], periods[-1] + 1), periods)
    missed = missed[~_excused(missed, frequency, spells)]
    apart = 1.0 + np.diff(np.searchsorted(missed, periods)).astype(float)
    if float(np.median(apart)) != 1.0:
        return 0.0
    return float(fills[counts[inverse] == 1].sum() / fills.sum())
