"""The portfolio rebuilt from a log or from positions, and what a delivered curve holds besides: unlogged fees, dividends, interest."""

from collections.abc import Iterator
from typing import Literal

import numpy as np
import pandas as pd
from attrs import frozen

from finassay.api.delivery import Package
from finassay_checks.audit.curve import delivered_curve
from finassay_checks.audit.reported import statements
from finassay_checks.delivered import read_delivery
from finassay_checks.model import Delivered
from finassay_checks.recompute.panel import CASH, Floats, Panel, carried
from finassay_checks.recompute.portfolio import FLAT, Book
from finassay_checks.recompute.rebuilt import Rebuilding, price_panel, rebuilding

CLOSE = 3e-4
"""Largest relative distance of a curve that is explained."""
CAPITAL = r"^(?:initial|start(?:ing)?|beginning|opening) ?(?:capital|cash|value|equity|nav|balance|investment|account)?$"
"""How a name-value table calls the starting capital."""
BookSource = Literal["fills", "round trips", "positions"]


@frozen(eq=False)
class Books:
    """A rebuilt portfolio. `explained` names what a delivered curve shows besides the log; `delivered` is that curve in the same money."""

    source: BookSource
    equity: pd.Series
    capital: float
    unpriced: pd.DataFrame
    """date × ticker, True where a holding has no price of its own."""
    delivered: pd.Series | None
    price_dates: pd.DatetimeIndex
    explained: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    fills: pd.DataFrame | None = None
    """Clean fills, with the fees that were found in the curve where the log has none."""

    @property
    def first_price(self) -> pd.Timestamp | None:
        return self.price_dates[0] if len(self.price_dates) else None


def books(package: Package) -> Books | None:
    """From fills, else round trips, else positions with cash. Weights and curves alone make no book."""
    delivered = package.fact(read_delivery)
    made = package.fact(rebuilding)
    if made.rebuilt is not None and made.book is not None and made.rebuilt.source in ("trades", "round_trips"):
        return _of_rebuilding(delivered, made, package.fact(statements).number(CAPITAL))
    panel = package.fact(price_panel)
    positions = delivered.frame("positions")
    if panel is None or positions is None or positions.empty or made.fills is not None:
        return None
    return _of_positions(package, positions, panel)


def _of_rebuilding(delivered: Delivered, made: Rebuilding, said: float | None) -> Books:
    assert made.rebuilt is not None
    assert made.book is not None
    book, rebuilt = made.book, made.rebuilt
    equity, explained, fills = rebuilt.equity, [], made.fills
    curve = made.delivered_equity
    capital = rebuilt.start_capital
    if curve is None and said is not None and said > 0:
        equity, capital = equity + (said - capital), said
    indexed = _of_index(delivered, made, book) if curve is not None and len(curve) > 10 and _distance(curve, equity) > 1e-6 else None
    if indexed is not None:
        equity, curve, capital, fills, named = indexed
        explained += named
    elif curve is not None and len(curve) and _distance(curve, equity) > 1e-6:
        for name, extra, priced in _explanations(delivered, made, book):
            tried = equity + extra
            if _distance(curve, tried) < min(CLOSE, 0.5 * _distance(curve, equity)):
                equity, fills = tried, priced
                explained.append(name)
                break
    unpriced = pd.DataFrame(book.unpriced, index=book.dates, columns=book.tickers)
    source: BookSource = "fills" if rebuilt.source == "trades" else "round trips"
    dates = made.panel.dates if made.panel is not None else pd.DatetimeIndex([])
    notes = [note for note in rebuilt.notes if capital == rebuilt.start_capital or not note.startswith("start capital")]
    return Books(source, equity, capital, unpriced, curve, dates, tuple(explained), (*notes, *explained), fills)


def _distance(curve: pd.Series, own: pd.Series) -> float:
    """Largest relative distance on common dates."""
    common = own.index.intersection(pd.DatetimeIndex(curve.index))
    if not len(common):
        return float("inf")
    with np.errstate(all="ignore"):
        apart = np.abs(curve.loc[common].to_numpy(dtype=float) / own.loc[common].to_numpy(dtype=float) - 1.0)
    return float(np.nanmax(apart)) if np.isfinite(apart).any() else float("inf")


def _explanations(delivered: Delivered, made: Rebuilding, book: Book) -> Iterator[tuple[str, pd.Series, pd.DataFrame]]:
    """(what, money to add to the rebuilt curve by date, the fills with it) for fees that the log leaves out and interest on cash."""
    fills, curve = made.fills, made.delivered_equity
    if fills is None or curve is None or made.rebuilt is None:
        return
    own = made.rebuilt.equity
    common = own.index.intersection(pd.DatetimeIndex(curve.index))
    missing: Floats = np.asarray((curve.loc[common] - own.loc[common]).to_numpy(dtype=float))
    if not float(fills["fee"].abs().sum()):
        value = (fills["shares"] * fills["price"]).abs()
        for name, load in (
            ("of the traded value", value),
            ("a share", fills["shares"].abs()),
            ("a fill", pd.Series(1.0, index=fills.index)),
        ):
            total = load.groupby(fills["date"]).sum().reindex(own.index).fillna(0.0).cumsum()
            rate = _fitted(np.asarray(total.loc[common], dtype=float), -missing)
            if rate > 0:
                shown = f"{rate:.4%}" if name == "of the traded value" else f"{rate:,.4g}"
                yield f"fees of {shown} {name}, which the log leaves out", -rate * total, fills.assign(fee=rate * load)
    cash = pd.Series(book.cash, index=book.dates).shift(1).fillna(0.0)
    days = pd.Series(np.append(0, np.diff(book.dates.to_numpy()).astype("timedelta64[D]").astype(int)), index=book.dates)
    earned = (cash * days / 365.0).cumsum()
    rate = _fitted(np.asarray(earned.loc[common], dtype=float), missing)
    if 0 < rate < 0.15:
        yield f"interest of {rate:.2%} a year on cash", rate * earned, fills


