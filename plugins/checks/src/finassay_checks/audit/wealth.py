"""Wealth of dated returns."""

from typing import Any

import pandas as pd

from finassay_checks.recompute.metrics import periods_per_year


def step(dates: pd.DatetimeIndex) -> Any:
    """One period of a series: a business day, or the median spacing of a coarser one."""
    if len(dates) < 3 or periods_per_year(dates) >= 252:
        return pd.offsets.BDay(1)
    spacing = pd.Series(dates).diff().median()
    return pd.offsets.MonthEnd(1) if periods_per_year(dates) == 12 else spacing


def compounded(returns: pd.Series) -> pd.Series | None:
    """Wealth of dated returns, 1.0 one period before the first; None for fewer than two."""
    returns = returns.dropna()
    if len(returns) < 2:
        return None
    index = pd.DatetimeIndex(returns.index)
    start = pd.Series([1.0], index=pd.DatetimeIndex([index[0] - step(index)]))
    wealth: pd.Series = pd.concat([start, (1.0 + returns).cumprod()])
    return wealth
