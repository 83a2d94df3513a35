"""Fact behind 3.1: point-in-time correctness by fills, else by weights, else by the code's own lag (spec D.3)."""

import re
from typing import Any

import numpy as np
from attrs import Factory, define

from finassay.api.delivery import Package
from finassay_checks.delivered import read_delivery
from finassay_checks.model import Delivered
from finassay_checks.recompute.announced import announcements, share_dated
from finassay_checks.recompute.hindsight import faults_of_hindsight, limits_of_hindsight
from finassay_checks.recompute.lags import EXPLICIT, Lags, lags
from finassay_checks.recompute.own_day import own_day
from finassay_checks.recompute.prices_of_fills import fill_prices
from finassay_checks.recompute.sizing import sizing

Row = tuple[str, str, list[str], str, str]
"""What is wrong, where, the rows, what was found, what was expected."""
UNKNOWN_AT_MOST = 0.05
SIZING_AT_MOST = 0.02


@define
class Timing:
    """The level of 3.1 with its reasons."""

    level: int = 0
    reason: str = ""
    rows: list[Row] = Factory(list)
    notes: list[tuple[str, str]] = Factory(list)
    facts: dict[str, Any] = Factory(dict)


def timing(package: Package) -> Timing:
    """The lowest level whose fault holds; without one, the highest whose text holds."""
    delivered = package.fact(read_delivery)
    found = Timing()
    lag = package.fact(lags)
    if lag is not None and len(lag.sessions):
        _by_fills(package, delivered, lag, found)
    elif delivered.frame("weights") is not None:
        found.level, found.reason = 2, "No trade log: the weights' dates allow no earlier fill than their effect."
    else:
        _by_code(delivered, found)
    _faults_of_all(package, found)
    _by_probes(package, found)
    return found


def _where(delivered: Delivered, role: str) -> str:
    choice = delivered.choices.get(role)  # type: ignore[call-overload]  # a role by its name
    return choice.chosen.table.where if choice is not None and choice.chosen is not None else ""


def _by_fills(package: Package, delivered: Delivered, lag: Lags, found: Timing) -> None:
    trades = delivered.frame("trades")
    assert trades is not None
    where = _where(delivered, "trades")
    explicit, unknown = lag.share(*EXPLICIT), lag.share("none")  # type: ignore[arg-type]  # ways by their names
    inferred = lag.share("recomputed", "same-date", "schedule", "rule")
    late = lag.late
    known = lag.sessions[np.isfinite(lag.sessions)]
    found.facts |= {
        "fills": len(lag.sessions),
        "explicit": explicit,
        "inferred": inferred,
        "unknown": unknown,
        "not_after_signal": len(late),
        "lag_min": float(known.min()) if len(known) else None,
        "lag_median": float(np.median(known)) if len(known) else None,
        "information": [{"score": i.name, "formula": i.formula, "rows": i.rows} for i in lag.information],
    }
    for one in lag.information:
        found.notes.append(
            (f"score '{one.name}' computed again as {one.formula} on {one.rows} sampled values", _where(delivered, "signals"))
        )
    if len(late):
        named = [f"row {trades['row'].iloc[i]}: {trades['ticker'].iloc[i]} filled {_day(trades['fill_date'].iloc[i])}" for i in late[:8]]
        found.rows.append(
            (
                "filled no later than what decided it",
                where,
                named,
                f"{len(late)} of {len(lag.sessions)} fills with a lag of 0 or less",
                "every fill on a later session than its signal",
            )
        )
        found.level, found.reason = 1, f"{len(late)} fills are not later than the last price that decided them."
        return
    if unknown > UNKNOWN_AT_MOST:
        named = [f"row {trades['row'].iloc[i]}" for i in np.flatnonzero(lag.how == "none")[:8]]
        found.rows.append(
            ("no date and no disclosed rule says when it was decided", where, named, f"{unknown:.0%} of fills", "at most 5 %")
        )
        found.level, found.reason = 1, f"For {unknown:.0%} of fills neither a date nor a disclosed rule says when the decision was known."
        return
    _by_dates(package, lag, found, where)


