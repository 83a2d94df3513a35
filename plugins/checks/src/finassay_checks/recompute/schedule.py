"""Fact `schedule`: whether rebalance fills keep a calendar (spec D.0.4)."""

from collections.abc import Mapping

import numpy as np
import pandas as pd
from attrs import frozen

from finassay.api.delivery import Package
from finassay_checks.delivered import read_delivery
from finassay_checks.recompute.calendar import (
    FREQUENCIES,
    Frequency,
    empty_spells,
    flat_spells,
    period_numbers,
    schedule_share,
    unchanged_targets,
)
from finassay_checks.recompute.control import control
from finassay_checks.recompute.rebuilt import fill_log, rebuilding

KEPT = 0.95
MAX_CELLS = 40_000_000


@frozen
class Schedule:
    """Shares of rebalance fills that keep each calendar; `kept` is the one with the largest share if that is at least 95 %."""

    shares: Mapping[Frequency, float]
    kept: Frequency | None
    fills: int
    """Rebalance fills counted."""
    dates: tuple[pd.Timestamp, ...]
    """Distinct rebalance dates."""
    by: str
    """`signal_date` or `fill_date`."""

    def off(self, frequency: Frequency) -> tuple[pd.Timestamp, ...]:
        """Dates that share their period with another."""
        numbers = period_numbers(pd.DatetimeIndex(self.dates), frequency)
        _, inverse, counts = np.unique(numbers, return_inverse=True, return_counts=True)
        return tuple(date for date, alone in zip(self.dates, counts[inverse] == 1, strict=True) if not alone)


def schedule(package: Package) -> Schedule | None:
    """None without a trade log or with fewer than two rebalance dates."""
    trades = fill_log(package.fact(read_delivery))
    if trades is None:
        return None
    rebalance = ~package.fact(control).mask
    signal = trades["signal_date"][rebalance]
    by = "signal_date" if len(signal) and signal.notna().mean() >= KEPT else "fill_date"
    counts = trades[by][rebalance].value_counts().sort_index()
    dates = pd.DatetimeIndex(counts.index)
    if len(dates) < 2:
        return None
    fills = np.asarray(counts, dtype=np.int64)
    rebuilt = package.fact(rebuilding).rebuilt
    spells = flat_spells(trades) + empty_spells(rebuilt.weights if rebuilt else None) + unchanged_targets(_plan(package))
    shares = {frequency: schedule_share(dates, fills, frequency, spells) for frequency in FREQUENCIES}
    best = max(FREQUENCIES, key=lambda frequency: shares[frequency])
    return Schedule(shares, best if shares[best] >= KEPT else None, int(fills.sum()), tuple(dates), by)


def _plan(package: Package) -> pd.DataFrame | None:
    """Delivered target weights as date × ticker."""
    weights = package.fact(read_delivery).frame("weights")
    if weights is None or not (weights["kind"] == "target").any():
        return None
    rows = weights[(weights["kind"] == "target") & weights["date"].notna() & weights["ticker"].notna()]
    if rows["date"].nunique() * rows["ticker"].nunique() > MAX_CELLS:
        return None
    return rows.drop_duplicates(["date", "ticker"], keep="last").pivot(index="date", columns="ticker", values="weight")
