"""Delivered states: whether the strategy is in the market, by date."""

import re

import numpy as np
import pandas as pd
from numpy.typing import NDArray

OUT = re.compile(r"off|out|cash|cut|stop|halt|bear|defens|flat|exit", re.IGNORECASE)
IN = re.compile(
    r"on\b|_on|invest|regime|in_market|risk_on|long|bull|active|gate|timing|signal|above|exposure|scale|leverage", re.IGNORECASE
)


def exposure_by_date(states: pd.DataFrame | None, dates: pd.DatetimeIndex, row_sums: NDArray[np.float64]) -> NDArray[np.float64] | None:
    """What targets must be multiplied with on their dates, None where the states say nothing or are in the targets already.

    A boolean state counts by its name (`invested`, `risk_off` …), a number between 0 and 1 only if its name says exposure. Several are
    multiplied. A state that the rows' sums follow already is never applied again.
    """
    if states is None or states.empty:
        return None
    total = np.ones(len(dates))
    for name, rows in states.groupby("name", sort=False):
        values = _fractions(str(name), rows["value"])
        if values is None:
            continue
        series = pd.Series(values, index=pd.DatetimeIndex(rows["date"])).groupby(level=0).last().sort_index()
        on = series.reindex(dates, method="ffill").fillna(1.0).to_numpy(dtype=float)
        off = on < 0.99
        if off.any() and not np.mean(np.abs(row_sums[off] - on[off]) <= 0.02) >= 0.95:
            total = total * on
    return total if (total < 0.999).any() else None


def state_series(states: pd.DataFrame | None) -> dict[str, pd.Series]:
    """Exposure (1 in, 0 out) by date of each state that says whether the strategy is in the market."""
    found: dict[str, pd.Series] = {}
    if states is None or states.empty:
        return found
    for name, rows in states.groupby("name", sort=False):
        values = _fractions(str(name), rows["value"])
        if values is not None:
            found[str(name)] = pd.Series(values, index=pd.DatetimeIndex(rows["date"])).groupby(level=0).last().sort_index()
    return found


def _fractions(name: str, values: "pd.Series") -> NDArray[np.float64] | None:
    mapped = values.map({True: 1.0, False: 0.0, "True": 1.0, "False": 0.0}).astype(object)
    numbers = pd.to_numeric(mapped.where(mapped.notna(), values), errors="coerce").to_numpy(dtype=float)
    known = numbers[np.isfinite(numbers)]
    if not len(known) or known.min() < 0 or known.max() > 1:
        return None
    boolean = bool(np.isin(known, (0.0, 1.0)).all())
    if boolean and OUT.search(name):
        return np.asarray(1.0 - numbers)
    if IN.search(name) and (boolean or "expo" in name.lower() or "scale" in name.lower()):
        return numbers
    return None
