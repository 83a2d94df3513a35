"""The reference engine over the whole grammar: what the embedded market cannot serve comes from the synthetic one.

Signals, weights, timing and the trading days are added by subclasses; fills, ledger and stops stay those of the reference engine.
"""

from typing import Any

import numpy as np
import pandas as pd
from attrs import frozen

from finassay_calibrate.market.known import DIRECTIONS, known_factors
from finassay_calibrate.market.synthetic import Array, SyntheticMarket
from finassay_reference.delivered.engine import signals as reference_signals
from finassay_reference.delivered.engine.market import Market
from finassay_reference.delivered.engine.signals import Signals
from finassay_reference.delivered.engine.simulate import Backtest, Leg, Order
from finassay_reference.delivered.engine.strategy import Strategy as Settings
from finassay_reference.delivered.engine.timing import timing_states
from finassay_reference.delivered.engine.validation import signal_statistics
from finassay_reference.delivered.engine.weights import Weighting


@frozen(eq=False)
class Plants:
    """What a fault changes in a run: nothing by default.

    `peek` and `peek_timing` are sessions that the ranking, or the timing rule, reaches ahead; `leverage` multiplies the target weights;
    `factors` replaces the company figures.
    """

    invert: bool = False
    peek: int = 0
    peek_timing: int = 0
    leverage: float = 1.0
    factors: dict[str, Array] | None = None


NOTHING = Plants()


class FullSignals(Signals):
    """Factors of prices and of fundamentals; a name whose delisting is announced is no candidate."""

    def __init__(self, source: SyntheticMarket, market: Market, settings: Settings, plants: Plants = NOTHING) -> None:
        self.market, self.strategy = market, settings
        known = known_factors(source) if plants.factors is None else plants.factors
        seen = ahead(market, plants.peek)
        rows, self.directions = [], []
        for name in settings.factors:
            if name in DIRECTIONS:
                rows.append(known[name])
                self.directions.append(DIRECTIONS[name])
            else:
                function, direction = reference_signals.FACTORS[name]
                rows.append(function(seen, settings))
                self.directions.append(direction)
        self.directions = [-d if plants.invert else d for d in self.directions]
        self.values = np.where(source.candidates[None, :, :], np.stack(rows), np.nan)
        self._known = np.zeros(0)
        self._ics = np.zeros((0, len(settings.factors)))
        if settings.combination == "ic_weighted":
            self._known, self._ics = self._past_ics()
        self._cache = {}


def ahead(market: Market, sessions: int) -> Market:
    """The market in which every session already shows what comes `sessions` later; the last ones stay as they are."""
    if not sessions:
        return market
    at = np.minimum(np.arange(len(market.dates)) + sessions, len(market.dates) - 1)
    close = pd.DataFrame(market.close).ffill().to_numpy()[at]
    return Market(market.dates, market.tickers, np.where(np.isnan(market.close), np.nan, close), market.index[at])


class FullWeighting(Weighting):
    """Market-capitalisation weights, and a cap on each sector whose excess stays in cash."""

    def __init__(self, source: SyntheticMarket, market: Market, settings: Settings, signals: Signals, leverage: float = 1.0) -> None:
        super().__init__(market, settings, signals)
        self.source, self.leverage = source, leverage

    def _weigh(self, session: int, picks: list[int]) -> Array:
        if self.strategy.weighting == "market_cap" and picks:
            caps = self.source.market_cap[session][picks]
            weights: Array = caps / caps.sum()
        else:
            weights = super()._weigh(session, picks)
        weights = self._capped(weights, picks) if self.strategy.risk == "sector_cap" else weights
        return weights * self.leverage

    def _capped(self, weights: Array, picks: list[int]) -> Array:
        sectors = np.array([self.source.sectors[i] for i in picks])
        out = weights.copy()
        for sector in dict.fromkeys(sectors):
            total = out[sectors == sector].sum()
            if total > self.strategy.risk_value:
                out[sectors == sector] *= self.strategy.risk_value / total
        return out


class FullBacktest(Backtest):
    """The yield curve as a timing rule, and trading on announcements."""

    def __init__(
        self, source: SyntheticMarket, market: Market, settings: Settings, signals: FullSignals, weighting: Weighting, plants: Plants
    ) -> None:
        super().__init__(market, settings, signals, weighting)
        if plants.peek_timing:
            self.states = timing_states(ahead(market, plants.peek_timing), settings)
            self.invest = self.states["in_market"].to_numpy(dtype=bool)
        if settings.timing == "yield_curve":
            spread = (source.yields["y10"] - source.yields["y2"]).to_numpy()
            frame = pd.DataFrame({"in_market": spread >= 0, "yield_spread": spread, "spread_needed": 0.0}, index=market.dates)
            frame.index.name = "date"
            self.states, self.invest = frame, frame["in_market"].to_numpy(dtype=bool)
        self.events = source.announcements if settings.schedule == "on_event" else None
        if settings.schedule == "on_event":
            due = np.flatnonzero(source.announcements.any(axis=1))
            self.due = due[(due >= settings.first_session) & (due + settings.fill_lag <= self.last)]
            self.is_due = np.zeros(len(market.dates), dtype=bool)
            self.is_due[self.due] = True
            self.book.start = int(self.due[0])

    def rebalance(self, session: int, worth: float, stopped: dict[int, Leg], reason: str) -> Order | None:
        """On events a name is bought only after its own announcement; the others of the list are left as they are.

        Under a band and a volatility target only names outside the band are traded, however far the whole exposure is off.
        """
        order = super().rebalance(session, worth, stopped, reason)
        if order is None:
            return None
        now = self.close[session] * self.shares / worth
        if self.events is None:
            if self.strategy.schedule != "drift_band" or not order.whole or not (self.shares > 0).any():
                return order
            off = {i: leg for i, leg in order.legs.items() if i in stopped or abs(now[i] - order.targets[i]) > self.strategy.band}
            return Order(session, order.targets, off, whole=False) if off else None
        capped = self.strategy.risk == "sector_cap"
        kept = {
            i: leg
            for i, leg in order.legs.items()
            if order.targets[i] == 0 or (self.events[session, i] and self.shares[i] == 0) or (capped and now[i] > order.targets[i] + 0.02)
        }
        return Order(session, order.targets, kept, whole=False) if kept else None

    def enter(self, session: int, worth: float, due: bool) -> Order | None:
        """A first purchase, or one after a timing exit, waits for an announcement of a name on the list."""
        if self.events is None:
            return super().enter(session, worth, due)
        order = super().enter(session, worth, due) if due else None
        self.inside = order is not None
        return order

    def next_decision(self, begin: int) -> int | None:
        """While nothing is held, only announcements are looked at."""
        if self.events is None or self.inside:
            return super().next_decision(begin)
        ahead = self.due[self.due >= begin]
        until = int(ahead[0]) if len(ahead) else self.last
        self.remember(begin, until)
        return until if len(ahead) else None


