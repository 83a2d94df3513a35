"""Long price tables as matrices."""

import numpy as np
import pandas as pd
from attrs import evolve, frozen
from numpy.typing import NDArray

from finassay_checks.shared import day_codes, factorized, positions, sorted_codes

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

CASH = "$CASH"
ABSURD = 1e15
"""No price, size or fee is this large: what is counts as not delivered."""


SPLIT_OFFSET = 0.25
"""How far a day's own move may take the price from what a split alone would make of it."""


@frozen(eq=False)
class Panel:
    """Prices by date and ticker; every matrix has shape (dates, tickers), NaN where there is no price."""

    dates: pd.DatetimeIndex
    tickers: pd.Index
    close: Floats
    open: Floats | None = None
    high: Floats | None = None
    low: Floats | None = None
    adjusted: Floats | None = None

    def date_codes(self, dates: "pd.Series | pd.DatetimeIndex") -> Ints:
        """Row of each date, -1 where there is none."""
        return np.asarray(self.dates.get_indexer(pd.DatetimeIndex(dates)), dtype=np.int64)

    def ticker_codes(self, tickers: "pd.Series | pd.Index") -> Ints:
        """Column of each ticker, -1 where there is none."""
        return positions(self.tickers, pd.Series(tickers))

    def at(self, matrix: Floats, rows: Ints, columns: Ints) -> Floats:
        """Cells of a matrix; NaN where a code is -1."""
        values = np.asarray(matrix[rows, columns], dtype=float)
        values[(rows < 0) | (columns < 0)] = np.nan
        return values


def panel_of(prices: pd.DataFrame) -> Panel | None:
    """The panel of a canonical `prices` frame; of duplicated (date, ticker) the last row. A price of zero or below is none. None without a
    usable close."""
    usable = (day_codes(prices, "date")[0] >= 0) & (factorized(prices["ticker"])[0] >= 0)
    if not usable.all():
        prices = prices[usable]
    if prices.empty or not prices["close"].notna().any():
        return None
    rows, dates = day_codes(prices, "date")
    columns, tickers = sorted_codes(prices["ticker"])
    shape = (len(dates), len(tickers))

    def matrix(name: str) -> Floats | None:
        values = prices[name].to_numpy(dtype=float)
        usable = (values > 0) & (values < ABSURD)
        if not usable.any():
            return None
        cells = np.full(shape, np.nan)
        cells[rows, columns] = np.where(usable, values, np.nan)
        return cells

    close = matrix("close")
    if close is None:
        return None
    extra = {name: matrix(name) if name in prices else None for name in ("open", "high", "low", "adj_close")}
    return Panel(pd.DatetimeIndex(dates), pd.Index(tickers), close, extra["open"], extra["high"], extra["low"], extra["adj_close"])


def with_splits(panel: Panel, actions: pd.DataFrame | None) -> Panel:
    """The panel with split-adjusted closes from a table of splits, where the raw close jumps as the split says; else the panel as it is.

    Prices that are adjusted already do not jump, and adjusted closes that were delivered are kept. `actions` has date, ticker, kind and
    value (new shares for one old).
    """
    if panel.adjusted is not None:
        return panel
    factor = _split_factor(panel.close, panel.dates, panel.tickers, actions)
    return panel if factor is None else evolve(panel, adjusted=panel.close * factor)


def split_adjusted(closes: pd.DataFrame, actions: pd.DataFrame | None) -> pd.DataFrame:
    """Closes (date × ticker) through splits, by the rule of `with_splits`; the same frame where no raw close jumps as a split says."""
    factor = _split_factor(closes.to_numpy(dtype=float), pd.DatetimeIndex(closes.index), closes.columns, actions)
    return closes if factor is None else closes * factor


def _split_factor(close: Floats, dates: pd.DatetimeIndex, tickers: pd.Index, actions: pd.DataFrame | None) -> Floats | None:
    """What each close is multiplied with; None if nothing is to be adjusted."""
    if actions is None or actions.empty:
        return None
    factor = np.ones_like(close)
    known = carried(close)
    splits = actions[(actions["kind"] == "split") & (actions["value"] > 0) & (actions["value"] != 1)].dropna(subset=["date", "ticker"])
    columns = tickers.get_indexer(pd.Index(splits["ticker"]))
    rows = dates.searchsorted(pd.DatetimeIndex(splits["date"]))
    for row, column, ratio in zip(rows, columns, splits["value"].to_numpy(dtype=float), strict=True):
        if column >= 0 and 0 < row < len(known) and abs(known[row, column] / known[row - 1, column] * ratio - 1.0) < SPLIT_OFFSET:
            factor[:row, column] /= ratio
    return None if (factor == 1.0).all() else factor


def carried(values: Floats) -> Floats:
    """Each column with its gaps filled by the last value before them."""
    known = np.isfinite(values)
    rows = np.where(known, np.arange(len(values))[:, None], 0)
    np.maximum.accumulate(rows, axis=0, out=rows)
    return np.take_along_axis(values, rows, axis=0)
