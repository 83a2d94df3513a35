"""The curve that was delivered."""

import pandas as pd

from finassay.api.delivery import Package
from finassay_checks.audit.periods import curve_of_periods
from finassay_checks.audit.wealth import compounded
from finassay_checks.delivered import read_delivery
from finassay_checks.recompute.panel import ABSURD
from finassay_checks.recompute.rebuilt import ABSURD_RETURN


def delivered_curve(package: Package) -> pd.Series | None:
    """The delivered values by date; from returns, compounded from 1.0 one period before the first."""
    frame = package.fact(read_delivery).frame("equity")
    if frame is None:
        made = package.fact(curve_of_periods)
        frame = _only_index(package) if made is None else None
        if frame is None:
            return made
    rows = frame[frame["date"].notna()].drop_duplicates("date", keep="last").sort_values("date")
    index = pd.DatetimeIndex(rows["date"])
    equity = pd.Series(rows["equity"].to_numpy(dtype=float), index=index)
    equity = equity[equity.abs() < ABSURD].dropna()
    if len(equity) >= 2:
        return equity
    returns = pd.Series(rows["ret"].to_numpy(dtype=float), index=index)
    return compounded(returns[returns.abs() < ABSURD_RETURN])


def _only_index(package: Package) -> pd.DataFrame | None:
    """The values named as an index or a benchmark where nothing else that could make a curve was delivered: reported figures are about them."""
    delivered = package.fact(read_delivery)
    others = ("prices", "trades", "round_trips", "positions", "weights", "equity", "periods")
    if any(t.role in others and t.table.current for t in delivered.role_tables):
        return None
    series = [t for t in delivered.role_tables if t.role == "benchmark" and t.table.current]
    return series[0].frame if len(series) == 1 else None
