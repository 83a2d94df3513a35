"""A portfolio from dated weights and prices: shares held between the dates, weights that drift, and other readings of the same weights."""

from collections.abc import Mapping

import numpy as np
import pandas as pd
from attrs import Factory, frozen

from finassay.api.delivery import Package
from finassay_checks.delivered import read_delivery
from finassay_checks.recompute import stated
from finassay_checks.recompute.conventions import Alternative, Curve, own_value
from finassay_checks.recompute.panel import CASH, Floats, Panel, carried
from finassay_checks.recompute.portfolio import rebuild_from_weights, weight_matrix
from finassay_checks.recompute.rebuilt import price_panel
from finassay_checks.recompute.states import exposure_by_date

CURVE = ("total_return", "annual_return", "annual_vol", "sharpe", "sortino", "max_drawdown")


@frozen(eq=False)
class Weighted:
    """`curves`: our own from the session before the first weights on, and from their date on. `dates` and `matrix` (dates × tickers) are the weights."""

    curves: tuple[pd.Series, ...]
    others: Mapping[str, tuple[Alternative, ...]]
    dates: pd.DatetimeIndex
    matrix: Floats
    panel: Panel
    rate: float
    notes: tuple[str, ...] = Factory(tuple)


def weighted(package: Package) -> Weighted | None:
    """None without weights and prices that cover them."""
    delivered = package.fact(read_delivery)
    weights, panel = delivered.frame("weights"), package.fact(price_panel)
    if weights is None or panel is None or weights.empty:
        return None
    if len(panel.tickers) == 1 and weights["ticker"].nunique() == 1 and weights["ticker"].iloc[0] != panel.tickers[0]:
        weights = weights.assign(ticker=panel.tickers[0])
    if not set(weights["ticker"].dropna().unique()) - {CASH} <= set(panel.tickers):
        return None
    dates, matrix = weight_matrix(weights, panel.tickers)
    exposure = exposure_by_date(delivered.frame("states"), dates, np.nansum(matrix, axis=1))
    if exposure is not None:
        matrix = matrix * exposure[:, None]
    if not len(dates) or not len(panel.dates) or dates[0] > panel.dates[-1]:
        return None
    rates = [s.value for s in stated.cost_rates(delivered)]
    rate = rates[0] if rates else 0.0
    whole = _held(dates, matrix, panel, rate)
    own = whole.iloc[1:]
    path = pd.DatetimeIndex(own.index)
    moved = _returns(panel, path)
    others: dict[str, list[Alternative]] = {name: [] for name in CURVE}
    readings: list[tuple[str, pd.Series, str]] = [
        ("weights_effective_one_session_later", _held(dates, matrix, panel, rate, lag=1), "convention")
    ]
    if rate:
        readings.append(("gross_of_costs", _held(dates, matrix, panel, 0.0), "convention"))
    daily = _daily(dates, matrix, panel, path)
    spread = len(dates) < 0.5 * len(path)
    readings += [
        ("weight_uses_same_day_return", _wealth(np.nansum(daily[1:] * moved[1:], axis=1), path), "fault"),
        ("daily_rebalanced", _wealth(np.nansum(daily[:-1] * moved[1:], axis=1), path), "fault" if spread else "same"),
        ("returns_summed_without_weights", _unweighted(daily, moved, path, dates, True), "fault"),
        ("returns_summed_without_weights", _unweighted(daily, moved, path, dates, False), "fault"),
    ]
    for name, curve, kind in readings:
        for metric in CURVE:
            others[metric].append(Alternative(name, own_value(metric, Curve.of(curve).path), kind))  # type: ignore[arg-type]  # one of the three
    notes = ("weights take effect at the close of their date, shares held in between",)
    return Weighted((whole, own), {k: tuple(v) for k, v in others.items()}, dates, matrix, panel, rate, notes)


def _held(dates: pd.DatetimeIndex, matrix: Floats, panel: Panel, rate: float, lag: int = 0) -> pd.Series:
    book = rebuild_from_weights(dates, matrix, panel, 1.0, lag=lag, rate=rate)
    return pd.Series(book.equity, index=book.dates)


def _returns(panel: Panel, dates: pd.DatetimeIndex) -> Floats:
    """Simple returns of each ticker on the given dates; zero where there is no price."""
    close = carried(panel.close)[np.maximum(panel.dates.get_indexer(dates, method="ffill"), 0)]
    with np.errstate(all="ignore"):
        moved = close[1:] / close[:-1] - 1.0
    return np.asarray(np.vstack([np.zeros((1, close.shape[1])), np.nan_to_num(moved)]), dtype=float)


def _daily(dates: pd.DatetimeIndex, matrix: Floats, panel: Panel, path: pd.Index) -> Floats:
    """The latest target weights on each date of the path; shape (path, tickers)."""
    at = dates.searchsorted(pd.DatetimeIndex(path), side="right") - 1
    filled = np.nan_to_num(matrix)[np.maximum(at, 0)]
    filled[at < 0] = 0.0
    return np.asarray(filled)


def _wealth(returns: Floats, path: pd.Index) -> pd.Series:
    return pd.Series(np.concatenate(([1.0], np.cumprod(1.0 + returns))), index=path)


def _unweighted(daily: Floats, returns: Floats, path: pd.Index, dates: pd.DatetimeIndex, between: bool) -> pd.Series:
    """Raw returns of the held names added up: on all days, or between the rebalances only."""
    raw = np.where(daily[:-1] != 0, returns[1:], 0.0).sum(axis=1)
    if between:
        after = pd.DatetimeIndex(path)[:-1].isin(dates)
        raw = np.where(after, (daily[:-1] * returns[1:]).sum(axis=1), raw)
    return _wealth(raw, path)
