"""Stock scores re-derived from delivered prices (spec A.2): high is good in every matrix that is returned.

Matrices are date × ticker, aligned with the closes that go in; a score that lacks history is NaN.
"""

from collections.abc import Mapping

import numpy as np
import pandas as pd
from attrs import frozen


@frozen
class FactorKind:
    """`sign` turns the raw value into high-is-good; `names` are words by which delivered columns call it."""

    kind: str
    windows: tuple[tuple[int, int], ...]
    """(look-back, skip) in sessions: the definition of A.2 first, then its usual calendar variants."""
    sign: int
    names: tuple[str, ...]


KINDS: Mapping[str, FactorKind] = {
    "mom_12_1": FactorKind(
        "momentum", ((252, 21), (251, 20), (253, 22), (231, 21), (250, 20), (240, 20)), 1, ("mom_12_1", "momentum", "mom", "12_1")
    ),
    "mom_6_1": FactorKind("momentum", ((126, 21), (125, 20), (127, 22), (105, 21), (120, 20)), 1, ("mom_6_1", "momentum", "mom", "6_1")),
    "high_52w": FactorKind("high", ((252, 0), (251, 0), (250, 0), (260, 0)), 1, ("high_52w", "52w", "52_week", "high")),
    "rev_5d": FactorKind("momentum", ((5, 0), (4, 0)), -1, ("rev_5d", "reversal", "rev", "5d")),
    "rev_21d": FactorKind("momentum", ((21, 0), (20, 0), (22, 0)), -1, ("rev_21d", "reversal", "rev", "21d")),
    "low_vol": FactorKind("volatility", ((60, 0), (63, 0), (20, 0), (21, 0), (126, 0), (120, 0), (252, 0)), -1, ("low_vol", "vol", "calm")),
    "low_beta": FactorKind("beta", ((252, 0), (250, 0), (126, 0), (504, 0)), -1, ("low_beta", "beta")),
}
"""What prices alone can serve."""

MONTHS: Mapping[str, tuple[int, int]] = {"mom_12_1": (12, 1), "mom_6_1": (6, 1), "rev_21d": (1, 0)}
"""Look-back and skip in month-end closes."""

DELIVERED_NAMES: Mapping[str, tuple[tuple[str, ...], int]] = {
    "earnings_yield": (("earnings_yield", "ep", "eps_price"), 1),
    "book_to_market": (("book_to_market", "bm", "btm"), 1),
    "roe": (("roe", "return_on_equity"), 1),
    "gross_profitability": (("gross_profitability", "gp_assets", "gpa"), 1),
    "sales_growth": (("sales_growth", "revenue_growth"), 1),
    "eps_growth": (("eps_growth", "earnings_growth"), 1),
    "small_size": (("market_cap", "mcap", "size"), -1),
    "earnings_surprise": (("surprise", "sue"), 1),
}
"""Factors that prices cannot serve: words by which a delivered value is called, and the sign of good."""

RIVALS: Mapping[str, tuple[str, ...]] = {
    "mom_12_1": ("mom_6_1", "high_52w", "rev_21d"),
    "mom_6_1": ("mom_12_1", "high_52w", "rev_21d"),
    "high_52w": ("mom_12_1", "mom_6_1", "rev_21d"),
    "rev_5d": ("rev_21d", "mom_12_1"),
    "rev_21d": ("rev_5d", "mom_12_1"),
    "low_vol": ("low_beta",),
    "low_beta": ("low_vol",),
}


def momentum(closes: pd.DataFrame, look_back: int, skip: int) -> pd.DataFrame:
    """Return from `look_back` to `skip` sessions before each date, in each ticker's own rows."""
    return closes.shift(skip) / closes.shift(look_back) - 1


def month_end_momentum(closes: pd.DataFrame, months: int, skip: int, *, running: bool = False) -> pd.DataFrame:
    """The same on month-end closes. Months count back from the last finished month, this one at its last close; with `running` from the
    running month, whose own close is then never used if `skip` is at least 1."""
    period = pd.DatetimeIndex(closes.index).to_period("M")
    last = closes.groupby(period).last()
    ends = pd.Series(closes.index, index=closes.index).groupby(period).transform("max")
    finished = (ends == closes.index).to_numpy() | running
    position = last.index.get_indexer(period)
    position = np.where(finished, position, position - 1)
    monthly = (last.shift(skip) / last.shift(months) - 1).to_numpy()
    values = np.where((position >= 0)[:, None], monthly[np.maximum(position, 0)], np.nan)
    return pd.DataFrame(values, index=closes.index, columns=closes.columns)


def volatility(closes: pd.DataFrame, window: int) -> pd.DataFrame:
    """Standard deviation of daily returns over `window` returns (n - 1), per day."""
    return closes.pct_change(fill_method=None).rolling(window, min_periods=max(3, int(0.9 * window))).std()


def beta(closes: pd.DataFrame, market: pd.Series, window: int) -> pd.DataFrame:
    """Slope of each ticker's daily returns on the market's over `window` returns."""
    returns = closes.pct_change(fill_method=None)
    own = market.reindex(closes.index).pct_change(fill_method=None)
    minimum = max(3, int(0.9 * window))
    mean_both = returns.mul(own, axis=0).rolling(window, min_periods=minimum).mean()
    covariance = mean_both - returns.rolling(window, min_periods=minimum).mean().mul(
        own.rolling(window, min_periods=minimum).mean(), axis=0
    )
    return covariance.div(own.rolling(window, min_periods=minimum).var(ddof=0), axis=0)


def raw_score(factor: str, closes: pd.DataFrame, window: tuple[int, int], market: pd.Series | None) -> pd.DataFrame | None:
    """The factor's score, high is good, for one window; None if prices (and the market series) cannot serve it."""
    spec = KINDS.get(factor)
    if spec is None or (spec.kind == "beta" and market is None):
        return None
    look_back, skip = window
    if spec.kind == "momentum":
        value = momentum(closes, look_back, skip)
    elif spec.kind == "high":
        value = closes / closes.rolling(look_back, min_periods=int(0.9 * look_back)).max()
    elif spec.kind == "volatility":
        value = volatility(closes, look_back)
    else:
        value = beta(closes, market, look_back)  # type: ignore[arg-type]
    return spec.sign * value


def zscores(scores: pd.DataFrame) -> pd.DataFrame:
    """Each date's scores less their mean, over their standard deviation."""
    spread = scores.std(axis=1, ddof=0)
    return scores.sub(scores.mean(axis=1), axis=0).div(spread.where(spread > 0), axis=0)


def combine(scores: list[pd.DataFrame], method: str) -> pd.DataFrame | None:
    """One score from several by a combination method that needs no fitting; a name lacking one score has none.

    `screen_then_rank` keeps the better half by the first and ranks by the second. `ic_weighted` is not a fixed function: None.
    """
    if len(scores) == 1:
        return scores[0]
    complete = np.logical_and.reduce([score.notna().to_numpy() for score in scores])
    if method == "zscore_mean":
        return _mean([zscores(score.where(complete)) for score in scores])
    if method == "rank_mean":
        return _mean([score.where(complete).rank(axis=1, pct=True) for score in scores])
    if method == "screen_then_rank" and len(scores) == 2:
        first, second = (score.where(complete) for score in scores)
        return second.where(first.ge(first.median(axis=1), axis=0))
    return None


def _mean(scores: list[pd.DataFrame]) -> pd.DataFrame:
    total = scores[0]
    for score in scores[1:]:
        total = total + score
    return total / len(scores)