def run_backtest(source: SyntheticMarket, settings: Settings, plants: Plants = NOTHING) -> FullBacktest:
    """A finished run. Raises `ValueError` if nothing is traded."""
    market = Market(source.dates, source.tickers, source.close, source.index)
    signals = FullSignals(source, market, settings, plants)
    run = FullBacktest(source, market, settings, signals, FullWeighting(source, market, settings, signals, plants.leverage), plants)
    run.run()
    if not run.book.trades:
        raise ValueError("nothing is traded")
    return run


def frames(run: FullBacktest, source: SyntheticMarket) -> dict[str, pd.DataFrame]:
    """The tables of a run as the canonical delivery: dates are timestamps, shares are positive with a side."""
    book, start = run.book, run.book.start
    dates = source.dates[start:]
    equity, cash = book.equity[start:], book.cash[start:]
    trades = pd.DataFrame(book.trades)
    targets = pd.DataFrame(book.targets)
    for frame, columns in ((trades, ("signal_date", "fill_date")), (targets, ("decision_date", "fill_date"))):
        for column in columns:
            frame[column] = pd.to_datetime(frame[column])
    positions = pd.DataFrame(book.shares[start:], columns=list(source.tickers))
    positions.insert(0, "date", dates)
    positions["cash"] = cash
    ret = np.concatenate([[0.0], equity[1:] / equity[:-1] - 1])
    found = {
        "trades": trades,
        "targets": targets,
        "positions": positions,
        "equity": pd.DataFrame({"date": dates, "equity": equity, "cash": cash, "fees": book.fees[start:], "ret": ret}),
        "signals": _signals(run, source),
        "benchmark": _benchmark(run, source),
    }
    statistics = signal_statistics(run)
    if len(statistics):
        found["signal_statistics"] = statistics
    states = _states(run)
    return found | ({"states": states} if states is not None else {})


def _signals(run: FullBacktest, source: SyntheticMarket) -> pd.DataFrame:
    rows: list[dict[str, Any]] = []
    for t in run.book.ranked:
        ranking = run.signals.at(t)
        after = min(t + run.strategy.fill_lag, source.sessions - 1)
        for i, ticker in enumerate(source.tickers):
            if np.isnan(ranking.rank[i]):
                continue
            row: dict[str, Any] = {"decision_date": source.dates[t], "fill_date": source.dates[after], "ticker": ticker}
            row |= {name: ranking.values[k, i] for k, name in enumerate(run.strategy.factors)}
            rows.append(row | {"score": ranking.score[i], "rank": int(ranking.rank[i])})
    return pd.DataFrame(rows)


def _benchmark(run: FullBacktest, source: SyntheticMarket) -> pd.DataFrame:
    """Index level and the wealth of all names in equal parts, refreshed at each month's last close, over the reported dates."""
    start = run.book.start
    close = pd.DataFrame(source.close).ffill().to_numpy()
    month = (source.dates.year * 100 + source.dates.month).to_numpy()
    wealth, base = np.ones(source.sessions), 0
    for t in range(1, source.sessions):
        wealth[t] = wealth[base] * np.mean(close[t] / close[base])
        if t + 1 < source.sessions and month[t + 1] != month[t]:
            base = t
    return pd.DataFrame(
        {"date": source.dates[start:], "sp500_index": source.index[start:], "equal_weight_universe": wealth[start:] / wealth[start]}
    )


def _states(run: FullBacktest) -> pd.DataFrame | None:
    start = run.book.start
    frame = run.states.iloc[start:].copy()
    if run.strategy.risk == "drawdown_to_cash":
        frame["in_market"] = frame["in_market"] & ~run.book.cut[start:]
        frame["reference_high"] = run.book.high[start:]
        frame["drawdown"] = run.book.equity[start:] / run.book.high[start:] - 1
    if run.strategy.risk == "vol_target" and run.book.targets:
        decided = pd.DataFrame(run.book.targets).drop_duplicates("decision_date").set_index("decision_date")["volatility_estimate"]
        decided.index = pd.to_datetime(decided.index)
        frame["volatility_estimate"] = decided.reindex(frame.index).ffill().to_numpy()
    return frame.reset_index() if len(frame.columns) > 1 else None
