"""Whose equity a total is, and which rows are borrowed money."""

from collections.abc import Sequence
from decimal import Decimal
from typing import Final

from finassay_statements_b.lines import Finder
from finassay_statements_b.table import GridRow

_OTHERS: Final = frozenset(("noncontrolling", "non-controlling", "minority"))
_NEAR: Final = Decimal(2)
"""How far sums of rounded figures may be off."""
_BORROWED: Final = frozenset(("debt", "borrowing", "loan", "paper"))
_OTHER_THINGS: Final = frozenset(("interest", "deferred", "deposit", "lease"))


def totals_of_equity(finder: Finder, line: str) -> list[GridRow]:
    """The total of shareholders' equity (`equity`) or of all equity: told apart by what they come to with the part of others."""
    rows = finder.rows
    found = [place for place in _after_assets(finder) if _is_total(rows[place])]
    others = [
        place
        for place in _after_assets(finder)
        if _OTHERS & set(rows[place].words) and not {"total", "redeemable"} & set(rows[place].words)
    ]
    others = [place for place in others if rows[place].values]
    if not found:
        return []
    if not others:
        return [rows[found[0]]]
    part = others[-1]
    whole = next((place for place in found if _is_whole(finder, place, part, found)), None)
    if line == "equity_total":
        return [] if whole is None else [rows[whole]]
    for place in found:
        if place != whole and (whole is None or _adds(rows[place], rows[part], rows[whole])):
            return [rows[place]]
    return []


def _after_assets(finder: Finder) -> range:
    total = finder.places("total_assets")
    return range(total[0] + 1 if total else 0, len(finder.rows))


def _is_total(row: GridRow) -> bool:
    words = set(row.words)
    owned = bool({"equity", "deficit", "investment"} & words) and ("total" in words or "attributable" in words)
    return bool(row.values) and not row.doubtful and owned and "liability" not in words


def _is_whole(finder: Finder, place: int, part: int, totals: Sequence[int]) -> bool:
    """Whether a total holds the part of others: it is another total and that part, or the run of rows that it sums up holds it."""
    rows = finder.rows
    if any(other != place and _adds(rows[other], rows[part], rows[place]) for other in totals):
        return True
    if part > place:
        return False
    have = [Decimal(0)] * len(rows[place].values)
    for n in range(place - 1, max(place - 15, 0), -1):
        if not rows[n].values:
            return rows[place].words[:2] == ("total", "equity")
        have = [a + (v.number or Decimal(0)) for a, v in zip(have, rows[n].values, strict=True)]
        if n <= part and _same(have, rows[place]):
            return True
        if n > part and _same(have, rows[place]):
            return False
    return rows[place].words[:2] == ("total", "equity")


def _adds(one: GridRow, other: GridRow, whole: GridRow) -> bool:
    return _same([(a.number or Decimal(0)) + (b.number or Decimal(0)) for a, b in zip(one.values, other.values, strict=True)], whole)


def _same(have: Sequence[Decimal], row: GridRow) -> bool:
    return all(abs(a - (v.number or Decimal(0))) <= _NEAR for a, v in zip(have, row.values, strict=True))


def debts(finder: Finder) -> list[GridRow]:
    """Rows among current liabilities that are borrowed money."""
    low, high = finder.places("total_assets"), finder.places("current_liabilities")
    if not low or not high:
        return []
    found = []
    for row in finder.rows[low[0] + 1 : high[0]]:
        words = set(row.words)
        portion = "current" in words and bool({"portion", "maturity", "installment"} & words)
        borrowed = bool(_BORROWED & words) or {"note", "payable"} <= words
        if row.values and ((borrowed and not {"interest", "deferred", "deposit"} & words) or (portion and not _OTHER_THINGS & words)):
            found.append(row)
    return found
