"""Money paid in and out of an account: time-weighted returns, and what the account looks like when flows count as gains."""

import numpy as np
import pandas as pd

from finassay.api.delivery import Package
from finassay_checks.audit.model import AuditFinding
from finassay_checks.delivered import read_delivery


def time_weighted(values: pd.Series, flows: pd.DataFrame) -> tuple[pd.Series, pd.Series]:
    """(wealth of the time-weighted returns from the first value, the values as they are).

    A flow after the day's valuation is in that day's value and is taken off before the return is formed; one before it earns the day's
    return. A flow on a day without a value counts on the next one that has one.
    """
    dates = pd.DatetimeIndex(values.index)
    level = values.to_numpy(dtype=float)
    after, before = np.zeros(len(level)), np.zeros(len(level))
    for day, amount, timing in zip(flows["date"], flows["amount"], flows["timing"], strict=True):
        at = int(dates.searchsorted(day))
        if 0 < at < len(level):
            (before if timing == "before" else after)[at] += amount
    with np.errstate(all="ignore"):
        returns = (level[1:] - after[1:]) / (level[:-1] + before[1:]) - 1.0
    wealth = level[0] * np.concatenate(([1.0], np.cumprod(1.0 + np.nan_to_num(returns))))
    return pd.Series(wealth, index=dates), values


def flow_findings(package: Package) -> list[AuditFinding]:
    """Every external flow on a date inside the account's values."""
    delivered = package.fact(read_delivery)
    flows = delivered.frame("cash_flows")
    choice = delivered.choices.get("cash_flows")
    if flows is None or not len(flows) or choice is None or choice.chosen is None or delivered.frame("equity") is None:
        return []
    dates = tuple(str(d.date()) for d in flows["date"])
    return [
        AuditFinding(
            "external_cash_flow",
            f"{len(flows)} payments in or out of the account are no gains or losses: returns are taken day by day without them",
            "info",
            choice.chosen.table.where,
            dates,
            found=f"{flows['amount'].sum():+,.2f} in all",
        )
    ]
