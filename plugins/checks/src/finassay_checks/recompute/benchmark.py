"""Fact behind 3.4: what a program can tell about the comparison with a benchmark."""

import re

import numpy as np
import pandas as pd
from attrs import frozen

from finassay.api.delivery import Package
from finassay_checks.delivered import read_delivery
from finassay_checks.model import Delivered
from finassay_checks.recompute import metrics, stated
from finassay_checks.recompute.benchmark_said import denied
from finassay_checks.recompute.book_figures import benchmark_returns
from finassay_checks.recompute.costs import numbers_in
from finassay_checks.recompute.rebuilt import delivered_curve, rebuilding

OVERLAP = 0.95
WITHIN = 0.02
NAME = re.compile(
    r"\bbenchmark|\bS&P ?500\b|\bSPY\b|\bindex\b|\bbuy[- ]and[- ]hold\b|\bRussell\b"
    r"|\bequal[- ]weight(?:ed)?\b(?=[^.\n]{0,40}\b(?:basket|universe|of|all|portfolio)\b)"
    r"|\bNasdaq\b|\bMSCI\b|\bthe market\b|\ball (?:eight|ten|twenty|\d+) (?:names|stocks)",
    re.I,
)
_CLAIM = re.compile(
    r"\b(?:out-?perform|under-?perform|beat|beats|beaten|ahead of|behind|better than|worse than|excess|lag(?:s|ged|ging)?\b"
    r"|exceed|above the|below the|more than the"
    r"|less than the|compared (?:with|to)|versus|vs\.?|against)",
    re.I,
)


@frozen
class Comparison:
    """`overlap` is the share of the strategy's dates that a benchmark series has (0 without one); `coarser` that it has fewer dates a
    year."""

    named: tuple[stated.Statement, ...]
    claims: tuple[stated.Statement, ...]
    numbers: tuple[stated.Statement, ...]
    series: bool
    coarser: bool
    overlap: float
    own: dict[str, float]
    """Own figures over common dates: strategy_annual, benchmark_annual, excess_annual, and the same for the total."""
    excess: stated.Statement | None
    """Where a reported excess, or two reported returns, recompute."""
    denied: stated.Statement | None = None
    """A return that a table states for a benchmark and that the benchmark's own series does not have over the strategy's dates."""


def comparison(package: Package) -> Comparison:
    delivered = package.fact(read_delivery)
    lines = _lines(delivered)
    named = tuple(stated.Statement(float("nan"), where, line) for where, line in lines if NAME.search(line))
    claims = tuple(s for s in named if _CLAIM.search(s.text))
    numbers = tuple(s for s in named if numbers_in(s.text))
    frame = delivered.frame("benchmark")
    curve = strategy_curve(package, delivered)
    if frame is None or frame.empty or curve is None:
        return Comparison(named[:20], claims[:20], numbers[:20], frame is not None and not frame.empty, False, 0.0, {}, None)
    days = pd.DatetimeIndex(frame["date"].dropna().unique())
    own_days = pd.DatetimeIndex(curve.index)
    inside = days[(days >= own_days[0]) & (days <= own_days[-1])]
    coarser = metrics.periods_per_year(days) < metrics.periods_per_year(own_days)
    overlap = float(own_days.isin(inside).mean())
    own = _figures(delivered, curve)
    excess = _recomputed(lines, own) if own else None
    return Comparison(named[:20], claims[:20], numbers[:20], True, coarser, overlap, own, excess, denied(delivered, curve, own))


