"""Small made-up markets for engine tests."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from finassay_reference.delivered.engine.market import Market
from finassay_reference.delivered.engine.simulate import Backtest, backtest
from finassay_reference.delivered.engine.strategy import Strategy

START = "2015-01-01"


def market(closes: Mapping[str, Sequence[float]], index: Sequence[float] | None = None) -> Market:
    """A market on business days from 2015-01-01."""
    dates = pd.bdate_range(START, periods=len(next(iter(closes.values()))))
    table = np.column_stack([np.asarray(values, dtype=float) for values in closes.values()])
    level = np.asarray(index if index is not None else np.linspace(100, 120, len(dates)), dtype=float)
    return Market(pd.DatetimeIndex(dates), tuple(closes), table, level)


def noise(names: int = 6, sessions: int = 700, seed: int = 7) -> Market:
    """A random market of several names with a common factor."""
    rng = np.random.default_rng(seed)
    common = rng.normal(0.0003, 0.01, sessions)
    own = rng.normal(0.0002, 0.012, (sessions, names))
    closes = 50 * np.exp(np.cumsum(common[:, None] * rng.uniform(0.6, 1.4, names) + own, axis=0))
    return market({f"N{i}": closes[:, i] for i in range(names)}, list(1000 * np.exp(np.cumsum(common))))


def strategy(tickers: Sequence[str], **settings: Any) -> Strategy:
    base: dict[str, Any] = {"factors": ("rev_5d",), "start": START, "cutoff": "2030-01-01", "slots": 1, "warm_up": 10, "capital": 1000.0}
    return Strategy(tickers=tuple(tickers), **(base | settings))


def run(made: Market, **settings: Any) -> Backtest:
    return backtest(made, strategy(made.tickers, **settings))
