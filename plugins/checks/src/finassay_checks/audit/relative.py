"""Figures against a benchmark and how much was invested: alpha, beta, information ratio, exposure, each in the readings in use.

Own values: beta is the slope of the portfolio's periodic returns on the benchmark's; alpha the regression's intercept times the periods a
year; the information ratio the mean active return over its deviation (ddof 1) times the root of the periods a year; exposure the mean share
of the value invested at the close.
"""

import re
from collections.abc import Iterator

import numpy as np
import pandas as pd

from finassay.api.delivery import Package
from finassay_checks.audit.basis import basis
from finassay_checks.audit.reported import Reported
from finassay_checks.delivered import read_delivery
from finassay_checks.recompute import metrics, stated
from finassay_checks.recompute.conventions import Alternative
from finassay_checks.recompute.panel import Floats
from finassay_checks.recompute.rebuilt import Rebuilding, rebuilding

RELATIVE = ("alpha", "beta", "information_ratio")
MAX_SERIES = 8
_OTHER_EXPOSURE = re.compile(r"max|peak|min\b|gross|net|long|short|sector|single|name|currency|beta", re.I)


def relative_readings(figure: Reported, package: Package) -> list[Alternative]:
    """Readings of a figure against a benchmark, our own (on the first delivered series) first; empty where no benchmark is delivered or too
    few dates are common."""
    own = package.fact(basis)
    if own is None:
        return []
    found: list[Alternative] = []
    rates = _rates(package)
    for name, level in package.fact(benchmark_levels):
        for curve in (own.curve, *own.same):
            pair = _common(curve.equity, level)
            if pair is not None:
                found += [
                    Alternative(f"{a.name}, {name}" if found else a.name, a.value, a.kind) for a in _of_pair(figure.metric, pair, rates)
                ]
    return [a for a in found if np.isfinite(a.value)]


def _rates(package: Package) -> list[float]:
    said = stated.risk_free(package.fact(read_delivery))
    if said is None:
        return [0.0]
    return [said.value, 0.0] if np.isfinite(said.value) else [0.0, *(0.0025 * step for step in range(1, 25))]


def benchmark_levels(package: Package) -> tuple[tuple[str, pd.Series], ...]:
    """(name, level by date) of every delivered benchmark, the chosen one first. Use as `package.fact(benchmark_levels)`."""
    delivered = package.fact(read_delivery)
    choice = delivered.choices.get("benchmark")
    chosen = choice.chosen if choice is not None else None
    tables = [t for t in delivered.role_tables if t.role == "benchmark" and t.table.current]
    tables.sort(key=lambda t: t is not chosen)
    made: list[tuple[str, pd.Series]] = []
    for table in tables:
        for name, rows in table.frame[table.frame["date"].notna()].groupby(table.frame["name"].fillna(""), sort=False):
            rows = rows.drop_duplicates("date", keep="last").sort_values("date")
            index = pd.DatetimeIndex(rows["date"])
            level = pd.Series(rows["equity"].to_numpy(dtype=float), index=index).dropna()
            if len(level) < 2:
                returns = pd.Series(rows["ret"].to_numpy(dtype=float), index=index).dropna()
                level = (1.0 + returns).cumprod()
            if len(level) >= 2 and (level > 0).all():
                made.append((str(name) or table.table.where, level))
    return tuple(made[:MAX_SERIES])


def _common(own: pd.Series, level: pd.Series) -> pd.DataFrame | None:
    """Both values on common dates; None for fewer than would say anything."""
    both = pd.concat([own[~own.index.duplicated(keep="last")], level], axis=1, join="inner", keys=["own", "other"]).dropna()
    return (
        both
        if len(both) > metrics.MIN_RETURNS or (len(both) > 24 and metrics.periods_per_year(pd.DatetimeIndex(both.index)) < 53)
        else None
    )


def _of_pair(metric: str, both: pd.DataFrame, rates: list[float]) -> Iterator[Alternative]:
    index = pd.DatetimeIndex(both.index)
    periods = metrics.periods_per_year(index)
    clocks = [("", both, periods)]
    for rule, name, count in (("W", "weekly", 52.0), ("M", "monthly", 12.0)):
        if periods > count:
            clocks.append((name, both.groupby(index.to_period(rule)).last(), count))
    for name, values, count in clocks:
        level = values.to_numpy(dtype=float)
        returns = level[1:] / level[:-1] - 1.0
        if len(returns) < 6:
            continue
        whole = level[-1] / level[0] - 1.0
        for reading in _readings(metric, returns, whole, count, rates):
            kind = "convention" if name or reading.kind != "same" else "same"
            yield Alternative(" ".join(part for part in (name, reading.name) if part), reading.value, kind)  # type: ignore[arg-type]  # of the two


