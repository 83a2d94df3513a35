"""Long price tables as matrices."""

import numpy as np
import pandas as pd
from attrs import frozen
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

CASH = "$CASH"
ABSURD = 1e15
"""No price, size or fee is this large: what is counts as not delivered."""


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
        codes, names = pd.factorize(tickers)
        positions = np.append(self.tickers.get_indexer(pd.Index(names)), -1)
        return np.asarray(positions[codes], dtype=np.int64)

    def at(self, matrix: Floats, rows: Ints, columns: Ints) -> Floats:
        """Cells of a matrix; NaN where a code is -1."""
        values = np.asarray(matrix[rows, columns], dtype=float)
        values[(rows < 0) | (columns < 0)] = np.nan
        return values


def panel_of(prices: pd.DataFrame) -> Panel | None:
    """The panel of a canonical `prices` frame; of duplicated (date, ticker) the last row. A price of zero or below is none. None without a
    usable close."""
    usable = prices["date"].notna() & prices["ticker"].notna()
    if not bool(usable.all()):
        prices = prices[usable]
    if prices.empty or not prices["close"].notna().any():
        return None
    rows, dates = pd.factorize(prices["date"], sort=True)
    columns, tickers = pd.factorize(prices["ticker"], sort=True)
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


def carried(values: Floats) -> Floats:
    """Each column with its gaps filled by the last value before them."""
    known = np.isfinite(values)
    rows = np.where(known, np.arange(len(values))[:, None], 0)
    np.maximum.accumulate(rows, axis=0, out=rows)
    return np.take_along_axis(values, rows, axis=0)
