"""Our own performance metrics, from the conventions' section 1.

All take simple returns per period, in order, anchored at the starting capital *before* the first return, as a float array of shape (n,).
Values are fractions; a drawdown is negative. A figure that does not exist (no return, no spread, wealth at or below zero) is NaN.
"""

import numpy as np
import pandas as pd
from attrs import frozen
from numpy.typing import NDArray

Floats = NDArray[np.float64]

MIN_RETURNS = 60
"""Below this many returns annual figures and Sharpe are noise and are not compared (spec D.0.4)."""


@frozen(eq=False)
class Path:
    """A wealth path on its own clock."""

    returns: Floats
    dates: pd.DatetimeIndex
    """Date of each return; shape (n,)."""
    start: pd.Timestamp
    """Date of the starting capital."""
    periods: float
    """Periods a year of this series (252, 365, 52, 12, 4, 1)."""

    @property
    def years(self) -> float:
        """Length by the calendar, in years of 365.25 days."""
        return float((self.dates[-1] - self.start).days) / 365.25 if len(self.dates) else 0.0


def path_of(equity: pd.Series) -> Path:
    """The path of a wealth series whose first entry is the starting capital. Empty and non-finite entries are dropped."""
    clean = equity[np.isfinite(equity.to_numpy(dtype=float))]
    values = clean.to_numpy(dtype=float)
    index = pd.DatetimeIndex(clean.index)
    with np.errstate(all="ignore"):
        returns = values[1:] / values[:-1] - 1.0 if len(values) > 1 else np.empty(0)
    start = index[0] if len(index) else pd.Timestamp(0)
    return Path(returns, index[1:], start, periods_per_year(index))


def periods_per_year(dates: pd.DatetimeIndex) -> float:
    """252 for weekdays, 365 where Saturdays and Sundays have rows, 52, 12, 4 or 1 by the median spacing."""
    if len(dates) < 2:
        return 252.0
    spacing = float(np.median(np.diff(dates.to_numpy().astype("datetime64[D]").astype(np.int64))))
    if spacing <= 4:
        weekend = float(np.mean(dates.day_of_week >= 5))
        return 365.0 if weekend > 0.1 else 252.0
    for limit, periods in ((10, 52.0), (45, 12.0), (135, 4.0)):
        if spacing <= limit:
            return periods
    return 1.0


def wealth(returns: Floats) -> Floats:
    """Compounded wealth with the starting capital 1.0 in front; shape (n + 1,)."""
    return np.concatenate(([1.0], np.cumprod(1.0 + returns)))


def total_return(returns: Floats) -> float:
    """End over start, minus one."""
    return float(wealth(returns)[-1] - 1.0) if len(returns) else float("nan")


def annual_return(returns: Floats, periods: float) -> float:
    """Geometric: (1 + total)^(P/n) - 1."""
    growth = 1.0 + total_return(returns)
    if not len(returns) or not growth > 0:
        return float("nan")
    logged = np.log(growth) * periods / len(returns)
    return float(growth ** (periods / len(returns)) - 1.0) if logged < 700 else float("inf")  # a float ends at e^709


def volatility(returns: Floats, periods: float, ddof: int = 1) -> float:
    """Standard deviation times sqrt(P)."""
    return float(np.std(returns, ddof=ddof) * np.sqrt(periods)) if len(returns) > ddof else float("nan")


def sharpe(returns: Floats, periods: float, ddof: int = 1) -> float:
    """Arithmetic mean over standard deviation times sqrt(P); risk-free rate 0."""
    if len(returns) <= ddof:
        return float("nan")
    return ratio(float(np.mean(returns)) * np.sqrt(periods), float(np.std(returns, ddof=ddof)))


def downside(returns: Floats, periods: float) -> float:
    """Root mean square of min(r, 0) over all rows, times sqrt(P)."""
    return float(np.sqrt(np.mean(np.minimum(returns, 0.0) ** 2)) * np.sqrt(periods)) if len(returns) else float("nan")


def sortino(returns: Floats, periods: float) -> float:
    """Arithmetic annual mean over annual downside."""
    return ratio(float(np.mean(returns)) * periods, downside(returns, periods)) if len(returns) else float("nan")


def drawdowns(returns: Floats) -> Floats:
    """Wealth over its running peak minus one, the starting capital included; shape (n + 1,)."""
    path = wealth(returns)
    return path / np.maximum.accumulate(path) - 1.0


def max_drawdown(returns: Floats) -> float:
    """The deepest drawdown, 0 or negative."""
    return float(drawdowns(returns).min()) if len(returns) else float("nan")


def beta(returns: Floats, benchmark: Floats) -> float:
    """Covariance with the benchmark over its variance; both of shape (n,), same dates."""
    if len(returns) < 2:
        return float("nan")
    spread = benchmark - benchmark.mean()
    return ratio(float(np.sum(spread * (returns - returns.mean()))), float(np.sum(spread**2)))


def ratio(numerator: float, denominator: float) -> float:
    """NaN where the denominator is zero but for rounding, never infinity."""
    return float(numerator / denominator) if np.isfinite(denominator) and abs(denominator) > 1e-12 else float("nan")
