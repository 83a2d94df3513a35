"""Portfolio construction: how the money is divided among the picks, from closes up to the decision's session only."""

from typing import Any

import numpy as np

from .market import Array, Market
from .signals import Signals
from .strategy import Strategy

EWMA_DECAY = 0.97
SMALLEST = 1e-6
"""Weights of an optimiser below this are rounding and count as 0."""


def estimator(name: str) -> Any:
    """The covariance estimator of skfolio: sample, exponentially weighted (decay 0.97 a session), or Ledoit-Wolf shrinkage."""
    from skfolio.moments import EmpiricalCovariance, EWCovariance, LedoitWolf

    if name == "sample":
        return EmpiricalCovariance(nearest=False)
    return EWCovariance(half_life=float(np.log(0.5) / np.log(EWMA_DECAY)), nearest=False) if name == "ewma" else LedoitWolf(nearest=False)


def risk_parity(cov: Array) -> Array:
    """Long-only weights with equal contributions to variance.

    Newton's method on the convex problem min 1/2 x'Cx - sum(log x)/n (Spinu 2013), then scaled to sum 1.
    """
    n = len(cov)
    scale = np.sqrt(np.diag(cov))
    c = cov / np.outer(scale, scale)
    x = np.full(n, 1 / np.sqrt(c.sum()))
    for _ in range(200):
        gradient = c @ x - 1 / (n * x)
        if np.abs(gradient * x).max() < 1e-12:
            break
        step = np.linalg.solve(c + np.diag(1 / (n * x * x)), gradient)
        size = 1.0
        while (x - size * step <= 0).any():
            size /= 2
        x = x - size * step
    weights = x / scale
    return np.asarray(weights / weights.sum())


def mean_variance(mean: Array, cov: Array, aversion: float, cap: float) -> Array:
    """Long-only weights that maximise w'm - aversion * w'Cw with sum 1 and no weight over `cap`.

    Primal active-set method; exact up to rounding. With a cap that the names cannot fill, the cap is 1/n.
    """
    n = len(mean)
    cap = max(cap, 1 / n)
    w = np.full(n, 1 / n)
    bound = np.zeros(n, dtype=int)
    for _ in range(50 * n):
        free = bound == 0
        target = w.copy()
        level = 0.0
        if free.any():
            k = int(free.sum())
            system = np.zeros((k + 1, k + 1))
            system[:k, :k] = 2 * aversion * cov[np.ix_(free, free)]
            system[:k, k] = system[k, :k] = 1
            right = np.append(mean[free] - 2 * aversion * cov[np.ix_(free, ~free)] @ w[~free], 1 - w[~free].sum())
            solved = np.linalg.solve(system, right)
            target[free], level = solved[:k], float(solved[k])
        step = target - w
        with np.errstate(divide="ignore", invalid="ignore"):
            room = np.where(step > 1e-14, (cap - w) / step, np.where(step < -1e-14, -w / step, np.inf))
        room[~free] = np.inf
        hit = int(np.argmin(room))
        if room[hit] < 1:
            w = w + max(room[hit], 0.0) * step
            bound[hit] = 1 if step[hit] > 0 else -1
            w[hit] = cap if step[hit] > 0 else 0.0
            continue
        w = target
        slope = mean - 2 * aversion * cov @ w - level
        if not free.any():
            level = float(np.median(mean - 2 * aversion * cov @ w))
            slope = mean - 2 * aversion * cov @ w - level
        wrong = np.where(bound == -1, slope, np.where(bound == 1, -slope, -np.inf))
        worst = int(np.argmax(wrong))
        if wrong[worst] <= 1e-12:
            break
        bound[worst] = 0
    w = np.clip(w, 0, cap)
    return np.asarray(w / w.sum())


class Weighting:
    """Target weights of the picks at a decision. Results are kept, since sensitivity runs ask for the same ones again."""

    def __init__(self, market: Market, strategy: Strategy, signals: Signals) -> None:
        self.market, self.strategy, self.signals = market, strategy, signals
        self._returns = market.returns
        self._estimator = estimator(strategy.covariance) if strategy.covariance != "none" else None
        self._cache: dict[tuple[int, tuple[int, ...]], Array] = {}

    def window(self, session: int, picks: list[int], length: int) -> Array:
        """Daily returns of the picks up to and including the session's close, length x picks."""
        return self._returns[session - length + 1 : session + 1][:, picks]

    def covariance(self, session: int, picks: list[int]) -> Array:
        if self._estimator is None:
            raise ValueError(f"{self.strategy.weighting} needs a covariance estimator")
        from sklearn import config_context

        with config_context(assume_finite=True, skip_parameter_validation=True):
            return np.asarray(self._estimator.fit(self.window(session, picks, self.strategy.cov_window)).covariance_)

    def shares_of_money(self, session: int, picks: list[int]) -> Array:
        """Weights of the picks in their order; they sum to 1 (equal weighting: 1/slots each, empty slots stay cash)."""
        key = (session, tuple(picks))
        if key not in self._cache:
            self._cache[key] = self._weigh(session, picks)
        return self._cache[key]

    def _weigh(self, session: int, picks: list[int]) -> Array:
        s = self.strategy
        if s.weighting == "equal" or not picks:
            return np.full(len(picks), 1 / s.slots)
        if s.weighting == "score_prop":
            score = self.signals.at(session).score[picks]
            return np.asarray(score / score.sum()) if score.sum() > 0 else np.full(len(picks), 1 / len(picks))
        if s.weighting == "inverse_vol":
            inverse = 1 / self.window(session, picks, s.vol_window).std(axis=0, ddof=1)
            return np.asarray(inverse / inverse.sum())
        if len(picks) == 1:
            return np.ones(1)
        cov = self.covariance(session, picks)
        if s.weighting == "risk_parity":
            return risk_parity(cov)
        mean = self.window(session, picks, s.cov_window).mean(axis=0)
        weights = mean_variance(mean, cov, s.risk_aversion, s.max_weight)
        weights = np.where(weights < SMALLEST, 0.0, weights)
        return np.asarray(weights / weights.sum())

    def volatility(self, session: int, picks: list[int], weights: Array) -> float:
        """Annualised volatility of the picks at these weights over the volatility window."""
        series = self.window(session, picks, self.strategy.vol_window) @ weights
        return float(series.std(ddof=1) * np.sqrt(252))
