"""Delivered holdings and cash by date, beside the rebuilt ones."""

import numpy as np
import pandas as pd
from attrs import field, frozen

from finassay.api.delivery import Package
from finassay_checks.delivered import read_delivery
from finassay_checks.recompute.panel import CASH, Floats, Panel, carried
from finassay_checks.recompute.rebuilt import price_panel, rebuilding


@frozen(eq=False)
class Holdings:
    """Money by date and ticker, shares where they are delivered, cash (None if not delivered), and where they come from."""

    dates: pd.DatetimeIndex
    tickers: pd.Index
    money: Floats = field(repr=False)
    shares: Floats | None = field(repr=False)
    cash: pd.Series | None = field(repr=False)
    source: str = ""
    """Delivered table, or `rebuilt`."""


def delivered_cash(package: Package) -> "pd.Series | None":
    """Cash by date: of the equity table, else the cash rows of the positions."""
    delivered = package.fact(read_delivery)
    equity = delivered.frame("equity")
    if equity is not None and equity["cash"].notna().sum() >= 2:
        rows = equity[equity["date"].notna() & equity["cash"].notna()].drop_duplicates("date", keep="last").sort_values("date")
        return pd.Series(rows["cash"].to_numpy(dtype=float), index=pd.DatetimeIndex(rows["date"]))
    positions = delivered.frame("positions")
    if positions is None:
        return None
    rows = positions[(positions["ticker"] == CASH) & positions["date"].notna() & positions["dollars"].notna()]
    rows = rows.drop_duplicates("date", keep="last").sort_values("date")
    return pd.Series(rows["dollars"].to_numpy(dtype=float), index=pd.DatetimeIndex(rows["date"])) if len(rows) >= 2 else None


def delivered_holdings(package: Package) -> Holdings | None:
    """Holdings of the positions table, valued at the close where only shares are delivered; None without one, or without prices for
    shares."""
    delivered = package.fact(read_delivery)
    frame = delivered.frame("positions")
    if frame is None:
        return None
    rows = frame[(frame["ticker"] != CASH) & frame["date"].notna() & frame["ticker"].notna()]
    if rows.empty:
        return None
    codes, dates = pd.factorize(rows["date"], sort=True)
    names, tickers = pd.factorize(rows["ticker"], sort=True)
    shape = (len(dates), len(tickers))
    days, columns = pd.DatetimeIndex(dates), pd.Index(tickers)
    shares, dollars = _cells(rows["shares"], codes, names, shape), _cells(rows["dollars"], codes, names, shape)
    where = delivered.choices["positions"].chosen
    place = where.table.where if where is not None else ""
    if dollars is not None:
        return Holdings(days, columns, np.nan_to_num(dollars), shares, package.fact(delivered_cash), place)
    panel = package.fact(price_panel)
    if shares is None or panel is None:
        return None
    money = np.where(shares == 0, 0.0, np.nan_to_num(shares) * np.nan_to_num(_marks(panel, days, columns)))
    return Holdings(days, columns, money, np.nan_to_num(shares), package.fact(delivered_cash), place)


def _cells(
    values: pd.Series,
    rows: "np.ndarray[tuple[int], np.dtype[np.int64]]",
    columns: "np.ndarray[tuple[int], np.dtype[np.int64]]",
    shape: tuple[int, int],
) -> Floats | None:
    numbers = values.to_numpy(dtype=float)
    if not np.isfinite(numbers).any():
        return None
    cells = np.full(shape, np.nan)
    cells[rows, columns] = numbers
    return cells


def _marks(panel: Panel, dates: pd.DatetimeIndex, tickers: pd.Index) -> Floats:
    closes = carried(panel.close)
    rows = panel.dates.searchsorted(dates, side="right") - 1
    columns = panel.tickers.get_indexer(tickers)
    out = closes[np.ix_(np.maximum(rows, 0), np.maximum(columns, 0))]
    out[rows < 0] = np.nan
    out[:, columns < 0] = np.nan
    return np.asarray(out)


def rebuilt_holdings(package: Package) -> Holdings | None:
    """Holdings of the rebuilt book; None if nothing could be rebuilt."""
    made = package.fact(rebuilding)
    if made.rebuilt is None or made.book is None:
        return None
    book = made.book
    return Holdings(book.dates, book.tickers, book.holdings, book.shares, made.rebuilt.cash, "rebuilt")


def audited_holdings(package: Package) -> Holdings | None:
    """Delivered holdings, else the rebuilt ones."""
    return package.fact(delivered_holdings) or package.fact(rebuilt_holdings)
