"""Fact behind 3.5: what the delivery says about costs and what it does with them."""

import re
from typing import Literal

import numpy as np
import pandas as pd
from attrs import frozen

from finassay.api.delivery import Package
from finassay_checks.delivered import read_delivery
from finassay_checks.model import Delivered
from finassay_checks.recompute import metrics, stated
from finassay_checks.recompute.audit_statements import costs_in_prices
from finassay_checks.recompute.book_figures import fee_readings
from finassay_checks.recompute.rebuilt import Rebuilding, rebuilding

Treatment = Literal["never mentioned", "stated only", "some fills", "all fills", "zero everywhere"]
GROSS_WITHIN = 0.005


@frozen
class Costs:
    """`shown` is the sentence with gross and net, the drag, or the sensitivity that recomputes; empty if none does."""

    treatment: Treatment
    rate: float | None
    share: float
    """Share of fills that carry a cost."""
    statement: stated.Statement | None
    shown: stated.Statement | None
    gross: float | None
    """Own gross annual return: each day's fees over the equity before, added to the day's net return."""
    net: float | None
    text: str


def costs(package: Package) -> Costs:
    """Judged against what the report says, not the belief."""
    delivered, made = package.fact(read_delivery), package.fact(rebuilding)
    rates = [s for s in stated.cost_rates(delivered) if s.value > 0]
    zero, mention = stated.zero_cost(delivered), stated.cost_mention(delivered)
    rate = rates[0].value if rates else None
    share, text = _charged(delivered, made, [s.value for s in rates])
    statement = rates[0] if rates else zero or mention
    if share == 0 and zero is not None and not rates:
        shown = _sensitivity(delivered, made)
        return Costs("zero everywhere", 0.0, 0.0, zero, shown, None, _net(made), "explicitly without costs, and no fill carries one")
    treatment: Treatment = (
        "all fills" if share >= 0.99 else "some fills" if share > 0 else "stated only" if statement is not None else "never mentioned"
    )
    if treatment == "stated only" and _in_code(delivered, made):
        treatment, text = "some fills", "costs are in the delivered code only"
    if treatment in ("all fills", "some fills") and _never_paid(made):
        treatment, text = "stated only", "the log carries fees, and the delivered equity never pays them"
    if treatment == "all fills" and mention is None:
        treatment, text = "some fills", "the log carries fees that the report never mentions"
    gross, net = _gross(made), _net(made)
    shown = _gross_and_net(delivered, made, gross, net) if treatment == "all fills" else None
    return Costs(treatment, rate, share, statement, shown, gross, net, text)


def _charged(delivered: Delivered, made: Rebuilding, rates: list[float]) -> tuple[float, str]:
    """Share of fills with a fee; costs inside fill prices or in the equity table's fees count as well."""
    if made.fills is not None and len(made.fills):
        share = float((made.fills["fee"] > 0).mean())
        inside = costs_in_prices(made, rates) if share == 0 else None
        if inside is not None:
            return 1.0, f"costs of {inside * 1e4:g} bp are inside the fill prices"
        return share, f"{share:.1%} of {len(made.fills)} fills carry a fee"
    equity, weights = delivered.frame("equity"), delivered.frame("weights")
    if equity is None or weights is None or not (equity["fees"].fillna(0) > 0).any():
        return 0.0, "no fill carries a fee"
    charged = pd.DatetimeIndex(equity.loc[equity["fees"].fillna(0) > 0, "date"])
    dates = pd.DatetimeIndex(weights["date"].dropna().unique())
    # A row that takes effect a session later is charged then.
    share = float(np.mean([((charged >= d) & (charged <= d + pd.Timedelta(days=5))).any() for d in dates[:5000]])) if len(dates) else 0.0
    return share, f"{share:.1%} of {len(dates)} weight dates are followed by a fee in the equity table"


UNPAID_FROM = 0.002
"""Fees in all, over the mean equity, from which on it can be told whether they were paid."""


def _never_paid(made: Rebuilding) -> bool:
    """Whether the delivered equity lies above the rebuilt one by the fees charged so far, on nine in ten days."""
    curve = made.delivered_equity
    if made.rebuilt is None or curve is None or len(curve) < 2:
        return False
    own = made.rebuilt.equity
    days = own.index.intersection(pd.DatetimeIndex(curve.index))
    charged = made.rebuilt.fees.cumsum().reindex(days).to_numpy(dtype=float)
    if len(days) < 2 or not charged[-1] > UNPAID_FROM * float(own.abs().mean()):
        return False
    gap = (curve.loc[days] - own.loc[days]).to_numpy(dtype=float)
    return bool(np.mean(np.abs(gap - charged) <= 0.1 * charged[-1]) >= 0.9)


_CHARGES = re.compile(
    r"(?:cost|fee|commission|bps|slippage)\w*\s*(?:\*|/\s*(?:1e4|10_?000))|\*\s*(?:\w+\.)?(?:cost|fee|commission|slippage)\w*", re.I
)


def _in_code(delivered: Delivered, made: Rebuilding) -> bool:
    """Whether delivered code charges costs, where no log of fills could show them."""
    return made.fills is None and any(_CHARGES.search(d.text[:400_000]) for d in delivered.code)


