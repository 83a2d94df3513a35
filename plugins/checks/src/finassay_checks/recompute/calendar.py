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


def schedule_share(dates: pd.DatetimeIndex, fills: NDArray[np.int64], frequency: Frequency) -> float:
    """Share of fills whose period has exactly one date (spec D.0.4, `schedule`).

    `dates` are distinct and sorted, `fills` the number of fills on each. 0 if consecutive periods are not one apart in the median, or with
    fewer than two dates.
    """
    if len(dates) < 2:
        return 0.0
    numbers = period_numbers(dates, frequency)
    periods, inverse, counts = np.unique(numbers, return_inverse=True, return_counts=True)
    if len(periods) < 2 or float(np.median(np.diff(periods))) != 1.0:
        return 0.0
    return float(fills[counts[inverse] == 1].sum() / fills.sum())
