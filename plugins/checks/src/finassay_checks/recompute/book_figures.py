"""Reported figures that need more than a curve: trades, turnover, win rate, exposure, fees, beta, alpha. Readings in every usual unit."""

import re

import numpy as np
import pandas as pd

from finassay_checks.model import Delivered, Figure
from finassay_checks.recompute import metrics
from finassay_checks.recompute.conventions import Alternative
from finassay_checks.recompute.panel import Floats
from finassay_checks.recompute.rebuilt import Rebuilding
from finassay_checks.recompute.round_trips import RoundTrips, round_trips, win_rates


def book_candidates(figure: Figure, made: Rebuilding, delivered: Delivered) -> list[Alternative]:
    """Readings of a figure, our own first; empty where what it needs is not delivered."""
    readers = {
        "trades": lambda: trade_readings(figure, made, delivered),
        "turnover": lambda: turnover_readings(figure, made),
        "win_rate": lambda: _win_rates(made),
        "exposure": lambda: _exposures(made),
        "fees": lambda: fee_readings(made),
        "beta": lambda: _against_benchmark(made, delivered, "beta"),
        "alpha": lambda: _against_benchmark(made, delivered, "alpha"),
    }
    reader = readers.get(figure.metric)
    return [a for a in reader() if np.isfinite(a.value)] if reader is not None else []


def trips_of(made: Rebuilding) -> RoundTrips | None:
    """Round trips of the clean fills, None without a log."""
    return round_trips(made.fills) if made.fills is not None and len(made.fills) else None


_UNITS = (
    (
        re.compile(r"\bround[- ]?trips?\b|\bclosed (?:trades|positions)\b|\bpositions?\b|\bholdings?\b|\bspells?\b", re.I),
        ("round", "pairs", "rows of"),
    ),
    (re.compile(r"\bfills?\b|\bexecutions?\b|\btransactions?\b", re.I), ("fills", "rows of")),
    (re.compile(r"\border days?\b|\brebalances?\b|\btrading days?\b", re.I), ("days",)),
    (re.compile(r"\borders?\b", re.I), ("fills", "orders", "rows of")),
)


def trade_readings(figure: Figure, made: Rebuilding, delivered: Delivered) -> list[Alternative]:
    """Counts in every unit that the figure's label allows; fills first. A label without a unit allows each."""
    found: list[tuple[str, float]] = []
    trades = delivered.frame("trades")
    trips = trips_of(made)
    if trades is not None:
        found.append(("fills", len(made.fills) if made.fills is not None else len(trades)))
        found.append(("rows of the trade log", len(trades)))
    delivered_trips = delivered.frame("round_trips")
    if delivered_trips is not None:
        closed = int((~delivered_trips["open"].fillna(False).astype(bool)).sum())
        found += [("rows of the round-trip log", len(delivered_trips)), ("rows of the round-trip log, closed ones", closed)]
    if trips is not None:
        c = trips.counts
        found += [
            ("round trips, flat to flat", c.round_trips),
            ("round trips and open positions", c.round_trips + c.open),
            ("closing fills", c.closing),
            ("round pairs, first in first out", c.matched),
            ("round pairs and open positions", c.matched + c.open),
            ("orders by date, ticker and side", c.orders),
            ("order days", c.order_days),
            ("entry fills", c.entries),
            ("buys", c.buys),
            ("sells", c.sells),
        ]
    label = f"{figure.text} {figure.basis.get('unit', '')}"
    named = next((words for pattern, words in _UNITS if pattern.search(label)), None)
    if named is not None:
        kept = [f for f in found if any(word in f[0] for word in named)]
        found = kept or found
    return [Alternative(name, float(value), "same") for name, value in found]


def turnover_readings(figure: Figure, made: Rebuilding) -> list[Alternative]:
    """Traded value over the day's equity, summed: one-way (half of buys and sells) and two-way; a year, a rebalance and in all; with and
    without the first purchase. One-way a year with the first purchase is our own."""
    if made.rebuilt is None or made.fills is None or made.rebuilt.source == "weights":
        return []
    fills, equity = made.fills, made.rebuilt.equity
    value = (fills["shares"] * fills["price"]).abs().groupby(fills["date"]).sum()
    before = equity.shift(1).reindex(value.index)
    share = (value / before).to_numpy(dtype=float)
    years = max(metrics.path_of(equity).years, 1e-9)
    label = f"{figure.text} {' '.join(figure.basis.values())}".lower()
    two_way = "two-way" in label or "two way" in label
    one_way = "one-way" in label or "one way" in label
    found = []
    for first, part in (("", share), (", without the first purchase", share[1:])):
        for way, half in (("one-way", 0.5), ("two-way", 1.0)):
            if (way == "one-way" and two_way) or (way == "two-way" and one_way):
                continue
            total = half * float(np.nansum(part))
            for span, divisor in (("a year", years), ("a rebalance", max(len(part), 1)), ("in all", 1.0)):
                if not _span_denied(span, label):
                    found.append(Alternative(f"{way} {span}{first}", total / divisor, "same"))
    return found


def _span_denied(span: str, label: str) -> bool:
    yearly = bool(re.search(r"a year|annual|per year|p\.a\.", label))
    each = bool(re.search(r"per rebalance|a rebalance|each rebalance|per month|monthly|per week|weekly", label))
    return (yearly and span != "a year") or (each and not yearly and span != "a rebalance")


