"""Audit checks that compare the log with what the text states: cash flows, schedule, fees, period."""

import re
from typing import Literal

import numpy as np
import pandas as pd
from attrs import evolve, frozen

from finassay.api.delivery import Package
from finassay_checks.delivered import read_delivery
from finassay_checks.model import Delivered
from finassay_checks.recompute import stated
from finassay_checks.recompute.matches import metric_matches
from finassay_checks.recompute.outcome import Outcome
from finassay_checks.recompute.panel import Floats
from finassay_checks.recompute.rebuilt import Rebuilding, delivered_curve, price_panel, rebuilding
from finassay_checks.recompute.repeats import repeated_rows
from finassay_checks.recompute.reported_period import agrees, reported_periods
from finassay_checks.sessions import sessions_between

FEES_WITHIN = 0.02
CASH_WITHIN = 0.0005
"""Daily move of cash that fills and fees do not explain, as a share of equity."""


@frozen
class Compared:
    status: Literal["pass", "fail", "n/a", "unverifiable"]
    found: str = ""
    expected: str = ""
    where: str = ""
    rows: tuple[str, ...] = ()
    wants: str = ""


def cash_moves(made: Rebuilding, cash: pd.Series, equity: Floats) -> Compared | None:
    """What is wrong with the moves of delivered cash, None if nothing: they are fills and logged fees within 0.05 % of equity a day on 99
    % of days, and what is left over them all is not the fees themselves."""
    if made.fills is None or len(cash) < 2 or made.book is None:
        return None
    scale = _scale(made, cash)
    if scale is None:
        return None
    flow = -(made.fills["shares"] * made.fills["price"]).groupby(made.fills["date"]).sum()
    fee = made.fills["fee"].groupby(made.fills["date"]).sum()
    days = pd.DatetimeIndex(cash.index)
    moved = np.diff(cash.to_numpy(dtype=float))

    def between(values: pd.Series) -> Floats:
        total = np.concatenate(([0.0], np.cumsum(values.to_numpy(dtype=float))))
        return np.diff(total[np.searchsorted(values.index.to_numpy(), days.to_numpy(), side="right")])

    fills_only, fees = between(flow), between(fee)
    left = moved - (fills_only - fees)
    with np.errstate(all="ignore"):
        wrong = np.abs(left) / equity[1:] > CASH_WITHIN
    charged = float(fees.sum())
    if charged > 1e-4 * float(np.nanmean(equity)) and abs(float(left.sum()) - charged) <= 0.05 * charged:
        rows = tuple(str(days[i + 1].date()) for i in np.flatnonzero(fees > 0)[:8])
        return Compared("fail", "logged fees are never taken from cash", f"{charged:,.2f} of fees charged", rows=rows)
    if float(wrong.mean()) > 0.01:
        rows = tuple(f"{days[i + 1].date()}: {left[i]:+,.2f}" for i in np.flatnonzero(wrong)[:8])
        return Compared(
            "fail", f"{float(wrong.mean()):.1%} of days move by something else", "fills, fees and stated flows on 99 % of days", rows=rows
        )
    return None


def _scale(made: Rebuilding, cash: pd.Series) -> float | None:
    """1 if delivered cash is in the money of the fills; None if it is an index or a fraction, which cannot be compared."""
    if made.book is None:
        return None
    capital = float(made.book.equity[0]) if made.rebuilt is not None else float("nan")
    return 1.0 if not capital > 0 or float(np.abs(cash).max()) > 1e-3 * capital else None


def wanted_schedule(package: Package) -> tuple[str, str]:
    """The schedule that the delivery states, else the one of the belief; empty if neither says. With a remark for the expected value."""
    delivered = package.fact(read_delivery)
    said = stated.schedule(delivered)
    if said is not None:
        return said[0], f", as stated in {said[1].where}"
    for observable in package.observables.values():
        if observable.test == "schedule":
            return str(observable.arguments.get("period", "")), ""
        if observable.test in ("drift-band", "on-event"):
            return observable.test.replace("-", "_"), ""
    return "", ""


_NOTHING_DUE = ("no rebalance after the first", "no entry")
"""What a test of a rule says where everything it needs was delivered and the rule never came up."""


