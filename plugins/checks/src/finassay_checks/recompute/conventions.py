"""Another convention, or wrong? Named alternatives of a reported figure (conventions, sections 2 to 4)."""

from collections.abc import Callable, Iterator
from typing import Literal

import numpy as np
import pandas as pd
from attrs import frozen

from finassay_checks.recompute import metrics
from finassay_checks.recompute.metrics import Floats, Path

Kind = Literal["same", "convention", "fault"]
PREFIX = "fault: "
"""How a fault's name begins where a name stands alone."""


@frozen
class Alternative:
    """What a figure is under another reading. `same` is accepted without remark, `convention` by name, `fault` explains a wrong figure."""

    name: str
    value: float
    kind: Kind


@frozen(eq=False)
class Curve:
    """A wealth path with what its alternatives need."""

    equity: pd.Series
    """Money or index by date; the first entry is the starting capital."""
    path: Path
    anchored: bool = True
    """The first entry lies before the first return; False for an equity file that begins after it."""

    @classmethod
    def of(cls, equity: pd.Series) -> "Curve":
        return cls(equity, metrics.path_of(equity))

    def every(self, rule: str) -> Path:
        """The same wealth at the last value of each month (`M`), week (`W`) or year (`Y`), the starting capital in front."""
        clean = self.equity[np.isfinite(self.equity.to_numpy(dtype=float))]
        index = pd.DatetimeIndex(clean.index)
        last = clean.groupby(index.to_period(rule)).last()
        values = np.concatenate(([float(clean.iloc[0])], last.to_numpy(dtype=float)))
        if index.to_period(rule)[0] != index.to_period(rule)[min(1, len(index) - 1)]:
            values = values[1:]  # the starting capital is the last value of its own period
        with np.errstate(all="ignore"):
            returns = values[1:] / values[:-1] - 1.0
        ends = pd.DatetimeIndex(last.index.to_timestamp(how="end"))[-len(returns) :] if len(returns) else index[:0]
        return Path(returns, ends, index[0], {"M": 12.0, "W": 52.0, "Y": 1.0}[rule])


def closeness(value: float, precision: float) -> float:
    """How near a figure must lie to count as explained by a value: its printed precision, else half a percent."""
    return max(precision * 1.0001, 0.005 * abs(value), 2e-4)


def alternatives(metric: str, curve: Curve) -> Iterator[Alternative]:
    """Other readings of a figure that follows from the curve alone; those that do not exist for it are left out."""
    maker = _MAKERS.get(metric)
    if maker is not None and len(curve.path.returns):
        yield from (a for a in maker(curve) if np.isfinite(a.value))


def own_value(metric: str, path: Path) -> float:
    """Our own value of a figure that follows from the curve alone; NaN for another metric."""
    r, p = path.returns, path.periods
    values: dict[str, Callable[[], float]] = {
        "total_return": lambda: metrics.total_return(r),
        "annual_return": lambda: metrics.annual_return(r, p),
        "annual_vol": lambda: metrics.volatility(r, p),
        "sharpe": lambda: metrics.sharpe(r, p),
        "sortino": lambda: metrics.sortino(r, p),
        "max_drawdown": lambda: metrics.max_drawdown(r),
    }
    return values[metric]() if metric in values else float("nan")


