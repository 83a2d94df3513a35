"""Market timing: one yes or no a session, known at its close, from series up to that close only."""

import numpy as np
import pandas as pd

from .market import Market
from .strategy import Strategy


def timing_states(market: Market, s: Strategy) -> pd.DataFrame:
    """Per session: `in_market` and the values that decide it. Without a timing rule `in_market` is always true.

    - index_ma: the index closes above its moving average of 200 sessions;
    - index_abs_mom: the index's return of 252 sessions is positive;
    - vol_regime: the index's 21-session volatility is not in the top fifth of its last 252 values;
    - breadth: more than half of the names close above their own moving average of 200 sessions.
    """
    index = pd.Series(market.index, index=market.dates)
    close = pd.DataFrame(market.close, index=market.dates)
    if s.timing == "index_ma":
        average = index.rolling(s.ma_window).mean()
        frame = pd.DataFrame({"in_market": index > average, "index_close": index, "index_average": average})
    elif s.timing == "index_abs_mom":
        change = index / index.shift(s.lookback) - 1
        frame = pd.DataFrame({"in_market": change > 0, "index_return_12m": change, "return_needed": 0.0})
    elif s.timing == "vol_regime":
        vol = index.pct_change().rolling(s.skip).std() * np.sqrt(252)
        limit = vol.rolling(s.lookback).quantile(0.8)
        frame = pd.DataFrame({"in_market": vol <= limit, "index_volatility": vol, "top_fifth_from": limit})
    elif s.timing == "breadth":
        above = close > close.rolling(s.ma_window).mean()
        share = above.sum(axis=1) / close.notna().sum(axis=1)
        frame = pd.DataFrame({"in_market": share > 0.5, "breadth": share, "breadth_needed": 0.5})
    else:
        frame = pd.DataFrame({"in_market": np.ones(len(index), dtype=bool)}, index=market.dates)
    frame.index.name = "date"
    return frame
