"""Fact `schedule`: whether rebalance fills keep a calendar (spec D.0.4)."""

from collections.abc import Mapping

import numpy as np
import pandas as pd
from attrs import frozen

from finassay.api.delivery import Package
from finassay_checks.delivered import read_delivery
from finassay_checks.recompute.calendar import FREQUENCIES, Frequency, flat_spells, period_numbers, schedule_share
from finassay_checks.recompute.control import control

KEPT = 0.95


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
    trades = package.fact(read_delivery).frame("trades")
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
    spells = flat_spells(trades)
    shares = {frequency: schedule_share(dates, fills, frequency, spells) for frequency in FREQUENCIES}
    best = max(FREQUENCIES, key=lambda frequency: shares[frequency])
    return Schedule(shares, best if shares[best] >= KEPT else None, int(fills.sum()), tuple(dates), by)