def _by_dates(package: Package, lag: Lags, found: Timing, where: str) -> None:
    """Levels 2 to 4: how the decision dates are known, and whether fills were possible at their prices."""
    explicit, inferred = float(found.facts["explicit"]), float(found.facts["inferred"])
    if lag.rule:
        found.notes.append((f"disclosed rule: {lag.rule}", ""))
    dated = share_dated(package.fact(announcements))
    prices = package.fact(fill_prices)
    inside = prices.share if prices is not None else 0.0
    found.facts["fill_prices_inside"] = inside
    if inferred > UNKNOWN_AT_MOST or explicit < 0.95 or dated < 0.95:
        found.level, found.reason = 2, f"{inferred:.0%} of decision dates are inferred, {explicit:.0%} explicit."
    elif explicit < 1.0 or inside < 0.99 or dated < 1.0:
        found.level = 3
        found.reason = (
            f"{explicit:.0%} of fills have an explicit signal date before the fill; {inside:.1%} of fill prices lie within their day."
        )
    else:
        found.level, found.reason = 4, "Every fill has an explicit signal date on an earlier session, and fill prices lie within their day."
    if prices is not None and inside < 0.99:
        found.rows.append(
            (
                "fill price outside the day's range, or more than 1 % from the close",
                where,
                list(prices.named()),
                f"{inside:.1%} inside",
                "99 %",
            )
        )


def _day(stamp: object) -> str:
    return str(stamp)[:10]


def _faults_of_all(package: Package, found: Timing) -> None:
    """Faults that hold with or without a log: own-day weights, early fundamentals, sizing on the fill's close, price levels."""
    delivered = package.fact(read_delivery)
    own = package.fact(own_day)
    if own is not None and own.at_fault:
        found.facts["own_day"] = {"same": own.same, "later": own.later, "days": own.days}
        found.rows.append(
            (
                "the delivered return is weight × return of the same day",
                _where(delivered, "weights"),
                list(own.first),
                f"w[t]·r[t] reproduces {own.same:.0%} of days with a change, w[t-1]·r[t] {own.later:.0%}",
                "a weight earns from the session after",
            )
        )
        _lower(found, 1, "The weights earn the return of the day whose close they use.")
    early = package.fact(announcements)
    if early is not None and early.early:
        named = [f"{e.ticker}: used {_day(e.used)}, announced {_day(e.announced)}" for e in early.early[:8]]
        found.rows.append(("used before it was announced", _where(delivered, "fundamentals"), named, f"{len(early.early)} uses", "none"))
        _lower(found, 1, "A fundamental or event was used before it was announced.")
    sized = package.fact(sizing)
    if sized is not None and sized.at_fill:
        effect = "not computed" if sized.effect is None else f"{sized.effect:.4f}"
        found.facts["sizing_effect"] = sized.effect
        found.notes.append((f"sizing uses the fill day's close ({sized.text}); effect on annual return or drawdown: {effect}", ""))
        heavy = sized.effect is not None and sized.effect > SIZING_AT_MOST
        _lower(found, 1 if heavy else 2, "Sizing estimates use the close of the fill itself.")
    for fault in faults_of_hindsight(package):
        found.rows.append((fault.what, fault.where, list(fault.rows), fault.found, fault.expected))
        found.facts[fault.name] = fault.count
        if fault.reason:
            _lower(found, 1, fault.reason)
    found.notes += limits_of_hindsight(package)
    if _price_levels(delivered):
        _lower(found, 2, "A rule on price levels uses prices with later adjustment factors.")


def _lower(found: Timing, level: int, reason: str) -> None:
    """A fault sets its level. Level 0 is 'nothing checkable', and what shows a fault was checkable."""
    if level < found.level or (found.level == 0 and level == 1):
        found.level, found.reason = level, reason
    elif level == found.level == 1:
        found.reason += f" {reason}"