def _annual(curve: Curve) -> Iterator[Alternative]:
    path = curve.path
    r, p, n = path.returns, path.periods, len(path.returns)
    growth = 1.0 + metrics.total_return(r)
    if growth <= 0:
        return
    later = 1.0 + metrics.total_return(r[1:]) if n > 1 else np.nan
    days = path.years * 365.25

    def power(exponent: float, base: float = growth) -> float:
        return float(base**exponent - 1.0) if exponent < 400 and base > 0 else float("nan")

    if days > 0:
        yield Alternative("calendar days / 365.25", power(365.25 / days), "same")
        yield Alternative("calendar days / 365", power(365 / days), "same")
        yield Alternative("calendar days / 365.25 from the first close", power(365.25 / days, later), "same")
    if n > 1:
        yield Alternative("n - 1 returns", power(p / (n - 1)), "same")
        yield Alternative("first return left out", power(p / (n - 1), later), "same")
    yield Alternative("arithmetic mean × periods a year", float(r.mean()) * p, "convention")
    if path.years > 0:
        yield Alternative("log return a year", float(np.log(growth)) / path.years, "convention")
    if p == 252:
        yield Alternative("365 periods a year on trading days", power(365 / n), "fault")
    if days > 0:
        yield Alternative("years counted as calendar days / 252", power(252 / days), "fault")
        yield Alternative("years counted as calendar days / 52", power(52 / days), "fault")
    for other in (252.0, 52.0, 12.0):
        if other != p:
            yield Alternative(f"{other:g} periods a year on data with {p:g}", power(other / n), "fault")


def _total(curve: Curve) -> Iterator[Alternative]:
    r = curve.path.returns
    growth = 1.0 + metrics.total_return(r)
    yield Alternative("end value for a start of one", growth, "same")
    yield Alternative("end value in money", float(curve.equity.iloc[-1]), "same")
    if growth > 0:
        yield Alternative("log return", float(np.log(growth)), "convention")
    yield Alternative("sum of returns, not compounded", float(r.sum()), "fault")
    if (r > -1).all():
        yield Alternative("log returns compounded as simple ones", float(np.prod(1.0 + np.log1p(r)) - 1.0), "fault")


def _volatility(curve: Curve) -> Iterator[Alternative]:
    r, p = curve.path.returns, curve.path.periods
    yield Alternative("ddof 0", metrics.volatility(r, p, 0), "same")
    yield Alternative("first return left out", metrics.volatility(r[1:], p), "same")
    yield Alternative("compounded volatility", _compounded(r, p), "convention")
    if (r > -1).all():
        yield Alternative("log returns", metrics.volatility(np.log1p(r), p), "convention")
    yield from _coarser(curve, metrics.volatility)
    yield from _wrong_clock(metrics.volatility(r, p), p)


def _sharpe(curve: Curve) -> Iterator[Alternative]:
    r, p = curve.path.returns, curve.path.periods
    vol, annual = metrics.volatility(r, p), metrics.annual_return(r, p)
    yield Alternative("ddof 0", metrics.sharpe(r, p, 0), "same")
    yield Alternative("first return left out", metrics.sharpe(r[1:], p), "same")
    yield Alternative("geometric annual return / volatility", metrics.ratio(annual, vol), "convention")
    yield Alternative("compounded annual mean / volatility", metrics.ratio(_yearly(r, p), vol), "convention")
    yield Alternative("geometric annual return / compounded volatility", metrics.ratio(annual, _compounded(r, p)), "convention")
    if (r > -1).all():
        yield Alternative("log returns", metrics.sharpe(np.log1p(r), p), "convention")
    yield from _coarser(curve, metrics.sharpe)
    yearly = curve.every("Y").returns
    if len(yearly) >= 5:
        yield Alternative("yearly returns", metrics.sharpe(yearly, 1.0), "convention")
    yield from _wrong_clock(metrics.sharpe(r, p), p)


