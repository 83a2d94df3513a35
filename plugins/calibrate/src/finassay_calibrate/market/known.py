"""Company figures as they were known at each close: the latest announced version of the latest announced quarters."""

from functools import lru_cache

import numpy as np
import pandas as pd

from finassay_calibrate.market.synthetic import Array, SyntheticMarket

DIRECTIONS = {
    "earnings_yield": 1,
    "book_to_market": 1,
    "roe": 1,
    "gross_profitability": 1,
    "sales_growth": 1,
    "eps_growth": 1,
    "small_size": -1,
    "earnings_surprise": 1,
}
"""Factors that prices cannot serve: 1 if high is good, -1 if low is good."""


@lru_cache(maxsize=16)
def known_factors(market: SyntheticMarket, column: str = "announced") -> dict[str, Array]:
    """Factor id to values, T x N. `column` is the date from which a row counts as known (a look-ahead uses `period_end`).

    Yields are the sum of the last four quarters' earnings over the close; growth compares a quarter with the one a year before.
    """
    shape = (market.sessions, len(market.tickers))
    found = {name: np.full(shape, np.nan) for name in DIRECTIONS}
    found["small_size"] = np.where(np.isnan(market.close), np.nan, market.market_cap)
    for i, ticker in enumerate(market.tickers):
        rows = market.fundamentals[market.fundamentals["ticker"] == ticker].sort_values([column, "version"])
        starts = np.searchsorted(market.dates, pd.DatetimeIndex(rows[column]))
        quarters: dict[pd.Timestamp, pd.Series] = {}
        begin, values = 0, dict.fromkeys(DIRECTIONS, np.nan)
        for at, (_, row) in zip([*starts, market.sessions], [*rows.iterrows(), (None, None)], strict=True):
            for name in DIRECTIONS:
                if name != "small_size":
                    found[name][begin:at, i] = values[name]
            begin = int(at)
            if row is not None:
                quarters[row["period_end"]] = row
                values = _ratios([quarters[end] for end in sorted(quarters)])
        price = market.close[:, i]
        found["earnings_yield"][:, i] /= price
        found["book_to_market"][:, i] /= price
    return found


def _ratios(quarters: list[pd.Series]) -> dict[str, float]:
    """Values from the known quarters in order; NaN where a year of them is needed and not known yet."""
    now = quarters[-1]
    found = dict.fromkeys(DIRECTIONS, np.nan)
    found["book_to_market"] = float(now["book_value_per_share"])
    found["roe"] = float(now["roe"])
    found["gross_profitability"] = float(now["gross_profit"] / now["total_assets"])
    found["earnings_surprise"] = float((now["eps"] - now["eps_estimate"]) / abs(now["eps_estimate"]))
    if len(quarters) >= 4:
        found["earnings_yield"] = float(sum(q["eps"] for q in quarters[-4:]))
    if len(quarters) >= 5:
        year = quarters[-5]
        found["sales_growth"] = float(now["revenue"] / year["revenue"] - 1)
        found["eps_growth"] = float((now["eps"] - year["eps"]) / abs(year["eps"]))
    return found
