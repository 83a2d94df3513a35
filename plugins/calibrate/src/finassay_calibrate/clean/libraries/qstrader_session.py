"""What QSTrader (MIT) leaves to its user: prices, sessions, the day's target weights, how much stays in cash, and a log of the fills.

Imported only when something is built with it. QSTrader ships no types, so its classes are `Any` to a type checker.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from qstrader import settings
from qstrader.alpha_model.alpha_model import AlphaModel
from qstrader.asset.universe.universe import Universe
from qstrader.broker.fee_model.percent_fee_model import PercentFeeModel
from qstrader.broker.portfolio.position_handler import PositionHandler
from qstrader.data.backtest_data_handler import BacktestDataHandler
from qstrader.portcon.order_sizer.dollar_weighted import DollarWeightedCashBufferedOrderSizer
from qstrader.simulation.event import SimulationEvent
from qstrader.simulation.sim_engine import SimulationEngine
from qstrader.trading.backtest import BacktestTradingSession

AUCTION = pd.Timedelta(hours=20, minutes=59)
"""When a session's one event is: QSTrader's exchange is open until 21:00 UTC, so that orders are filled at once."""


class Closes:
    """A price source of QSTrader: bid and ask are the session's close."""

    def __init__(self, close: pd.DataFrame) -> None:
        self.values = close.to_numpy()
        self.row = {day: i for i, day in enumerate(close.index)}
        self.column = {name: j for j, name in enumerate(close.columns)}

    def get_bid(self, dt: pd.Timestamp, asset: str) -> float:
        return float(self.values[self.row[day_of(dt)], self.column[asset]])

    get_ask = get_bid


def day_of(moment: pd.Timestamp) -> pd.Timestamp:
    return moment.tz_localize(None).normalize()


class Plan(AlphaModel, Universe):  # type: ignore[misc]
    """The target weights of a day, and the names that have one; all others are sold."""

    def __init__(self, weights: pd.DataFrame) -> None:
        self.by_day: dict[Any, dict[str, float]] = {
            day: {str(name): float(w) for name, w in row.items() if w > 0} for day, row in weights.iterrows()
        }

    def __call__(self, dt: pd.Timestamp) -> dict[str, float]:
        return dict(self.by_day[day_of(dt)])

    def get_assets(self, dt: pd.Timestamp) -> list[str]:
        return list(self.by_day[day_of(dt)])


class Sizer(DollarWeightedCashBufferedOrderSizer):  # type: ignore[misc]
    """QSTrader scales weights up to one; what a plan leaves in cash is its cash buffer of that day."""

    def __call__(self, dt: pd.Timestamp, weights: dict[str, float]) -> dict[str, dict[str, int]]:
        self.cash_buffer_percentage = float(np.clip(1.0 - sum(weights.values()), 0.0, 1.0))
        sized: dict[str, dict[str, int]] = super().__call__(dt, weights)
        return sized


class Sessions(SimulationEngine):  # type: ignore[misc]
    """One event a session, in place of one for every Monday to Friday."""

    def __init__(self, dates: pd.DatetimeIndex) -> None:
        self.moments = [moment_of(day) for day in dates]

    def __iter__(self) -> Iterator[Any]:
        for moment in self.moments:
            yield SimulationEvent(moment, event_type="market_close")


def moment_of(day: pd.Timestamp) -> pd.Timestamp:
    return (day + AUCTION).tz_localize("UTC")


class Logged(PositionHandler):  # type: ignore[misc]
    """QSTrader's positions, which remember every transaction that made them (its own history rounds prices to cents)."""

    def __init__(self) -> None:
        super().__init__()
        self.transactions: list[Any] = []

    def transact_position(self, transaction: Any) -> None:
        self.transactions.append(transaction)
        super().transact_position(transaction)


class Session(BacktestTradingSession):  # type: ignore[misc]
    """A QSTrader backtest over the sessions of a table of closes, rebalanced on the days of a table of weights."""

    def __init__(self, close: pd.DataFrame, weights: pd.DataFrame, capital: float, cost_bps: float) -> None:
        settings.set_print_events(False)
        self.sessions, self.rebalanced = pd.DatetimeIndex(close.index), frozenset(moment_of(day) for day in weights.index)
        self.holdings: list[dict[str, float]] = []
        plan = Plan(weights)
        super().__init__(
            moment_of(close.index[0]),
            moment_of(close.index[-1]),
            plan,
            plan,
            initial_cash=capital,
            rebalance="chosen days",
            long_only=True,
            cash_buffer_percentage=0.0,
            fee_model=PercentFeeModel(commission_pct=cost_bps / 10_000),
            data_handler=BacktestDataHandler(plan, data_sources=[Closes(close)]),
        )
        self.log = Logged()
        self.broker.portfolios[self.portfolio_id].pos_handler = self.log
        self.qts.portfolio_construction_model.order_sizer = Sizer(self.broker, self.portfolio_id, self.data_handler, 0.0)

    def _create_simulation_engine(self) -> Sessions:
        return Sessions(self.sessions)

    def _create_rebalance_event_times(self) -> frozenset[pd.Timestamp]:
        return self.rebalanced

    def _update_equity_curve(self, dt: pd.Timestamp) -> None:
        super()._update_equity_curve(dt)
        held = self.broker.get_portfolio_as_dict(self.portfolio_id)
        cash = self.broker.get_portfolio_cash_balance(self.portfolio_id)
        self.holdings.append({name: float(one["quantity"]) for name, one in held.items()} | {"cash": float(cash)})