def _win_rates(made: Rebuilding) -> list[Alternative]:
    found: list[Alternative] = []
    trips = trips_of(made)
    if trips is not None:
        found = [Alternative(name, value, "convention" if "gross" in name else "same") for name, value in win_rates(trips).items()]
    if made.rebuilt is not None:
        returns = metrics.path_of(made.rebuilt.equity).returns
        active = returns[returns != 0]
        if len(active):
            found.append(Alternative("winning days of all days", float(np.mean(returns > 0)), "convention"))
            found.append(Alternative("winning days of days with a return", float(np.mean(active > 0)), "convention"))
            monthly = (1.0 + pd.Series(returns, index=made.rebuilt.equity.index[1:])).groupby(
                pd.DatetimeIndex(made.rebuilt.equity.index[1:]).to_period("M")
            ).prod() - 1.0
            found.append(Alternative("winning months", float(np.mean(monthly > 0)), "convention"))
    return found


def _exposures(made: Rebuilding) -> list[Alternative]:
    if made.rebuilt is None:
        return []
    weights = made.rebuilt.weights.to_numpy()[1:]
    invested, either = weights.sum(axis=1), np.abs(weights).sum(axis=1)
    return [
        Alternative("mean share of equity invested at the close", float(np.mean(invested)), "same"),
        Alternative("the day of the start capital counted", float(np.sum(invested)) / (len(invested) + 1), "same"),
        Alternative("long and short added", float(np.mean(either)), "convention"),
        Alternative("share of days with a position", float(np.mean(either > 1e-6)), "convention"),
    ]


def fee_readings(made: Rebuilding) -> list[Alternative]:
    """Fees in money, against the start capital, and as the yearly drag on the mean day's equity."""
    if made.fills is None or made.rebuilt is None or made.rebuilt.source == "weights":
        return []
    total = float(made.fills["fee"].sum())
    equity, fees = made.rebuilt.equity, made.rebuilt.fees
    years = max(metrics.path_of(equity).years, 1e-9)
    drag = float((fees / equity.shift(1)).fillna(0.0).sum())
    return [
        Alternative("sum of the fees", total, "same"),
        Alternative("fees over the start capital", total / made.rebuilt.start_capital, "same"),
        Alternative("yearly drag", drag / years, "same"),
        Alternative("gross less net annual return", _gross_less_net(equity, fees), "same"),
        Alternative("drag in all", drag, "same"),
        Alternative("mean fees a year", total / years, "same"),
    ]


def _gross_less_net(equity: pd.Series, fees: pd.Series) -> float:
    """Annual return with each day's fees given back, less the net one."""
    worth, paid = equity.to_numpy(dtype=float), fees.to_numpy(dtype=float)
    net = worth[1:] / worth[:-1] - 1.0
    periods = metrics.periods_per_year(pd.DatetimeIndex(equity.index))
    return metrics.annual_return(net + paid[1:] / worth[:-1], periods) - metrics.annual_return(net, periods)


def benchmark_returns(delivered: Delivered, dates: pd.DatetimeIndex) -> pd.Series | None:
    """Returns of the delivered benchmark between the given dates, from its first series; None if none is delivered."""
    frame = delivered.frame("benchmark")
    if frame is None or frame.empty:
        return None
    names = frame["name"].dropna().unique()
    rows = frame[frame["name"] == names[0]] if len(names) else frame
    rows = rows[rows["date"].notna()].drop_duplicates("date", keep="last").sort_values("date")
    index = pd.DatetimeIndex(rows["date"])
    if rows["equity"].notna().sum() >= 2:
        level = pd.Series(rows["equity"].to_numpy(dtype=float), index=index).dropna()
        return level[level.index.isin(dates)].pct_change().dropna()
    series = pd.Series(rows["ret"].to_numpy(dtype=float), index=index).dropna()
    return series[series.index.isin(dates)]


def _against_benchmark(made: Rebuilding, delivered: Delivered, metric: str) -> list[Alternative]:
    if made.rebuilt is None:
        return []
    own = made.rebuilt.equity
    other = benchmark_returns(delivered, pd.DatetimeIndex(own.index))
    if other is None or len(other) < metrics.MIN_RETURNS:
        return []
    mine = own.pct_change().reindex(other.index)
    usable = mine.notna().to_numpy() & np.isfinite(other.to_numpy())
    r, b = mine.to_numpy(dtype=float)[usable], other.to_numpy(dtype=float)[usable]
    dates = other.index[usable]
    months = pd.DatetimeIndex(dates).to_period("M")
    monthly = [(1.0 + pd.Series(x, index=dates)).groupby(months).prod().to_numpy() - 1.0 for x in (r, b)]
    found = []
    for name, mine_, theirs, periods in (
        ("daily", r, b, metrics.periods_per_year(pd.DatetimeIndex(dates))),
        ("monthly", monthly[0], monthly[1], 12.0),
    ):
        found += _regression(metric, name, mine_, theirs, periods)
    return found


def _regression(metric: str, name: str, r: Floats, b: Floats, periods: float) -> list[Alternative]:
    slope = metrics.beta(r, b)
    if metric == "beta":
        return [Alternative(f"{name} returns", slope, "same" if name == "daily" else "convention")]
    alpha = float(r.mean() - slope * b.mean())
    return [
        Alternative(f"{name} regression × {periods:g}", alpha * periods, "same" if name == "daily" else "convention"),
        Alternative(f"{name} regression, compounded", (1 + alpha) ** periods - 1, "convention"),
        Alternative(
            f"{name}, difference of annual returns", metrics.annual_return(r, periods) - metrics.annual_return(b, periods), "convention"
        ),
    ]


__all__ = ["benchmark_returns", "book_candidates", "fee_readings", "trade_readings", "trips_of", "turnover_readings"]