def _readings(metric: str, returns: Floats, whole: Floats, periods: float, rates: list[float]) -> Iterator[Alternative]:
    r, b = returns[:, 0], returns[:, 1]
    slope = metrics.beta(r, b)
    if metric == "beta":
        yield Alternative("", slope, "same")
        yield Alternative("of log returns", metrics.beta(np.log1p(np.maximum(r, -0.99)), np.log1p(np.maximum(b, -0.99))), "convention")
        return
    annual = [metrics.annual_return(x, periods) for x in (r, b)]
    if metric == "alpha":
        for rate in rates:
            daily = float((r - rate / periods).mean() - slope * (b - rate / periods).mean())
            yield Alternative("" if rate == rates[0] else f"risk-free rate of {rate:.2%}", daily * periods, "same")
            yield Alternative("regression, compounded", float((1.0 + daily) ** periods - 1.0), "convention")
            yield Alternative("annual return less beta times the benchmark's", annual[0] - rate - slope * (annual[1] - rate), "convention")
            yield Alternative(
                "whole return less beta times the benchmark's", float(whole[0] - rate - slope * (whole[1] - rate)), "convention"
            )
            yield Alternative("regression, a period", daily, "convention")
        yield Alternative("difference of annual returns", annual[0] - annual[1], "convention")
        yield Alternative("difference of whole returns", float(whole[0] - whole[1]), "convention")
        return
    active = r - b
    error = float(active.std(ddof=1))
    root = np.sqrt(periods)
    yield Alternative("", metrics.ratio(float(active.mean()), error) * root, "same")
    yield Alternative("ddof 0", metrics.ratio(float(active.mean()), float(active.std())) * root, "convention")
    yield Alternative("not annualised", metrics.ratio(float(active.mean()), error), "convention")
    yield Alternative("difference of annual returns over tracking error", metrics.ratio(annual[0] - annual[1], error * root), "convention")
    residual = r - slope * b
    yield Alternative(
        "of the regression's residuals", metrics.ratio(float(residual.mean()), float(residual.std(ddof=1))) * root, "convention"
    )


def exposure_readings(figure: Reported, package: Package) -> list[Alternative]:
    """How much was invested, by value and by days, over the whole period and from the first fill on; empty where nothing tells, or where
    the label speaks of another exposure (the largest one, one of a sector)."""
    made = package.fact(rebuilding)
    if made.rebuilt is None or _OTHER_EXPOSURE.search(figure.label):
        return []
    found = list(_exposures(made, _days_before(made)))
    own = package.fact(basis)
    if own is not None:
        r = own.curve.path.returns
        found.append(Alternative("share of days with a return", float(np.mean(r != 0)), "convention"))
    return [a for a in found if np.isfinite(a.value)]


def _days_before(made: Rebuilding) -> int:
    """Dates of prices or of the delivered curve before the first fill, on which nothing was held."""
    assert made.rebuilt is not None
    first = made.rebuilt.equity.index[1] if len(made.rebuilt.equity) > 1 else made.rebuilt.equity.index[0]
    curve = made.delivered_equity
    dates = pd.DatetimeIndex(curve.index) if curve is not None else made.panel.dates if made.panel is not None else pd.DatetimeIndex([])
    return int((dates < first).sum())


def _exposures(made: Rebuilding, before: int) -> Iterator[Alternative]:
    assert made.rebuilt is not None
    weights = made.rebuilt.weights.to_numpy(dtype=float)
    weights = weights[1:] if not np.nan_to_num(weights[0]).any() else weights
    net, gross = np.nansum(weights, axis=1), np.nansum(np.abs(weights), axis=1)
    held = gross > 1e-6
    count = len(weights)
    leaving = int(np.sum(held[:-1] & ~held[1:]))
    for name, days in (("", count + before), ("from the first fill on", count)):
        if not days:
            continue
        for what, total, kind in (
            ("mean share of the value invested", float(net.sum()), "same"),
            ("long and short added", float(gross.sum()), "convention"),
            ("share of days with a position", float(held.sum()), "convention"),
            ("share of days with a position, the day of the exit counted", float(held.sum()) + leaving, "convention"),
        ):
            yield Alternative(", ".join(part for part in (what, name) if part), total / days, kind)  # type: ignore[arg-type]  # of the two
    if held.any():
        yield Alternative("mean share invested on days with a position", float(net[held].mean()), "convention")