def by_rule(package: Package, rule: str, blank: Outcome) -> Outcome:
    """Drift bands and event entries, by the tests of 2.5."""
    from finassay.api.strategy import Stance
    from finassay_checks.fidelity.execution import drift_band_test, on_event_test
    from finassay_checks.fidelity.ledger import ledger
    from finassay_checks.fidelity.shown import HALF

    shown = (drift_band_test if rule == "drift_band" else on_event_test)(package.fact(ledger))
    text = shown.note if shown.share is None else f"{shown.share:.1%} of {shown.count}: {shown.note}"
    if shown.stance is Stance.SUPPORTS:
        return evolve(blank, status="pass", found=text, expected="95 %", wants="")
    if shown.stance is Stance.CONTRADICTS or (shown.share is not None and shown.share < HALF):
        return evolve(blank, status="fail", found=text, expected="95 %", wants="")
    if shown.note in _NOTHING_DUE:
        return evolve(blank, status="n/a", found=text, wants="")
    if shown.share is not None:
        # The log neither shows the rule nor denies it: there is nothing to hold the fills to.
        return evolve(blank, status="n/a", found=f"cannot be told: {text}", expected="95 %", wants="")
    return evolve(blank, found=text)


def fees(package: Package) -> Compared:
    """Sum of logged fees against the reported total, the yearly drag, or the stated rate times traded value."""
    delivered, made = package.fact(read_delivery), package.fact(rebuilding)
    assert made.fills is not None
    total = float(made.fills["fee"].sum())
    traded = float((made.fills["shares"] * made.fills["price"]).abs().sum())
    match = next((m for m in package.fact(metric_matches) if m.metric == "fees"), None)
    rates = [s for s in stated.cost_rates(delivered) if s.value > 0]
    if match is not None and match.recomputed is not None:
        return Compared(
            "pass" if match.matches else "fail",
            f"{match.reported:,.6g} reported",
            f"{match.recomputed:,.6g} ({match.convention})",
            match.where,
        )
    if match is not None:
        close = abs(match.reported - total) <= max(FEES_WITHIN * total, 1e-9)
        return Compared("pass" if close else "fail", f"{match.reported:,.6g} reported", f"{total:,.6g} in the log", match.where)
    drag = _stated_drag(package, delivered)
    if drag is not None:
        return drag
    if rates:
        return _by_rate(made, total, traded, rates)
    if total <= 1e-12:
        return Compared("n/a", "no fees and none reported")
    return Compared(
        "unverifiable", f"{total:,.2f} of fees in the log, no cost reported", "a total, a yearly drag or a rate", wants="reported cost"
    )


def _by_rate(made: Rebuilding, total: float, traded: float, rates: list[stated.Statement]) -> Compared:
    best = min(rates, key=lambda s: abs(s.value * traded - total))
    inside = costs_in_prices(made, [s.value for s in rates])
    if total <= 1e-12 and inside is not None:
        return Compared("pass", f"{inside:.2%} of traded value inside the fill prices", f"{best.value * 1e4:g} bp", best.where)
    close = abs(best.value * traded - total) <= FEES_WITHIN * best.value * traded
    return Compared(
        "pass" if close else "fail",
        f"{total:,.2f} in the log",
        f"{best.value * traded:,.2f} at {best.value * 1e4:g} bp of traded value",
        best.where,
        rows=(best.text[:200],),
    )


_DRAG = re.compile(
    r"(?<!after )(?<!net of )(?<!before )\b(?:cost|fee|commission)s?(?:(?!made|return|earn|grew|gain|net)[^.\n%]){0,60}?(\d+(?:\.\d+)?)"
    r"\s*(%|percent|bps?\b|basis points)[^.\n]{0,20}?"
    r"(?:a year|per year|p\.?a\.?|annually|yearly|per annum)",
    re.I,
)


def _stated_drag(package: Package, delivered: Delivered) -> Compared | None:
    from finassay_checks.recompute.book_figures import fee_readings

    readings = {a.name: a.value for a in fee_readings(package.fact(rebuilding))}
    own = readings.get("yearly drag")
    between = readings.get("gross less net annual return", own)
    for where, line in stated.lines(delivered):
        match = _DRAG.search(line)
        if match and own is not None:
            value = float(match[1]) / (1e4 if match[2].lower().startswith("b") else 100)
            digits = len(match[1].partition(".")[2])
            printed = 0.5 * 10.0**-digits / (1e4 if match[2].lower().startswith("b") else 100)
            close = any(abs(value - v) <= max(FEES_WITHIN * v, printed * 1.0001) for v in (own, between) if v is not None)
            return Compared("pass" if close else "fail", f"{value:.4%} a year reported", f"{own:.4%} a year", where, rows=(line[:200],))
    return None