def _lines(delivered: Delivered) -> list[tuple[str, str]]:
    """Sentences of prose, and rows of metrics-like tables with their column names, so that a benchmark column names its numbers."""
    found: list[tuple[str, str]] = []
    for where, line in stated.lines(delivered):
        if not line.startswith("|"):
            found += [(where, s) for s in re.split(r"(?<=[.;])\s+(?=[A-Z*\-])", line)]
    aside = {t.table.where for t in delivered.role_tables if t.role in ("variants", "periods", "checks")}
    for table in delivered.tables:
        if table.current and table.where not in aside and len(table.frame) <= 60 and len(table.frame.columns) <= 20:
            for row in table.frame.itertuples(index=False):
                cells = [f"{c}: {v}" for c, v in zip(table.frame.columns, row, strict=True) if v is not None and v == v]
                found.append((table.where, " | ".join(cells)[:2000]))
    return found[:20_000]


def strategy_curve(package: Package, delivered: Delivered) -> "pd.Series | None":
    """The delivered curve, else the rebuilt one."""
    made = package.fact(rebuilding)
    curve = made.delivered_equity if made.delivered_equity is not None else delivered_curve(delivered)
    if curve is None and made.rebuilt is not None:
        curve = made.rebuilt.equity
    return curve if curve is not None and len(curve) > 2 else None


def _figures(delivered: Delivered, curve: pd.Series) -> dict[str, float]:
    """Own annual and total returns of both over their common dates."""
    other = benchmark_returns(delivered, pd.DatetimeIndex(curve.index))
    if other is None or len(other) < 2:
        return {}
    mine = curve.pct_change().reindex(other.index)
    usable = mine.notna().to_numpy() & np.isfinite(other.to_numpy(dtype=float))
    r, b = mine.to_numpy(dtype=float)[usable], other.to_numpy(dtype=float)[usable]
    if not len(r):
        return {}
    periods = metrics.periods_per_year(pd.DatetimeIndex(other.index[usable]))
    found = {
        "strategy_total": metrics.total_return(r),
        "benchmark_total": metrics.total_return(b),
        "strategy_annual": metrics.annual_return(r, periods),
        "benchmark_annual": metrics.annual_return(b, periods),
        "difference_of_means": float((r - b).mean()) * periods,
    }
    for span in ("total", "annual"):
        found[f"excess_{span}"] = found[f"strategy_{span}"] - found[f"benchmark_{span}"]
    return {name: value for name, value in found.items() if np.isfinite(value)}


_EXCESS = re.compile(r"excess|out-?perform|under-?perform|ahead|behind|beat|difference|gap|lag|active return|alpha", re.I)


def _recomputed(lines: list[tuple[str, str]], own: dict[str, float]) -> stated.Statement | None:
    """An excess that recomputes within 0.02, or a line with both returns whose difference does."""
    for where, line in lines:
        if not NAME.search(line):
            continue
        values = numbers_in(line)
        for span in ("annual", "total"):
            excess = own.get(f"excess_{span}")
            if excess is None:
                continue
            limit = WITHIN if span == "annual" else max(WITHIN, 0.005 * (1 + abs(own[f"strategy_{span}"])))
            alone = [excess] + ([own["difference_of_means"]] if span == "annual" and "difference_of_means" in own else [])
            if _EXCESS.search(line) and any(abs(abs(v) - abs(e)) <= limit and abs(e) > limit / 4 for v in values for e in alone):
                return stated.Statement(excess, where, line)
            pairs = [
                (a, b)
                for a in values
                for b in values
                if abs(a - own[f"strategy_{span}"]) <= limit and abs(b - own[f"benchmark_{span}"]) <= limit
            ]
            if any(abs((a - b) - excess) <= limit for a, b in pairs):
                return stated.Statement(excess, where, line)
    return _two_lines(lines, own)


def _two_lines(lines: list[tuple[str, str]], own: dict[str, float]) -> stated.Statement | None:
    """The benchmark's annual return in one line; the strategy's own is a headline figure, which 3.2 compares."""
    for where, line in lines:
        if NAME.search(line) and any(abs(v - own["benchmark_annual"]) <= WITHIN / 2 for v in numbers_in(line) if "benchmark_annual" in own):
            return stated.Statement(own.get("excess_annual", float("nan")), where, line)
    return None
