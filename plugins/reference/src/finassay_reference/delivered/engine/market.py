"""Prices and index as arrays."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Market:
    """`dates` (T), `tickers` (N), `close` (T x N, adjusted), `index` (T, level of the S&P 500)."""

    dates: pd.DatetimeIndex
    tickers: tuple[str, ...]
    close: Array
    index: Array

    @property
    def returns(self) -> Array:
        """Simple daily returns, T x N; the first row is NaN."""
        out = np.full_like(self.close, np.nan)
        out[1:] = self.close[1:] / self.close[:-1] - 1
        return out

    @property
    def index_returns(self) -> Array:
        out = np.full_like(self.index, np.nan)
        out[1:] = self.index[1:] / self.index[:-1] - 1
        return out

    @cached_property
    def days(self) -> list[str]:
        """ISO dates of all sessions."""
        return [str(day.date()) for day in self.dates]

    def text(self, session: int) -> str:
        """ISO date of a session."""
        return self.days[session]


def read_market(folder: Path, tickers: tuple[str, ...]) -> Market:
    """Read `prices.csv` (date, ticker, close) and `index.csv` (date, close). A missing close stays NaN and is never filled."""
    prices = pd.read_csv(folder / "prices.csv", parse_dates=["date"])
    wide = prices.pivot(index="date", columns="ticker", values="close").sort_index()[list(tickers)]
    level = pd.read_csv(folder / "index.csv", parse_dates=["date"]).set_index("date")["close"].reindex(wide.index)
    return Market(pd.DatetimeIndex(wide.index), tickers, wide.to_numpy(dtype=float), level.to_numpy(dtype=float))


def schedule_sessions(dates: pd.DatetimeIndex, schedule: str) -> NDArray[np.int64]:
    """Sessions on which a decision is due: the last one of each ISO week, month or quarter. A drift band refreshes its targets monthly."""
    if schedule == "weekly":
        iso = dates.isocalendar()
        key = (iso["year"] * 100 + iso["week"]).to_numpy()
    elif schedule == "quarterly":
        key = (dates.year * 10 + dates.quarter).to_numpy()
    else:
        key = (dates.year * 100 + dates.month).to_numpy()
    return np.flatnonzero(np.append(key[1:] != key[:-1], True)).astype(np.int64)
