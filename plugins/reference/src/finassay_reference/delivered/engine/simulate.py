"""The portfolio day by day: decisions at closes, orders filled `fill_lag` sessions later, a ledger of everything that happened.

Between two fills the share counts are constant, so the search for the next decision runs over whole stretches at once.
"""

from dataclasses import dataclass, field

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from .market import Array, Market, schedule_sessions
from .signals import Signals
from .strategy import Strategy
from .timing import timing_states
from .weights import Weighting

TOUCH = 1e-12
"""A threshold counts as reached within this relative distance."""


@dataclass(frozen=True)
class Leg:
    """Why one name is traded: the reason, the value that decided it and what that value was compared with."""

    reason: str
    decided_by: str
    value: float
    against: float


@dataclass(frozen=True)
class Order:
    """Trade the names in `legs` to their weight in `targets` (fractions of equity at the fill)."""

    session: int
    targets: Array
    legs: dict[int, Leg]
    whole: bool
    """Every name is brought to its target; else only those in `legs`, as far as the cash reaches."""


@dataclass
class Ledger:
    """What a run did. `shares` is T x N; `cash` and `fees` are T; they are valid from `start` on, the first decision that buys.

    `trades` and `targets` are rows for tables.
    """

    start: int
    shares: Array
    cash: Array
    fees: Array
    trades: list[dict[str, object]] = field(default_factory=list)
    targets: list[dict[str, object]] = field(default_factory=list)
    ranked: list[int] = field(default_factory=list)
    """Sessions whose ranking was used."""
    high: Array = field(default_factory=lambda: np.array([]))
    """Reference high of the drawdown rule, T."""
    cut: NDArray[np.bool_] = field(default_factory=lambda: np.array([], dtype=bool))
    """Whether the drawdown rule holds the portfolio in cash, by the close of each session, T."""
    equity: Array = field(default_factory=lambda: np.array([]))


