"""The reported figures of a run, each by its textbook formula (net of fees, simple daily returns, 252 sessions a year)."""

import numpy as np
import pandas as pd

YEAR = 252


def figures(equity: pd.Series, trades: pd.DataFrame, cash: pd.Series | None = None, start: float | None = None) -> dict[str, float]:
    """Metric name to value; returns, drawdown (negative), exposure and turnover as fractions, fees in money.

    `equity` is indexed by date and begins with the capital unless `start` is given; `trades` has fill_date, value, fee. Raises `ValueError`
    for a curve without two returns, which has no volatility.
    """
    curve = equity.to_numpy(dtype=float)
    curve = curve if start is None else np.concatenate([[start], curve])
    returns = curve[1:] / curve[:-1] - 1
    if len(returns) < 2:
        raise ValueError("the run is over as soon as it begins")
    spread = returns.std(ddof=1) or np.nan
    downside = np.sqrt((np.minimum(returns, 0) ** 2).mean()) or np.nan
    traded = trades.groupby("fill_date")["value"].sum()
    years = len(returns) / YEAR
    found = {
        "total_return": curve[-1] / curve[0] - 1,
        "annual_return": (curve[-1] / curve[0]) ** (1 / years) - 1,
        "annual_volatility": spread * YEAR**0.5,
        "sharpe": returns.mean() / spread * YEAR**0.5,
        "sortino": returns.mean() / downside * YEAR**0.5,
        "max_drawdown": (curve / np.maximum.accumulate(curve) - 1).min(),
        "trades": len(trades),
        "turnover": (traded / equity.reindex(traded.index)).sum() / 2 / years,
        "fees": trades["fee"].sum() if len(trades) else 0.0,
    }
    if cash is not None:
        found["exposure"] = (1 - cash.to_numpy(dtype=float) / equity.to_numpy(dtype=float)).mean()
    return {name: float(value) for name, value in found.items()}


def short(curve: pd.Series) -> dict[str, float]:
    """The five figures of a comparison table."""
    made = figures(curve, pd.DataFrame({"fill_date": pd.Series(dtype="datetime64[ns]"), "value": [], "fee": []}))
    return {name: made[name] for name in ("total_return", "annual_return", "annual_volatility", "sharpe", "max_drawdown")}
