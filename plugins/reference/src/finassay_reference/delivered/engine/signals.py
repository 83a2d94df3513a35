"""Stock selection: factor values and how they combine into one score per name. Every value uses closes up to its own session only."""

import itertools
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass

import numpy as np
import pandas as pd

from .market import Array, Market, schedule_sessions
from .strategy import Strategy


def _change(close: Array, far: int, near: int) -> Array:
    """Return from session t - far to session t - near."""
    out = np.full_like(close, np.nan)
    out[far:] = close[far - near : len(close) - near] / close[: len(close) - far] - 1
    return out


def _rolling(values: Array, window: int, measure: str) -> Array:
    """`mean`, `max` or `std` (n - 1) of each column over a full window; NaN before."""
    return np.asarray(pd.DataFrame(values).rolling(window, min_periods=window).agg(measure).to_numpy(dtype=float))


def momentum_12_1(market: Market, s: Strategy) -> Array:
    """Return from t-252 to t-21; high is good."""
    return _change(market.close, s.lookback, s.skip)


def momentum_6_1(market: Market, s: Strategy) -> Array:
    """Return from t-126 to t-21; high is good."""
    return _change(market.close, s.lookback // 2, s.skip)


def high_52w(market: Market, s: Strategy) -> Array:
    """Close divided by the highest close of 252 sessions; high is good."""
    return np.asarray(market.close / _rolling(market.close, s.lookback, "max"))


def reversal_5d(market: Market, s: Strategy) -> Array:
    """Return of the last 5 sessions; low is good."""
    return _change(market.close, 5, 0)


def reversal_21d(market: Market, s: Strategy) -> Array:
    """Return of the last 21 sessions; low is good."""
    return _change(market.close, s.skip, 0)


def low_vol(market: Market, s: Strategy) -> Array:
    """Standard deviation of 60 daily returns, a year; low is good."""
    return np.asarray(_rolling(market.returns, s.vol_window, "std") * np.sqrt(252))


def low_beta(market: Market, s: Strategy) -> Array:
    """Beta of 252 daily returns to the S&P 500 index; low is good."""
    r, m = market.returns, market.index_returns[:, None]
    mean_r = _rolling(r, s.lookback, "mean")
    mean_m = _rolling(m, s.lookback, "mean")
    cross = _rolling(r * m, s.lookback, "mean") - mean_r * mean_m
    variance = _rolling(m * m, s.lookback, "mean") - mean_m**2
    return np.asarray(cross / variance)


FACTORS: dict[str, tuple[Callable[[Market, Strategy], Array], int]] = {
    "mom_12_1": (momentum_12_1, 1),
    "mom_6_1": (momentum_6_1, 1),
    "high_52w": (high_52w, 1),
    "rev_5d": (reversal_5d, -1),
    "rev_21d": (reversal_21d, -1),
    "low_vol": (low_vol, -1),
    "low_beta": (low_beta, -1),
}
"""Factor id to its function and its direction: 1 if high is good, -1 if low is good."""


@dataclass(frozen=True)
class Ranking:
    """One decision's cross-section, in the market's order of tickers. `rank` is 1 for the best; NaN marks a name without a signal."""

    values: Array
    """Factors x names, raw factor values."""
    score: Array
    """Higher is better, lowest eligible name = 0; -1 for a name that failed the screen."""
    rank: Array
    mix: tuple[float, ...]
    """Weight of each factor in the score."""


def zscore(x: Array) -> Array:
    """Cross-sectional z-score, standard deviation with n - 1; all zero if the values are equal."""
    spread = np.nanstd(x, ddof=1)
    return (x - np.nanmean(x)) / spread if spread > 0 else np.where(np.isnan(x), np.nan, 0.0)


def percentile(x: Array) -> Array:
    """Average rank divided by the number of names, 0 to 1; NaN stays NaN."""
    return np.asarray(pd.Series(x).rank(pct=True).to_numpy())


def rank_correlation(a: Array, b: Array) -> float:
    """Spearman's rank correlation over names with both values; NaN with fewer than three or without spread."""
    ok = ~(np.isnan(a) | np.isnan(b))
    if ok.sum() < 3:
        return float("nan")
    x, y = pd.Series(a[ok]).rank().to_numpy(), pd.Series(b[ok]).rank().to_numpy()
    if x.std() == 0 or y.std() == 0:
        return float("nan")
    return float(np.corrcoef(x, y)[0, 1])


class Signals:
    """Scores and ranks of all names at any session."""

    def __init__(self, market: Market, strategy: Strategy) -> None:
        self.market, self.strategy = market, strategy
        self.directions = [FACTORS[name][1] for name in strategy.factors]
        self.values = np.stack([FACTORS[name][0](market, strategy) for name in strategy.factors])
        self._known: Array = np.zeros(0)
        self._ics: Array = np.zeros((0, len(strategy.factors)))
        if strategy.combination == "ic_weighted":
            self._known, self._ics = self._past_ics()
        self._cache: dict[int, Ranking] = {}

    def sharing(self, strategy: Strategy) -> "Signals":
        """These signals for a strategy that differs in other settings only: rankings already made are not made again."""
        twin = copy(self)
        twin.strategy = strategy
        return twin

    def _past_ics(self) -> tuple[Array, Array]:
        """Month by month: the session at which a month's coefficients are known, and the coefficient of each factor."""
        grid = schedule_sessions(self.market.dates, "monthly")[:-1]
        rows, known = [], []
        for here, there in itertools.pairwise(grid):
            ahead = self.market.close[there] / self.market.close[here] - 1
            row = [rank_correlation(d * v[here], ahead) for d, v in zip(self.directions, self.values, strict=True)]
            if not np.isnan(row).any():
                rows.append(row)
                known.append(there)
        return np.array(known), np.array(rows)

    def _mix(self, session: int) -> Array:
        """Weights of the factors: equal, or the mean of past coefficients where positive (equal if none is)."""
        count = len(self.strategy.factors)
        even = np.full(count, 1 / count)
        if self.strategy.combination != "ic_weighted":
            return even
        past = self._ics[self._known <= session][-self.strategy.ic_months :]
        if len(past) < self.strategy.ic_months_min:
            return even
        mean = np.maximum(past.mean(axis=0), 0)
        return np.asarray(mean / mean.sum()) if mean.sum() > 0 else even

    def at(self, session: int) -> Ranking:
        """The ranking known at the close of a session. Ties go to the ticker that comes first in the alphabet."""
        if session not in self._cache:
            self._cache[session] = self._rank(session)
        return self._cache[session]

    def _rank(self, session: int) -> Ranking:
        raw = self.values[:, session, :]
        good = raw * np.array(self.directions)[:, None]
        eligible = ~np.isnan(raw).any(axis=0) & ~np.isnan(self.market.close[session])
        good = np.where(eligible, good, np.nan)
        mix = self._mix(session)
        passed = eligible
        if self.strategy.combination == "rank_mean":
            combined = mix @ np.stack([percentile(row) for row in good])
        elif self.strategy.combination == "screen_then_rank":
            keep = int(np.ceil(eligible.sum() / 2))
            order = np.argsort(-np.where(eligible, good[0], -np.inf), kind="stable")
            passed = np.zeros_like(eligible)
            passed[order[:keep]] = True
            passed &= eligible
            combined = zscore(good[1])
        else:
            combined = mix @ np.stack([zscore(row) for row in good])
        score = combined - np.nanmin(combined) if eligible.any() else combined
        key = np.where(passed, score, np.where(eligible, score - 1e6, -np.inf))
        order = np.argsort(-key, kind="stable")
        rank = np.full(len(score), np.nan)
        rank[order[: eligible.sum()]] = np.arange(1, eligible.sum() + 1)
        return Ranking(raw, np.where(passed, score, np.where(eligible, -1.0, np.nan)), rank, tuple(float(x) for x in mix))

    def picks(self, session: int) -> list[int]:
        """Columns of the best names, at most `slots`, best first. A name that failed the screen is never picked."""
        ranking = self.at(session)
        good = [i for i in np.argsort(np.where(np.isnan(ranking.rank), np.inf, ranking.rank), kind="stable") if ranking.score[i] >= 0]
        return [int(i) for i in good[: self.strategy.slots]]