def _net(made: Rebuilding) -> float | None:
    curve = _curve(made)
    if curve is None:
        return None
    path = metrics.path_of(curve[0])
    value = metrics.annual_return(path.returns, path.periods)
    return value if np.isfinite(value) else None


def _curve(made: Rebuilding) -> "tuple[pd.Series, pd.Series] | None":
    """Equity and fees by date: rebuilt, else the delivered curve with the log's fees."""
    if made.rebuilt is not None:
        return made.rebuilt.equity, made.rebuilt.fees
    if made.delivered_equity is None or made.fills is None or len(made.delivered_equity) < 2:
        return None
    fees = made.fills["fee"].groupby(made.fills["date"]).sum()
    return made.delivered_equity, fees.reindex(made.delivered_equity.index).fillna(0.0)


def _gross(made: Rebuilding) -> float | None:
    curve = _curve(made)
    if curve is None:
        return None
    equity, fees = curve[0].to_numpy(dtype=float), curve[1].to_numpy(dtype=float)
    if len(equity) < 2 or not (equity[:-1] > 0).all():
        return None
    returns = equity[1:] / equity[:-1] - 1.0 + fees[1:] / equity[:-1]
    value = metrics.annual_return(returns, metrics.periods_per_year(pd.DatetimeIndex(curve[0].index)))
    return value if np.isfinite(value) else None


_WORD = re.compile(r"\bgross\b|before (?:trading |transaction )?(?:costs?|fees?)|without (?:any )?(?:costs?|fees?)", re.I)
_DRAG = re.compile(r"\bdrag\b|cost(?:s|ed)?\b|fees?\b", re.I)
_YEARLY = re.compile(r"a year|per year|annual|yearly|p\.?a\.?\b|\bCAGR\b", re.I)
_NUMBER = re.compile(r"(?<![\w.])[-+−–]?\d+(?:\.\d+)?\s*(?:%|percent|bps?\b|basis points)|(?<![\w.])[-+−–]?0?\.\d{2,}")


def numbers_in(line: str) -> list[float]:
    """Rates in a line as fractions: percent, basis points, or decimals below one."""
    found = []
    for match in _NUMBER.finditer(line):
        text = match[0].replace("−", "-").replace("–", "-")
        value = float(re.match(r"[-+]?\d*\.?\d+", text)[0])  # type: ignore[index]  # the pattern begins with a number
        found.append(value / 1e4 if "b" in text else value / 100 if "%" in text or "per" in text else value)
    return found


def _gross_and_net(delivered: Delivered, made: Rebuilding, gross: float | None, net: float | None) -> stated.Statement | None:
    """Where the report gives the gross annual return beside the net one, or the yearly drag, and it recomputes."""
    if gross is None or net is None or not any(f.metric in ("annual_return", "total_return") for f in delivered.figures):
        return None
    drag = gross - net
    limit = max(GROSS_WITHIN, 0.10 * drag)
    readings = {a.name: a.value for a in fee_readings(made)}
    for where, line in table_lines(delivered):
        values = numbers_in(line)
        if _WORD.search(line) and any(abs(v - gross) <= limit for v in values):
            return stated.Statement(gross, where, line)
        own = readings.get("yearly drag", drag)
        near = [v for v in values if abs(v - own) <= max(0.10 * own, 0.0006)]
        if near and _DRAG.search(line) and _YEARLY.search(line) and not re.search(r"per side|per trade|each way|of traded", line, re.I):
            return stated.Statement(near[0], where, line)
    return None


def table_lines(delivered: Delivered) -> list[tuple[str, str]]:
    """Lines of the last report, message and specification, and small current tables as `row | column: value` lines."""
    found = list(stated.lines(delivered))
    for table in delivered.tables:
        if table.current and len(table.frame) <= 100 and len(table.frame.columns) <= 30:
            for row in table.frame.itertuples(index=False):
                cells = [f"{c}: {v}" for c, v in zip(table.frame.columns, row, strict=True) if v is not None and v == v]
                found.append((table.where, " | ".join(cells)[:2000]))
    return found[:20_000]


def _sensitivity(delivered: Delivered, made: Rebuilding) -> stated.Statement | None:
    """A stated annual return at a stated rate that recomputes: what the strategy would earn if each traded value cost that much."""
    if made.rebuilt is None or made.fills is None:
        return None
    equity = made.rebuilt.equity
    traded = (
        (made.fills["shares"] * made.fills["price"])
        .abs()
        .groupby(made.fills["date"])
        .sum()
        .reindex(equity.index)
        .fillna(0.0)
        .to_numpy(dtype=float)
    )
    values = equity.to_numpy(dtype=float)
    periods = metrics.periods_per_year(pd.DatetimeIndex(equity.index))
    for where, line in table_lines(delivered):
        rate = re.search(r"(\d+(?:\.\d+)?)\s*(?:bps?\b|basis points)", line, re.I)
        if rate is None or not float(rate[1]) > 0:
            continue
        returns = values[1:] / values[:-1] - 1.0 - float(rate[1]) / 1e4 * traded[1:] / values[:-1]
        own = metrics.annual_return(returns, periods)
        if any(abs(v - own) <= GROSS_WITHIN for v in numbers_in(line.replace(rate[0], ""))):
            return stated.Statement(own, where, line)
    return None
