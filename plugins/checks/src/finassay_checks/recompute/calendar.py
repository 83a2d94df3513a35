"""Exchange sessions and the periods they lie in."""

from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

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
    log = trades[trades["fill_date"].notna() & trades["ticker"].notna()].sort_values("fill_date", kind="stable")
    if log.empty or log["shares"].isna().any():
        return ()
    change = log.pivot_table(index="fill_date", columns="ticker", values="shares", aggfunc="sum").fillna(0.0)
    held = change.cumsum().abs()
    flat = (held <= 1e-6 * np.maximum(change.abs().max(), 1e-9)).all(axis=1).to_numpy()
    days = pd.DatetimeIndex(change.index)
    return tuple((days[int(k)], days[int(k) + 1]) for k in np.flatnonzero(flat[:-1]))


def schedule_share(
    dates: pd.DatetimeIndex,
    fills: NDArray[np.int64],
    frequency: Frequency,
    spells: tuple[tuple[pd.Timestamp, pd.Timestamp], ...] = (),
) -> float:
    """Share of fills whose period has exactly one date (spec D.0.4, `schedule`). Periods that end in one of the `spells` without holdings
    are not missed ones.

    `dates` are distinct and sorted, `fills` the number of fills on each. 0 if consecutive periods are not one apart in the median, or with
    fewer than two dates.
    """
    if len(dates) < 2:
        return 0.0
    numbers = period_numbers(dates, frequency)
    periods, inverse, counts = np.unique(numbers, return_inverse=True, return_counts=True)
    if len(periods) < 2:
        return 0.0
    apart = np.diff(periods).astype(float)
    for begin, end in spells:
        first, last = period_numbers(pd.DatetimeIndex([begin, end]), frequency)
        idle = np.minimum(periods[1:] - 1, last - 1) - np.maximum(periods[:-1] + 1, first) + 1
        apart -= np.maximum(idle, 0)
    if float(np.median(apart)) != 1.0:
        return 0.0
    return float(fills[counts[inverse] == 1].sum() / fills.sum())
