"""Where a delivered curve leaves the rebuilt one, and what the amount says about why (conventions, section 1.7)."""

from collections.abc import Iterator

import numpy as np
import pandas as pd
from attrs import frozen

from finassay_checks.recompute.panel import Floats
from finassay_checks.recompute.rebuilt import Rebuilding

FINE = 1e-6
"""Relative difference from which on two curves are no longer the same."""
ALIKE = 0.01


@frozen
class Departure:
    """The first date on which the curves differ at all, by how much money, and what that amount equals; empty if nothing is recognised."""

    date: pd.Timestamp
    amount: float
    cause: str


def departure(made: Rebuilding) -> Departure | None:
    """None if nothing was rebuilt from fills, no curve was delivered, or they never differ."""
    if made.rebuilt is None or made.book is None or made.fills is None or made.delivered_equity is None:
        return None
    own = made.rebuilt.equity
    common = own.index.intersection(pd.DatetimeIndex(made.delivered_equity.index))
    if len(common) < 2:
        return None
    given, mine = made.delivered_equity.loc[common].to_numpy(dtype=float), own.loc[common].to_numpy(dtype=float)
    beyond = np.flatnonzero(np.abs(given - mine) > FINE * np.abs(mine))
    if not len(beyond):
        return None
    at = int(beyond[0])
    amount = float(given[at] - mine[at])
    shifted = _shifted(given, mine)
    if shifted:
        return Departure(common[at], amount, shifted)
    named = next((name for name, value in _amounts(made, common[at]) if value and abs(abs(amount) / abs(value) - 1.0) <= ALIKE), "")
    return Departure(common[at], amount, named)


def _shifted(given: Floats, mine: Floats) -> str:
    """Right numbers on wrong dates."""
    for rows, text in ((1, "later"), (-1, "earlier")):
        a, b = (given[1:], mine[:-1]) if rows == 1 else (given[:-1], mine[1:])
        if len(a) > 10 and float(np.mean(np.abs(a / b - 1.0) <= FINE)) > 0.95:
            return f"the rebuilt curve dated one row {text}"
    return ""


def _amounts(made: Rebuilding, date: pd.Timestamp) -> Iterator[tuple[str, float]]:
    """Amounts of the day that a wrong curve may have added or left out."""
    assert made.book is not None
    assert made.fills is not None
    today = made.fills[made.fills["date"] == date]
    upto = made.fills[made.fills["date"] <= date]
    yield "the day's fees", float(today["fee"].sum())
    yield "all fees so far", float(upto["fee"].sum())
    first = today.head(200)
    for ticker, fee, value in zip(first["ticker"], first["fee"], first["shares"] * first["price"], strict=True):
        yield f"the fee of {ticker}", float(fee)
        yield f"the value of the fill in {ticker}", float(value)
    at = made.book.dates.get_loc(date)
    if isinstance(at, int) and at > 0:
        gains = made.book.shares[at - 1] * (made.book.marks[at] - made.book.marks[at - 1])
        for column in np.flatnonzero(np.abs(np.nan_to_num(gains)) > 0)[:500]:
            yield f"the day's gain of {made.book.tickers[column]}", float(gains[column])
        yield "the day's gain of all holdings", float(np.nansum(gains))