def _by_probes(package: Package, found: Timing) -> None:
    """What delivered code does on perturbed and shuffled data. It can only lower the level: passing earns nothing."""
    from finassay_checks.reruns.probes import probes  # runs code only where the package has a runner

    if package.runner is None:
        return
    probed = package.fact(probes)
    found.facts["future_perturbation"] = probed.moved_status
    found.notes.append((f"future perturbation (can only lower the level): {probed.moved_status}", probed.script))
    if probed.moved:
        named = [f"{m.day} {m.ticker}: {m.delivered} as delivered, {m.perturbed} once later data are others" for m in probed.moved]
        expected = f"positions up to {probed.after} that do not depend on data after that day"
        found.rows.append(("positions move with data from after them", probed.script, named, f"{len(named)} moved", expected))
        _lower(
            found, 1, f"Run again on data that are others after {probed.after}, the delivered code gives other positions before that day."
        )
    if probed.no_edge is not None:
        edge = probed.no_edge
        text = f"Sharpe ratio {edge.sharpe:.2f} over {edge.days:,} days of shuffled returns without a mean (t {edge.t:.1f}), {edge.delivered:.2f} as delivered"
        found.facts["no_edge"] = {"sharpe": edge.sharpe, "t": edge.t, "days": edge.days, "delivered": edge.delivered}
        found.notes.append((f"no edge (can only lower the level): {text}", probed.script))
        if edge.leak:
            found.rows.append(("earns on returns that nothing foretells", probed.script, [], text, "a Sharpe ratio near 0"))
            _lower(found, 1, "On shuffled returns the delivered code still earns: it sees what it should not.")


_LEVELS = re.compile(r"earnings[_ ]yield|book[_ ]to[_ ]market|market[_ ]?cap|price[_ ](?:floor|level)|e/?p\b|eps/price", re.IGNORECASE)
_ADJUSTED = re.compile(r"\badjusted (?:close|price)|split[- ](?:and|/)[- ]?dividend[- ]adjusted|adj(?:usted)?[_ ]close", re.IGNORECASE)


def _price_levels(delivered: Delivered) -> bool:
    """Scores on price levels, from prices that the text calls adjusted and that carry no raw close beside."""
    signals, prices = delivered.frame("signals"), delivered.frame("prices")
    if signals is None or prices is None or prices["adj_close"].notna().any():
        return False
    names = " ".join(map(str, signals["name"].dropna().unique()[:50]))
    return bool(_LEVELS.search(names)) and any(_ADJUSTED.search(d.text[:400_000]) for d in delivered.reports)


_LAGGED = re.compile(
    r"(?:weight|signal|position|target|hold|alloc)\w*(?:\[[^\]]*\])?\s*\.\s*shift\(\s*(?:periods\s*=\s*)?[1-9]|\.shift\(\s*1\s*\)\s*\*\s*\w*ret",
    re.I,
)
_EARNED = re.compile(
    r"(?:weight|signal|position|target|hold|alloc)\w*\s*\*\s*\w*(?:ret|pct_change)|(?:ret\w*|pct_change\(\))\s*\*\s*(?:weight|signal|position|target|hold)",
    re.I,
)


def _by_code(delivered: Delivered, found: Timing) -> None:
    """A static look at delivered code: does it lag signals before it earns returns? At most 2."""
    for document in delivered.code:
        if match := _LAGGED.search(document.text[:400_000]):
            found.level, found.reason = 2, "No trade or weight log; the delivered code lags signals before it earns returns."
            found.notes.append((match[0], document.where))
            return
    for document in delivered.code:
        if match := _EARNED.search(document.text[:400_000]):
            found.level, found.reason = (
                1,
                "No trade or weight log; the delivered code multiplies signals with the returns of their own day.",
            )
            found.notes.append((match[0], document.where))
            return
    found.reason = "Neither a trade log nor weights nor code with a lag was delivered."