class Backtest:
    """One run of one strategy."""

    def __init__(self, market: Market, strategy: Strategy, signals: Signals, weighting: Weighting) -> None:
        self.market, self.strategy, self.signals, self.weighting = market, strategy, signals, weighting
        self.close = np.where(np.isnan(market.close), 0.0, market.close)
        self.states = timing_states(market, strategy)
        self.invest = self.states["in_market"].to_numpy(dtype=bool)
        due = schedule_sessions(market.dates, strategy.schedule)
        self.last = len(market.dates) - 1
        self.due = due[(due >= strategy.first_session) & (due + strategy.fill_lag <= self.last)]
        if not len(self.due):
            raise ValueError("the price table is too short: no decision date after the warm-up")
        self.is_due = np.zeros(len(market.dates), dtype=bool)
        self.is_due[self.due] = True
        names = len(market.tickers)
        self.shares = np.zeros(names)
        self.cost = np.zeros(names)
        self.peak = np.zeros(names)
        self.targets = np.zeros(names)
        self.cash = strategy.capital
        self.rate = strategy.cost_bps / 10_000
        self.inside = False
        self.cut_since: int | None = None
        self.high = strategy.capital
        start = int(self.due[0])
        size = len(market.dates)
        self.book = Ledger(start, np.zeros((size, names)), np.full(size, strategy.capital), np.zeros(size))
        self.book.high = np.full(size, strategy.capital)
        self.book.cut = np.zeros(size, dtype=bool)

    def run(self) -> Ledger:
        session = self.book.start
        while session + self.strategy.fill_lag <= self.last:
            order = self.decide(session)
            fill = session
            if order is not None:
                fill = session + self.strategy.fill_lag
                if not self.book.trades:
                    self.book.start = session
                self.fill(order, fill)
            following = fill if order is not None and self.strategy.fill_lag else session + 1
            found = self.next_decision(following)
            if found is None:
                break
            session = found
        self.book.ranked = [t for t in self.book.ranked if t >= self.book.start]
        self.book.equity = (self.book.shares * self.close).sum(axis=1) + self.book.cash
        return self.book

    # --- looking for the next decision ------------------------------------------------------------------------------------------

    def next_decision(self, begin: int) -> int | None:
        """First session from `begin` on at which something is due or a rule is triggered; None if there is none before the end."""
        while begin <= self.last:
            ahead = self.due[self.due >= begin]
            end = int(ahead[0]) if len(ahead) else self.last
            hit = self.first_trigger(begin, end)
            until = end if hit is None else hit
            self.remember(begin, until)
            if hit is not None or len(ahead):
                return until
            return None
        return None

    def first_trigger(self, begin: int, end: int) -> int | None:
        if not self.inside:
            if self.cut_since is not None or self.strategy.timing == "none":
                return None
            back = np.flatnonzero(self.invest[begin : end + 1])
            return begin + int(back[0]) if len(back) else None
        stretch = self.close[begin : end + 1]
        hits = [np.flatnonzero(~self.invest[begin : end + 1])]
        held = np.flatnonzero(self.shares > 0)
        worth = self.cash + stretch @ self.shares
        kind = self.strategy.risk
        if kind in ("position_stop", "trailing_stop") and len(held):
            hits.append(np.flatnonzero((stretch[:, held] <= self.levels(stretch, held) * (1 + TOUCH)).any(axis=1)))
        if kind == "drawdown_to_cash":
            high = np.maximum(np.maximum.accumulate(worth), self.high)
            hits.append(np.flatnonzero(worth <= high * (1 - self.strategy.risk_value) * (1 + TOUCH)))
        if self.strategy.schedule == "drift_band":
            weights = stretch * self.shares / worth[:, None]
            hits.append(np.flatnonzero((np.abs(weights - self.targets) > self.strategy.band).any(axis=1)))
        first = [int(h[0]) for h in hits if len(h)]
        return begin + min(first) if first else None

    def levels(self, stretch: Array, held: NDArray[np.intp]) -> Array:
        """Stop levels by session and held name: a fraction below the average entry, or below the highest close since entry."""
        if self.strategy.risk == "position_stop":
            reference = np.broadcast_to(self.cost[held], (len(stretch), len(held)))
        else:
            reference = np.maximum(np.maximum.accumulate(stretch[:, held], axis=0), self.peak[held])
        return np.asarray(reference * (1 - self.strategy.risk_value))

    def remember(self, begin: int, end: int) -> None:
        """Carry peaks and the reference high to the close of `end`; nothing to carry where an order is filled at its own close."""
        if begin > end:
            return
        stretch = self.close[begin : end + 1]
        self.peak = np.where(self.shares > 0, np.maximum(self.peak, stretch.max(axis=0)), 0.0)
        worth = self.cash + stretch @ self.shares
        self.book.high[begin : end + 1] = np.maximum(np.maximum.accumulate(worth), self.high)
        self.book.cut[begin:] = self.cut_since is not None
        if self.inside:
            self.high = max(self.high, float(worth.max()))
        else:
            self.book.high[begin : end + 1] = self.high

    # --- deciding ---------------------------------------------------------------------------------------------------------------

    def decide(self, session: int) -> Order | None:
        """The order at this close, None if nothing is traded."""
        worth = self.cash + float(self.close[session] @ self.shares)
        due = bool(self.is_due[session])
        if due:
            self.rank_used(session)
        self.book.high[session] = self.high
        if self.inside and self.strategy.risk == "drawdown_to_cash" and worth <= self.high * (1 - self.strategy.risk_value) * (1 + TOUCH):
            self.cut_since = session
            self.book.cut[session:] = True
            return self.leave(session, Leg("drawdown exit", "drawdown", worth / self.high - 1, -self.strategy.risk_value))
        if not self.invest[session]:
            return self.leave(session, Leg("timing exit", *self.state_value(session))) if self.inside else None
        if not self.inside:
            return self.enter(session, worth, due)
        stopped = self.stopped(session)
        if due or (self.strategy.schedule == "drift_band" and self.off_target(session, worth)):
            return self.rebalance(session, worth, stopped, "rebalance")
        if stopped:
            self.targets[list(stopped)] = 0.0
            names = sorted({*stopped, *(int(i) for i in np.flatnonzero(self.targets))})
            self.write_targets(session, names, self.targets[names], float(self.targets.sum()), float("nan"))
            return Order(session, self.targets.copy(), stopped, whole=False)
        return None

    def enter(self, session: int, worth: float, due: bool) -> Order | None:
        """First purchase or re-entry; after a drawdown cut only at a scheduled decision that is late enough."""
        if self.cut_since is not None:
            if not due or session - self.cut_since < self.strategy.reentry_sessions:
                return None
            self.cut_since = None
            self.high = worth
            self.book.high[session] = worth
            self.book.cut[session:] = False
        self.inside = True
        if not due:
            self.rank_used(session)
        return self.rebalance(session, worth, {}, "rebalance" if due else "timing re-entry")

    def leave(self, session: int, leg: Leg) -> Order | None:
        self.inside = False
        self.targets = np.zeros_like(self.targets)
        held = [int(i) for i in np.flatnonzero(self.shares > 0)]
        self.write_targets(session, held, np.zeros(len(held)), 0.0, float("nan"))
        return Order(session, self.targets.copy(), dict.fromkeys(held, leg), whole=True) if held else None

    def state_value(self, session: int) -> tuple[str, float, float]:
        """Name, value and limit of the timing state."""
        row = self.states.iloc[session]
        return str(self.states.columns[1]), float(row.iloc[1]), float(row.iloc[2])

    def stopped(self, session: int) -> dict[int, Leg]:
        """Held names at or past their stop at this close."""
        held = np.flatnonzero(self.shares > 0)
        if self.strategy.risk not in ("position_stop", "trailing_stop") or not len(held):
            return {}
        level = self.levels(self.close[session : session + 1], held)[0]
        reason = "position stop" if self.strategy.risk == "position_stop" else "trailing stop"
        return {
            int(i): Leg(reason, "close", float(self.close[session, i]), float(x / (1 - self.strategy.risk_value)))
            for i, x in zip(held, level, strict=True)
            if self.close[session, i] <= x * (1 + TOUCH)
        }

    def off_target(self, session: int, worth: float) -> bool:
        weights = self.close[session] * self.shares / worth
        return bool((np.abs(weights - self.targets) > self.strategy.band).any())

    def rank_used(self, session: int) -> None:
        if not self.book.ranked or self.book.ranked[-1] != session:
            self.book.ranked.append(session)

    def rebalance(self, session: int, worth: float, stopped: dict[int, Leg], reason: str) -> Order | None:
        """Fresh picks and weights. A name that is stopped at this close is left out; its slot stays cash until the next rebalance."""
        self.rank_used(session)
        picks = [i for i in self.signals.picks(session) if i not in stopped and self.close[session, i] > 0]
        weights = self.weighting.shares_of_money(session, picks) if picks else np.array([])
        if picks and len(picks) < self.strategy.slots and self.strategy.weighting != "equal" and stopped:
            weights = weights * len(picks) / (len(picks) + sum(1 for i in stopped if i in self.signals.picks(session)))
        estimate, exposure = float("nan"), float(weights.sum())
        if self.strategy.risk == "vol_target" and picks:
            estimate = self.weighting.volatility(session, picks, weights)
            weights = weights * min(1.0, self.strategy.risk_value / estimate)
            exposure = float(weights.sum())
        targets = np.zeros_like(self.targets)
        targets[picks] = weights
        self.targets = targets
        before = self.close[session] * self.shares / worth
        legs = self.rank_legs(session, before, targets, reason)
        whole = self.strategy.schedule != "drift_band" or not (self.shares > 0).any()
        if not whole:
            wide = self.strategy.risk == "vol_target" and abs(before.sum() - exposure) > self.strategy.band
            whole = wide
            if not wide:
                legs = self.outside_band(legs, before, targets, self.cash / worth)
        legs.update(stopped)
        self.write_targets(session, picks, weights, exposure, estimate)
        return Order(session, targets.copy(), legs, whole) if legs else None

    def outside_band(self, legs: dict[int, Leg], before: Array, targets: Array, cash: float) -> dict[int, Leg]:
        """Legs of names outside the band; names above their target are trimmed, the farthest first, where purchases lack the cash."""
        kept = {i: leg for i, leg in legs.items() if abs(before[i] - targets[i]) > self.strategy.band}
        gaps = before - targets
        short = -sum(gaps[i] for i in kept) - cash + self.rate * sum(abs(gaps[i]) for i in kept)
        for i in np.argsort(-gaps, kind="stable"):
            if short <= TOUCH or gaps[i] <= 0:
                break
            if int(i) not in kept:
                kept[int(i)] = Leg("rebalance: trimmed to pay for a purchase", "weight", float(before[i]), float(targets[i]))
                short -= gaps[i] * (1 - self.rate)
        return kept

    def rank_legs(self, session: int, before: Array, targets: Array, reason: str) -> dict[int, Leg]:
        """A leg for each name that is held or wanted, decided by its rank."""
        rank = self.signals.at(session).rank
        legs = {}
        for i in np.flatnonzero((self.shares > 0) | (targets > 0)):
            if targets[i] == 0:
                what = "left the list"
            elif self.shares[i] == 0:
                what = "entered the list"
            else:
                what = "resized to target"
            legs[int(i)] = Leg(f"{reason}: {what}", "rank", float(rank[i]), float(self.strategy.slots))
        return legs

    def write_targets(self, session: int, picks: list[int], weights: Array, exposure: float, estimate: float) -> None:
        """Rows of the target table at a decision: all wanted weights; a name without a row, or with weight 0, is not wanted."""
        for i, weight in sorted((int(i), float(w)) for i, w in zip(picks, weights, strict=True)):
            row: dict[str, object] = {
                "decision_date": self.market.text(session),
                "fill_date": self.market.text(session + self.strategy.fill_lag),
                "ticker": self.market.tickers[i],
                "target_weight": weight,
                "exposure": exposure,
            }
            if self.strategy.risk == "vol_target":
                row["volatility_estimate"] = estimate
            self.book.targets.append(row)

    # --- filling ----------------------------------------------------------------------------------------------------------------

    def fill(self, order: Order, session: int) -> None:
        """Trade at this session's close; sales first, fees on traded value, never more bought than the cash pays for.

        Scheduled decisions that fall between an order and its fill are lost; with the standard lag of one session there are none.
        """
        price = self.close[session]
        self.remember(order.session + 1, session)
        held = price * self.shares
        total = self.cash + float(held.sum())
        names = np.array(sorted(order.legs), dtype=int)
        names = names[price[names] > 0]
        goal = held.copy()
        goal[names] = order.targets[names] * self.net_of_fees(total, held, order.targets, names)
        change = goal - held
        buys = np.where(change > 0, change, 0.0)
        have = self.cash - change[change < 0].sum() - self.rate * np.abs(change[change < 0]).sum()
        if buys.sum() * (1 + self.rate) > have > 0:
            goal = np.where(change > 0, held + buys * have / (buys.sum() * (1 + self.rate)), goal)
        elif have <= 0:
            goal = np.where(change > 0, held, goal)
        before = self.close[order.session] * self.shares / (self.cash + float(self.close[order.session] @ self.shares))
        for i in sorted(names, key=lambda i: (goal[i] > held[i], i)):
            self.book_trade(order, session, int(i), goal[i], before[i])
        self.cash = max(self.cash, 0.0) if self.cash > -1e-6 else self.cash
        self.peak = np.where(self.shares > 0, np.maximum(self.peak, price), 0.0)
        self.book.shares[session:] = self.shares
        self.book.cash[session:] = self.cash

    def net_of_fees(self, total: float, held: Array, targets: Array, names: NDArray[np.intp]) -> float:
        """Equity after the fees of the order: the fixed point of K = total - rate * sum |target * K - held|."""
        equity = total
        for _ in range(50):
            following = total - self.rate * float(np.abs(targets[names] * equity - held[names]).sum())
            if abs(following - equity) <= 1e-12 * total:
                break
            equity = following
        return equity

    def book_trade(self, order: Order, session: int, i: int, goal: float, before: float) -> None:
        price = float(self.close[session, i])
        shares = goal / price - self.shares[i] if goal > 0 else -self.shares[i]
        value = abs(shares) * price
        if shares == 0 or (goal > 0 and value <= 1e-9 * self.strategy.capital):
            return
        fee = self.rate * value
        if shares > 0:
            self.cost[i] = (self.cost[i] * self.shares[i] + value) / (self.shares[i] + shares)
        self.cash -= shares * price + fee
        self.shares[i] = self.shares[i] + shares if goal > 0 else 0.0
        if self.shares[i] == 0:
            self.cost[i] = 0.0
        self.book.fees[session] += fee
        leg = order.legs[i]
        self.book.trades.append(
            {
                "trade_id": len(self.book.trades) + 1,
                "signal_date": self.market.text(order.session),
                "fill_date": self.market.text(session),
                "ticker": self.market.tickers[i],
                "side": "BUY" if shares > 0 else "SELL",
                "shares": abs(float(shares)),
                "price": price,
                "value": value,
                "fee": fee,
                "reason": leg.reason,
                "decided_by": leg.decided_by,
                "decided_value": leg.value,
                "compared_with": leg.against,
                "weight_before": float(before),
                "target_weight": float(order.targets[i]),
            }
        )


def backtest(market: Market, strategy: Strategy, signals: Signals | None = None, weighting: Weighting | None = None) -> Backtest:
    """A finished run: its ledger is `.book`. Signals and weights may be shared with another run that differs in neither."""
    signals = signals or Signals(market, strategy)
    run = Backtest(market, strategy, signals, weighting or Weighting(market, strategy, signals))
    run.run()
    return run


def spells(trades: pd.DataFrame) -> pd.DataFrame:
    """Closed positions, flat to flat: ticker, opened, closed, profit after fees."""
    rows = []
    for ticker, log in trades.groupby("ticker", sort=True):
        held, profit, opened = 0.0, 0.0, ""
        for side, shares, value, fee, day in log[["side", "shares", "value", "fee", "fill_date"]].itertuples(index=False):
            sign = 1 if side == "BUY" else -1
            opened = opened if held > 0 else day
            held += sign * shares
            profit -= sign * value + fee
            if held <= 1e-7:
                rows.append({"ticker": ticker, "opened": opened, "closed": day, "profit": profit})
                held, profit = 0.0, 0.0
    return pd.DataFrame(rows, columns=["ticker", "opened", "closed", "profit"])