def _of_index(delivered: Delivered, made: Rebuilding, book: Book) -> "tuple[pd.Series, pd.Series, float, pd.DataFrame, list[str]] | None":
    """Where returns or an index are delivered, the starting capital C and a rate of unlogged fees f that make C · index = C + gains -
    f · load on every date: (rebuilt value, delivered value, C, fills with fees, what was found). None where none do, or money is delivered."""
    frame, fills = delivered.frame("equity"), made.fills
    if frame is None or fills is None or made.rebuilt is None or made.delivered_equity is None or frame["equity"].notna().sum() >= 2:
        return None
    index = made.delivered_equity / float(made.delivered_equity.iloc[0])
    gains = pd.Series(book.equity, index=book.dates) - made.rebuilt.start_capital
    gains = pd.concat([pd.Series(0.0, index=index.index[index.index < gains.index[0]]), gains])
    common = gains.index.intersection(pd.DatetimeIndex(index.index))
    if len(common) < 10:
        return None
    value = (fills["shares"] * fills["price"]).abs()
    loads: list[tuple[str, pd.Series]] = [("", value * 0.0)]
    if not float(fills["fee"].abs().sum()):
        loads += [("of the traded value", value), ("a share", fills["shares"].abs()), ("a fill", value * 0.0 + 1.0)]
    wanted = np.asarray(gains.loc[common], dtype=float)
    for name, load in loads:
        total = load.groupby(fills["date"]).sum().reindex(gains.index).fillna(0.0).cumsum()
        columns = [np.asarray(index.loc[common], dtype=float) - 1.0] + ([np.asarray(total.loc[common], dtype=float)] if name else [])
        solved = np.linalg.lstsq(np.column_stack(columns), wanted, rcond=None)[0]
        capital, rate = float(solved[0]), float(solved[1]) if name else 0.0
        if not capital > 0 or rate < 0:
            continue
        own, given = capital + gains - rate * total, capital * index
        if _distance(given, own) < CLOSE:
            said = [
                f"fees of {rate:.4%} {name}, which the log leaves out"
                if name == "of the traded value"
                else f"fees of {rate:,.4g} {name}, which the log leaves out"
            ]
            return own, given, capital, fills.assign(fee=fills["fee"] + rate * load), said if name else []
    return None


def _fitted(load: Floats, wanted: Floats) -> float:
    """The one factor that brings a load nearest to what is wanted."""
    usable = np.isfinite(load) & np.isfinite(wanted)
    square = float(np.sum(load[usable] ** 2))
    return float(np.sum(load[usable] * wanted[usable]) / square) if square > 0 else 0.0


def _of_positions(package: Package, positions: pd.DataFrame, panel: Panel) -> Books | None:
    """Shares held from each date of the table on, at carried closes, plus cash in money; None where cash is not delivered."""
    cash_rows = positions[positions["ticker"] == CASH]
    stock = positions[(positions["ticker"] != CASH) & positions["shares"].notna()]
    if stock.empty or not set(stock["ticker"].unique()) <= set(panel.tickers):
        return None
    money = cash_rows["dollars"].where(cash_rows["dollars"].notna(), cash_rows["shares"])
    if not money.notna().any():
        return None
    first = max(stock["date"].min(), panel.dates[0])
    dates = panel.dates[panel.dates >= first]
    if len(dates) < 2:
        return None
    held = stock.pivot_table(index="date", columns="ticker", values="shares", aggfunc="last").reindex(columns=panel.tickers)
    on_date = held.notna().any(axis=1)
    held = held[on_date].fillna(0.0)
    union = held.index.union(dates)
    shares = held.reindex(union).ffill().reindex(dates).fillna(0.0).to_numpy(dtype=float)
    cash = pd.Series(money.to_numpy(dtype=float), index=pd.DatetimeIndex(cash_rows["date"])).groupby(level=0).last()
    cash = cash.reindex(cash.index.union(dates)).ffill().reindex(dates)
    rows = panel.dates.get_indexer(dates)
    marks = carried(panel.close)[rows]
    worth = pd.Series(np.where(shares == 0, 0.0, shares * np.nan_to_num(marks)).sum(axis=1), index=dates) + cash
    unpriced = pd.DataFrame((np.abs(shares) > FLAT) & ~np.isfinite(panel.close[rows]), index=dates, columns=panel.tickers)
    worth = worth.dropna()
    if len(worth) < 2:
        return None
    return Books(
        "positions", worth, float(worth.iloc[0]), unpriced, delivered_curve(package), panel.dates, (), ("positions held at carried closes",)
    )
