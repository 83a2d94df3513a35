"""What a session's cost model (3.5), verifier audit (3.7) and process completeness (3.8) show, for a folder that promised nobody a session.

A backtest of one's own may be short, borrowed or off any calendar, and need not hold all seven parts: what these find is told, and is wrong
only where the delivery itself says otherwise."""

import re
from collections.abc import Iterator

import numpy as np
import pandas as pd

from finassay.api.delivery import Package
from finassay_checks.audit.book import books
from finassay_checks.audit.model import AuditFinding, Severity
from finassay_checks.audit.reported import statements
from finassay_checks.delivered import read_delivery
from finassay_checks.recompute.audit import audit
from finassay_checks.recompute.chain import chain
from finassay_checks.recompute.costs import costs
from finassay_checks.recompute.outcome import Outcome
from finassay_checks.recompute.rebuilt import rebuilding

NAMES = {
    "a": "traded_without_prices",
    "b": "fill_price_outside_day_range",
    "c": "short_position",
    "d": "negative_cash",
    "e": "weights_above_one",
    "f": "equity_mismatch",
    "g": "trade_count",
    "h": "off_schedule",
    "i": "fees_as_reported",
    "j": "period_as_reported",
}
"""Names of the ten checks of 3.7 in an audit."""
_LONG_ONLY = re.compile(
    r"\blong[ -]?only\b|\bno short(?:s|ing|[ -]?sell\w*| positions?| sales?)?\b|\bnever (?:goes |sells? )?short\b", re.I
)
_UNLEVERED = re.compile(
    r"\bun-?lever(?:ed|aged)\b|\b(?:no|without|never uses?) (?:any )?(?:leverage|margin|borrowing|borrowed money)\b|\bnever borrows?\b|"
    r"\bleverage (?:is )?(?:none|not (?:used|allowed))\b|\bcash never (?:goes |is |falls )?(?:negative|below zero)\b|\bfully funded\b",
    re.I,
)
_DENIED = {"c": (_LONG_ONLY,), "d": (_UNLEVERED,), "e": (_UNLEVERED, _LONG_ONLY)}
"""What a delivery may say that makes the outcome of a check a contradiction."""
UNPAID = 0.002
"""Costs as stated, over the mean value, from which on it can be told whether they were paid."""


def process_findings(package: Package) -> Iterator[AuditFinding]:
    """Nothing where there is neither a log nor weights."""
    yield from _cost_findings(package)
    said = _words(package)
    for outcome in package.fact(audit):
        if outcome.status == "fail" and outcome.letter not in ("a", "b", "f") and not _mere_absence(outcome):
            yield _of_outcome(outcome, said)
    yield from _borrowed(package, said)
    # Figures and values that follow from nothing else are told by metrics and by `equity_mismatch`.
    broken = [p for p in package.fact(chain) if p.present and p.linked is False and p.name not in ("metrics", "equity")]
    for part in broken:
        yield AuditFinding(
            "process_completeness",
            f"{part.name}: {part.text}",
            "info",
            part.where,
            part.rows,
            facts={"dimension": "3.8", "part": part.name},
        )


def _mere_absence(outcome: Outcome) -> bool:
    """A count that nobody reported, a schedule that nobody stated: nothing to be told beside a folder."""
    return outcome.letter == "h" or (outcome.letter == "g" and "no trade count is reported" in outcome.found)


def _of_outcome(outcome: Outcome, said: str) -> AuditFinding:
    denied = next((match[0] for pattern in _DENIED.get(outcome.letter, ()) if (match := pattern.search(said))), None)
    severity: Severity = "wrong" if denied and _sure(outcome) else "info"
    text = f"{outcome.title}: {outcome.found}" + (f", though the delivery says '{denied}'" if denied else "")
    facts = {"dimension": "3.7", "letter": outcome.letter}
    return AuditFinding(NAMES[outcome.letter], text, severity, outcome.where, outcome.rows, outcome.expected, outcome.found, facts)


def _sure(outcome: Outcome) -> bool:
    """Of (d), a cash below zero; that it moves by something else contradicts nothing that was said."""
    return outcome.letter != "d" or "lowest" in outcome.found


def _borrowed(package: Package, said: str) -> Iterator[AuditFinding]:
    """Cash below zero on the capital that a table states, which (d) of 3.7 does not know, where the delivery denies borrowing."""
    made, book, denied = package.fact(rebuilding), package.fact(books), _UNLEVERED.search(said)
    if denied is None or book is None or made.rebuilt is None or book.source == "positions":
        return
    cash = made.rebuilt.cash - made.rebuilt.start_capital + book.capital
    if not float(cash.min()) < -0.005 * book.capital:
        return
    day = pd.Timestamp(cash.index[int(np.argmin(cash.to_numpy()))])
    text = f"cash falls to {cash.min():,.2f} on {day.date()}, though the delivery says '{denied[0]}'"
    yield AuditFinding(
        "negative_cash", text, "wrong", "", (str(day.date()),), "0 or more", f"{cash.min():,.2f}", {"dimension": "3.7", "letter": "d"}
    )


def _words(package: Package) -> str:
    delivered = package.fact(read_delivery)
    return package.fact(statements).words + " | " + " ".join(d.text[:100_000] for d in delivered.documents[:50])


def _cost_findings(package: Package) -> Iterator[AuditFinding]:
    """Costs that the delivery states and that neither the log nor the values pay; that a log's fees are stated nowhere is only told."""
    found = package.fact(costs)
    where = found.statement.where if found.statement is not None else ""
    facts = {"dimension": "3.5", "treatment": found.treatment, "rate": found.rate}
    if found.treatment == "stated only" and found.statement is not None:
        unpaid = _never_charged(package, found.rate)
        if unpaid is not None:
            text = f"costs are stated ('{found.statement.text.strip()[:120]}'), and the delivered values pay none"
            yield AuditFinding("costs_not_charged", text, "wrong", where, (), f"{unpaid:,.2f} in all", "0", facts)
            return
    if found.treatment == "stated only" or (found.treatment == "some fills" and 0 < found.share < 0.99):
        yield AuditFinding("cost_model", found.text, "info", where, facts=facts)


def _never_charged(package: Package, rate: float | None) -> float | None:
    """The costs in money that the delivered values leave out, on nine in ten days; None where it cannot be told or they are paid."""
    made, book = package.fact(rebuilding), package.fact(books)
    if made.fills is None or book is None or book.delivered is None or book.explained:
        return None
    value = (made.fills["shares"] * made.fills["price"]).abs() * (rate or 0.0)
    charge = value.where(~(made.fills["fee"] > 0), made.fills["fee"]).groupby(made.fills["date"]).sum()
    own = book.equity + made.fills["fee"].groupby(made.fills["date"]).sum().reindex(book.equity.index).fillna(0.0).cumsum()
    days = own.index.intersection(pd.DatetimeIndex(book.delivered.index))
    owed = charge.reindex(own.index).fillna(0.0).cumsum().reindex(days).to_numpy(dtype=float)
    if len(days) < 2 or not owed[-1] > UNPAID * float(own.abs().mean()):
        return None
    gap = np.abs(book.delivered.loc[days].to_numpy(dtype=float) - own.loc[days].to_numpy(dtype=float))
    return float(owed[-1]) if float(np.mean(gap <= 0.1 * owed[-1])) >= 0.9 else None
