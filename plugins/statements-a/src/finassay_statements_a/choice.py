"""Which of several rows a line means, and why none of them may."""

import re
from collections.abc import Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Final

from finassay.api.source import Page
from finassay_statements_a.rows import Row

if TYPE_CHECKING:
    from finassay_statements_a.filing import Statement

Rows = Sequence[tuple[Page, Row]]
BEFORE: Final = {
    **dict.fromkeys(("cash", "short_term_investments", "receivables", "inventory"), "current_assets"),
    **dict.fromkeys(("accounts_payable", "short_term_debt", "short_term_borrowings", "current_portion"), "current_liabilities"),
}
"""A line to the total above which it stands."""
AFTER: Final = dict.fromkeys(
    ("accounts_payable", "short_term_debt", "short_term_borrowings", "current_portion", "long_term_debt"), "total_assets"
)
"""A line to the total below which it stands."""
_DEBT: Final = re.compile(
    r"(?!.*(?:interest|deferred|deposits))(?:.*\b(?:debt|borrowings?|notes payable|loans|commercial paper)\b|(?!.*lease)current (?:portion|maturities|installments)).*"
)
_OTHERS: Final = re.compile(r"(?!total)(?!.*redeemable).*(?:non-?controlling|minority) interests?.*")
_AMORTIZES: Final = re.compile(r"(?i)^(?!.*(?:debt|discount|premium|financing|issuance)).*amorti")
_ANY_EQUITY: Final = re.compile(
    r"total (?!liabilities)(?:.*(?:share|stock)(?:holders|owners)'? )?(?:equity|deficit|investment)(?: \(deficit\))?|equity attributable to .*"
)


def compared(label: str) -> str:
    """A label in lower case with plain quotes, as rules here compare it."""
    return label.lower().replace("’", "'").strip(" :*-")


def equity_row(statement: "Statement", line: str, fitting: Rows) -> Rows:
    """The total that is meant where others than shareholders have a part: that above their row is shareholders', that below it is all equity."""
    rows = [row for _, row in statement.rows]
    others = [place for place, row in enumerate(rows) if row.values and _OTHERS.fullmatch(compared(row.label))]
    totals = [place for place, row in enumerate(rows) if row.values and _ANY_EQUITY.fullmatch(compared(row.label))]
    others = [place for place in others if totals and abs(place - totals[-1]) <= 12]
    if not others or not totals:
        return fitting
    above = [place for place in totals if place < others[0]]
    below = [place for place in totals if place > others[-1]]
    if line == "equity_total":
        sure = below and (compared(rows[below[0]].label).startswith("total equity") or _completes(statement, rows[below[0]]))
        chosen = below[:1] if sure else []
    else:
        chosen = above[-1:]
        if not above and below and _completes(statement, rows[below[0]], rows[others[-1]]):
            chosen = below[:1]
    return [statement.rows[place] for place in chosen]


def _completes(statement: "Statement", row: Row, besides: Row | None = None) -> bool:
    """Whether a total of equity, and a row besides, come with liabilities to what assets come to. True where liabilities have no total."""
    found = [
        [v.number for v in r.values]
        for line in ("total_liabilities", "total_liabilities_and_equity")
        for _, r in statement.fitting(line)[:1]
    ]
    if len(found) < 2:
        return besides is None
    more = [v.number for v in besides.values] if besides is not None else [Decimal(0)] * len(row.values)
    for _, other in statement.fitting("redeemable"):
        more = [a + v.number for a, v in zip(more, other.values, strict=True)] if other.values else more
    return all(abs(a + v.number + b - c) <= 2 for a, v, b, c in zip(found[0], row.values, more, found[1], strict=True))


def debts(rows: Rows) -> list[Row]:
    """Rows among current liabilities that are borrowed money."""
    return [row for _, row in rows if row.values and _DEBT.fullmatch(compared(row.label))]


def has_other_owners(statement: "Statement") -> bool:
    """Whether others than shareholders have a part in what the statement shows."""
    return any(re.search(r"(?i)non-?controlling|redeemable (?:interest|and)|minority interest", row.label) for _, row in statement.rows)


def unclear(statement: "Statement", line: str, row: Row) -> str:
    """Why a row that fits may not be the line meant, or nothing."""
    labels = [r.label.lower() for _, r in statement.rows]
    shared = has_other_owners(statement)
    own = row.label.lower()
    if line == "net_income" and shared and not re.search(r"\battributable\b|\bavailable to\b", own):
        return "the statement has noncontrolling interests and no line of what is attributable to shareholders"
    if line == "equity" and shared and re.match(r"total equity", own):
        return "the statement has noncontrolling interests and no total of shareholders' equity"
    if line == "equity_total" and shared and not re.match(r"total equity", own) and not equity_row(statement, line, ()):
        return "the statement has noncontrolling interests and no total of all equity"
    if (
        line == "ppe_net"
        and not re.search(r"\bnet\b|\bless accumulated\b", own)
        and any(re.search(r"accumulated (?:depreciation|amorti)|\bgross\b|(?:plant|equipment).*at cost", label) for label in labels)
    ):
        return "the row is not said to be net of depreciation, and depreciation stands in a row of its own"
    if (
        line in ("short_term_debt", "short_term_borrowings")
        and not statement.fitting("current_liabilities")
        and not re.search(r"short-term|commercial paper|current|within one year", own)
    ):
        return "the balance sheet does not tell current liabilities from others"
    if line == "amortization_alone" and any(r is not row and _AMORTIZES.search(r.label) for _, r in statement.zone(line)):
        return "several rows are of amortization"
    if line == "short_term_debt":
        among = debts(statement.zone(line)) if statement.fitting("current_liabilities") else []
        if len(among) > 1:
            return f"current debt stands in several rows: {', '.join(repr(one.label[:40]) for one in among[:4])}"
    return ""