def costs_in_prices(made: Rebuilding, rates: list[float]) -> float | None:
    """The rate by which buys lie above and sales below the close on 95 % of fills, None if costs are not in the fill prices at one of
    `rates`."""
    if made.fills is None or made.panel is None or made.fills.empty or not any(rate > 0 for rate in rates):
        return None
    rows, columns = made.panel.date_codes(made.fills["date"]), made.panel.ticker_codes(made.fills["ticker"])
    for matrix in (made.panel.close, made.panel.open):
        if matrix is None:
            continue
        with np.errstate(all="ignore"):
            slip = (made.fills["price"].to_numpy(dtype=float) / made.panel.at(matrix, rows, columns) - 1) * np.sign(
                made.fills["shares"].to_numpy(dtype=float)
            )
        for rate in rates:
            if rate > 0 and float(np.mean(np.abs(slip - rate) <= 0.1 * rate + 1e-6)) >= 0.95:
                return rate
    return None


def repeated(package: Package) -> Compared | None:
    """Rows of the trade log that stand twice, every delivered cell the same; None if there are none, or where two such fills may have been
    made: of whole shares, unless each other row has a number of its own."""
    choice = package.fact(read_delivery).choices.get("trades")
    if choice is None or choice.chosen is None:
        return None
    frame, columns, trades = choice.chosen.table.frame, choice.chosen.columns, choice.chosen.frame
    again = repeated_rows(frame)
    first = ~again
    again = again & np.isin(np.arange(1, len(frame) + 1), trades["row"].to_numpy())
    if not again.any():
        return None
    own = columns.get("id")
    numbered = own is not None and bool(frame.loc[first, own].is_unique)
    if not numbered:
        sizes = trades.set_index("row")["shares"].reindex(np.flatnonzero(again) + 1).to_numpy(dtype=float)
        if not (np.abs(sizes - np.round(sizes)) > 1e-6).mean() > 0.5:
            return None
    rows = tuple(f"row {k + 1}" for k in np.flatnonzero(again)[:8])
    return Compared(
        "fail", f"{int(again.sum())} of {len(frame)} rows of the log stand twice", "each fill once", choice.chosen.table.where, rows
    )


def period(package: Package) -> Compared:
    """The reported period against the equity's dates (else the fills'), and prices over all of it."""
    delivered, made = package.fact(read_delivery), package.fact(rebuilding)
    curve = delivered_curve(delivered)
    if curve is not None and len(curve):
        first, last, role = curve.index[0], curve.index[-1], "equity"
    elif made.fills is not None and len(made.fills):
        first, last, role = made.fills["date"].iloc[0], made.fills["date"].iloc[-1], "trades"
    else:
        return Compared("unverifiable", "neither equity nor fills were delivered", wants="equity")
    actual = f"{first.date()} to {last.date()} ({role})"
    own, every = reported_periods(delivered)
    if not own and not every:
        return Compared("unverifiable", "no period is reported", actual, wants="reported period")
    stamps = [e for p in (*own, *every) for e in (p.first.date, p.last.date)]
    sessions = sessions_between(package.task.conditions.exchange, min(first, *stamps), max(last, *stamps))
    judged = own[:1] or tuple(p for p in every if agrees(p, first, last, sessions)) or every[:1]
    if not agrees(judged[0], first, last, sessions):
        return Compared("fail", f"{judged[0].text} reported", actual, judged[0].where)
    panel = package.fact(price_panel)
    if panel is None:
        return Compared("pass", f"{judged[0].text} reported", actual, judged[0].where)
    late = sessions.searchsorted(panel.dates[0]) - sessions.searchsorted(first)
    short = sessions.searchsorted(last) - sessions.searchsorted(panel.dates[-1])
    if late > 5 or short > 5:
        return Compared("fail", f"prices cover {panel.dates[0].date()} to {panel.dates[-1].date()} only", actual, judged[0].where)
    return Compared("pass", f"{judged[0].text} reported", actual, judged[0].where)
