"""What is wrong with the delivered prices, counted; and what became of the cases at the edges of the rules."""

import numpy as np
import pandas as pd

from .simulate import Backtest


def data_quality(prices: pd.DataFrame) -> pd.DataFrame:
    """Counts on the price table: missing, gaps, duplicates, stale, outliers; with the action taken and its effect."""
    wide = prices.drop_duplicates(["date", "ticker"]).pivot(index="date", columns="ticker", values="close").sort_index()
    inside = wide.ffill().notna() & wide.bfill().notna()
    cells = int(inside.to_numpy().sum())
    missing = int(prices["close"].isna().sum())
    gaps = int((inside & wide.isna()).to_numpy().sum()) - missing
    duplicates = int(prices.duplicated(["date", "ticker"]).sum())
    same = wide.eq(wide.shift())
    stale = 0
    for name in wide:
        runs = (~same[name]).cumsum()
        length = same[name].groupby(runs).sum()
        stale += int(length[length >= 4].sum())
    moves = wide.pct_change(fill_method=None).abs()
    jumps = moves > 0.5
    listed = "; ".join(f"{t} {d}" for d, t in jumps.stack()[lambda s: s].index) if jumps.to_numpy().any() else "none"
    rows = [
        ("missing closes", missing, "none filled", "no name is bought or sold without a close"),
        ("sessions without a row", gaps, "none filled", "the date is left out for that name"),
        ("duplicate rows", duplicates, "none dropped", "one row for each date and ticker"),
        ("stale closes (5 or more equal in a row)", stale, "kept", "rounding of the source; a flat close earns 0"),
        ("one-day moves over 50%", int(jumps.to_numpy().sum()), "kept, listed", listed),
    ]
    frame = pd.DataFrame(rows, columns=["check", "count", "action", "effect"])
    frame.insert(2, "cells", cells)
    frame.insert(3, "share", frame["count"] / max(cells, 1))
    return frame


def boundary_cases(run: Backtest) -> pd.DataFrame:
    """How often each case at the edge of a rule came up, and what the code does."""
    book, s = run.book, run.strategy
    start, sessions = book.start, book.ranked
    close = run.market.close[start:]
    ties = sum(_tied(run, t) for t in sessions)
    few = sum(len(run.signals.picks(t)) < s.slots for t in sessions)
    invested = (book.shares[start:] > 0).any(axis=1)
    spells_out = int((np.diff(invested.astype(int)) == -1).sum())
    reentries = int((np.diff(invested.astype(int)) == 1).sum()) - 1
    rows = [
        ("missing price at a trade", int(np.isnan(close).sum()), "the name is not traded on that session and is no candidate"),
        ("halt or delisting", 0, "a name without a close keeps its last weight out of the ranking; it is sold at its next close"),
        ("ties in the ranking", ties, "the ticker that comes first in the alphabet"),
        ("fewer candidates than slots", few, "equal weighting: the empty slots stay cash; else the weights of the picks sum to 1"),
        ("all-cash spells", spells_out, "cash earns 0"),
        ("warm-up", start, "sessions before the first decision; they are in prices.csv and no position is held"),
        ("splits and dividends", 0, "inside the adjusted closes; no separate cash flow"),
        (
            "re-entries after an exit to cash",
            max(reentries, 0),
            "timing: the first close with the state on; drawdown: the first scheduled decision after the waiting time",
        ),
        ("stopped at a rebalance", 0, "the name is left out, its slot stays cash until the next rebalance"),
    ]
    return pd.DataFrame(rows, columns=["case", "count", "rule"])


def _tied(run: Backtest, session: int) -> bool:
    """Whether the last pick and the first name left out have the same score."""
    score = np.sort(run.signals.at(session).score)[::-1]
    n = run.strategy.slots
    return bool(len(score) > n and score[n - 1] == score[n])


def risk_figures(dates: list[str], equity: np.ndarray, index: np.ndarray, contribution: pd.Series) -> pd.DataFrame:
    """The risks of this strategy over this period in numbers."""
    returns = equity[1:] / equity[:-1] - 1
    market = index[1:] / index[:-1] - 1
    peak = np.maximum.accumulate(equity)
    under = equity < peak
    longest = run = 0
    for flag in under:
        run = run + 1 if flag else 0
        longest = max(longest, run)
    months = pd.Series(equity, index=pd.DatetimeIndex(dates)).resample("ME").last().pct_change().dropna()
    beta = float(np.cov(returns, market)[0, 1] / market.var(ddof=1))
    years = len(returns) / 252
    sharpe = returns.mean() / returns.std(ddof=1) * np.sqrt(252) if returns.std() > 0 else float("nan")
    best = contribution.sort_values(ascending=False)
    rows = [
        ("beta to the S&P 500", beta, "daily returns"),
        ("worst day", float(returns.min()), dates[int(returns.argmin()) + 1]),
        ("worst month", float(months.min()), str(months.idxmin())[:7]),
        ("5th percentile of daily returns", float(np.quantile(returns, 0.05)), "historical"),
        ("longest time below a peak", float(longest), "sessions"),
        ("standard error of the Sharpe ratio", float(np.sqrt((1 + sharpe**2 / 2) / years)), "Lo (2002), independent returns"),
        (
            "share of the profit from the best name",
            float(best.iloc[0] / contribution.sum()) if contribution.sum() else float("nan"),
            str(best.index[0]),
        ),
    ]
    return pd.DataFrame(rows, columns=["risk", "value", "note"])
