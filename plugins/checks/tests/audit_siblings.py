"""The families of siblings by the case that they belong to."""

from collections.abc import Callable, Iterator

import numpy as np

from . import audit_siblings_figures as figures
from . import audit_siblings_logs as logs
from . import audit_siblings_prices as prices
from .audit_siblings_base import Expected, Files, Sibling, faults_of

FAMILIES: dict[str, Callable[[np.random.Generator], Iterator[Sibling]]] = {
    "s01": figures.year_length,
    "s02": figures.first_day,
    "s03": figures.sortino,
    "s04": figures.scaled,
    "s05": figures.year_of_365,
    "s06": figures.notation,
    "s07": figures.turnover,
    "s08": figures.between_rebalances,
    "s09": logs.entry_fees,
    "s10": logs.end_of_data,
    "s11": logs.partial_exits,
    "s12": logs.fractional,
    "s13": logs.signal_bar,
    "s14": figures.own_day,
    "s15": logs.announcements,
    "s16": logs.cutoff,
    "s17": prices.splits,
    "s18": prices.duplicates,
    "s19": prices.dividends,
    "s20": prices.midnight,
    "s21": prices.closures,
    "s22": prices.halted,
    "s23": logs.membership,
    "s24": logs.deposits,
    "s25": prices.units,
}

__all__ = ["FAMILIES", "Expected", "Files", "faults_of"]
