"""From what a portfolio's curve can be recomputed: fills, round trips, positions, weights, the equity file alone, or prices alone."""

from collections.abc import Mapping
from typing import Literal

import numpy as np
import pandas as pd
from attrs import Factory, frozen

from finassay.api.delivery import Package
from finassay_checks.audit.book import CAPITAL, Books, books
from finassay_checks.audit.capital import time_weighted
from finassay_checks.audit.curve import delivered_curve
from finassay_checks.audit.prices import held_prices
from finassay_checks.audit.reported import statements
from finassay_checks.audit.wealth import step
from finassay_checks.audit.weights import weighted
from finassay_checks.delivered import read_delivery
from finassay_checks.model import Delivered, Role
from finassay_checks.recompute.conventions import Alternative, Curve

Source = Literal["fills", "round trips", "positions", "weights", "equity", "returns", "prices"]


@frozen(eq=False)
class Basis:
    """The program's own curve. `same` are the same portfolio on another start; `others` further readings by metric."""

    source: Source
    curve: Curve
    file: str
    same: tuple[Curve, ...] = ()
    others: Mapping[str, tuple[Alternative, ...]] = Factory(dict)
    notes: tuple[str, ...] = ()
    prices_only: bool = False
    dividends: bool = False
    """Dividends matter: the tolerance of a return is tighter."""


def where_of(delivered: Delivered, role: Role) -> str:
    choice = delivered.choices.get(role)
    return choice.chosen.table.where if choice is not None and choice.chosen is not None else ""


def basis(package: Package) -> Basis | None:
    """The strongest basis there is; None where nothing delivered makes a curve."""
    delivered = package.fact(read_delivery)
    book = package.fact(books)
    if book is not None:
        return _of_book(package, delivered, book)
    own = equity_basis(package)
    if own is not None:
        return own
    by_weights = package.fact(weighted)
    if by_weights is not None:
        curves = tuple(Curve.of(c) for c in by_weights.curves)
        return Basis("weights", curves[0], where_of(delivered, "weights"), curves[1:], by_weights.others, by_weights.notes)
    held = package.fact(held_prices)
    if held is not None:
        return Basis("prices", Curve.of(held.curve), where_of(delivered, "prices"), (), held.others, held.notes, True, held.dividends)
    return None


def _of_book(package: Package, delivered: Delivered, book: Books) -> Basis:
    """The rebuilt curve over the period of the backtest: the delivered curve's dates, else the prices'; and from the first fill alone."""
    equity = book.equity
    curve = delivered_curve(package)
    first = curve.index[0] if curve is not None and len(curve) else book.first_price
    same = []
    whole = equity
    if first is not None and first <= equity.index[0]:
        days = pd.DatetimeIndex(curve.index if curve is not None and len(curve) else book.price_dates)
        days = days[days < equity.index[0]]
        start = days[0] if len(days) else equity.index[0]
        # The first session's own return is counted from the starting capital, unless the curve begins with a row of its own for it.
        if start in book.price_dates:
            days = days.insert(0, start - pd.offsets.BDay(1))
        whole = pd.concat([pd.Series(float(equity.iloc[0]), index=days), equity])
        same += [whole.iloc[1:], equity]
    role: Role = {"fills": "trades", "round trips": "round_trips", "positions": "positions"}[book.source]  # type: ignore[assignment]
    return Basis(book.source, Curve.of(whole), where_of(delivered, role), tuple(Curve.of(c) for c in same), {}, book.notes)


def equity_basis(package: Package) -> Basis | None:
    """The delivered values or returns alone, external cash flows taken off, anchored at the starting capital."""
    delivered = package.fact(read_delivery)
    curve = delivered_curve(package)
    if curve is None or len(curve) < 2:
        return None
    frame = delivered.frame("equity")
    returns = frame is not None and frame["equity"].notna().sum() < 2
    flows = delivered.frame("cash_flows")
    if flows is not None and len(flows) and not returns:
        chained, raw = time_weighted(curve, flows)
        others = _unadjusted(raw)
        return Basis(
            "equity", Curve.of(chained), where_of(delivered, "equity"), (), others, ("external cash flows taken off, time-weighted",)
        )
    same: tuple[Curve, ...] = ()
    capital = package.fact(statements).number(CAPITAL)
    first = float(curve.iloc[0])
    if not returns and capital is not None and capital > 0 and 1e-9 < abs(first / capital - 1.0) < 0.3:
        start = pd.Series([capital], index=pd.DatetimeIndex([curve.index[0] - step(pd.DatetimeIndex(curve.index))]))
        same, curve = (Curve.of(curve),), pd.concat([start, curve])
    if not returns and not same:
        before = pd.Series([float(curve.iloc[0])], index=pd.DatetimeIndex([curve.index[0] - step(pd.DatetimeIndex(curve.index))]))
        same = (Curve.of(pd.concat([before, curve])),)
    return Basis("returns" if returns else "equity", Curve.of(curve), where_of(delivered, "equity"), same)


def _unadjusted(raw: pd.Series) -> Mapping[str, tuple[Alternative, ...]]:
    """What the figures are when deposits count as gains."""
    from finassay_checks.recompute.conventions import own_value

    path = Curve.of(raw).path
    names = ("total_return", "annual_return", "annual_vol", "sharpe", "sortino", "max_drawdown")
    return {name: (Alternative("external_flows_counted_as_return", own_value(name, path), "fault"),) for name in names}


def finite(value: float | None) -> float | None:
    return value if value is not None and np.isfinite(value) else None
