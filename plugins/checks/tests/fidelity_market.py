"""Backtests for the fidelity tests, by plain loops that share nothing with the checks: any mix of ranking, weights, timing and controls."""

from collections.abc import Callable, Mapping

import numpy as np
import pandas as pd
from attrs import field, frozen

from .deliveries import Bytes, sessions

NAMES = ("AAPL", "AMD", "BAC", "CVX", "GE", "HD", "JNJ", "KO", "PG", "XOM")
CAPITAL = 1_000_000.0
Ranking = Callable[[pd.DataFrame, int], pd.Series]
Weighting = Callable[[pd.DataFrame, int, list[str], pd.Series], np.ndarray]


def market(seed: int = 1, days: int = 900) -> pd.DataFrame:
    """Closes of ten names with a common factor, different volatilities and slowly changing drifts, with a crash in the middle."""
    generator = np.random.default_rng(seed)
    index = sessions()[:days]
    volatility = np.linspace(0.006, 0.028, len(NAMES))
    common = generator.normal(0.0003, 0.007, days)
    common[days // 2 : days // 2 + 25] -= 0.012
    drift = np.cumsum(generator.normal(0, 0.00012, (days, len(NAMES))), axis=0)
    steps = (
        drift
        - drift.mean(axis=0)
        + generator.normal(0, 1, (days, len(NAMES))) * volatility
        + common[:, None] * np.linspace(0.4, 1.6, len(NAMES))
    )
    return pd.DataFrame((60 * np.exp(np.cumsum(steps, axis=0))).round(4), index=index, columns=list(NAMES))


def momentum(look_back: int, skip: int) -> Ranking:
    return lambda closes, at: (
        closes.iloc[at - skip] / closes.iloc[at - look_back] - 1 if at >= look_back else pd.Series(np.nan, closes.columns)
    )


def calm(window: int = 60) -> Ranking:
    return lambda closes, at: (
        -closes.iloc[at - window : at + 1].pct_change().iloc[1:].std() if at >= window else pd.Series(np.nan, closes.columns)
    )


def z_mean(*rankings: Ranking) -> Ranking:
    def score(closes: pd.DataFrame, at: int) -> pd.Series:
        parts = [ranking(closes, at) for ranking in rankings]
        return sum((part - part.mean()) / part.std(ddof=0) for part in parts) / len(parts)

    return score


def equal(closes: pd.DataFrame, at: int, names: list[str], scores: pd.Series) -> np.ndarray:
    return np.full(len(names), 1 / len(names))


def inverse_vol(closes: pd.DataFrame, at: int, names: list[str], scores: pd.Series) -> np.ndarray:
    raw = 1 / closes[names].iloc[at - 60 : at + 1].pct_change().iloc[1:].std().to_numpy()
    return raw / raw.sum()


def score_share(closes: pd.DataFrame, at: int, names: list[str], scores: pd.Series) -> np.ndarray:
    raw = scores.rank()[names].to_numpy()
    return raw / raw.sum()


def covariance(closes: pd.DataFrame, at: int, names: list[str], kind: str) -> np.ndarray:
    returns = closes[names].iloc[at - 126 : at + 1].pct_change().iloc[1:].to_numpy()
    if kind == "sample":
        return np.cov(returns.T)
    weights = 0.94 ** np.arange(len(returns))[::-1]
    return (returns.T * weights / weights.sum()) @ returns


def risk_parity(kind: str = "sample") -> Weighting:
    """Equal risk contributions by a plain fixed-point iteration."""

    def weigh(closes: pd.DataFrame, at: int, names: list[str], scores: pd.Series) -> np.ndarray:
        matrix = covariance(closes, at, names, kind)
        weights = np.full(len(names), 1 / len(names))
        for _ in range(2_000):
            weights = np.sqrt(weights / (matrix @ weights))
            weights /= weights.sum()
        return weights

    return weigh


def minimum_variance(kind: str = "sample") -> Weighting:
    """Long-only, by a grid of pairwise exchanges that stop when none helps."""

    def weigh(closes: pd.DataFrame, at: int, names: list[str], scores: pd.Series) -> np.ndarray:
        matrix = covariance(closes, at, names, kind)
        weights = np.full(len(names), 1 / len(names))
        for step in (0.05, 0.01, 0.002, 0.0005):
            for _ in range(200):
                slope = matrix @ weights
                low, high = int(np.argmin(slope)), int(np.argmax(np.where(weights >= step - 1e-12, slope, -np.inf)))
                moved = weights.copy()
                moved[low] += step
                moved[high] -= step
                if moved @ matrix @ moved >= weights @ matrix @ weights:
                    break
                weights = moved
        return weights

    return weigh


@frozen(eq=False)
class Rules:
    """What is traded. `stop` is ('position' or 'trailing', threshold); `state` is true while in the market, by date; thresholds are fractions."""

    ranking: Ranking = momentum(126, 21)
    weighting: Weighting = equal
    schedule: str = "monthly"
    picks: int = 3
    rate: float = 0.001
    stop: tuple[str, float] | None = None
    drawdown: float | None = None
    state: pd.Series | None = None
    target: float | None = None
    band: float | None = None
    obey: bool = True
    """Whether stop, drawdown and state are acted on."""


@frozen(eq=False)
class Run:
    """What the loop gives."""

    closes: pd.DataFrame
    trades: pd.DataFrame
    equity: pd.Series
    estimates: pd.Series = field(factory=lambda: pd.Series(dtype=float))

    def files(self, rules_text: str = "", extra: Mapping[str, Bytes] | None = None) -> dict[str, Bytes]:
        """A delivery: report with a rule table, prices, trades, equity."""
        report = f"# Backtest\n\n## Summary\nThe strategy was run on {len(self.closes)} sessions.\n\n## Rules\n\n{rules_text}\n\n## Results\nSee `trades.csv`.\n"
        prices = self.closes.rename_axis("date").reset_index().melt("date", var_name="ticker", value_name="close")
        equity = pd.DataFrame({"date": self.equity.index, "equity": self.equity.to_numpy()})
        return {"REPORT.md": report, "data/prices.csv": prices, "trades.csv": self.trades, "equity.csv": equity, **(extra or {})}


def run(rules: Rules, closes: pd.DataFrame | None = None, warm_up: int = 260) -> Run:
    """Decide at a close, fill at the next one; fractional shares, fees on traded value."""
    closes = market() if closes is None else closes
    days = closes.index
    book = _Book(rules, closes)
    for at in range(warm_up, len(days)):
        book.fill(at)
        book.mark(at)
        book.decide(at)
    trades = pd.DataFrame(book.rows, columns=["signal_date", "fill_date", "ticker", "side", "shares", "price", "value", "fee", "reason"])
    return Run(closes, trades, pd.Series(book.values), pd.Series(book.estimates, dtype=float))


class _Book:
    def __init__(self, rules: Rules, closes: pd.DataFrame) -> None:
        self.rules, self.closes = rules, closes
        self.cash, self.held = CAPITAL, dict.fromkeys(closes.columns, 0.0)
        self.entry: dict[str, float] = {}
        self.peak: dict[str, float] = {}
        self.orders: dict[str, tuple[float, str]] = {}
        self.decided = closes.index[0]
        self.rows: list[tuple[object, ...]] = []
        self.values: dict[pd.Timestamp, float] = {}
        self.estimates: dict[pd.Timestamp, float] = {}
        self.targets: dict[str, float] = {}
        self.high, self.out = CAPITAL, False

    def worth(self, at: int) -> float:
        price = self.closes.iloc[at]
        return self.cash + sum(shares * price[name] for name, shares in self.held.items())

    def fill(self, at: int) -> None:
        """Carry out yesterday's orders: target weights of today's value before trading."""
        price, day = self.closes.iloc[at], self.closes.index[at]
        value = self.worth(at) / (1 + 2 * self.rules.rate)
        for name, (weight, reason) in self.orders.items():
            change = weight * value / price[name] - self.held[name]
            if abs(change) * price[name] < 1.0:
                continue
            traded = abs(change) * price[name]
            self.rows.append(
                (
                    self.decided,
                    day,
                    name,
                    "BUY" if change > 0 else "SELL",
                    abs(change),
                    price[name],
                    traded,
                    self.rules.rate * traded,
                    reason,
                )
            )
            self.cash -= change * price[name] + self.rules.rate * traded
            if change > 0:
                old = self.held[name]
                self.entry[name] = (old * self.entry.get(name, 0.0) + change * price[name]) / (old + change)
                self.peak[name] = price[name] if old == 0 else self.peak[name]
            self.held[name] = 0.0 if weight == 0 else self.held[name] + change
        self.orders = {}

    def mark(self, at: int) -> None:
        price = self.closes.iloc[at]
        for name, shares in self.held.items():
            if shares:
                self.peak[name] = max(self.peak[name], price[name])
        self.values[self.closes.index[at]] = self.worth(at)

    def decide(self, at: int) -> None:
        self.decided = self.closes.index[at]
        due = self._due(at)
        state = self.rules.state
        on = state is None or not self.rules.obey or bool(state.iloc[at])
        value = self.worth(at)
        self.high = max(self.high, value)
        if (
            self.rules.drawdown is not None
            and self.rules.obey
            and not self.out
            and value <= self.high * (1 - self.rules.drawdown)
            and self._invested()
        ):
            self.out = True
            self._to_cash("drawdown exit")
        elif not on:
            if self._invested():
                self._to_cash("timing off")
        elif due:
            if self.out:
                self.out, self.high = False, value
            self._rebalance(at)
        elif state is not None and not self._invested() and bool(state.iloc[at - 1]) != on:
            self._rebalance(at)
        elif self.rules.stop is not None and self.rules.obey:
            self._stops(at)

    def _invested(self) -> bool:
        return any(self.held.values())

    def _to_cash(self, reason: str) -> None:
        self.orders = {name: (0.0, reason) for name, shares in self.held.items() if shares}

    def _due(self, at: int) -> bool:
        day, after = self.closes.index[at], self.closes.index[min(at + 1, len(self.closes) - 1)]
        if self.rules.band is not None:
            price, value = self.closes.iloc[at], self.worth(at)
            drift = max((abs(self.held[n] * price[n] / value - w) for n, w in self.targets.items()), default=1.0)
            return drift > self.rules.band
        if self.rules.schedule == "weekly":
            return after.isocalendar().week != day.isocalendar().week
        if self.rules.schedule == "quarterly":
            return after.quarter != day.quarter
        return after.month != day.month

    def _rebalance(self, at: int) -> None:
        scores = self.rules.ranking(self.closes, at)
        if scores.isna().any():
            return
        picks = list(scores.sort_values(ascending=False, kind="stable").index[: self.rules.picks])
        weights = self.rules.weighting(self.closes, at, picks, scores)
        if self.rules.target is not None:
            returns = self.closes[picks].iloc[at - 60 : at + 1].pct_change().iloc[1:].to_numpy() @ weights
            estimate = float(np.std(returns, ddof=1) * np.sqrt(252))
            self.estimates[self.closes.index[at]] = estimate
            weights = weights * min(1.0, self.rules.target / estimate)
        self.targets = dict(zip(picks, weights, strict=True))
        self.orders = {n: (0.0, "list exit") for n, shares in self.held.items() if shares and n not in picks}
        self.orders |= {n: (w, "rebalance" if self.held[n] else "entry") for n, w in self.targets.items()}

    def _stops(self, at: int) -> None:
        kind, threshold = self.rules.stop or ("", 0.0)
        price = self.closes.iloc[at]
        for name, shares in self.held.items():
            reference = self.entry.get(name, np.nan) if kind == "position" else self.peak.get(name, np.nan)
            if shares and price[name] <= reference * (1 - threshold):
                self.orders[name] = (0.0, f"{kind} stop")
                self.targets.pop(name, None)
