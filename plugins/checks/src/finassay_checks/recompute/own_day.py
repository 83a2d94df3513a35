"""Whether weights earn the return of their own day: w[t]·r[t] instead of w[t-1]·r[t]."""

import numpy as np
import pandas as pd
from attrs import frozen

from finassay.api.delivery import Package
from finassay_checks.delivered import read_delivery
from finassay_checks.recompute.panel import CASH
from finassay_checks.recompute.portfolio import rebuild_from_weights, weight_matrix
from finassay_checks.recompute.rebuilt import delivered_curve, price_panel, rebuilding

NEAR = 5e-4
"""Difference of a day's return within which a path reproduces the delivered one, besides what costs may take."""


@frozen
class OwnDay:
    """Share of the days on which weights change whose delivered return each dating reproduces."""

    same: float
    """The new weight earns its own day."""
    later: float
    """It earns from the next session, or the one after, whichever fits better."""
    days: int
    first: tuple[str, ...] = ()
    """The first days that only the new weight explains."""

    @property
    def at_fault(self) -> bool:
        return self.days >= 5 and self.same >= 0.95 and self.later < 0.8


def own_day(package: Package) -> OwnDay | None:
    """None without weights, prices and a delivered curve, or where a trade log rebuilds that curve: then its dates decide."""
    delivered = package.fact(read_delivery)
    weights, panel, curve = delivered.frame("weights"), package.fact(price_panel), delivered_curve(delivered)
    made = package.fact(rebuilding)
    if made.fills is not None and made.rebuilt is not None and made.rebuilt.first_divergence is None and made.delivered_equity is not None:
        return None
    if weights is None or panel is None or curve is None or weights.empty:
        return None
    if not set(weights["ticker"].dropna().unique()) - {CASH} <= set(panel.tickers):
        return None
    dates, matrix = weight_matrix(weights, panel.tickers)
    known = dates.isin(panel.dates)
    dates, matrix = dates[known], np.nan_to_num(matrix[known])
    if len(dates) < 5:
        return None
    change = np.abs(np.diff(matrix, axis=0, prepend=np.zeros((1, matrix.shape[1])))).sum(axis=1)
    moved = dates[change > 0.05]
    reported = curve.pct_change().dropna()
    at = moved.intersection(pd.DatetimeIndex(reported.index))
    if not len(at):
        return None
    given = reported.loc[at].to_numpy(dtype=float)
    allowed = NEAR + 0.002 * pd.Series(change, index=dates).reindex(at).to_numpy(dtype=float)
    hits = {}
    for lag in (-1, 0, 1):
        book = rebuild_from_weights(dates, matrix, panel, 1.0, lag=lag)
        own = pd.Series(book.equity, index=book.dates).pct_change().reindex(at).to_numpy(dtype=float)
        with np.errstate(all="ignore"):
            hits[lag] = np.abs(own - given) <= allowed
    only = hits[-1] & ~hits[0] & ~hits[1]
    return OwnDay(float(hits[-1].mean()), float(max(hits[0].mean(), hits[1].mean())), len(at), tuple(str(d.date()) for d in at[only][:5]))
