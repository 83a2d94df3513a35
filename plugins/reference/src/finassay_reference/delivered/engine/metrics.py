"""Headline figures from the equity curve and the trade log, each with its basis."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from .market import Array
from .simulate import spells

YEAR = 252
"""Sessions a year."""


@dataclass(frozen=True)
class Metric:
    """`unit` and `basis` say how the value is to be read."""

    name: str
    value: float
    unit: str
    basis: str


def total_return(equity: Array) -> float:
    """End over start, less one."""
    return float(equity[-1] / equity[0] - 1)


def annual_return(equity: Array) -> float:
    """Geometric: (1 + total) ** (252 / n) - 1 with n daily returns; -1 if everything is lost."""
    return float((equity[-1] / equity[0]) ** (YEAR / (len(equity) - 1)) - 1)


def daily_returns(equity: Array) -> Array:
    return np.asarray(equity[1:] / equity[:-1] - 1)


def annual_volatility(equity: Array) -> float:
    """Standard deviation (n - 1) of daily returns times sqrt(252)."""
    return float(daily_returns(equity).std(ddof=1) * np.sqrt(YEAR))


def sharpe_ratio(equity: Array) -> float:
    """Mean over standard deviation (n - 1) of daily returns times sqrt(252), risk-free rate 0; NaN without variation."""
    returns = daily_returns(equity)
    spread = returns.std(ddof=1)
    return float(returns.mean() / spread * np.sqrt(YEAR)) if spread > 0 else float("nan")


def sortino_ratio(equity: Array) -> float:
    """Mean daily return over the root mean square of min(return, 0) over all sessions, times sqrt(252); NaN without a loss."""
    returns = daily_returns(equity)
    downside = np.sqrt((np.minimum(returns, 0) ** 2).mean())
    return float(returns.mean() / downside * np.sqrt(YEAR)) if downside > 0 else float("nan")


def max_drawdown(equity: Array) -> float:
    """Lowest value of equity over its running peak, less one; the starting capital is the first peak."""
    return float((equity / np.maximum.accumulate(equity) - 1).min())


def turnover(trades: pd.DataFrame, equity: pd.Series) -> float:
    """One-way, a year: half of the traded value over that day's equity, summed, divided by the years (sessions / 252)."""
    if trades.empty:
        return 0.0
    traded = trades.groupby("fill_date")["value"].sum()
    return float((traded / equity.reindex(traded.index)).sum() / 2 / ((len(equity) - 1) / YEAR))


def headline(equity: pd.Series, invested: Array, trades: pd.DataFrame) -> list[Metric]:
    """All headline figures. `equity` is indexed by ISO date and starts with the capital at the first decision."""
    curve = equity.to_numpy()
    closed = spells(trades)
    span = f"{equity.index[0]} to {equity.index[-1]}"
    won = float((closed["profit"] > 0).mean()) if len(closed) else float("nan")
    fees = float(trades["fee"].sum()) if len(trades) else 0.0
    return [
        Metric("total_return", total_return(curve), "fraction", f"net of fees, {span}"),
        Metric("annual_return", annual_return(curve), "fraction a year", f"net of fees, geometric, annualised with 252 sessions, {span}"),
        Metric("annual_volatility", annual_volatility(curve), "fraction a year", f"net of fees, daily returns x sqrt(252), {span}"),
        Metric(
            "sharpe", sharpe_ratio(curve), "ratio", f"net of fees, daily mean / standard deviation x sqrt(252), risk-free rate 0, {span}"
        ),
        Metric("sortino", sortino_ratio(curve), "ratio", f"net of fees, daily mean / downside deviation x sqrt(252), annualised, {span}"),
        Metric("max_drawdown", max_drawdown(curve), "fraction", f"net of fees, daily closes, {span}"),
        Metric("trades", float(len(trades)), "fills", f"rows of trades.csv, {span}"),
        Metric(
            "turnover",
            turnover(trades, equity),
            "fraction of equity a year",
            f"one-way, half of buys plus sells over the day's equity, annualised, {span}",
        ),
        Metric(
            "win_rate",
            won,
            "fraction of closed positions",
            f"positions flat to flat with a profit net of fees, {len(closed)} closed, {span}",
        ),
        Metric("exposure", float(invested.mean()), "fraction of equity", f"mean over all sessions of holdings / equity, {span}"),
        Metric("fees", fees, "USD", f"sum of the fee column of trades.csv, {span}"),
    ]


def short_row(equity: Array) -> dict[str, float]:
    """The five figures of a comparison table."""
    return {
        "total_return": total_return(equity),
        "annual_return": annual_return(equity),
        "annual_volatility": annual_volatility(equity),
        "sharpe": sharpe_ratio(equity),
        "max_drawdown": max_drawdown(equity),
    }