def _sortino(curve: Curve) -> Iterator[Alternative]:
    r, p = curve.path.returns, curve.path.periods
    mean, annual = float(r.mean()) * p, metrics.annual_return(r, p)
    losers = float(np.std(r[r < 0], ddof=1) * np.sqrt(p)) if (r < 0).sum() > 2 else float("nan")
    around = float(np.sqrt(np.mean(np.minimum(r - r.mean(), 0.0) ** 2)) * np.sqrt(p))
    clipped = float(np.std(np.minimum(r, 0.0), ddof=1) * np.sqrt(p)) if len(r) > 1 else float("nan")
    yield Alternative("first return left out", metrics.sortino(r[1:], p) if len(r) > 1 else float("nan"), "same")
    yield Alternative("root mean square over losing days only", metrics.ratio(mean, _rms(r[r < 0]) * np.sqrt(p)), "convention")
    yield Alternative("semi-deviation around the mean", metrics.ratio(mean, around), "convention")
    yield Alternative("standard deviation of min(r, 0)", metrics.ratio(mean, clipped), "convention")
    yield Alternative("geometric annual return / downside", metrics.ratio(annual, metrics.downside(r, p)), "convention")
    yield Alternative("compounded annual mean / losers' spread", metrics.ratio(_yearly(r, p), losers), "convention")
    spread = metrics.ratio(mean, losers)
    yield Alternative("spread of the losing returns", spread, "fault" if abs(spread) > 50 else "convention")
    yield Alternative("geometric annual return / losers' spread", metrics.ratio(annual, losers), "convention")
    yield from _coarser(curve, metrics.sortino)
    yield from _wrong_clock(metrics.sortino(r, p), p)


def _drawdown(curve: Curve) -> Iterator[Alternative]:
    r = curve.path.returns
    yield Alternative("starting capital left out", metrics.max_drawdown(r[1:]), "fault")
    if curve.path.periods > 12:
        yield Alternative("month-end values only", metrics.max_drawdown(curve.every("M").returns), "fault")
    if curve.path.periods > 52:
        yield Alternative("week-end values only", metrics.max_drawdown(curve.every("W").returns), "fault")
    straight = np.concatenate(([0.0], np.cumsum(r)))
    yield Alternative("not compounded", float((straight - np.maximum.accumulate(straight)).min()), "fault")
    path = metrics.wealth(r)
    yield Alternative("distance in units of the start, no fraction", float((path - np.maximum.accumulate(path)).min()), "fault")


def _coarser(curve: Curve, figure: Callable[[Floats, float], float]) -> Iterator[Alternative]:
    for rule, name, at_most in (("M", "monthly", 12.0), ("W", "weekly", 52.0)):
        if curve.path.periods > at_most:
            coarse = curve.every(rule)
            if len(coarse.returns) > 11:
                yield Alternative(f"{name} returns", figure(coarse.returns, coarse.periods), "convention")


def _wrong_clock(value: float, periods: float) -> Iterator[Alternative]:
    """A figure that grows with sqrt(P), under another P."""
    for other in (365.0, 252.0, 52.0, 12.0):
        if other != periods:
            yield Alternative(f"sqrt({other:g}) on data with {periods:g} periods a year", value * np.sqrt(other / periods), "fault")
    if periods > 1:
        yield Alternative("not annualised", value / np.sqrt(periods), "fault")


def _compounded(returns: Floats, periods: float) -> float:
    """sqrt((var + (1+g)²)^P - (1+g)^(2P)) with g the geometric mean return."""
    growth = 1.0 + metrics.total_return(returns)
    if len(returns) < 2 or growth <= 0:
        return float("nan")
    mean = growth ** (1.0 / len(returns))
    return float(np.sqrt(max((np.var(returns, ddof=1) + mean**2) ** periods - mean ** (2 * periods), 0.0)))


def _yearly(returns: Floats, periods: float) -> float:
    """The mean return compounded over a year; infinite beyond what a float holds."""
    with np.errstate(all="ignore"):
        return float(np.power(1.0 + np.mean(returns), periods) - 1.0)


def _rms(values: Floats) -> float:
    return float(np.sqrt(np.mean(values**2))) if len(values) else float("nan")


_MAKERS: dict[str, Callable[[Curve], Iterator[Alternative]]] = {
    "annual_return": _annual,
    "total_return": _total,
    "annual_vol": _volatility,
    "sharpe": _sharpe,
    "sortino": _sortino,
    "max_drawdown": _drawdown,
}
