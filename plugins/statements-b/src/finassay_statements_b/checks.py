"""Sums that a statement must keep: what it is, whether it was read right, and which of two readings holds."""

from collections.abc import Iterator, Sequence
from decimal import Decimal
from itertools import combinations
from typing import Final

from attrs import evolve, frozen

from finassay_statements_b.lines import Finder
from finassay_statements_b.table import GridRow

TOLERANCE: Final = Decimal("2")
"""How far a sum of rounded figures may be off, in the last place shown."""


@frozen
class Proof:
    """What a set of rows is, and how many of its identities hold. `failed` is 1 if the main one does not."""

    kind: str
    held: int
    failed: int


def prove(rows: Sequence[GridRow]) -> Proof | None:
    """The kind of statement that rows are, with its identities checked, the first of which must hold; None for none."""
    finder = Finder(rows)
    if finder.places("total_assets") and finder.places("total_liabilities_and_equity"):
        return _counted("balance", _balance(finder))
    if finder.places("cfo") and finder.places("cfi") and finder.places("cff"):
        return _counted("cash", _cash(finder))
    after = finder.places("net_income_total") or finder.places("net_income")
    if finder.places("pretax_income") and finder.places("income_tax") and after and finder.places("revenue"):
        return _counted("income", _income(finder))
    return None


def _counted(kind: str, results: Iterator[bool]) -> Proof:
    found = list(results)
    return Proof(kind, sum(found), int(not found or not found[0]))


def _numbers(finder: Finder, line: str) -> list[Decimal] | None:
    rows = [row for row in finder.found(line) if row.values and not row.doubtful]
    return [value.number or Decimal(0) for value in rows[0].values] if rows else None


def _step(rows: Sequence[GridRow]) -> Decimal:
    """One in the last place that the rows show."""
    places = min((int(v.number.as_tuple().exponent) for row in rows for v in row.values if v.number is not None and not v.dash), default=0)
    return Decimal(1).scaleb(max(places, -1)) if places < 0 else Decimal(1)


def _close(finder: Finder, left: Sequence[Decimal], right: Sequence[Decimal]) -> bool:
    return len(left) == len(right) and all(abs(a - b) <= TOLERANCE * _step(finder.rows) for a, b in zip(left, right, strict=True))


def _balance(finder: Finder) -> Iterator[bool]:
    assets, both = _numbers(finder, "total_assets"), _numbers(finder, "total_liabilities_and_equity")
    if assets and both:
        yield assets == both and all(assets)
    total, liabilities, equity = (
        _numbers(finder, "total_liabilities_and_equity"),
        _numbers(finder, "total_liabilities"),
        _numbers(finder, "equity_total"),
    )
    if total and liabilities and equity and _close(finder, total, [a + b for a, b in zip(liabilities, equity, strict=True)]):
        yield True


def _cash(finder: Finder) -> Iterator[bool]:
    parts = [_numbers(finder, line) for line in ("cfo", "cfi", "cff")]
    if not all(parts):
        return
    flows = [sum(column, Decimal(0)) for column in zip(*(p for p in parts if p), strict=True)]
    after = finder.places("cff")[0]
    later = [row for row in finder.rows[after + 1 :] if row.values and not row.doubtful]
    yield _accumulated(finder, flows, [[v.number or Decimal(0) for v in row.values] for row in later[:14]])


def _accumulated(finder: Finder, flows: Sequence[Decimal], shown: Sequence[Sequence[Decimal]]) -> bool:
    """Whether the flows, alone or with one or two of the rows after them, come to a row further on.

    Those rows are exchange rates, discontinued operations and cash held for sale; the sum must hold in every column.
    """
    for count in range(3):
        for places in combinations(range(min(8, len(shown))), count):
            total = [sum(column, Decimal(0)) for column in zip(flows, *(shown[place] for place in places), strict=True)]
            if any(_close(finder, total, one) for one in shown[max(places, default=-1) + 1 :]):
                return True
    return False


def _income(finder: Finder) -> Iterator[bool]:
    before, tax = _numbers(finder, "pretax_income"), _numbers(finder, "income_tax")
    after = _numbers(finder, "net_income_total") or _numbers(finder, "net_income")
    if before and tax and after:
        kept = [one for one in (_numbers(finder, "net_income_continuing"), after) if one is not None]
        taxed = [[a + sign * b for a, b in zip(before, tax, strict=True)] for sign in (-1, 1)]
        yield any(_close(finder, one, other) for one in taxed for other in kept) or _with_row_between(finder, before, tax, after)
    sales, cost, gross = (_numbers(finder, line) for line in ("revenue", "cogs", "gross_profit"))
    if sales and cost and gross:
        yield _close(finder, [a - abs(b) for a, b in zip(sales, cost, strict=True)], gross)
    total, minority, own = (_numbers(finder, line) for line in ("net_income_total", "minority", "net_income"))
    if total and minority and own:
        yield _close(finder, [a - abs(b) for a, b in zip(total, minority, strict=True)], own) or _close(
            finder, [a + abs(b) for a, b in zip(total, minority, strict=True)], own
        )


def _with_row_between(finder: Finder, before: Sequence[Decimal], tax: Sequence[Decimal], after: Sequence[Decimal]) -> bool:
    """Income less tax and one or two rows between tax and net income: joint ventures, discontinued operations."""
    low, high = finder.places("income_tax")[0], (finder.places("net_income_total") or finder.places("net_income"))[0]
    between = [[v.number or Decimal(0) for v in row.values] for row in finder.rows[low + 1 : high] if row.values and not row.doubtful]
    for sign in (-1, 1):
        total = [a + sign * b for a, b in zip(before, tax, strict=True)]
        if any(_close(finder, [a + b for a, b in zip(total, row, strict=True)], after) for row in between):
            return True
        if len(between) >= 2 and _close(finder, [a + sum(column, Decimal(0)) for a, *column in zip(total, *between, strict=True)], after):
            return True
    return False


# -- subtotals decide -------------------------------------------------------------------------------------------------


def settled(rows: Sequence[GridRow]) -> tuple[GridRow, ...]:
    """The rows with doubt taken away where the next total is the sum of what stands above it."""
    out = list(rows)
    for place, row in enumerate(rows):
        if row.doubtful and row.values and _summed(rows, place):
            out[place] = evolve(row, doubtful=False)
    return tuple(out)


def named(rows: Sequence[GridRow]) -> tuple[GridRow, ...]:
    """The rows with words for totals that have no label: those of the heading of what they sum up; two equal ones are the balance."""
    out = list(rows)
    bare = [place for place, row in enumerate(rows) if not row.words and row.values and not row.doubtful]
    for place in bare:
        heading = _heading_summed(rows, place)
        if heading:
            out[place] = evolve(rows[place], words=("total", *heading), label=f"(total of {' '.join(heading)})")
    for number, place in enumerate(bare):
        twin = next((other for other in bare[number + 1 :] if _figures(rows[other]) == _figures(rows[place])), None)
        if twin is not None and all(_figures(rows[place])):
            out[place] = evolve(rows[place], words=("total", "asset"), label="(total of assets)")
            out[twin] = evolve(rows[twin], words=("total", "liability", "equity"), label="(total of liabilities and equity)")
            break
    return tuple(out)


def _figures(row: GridRow) -> list[Decimal]:
    return [value.number or Decimal(0) for value in row.values]


def _heading_summed(rows: Sequence[GridRow], place: int) -> tuple[str, ...]:
    """The heading under which begin the rows that come to the one at `place`; nothing if none do."""
    want = _figures(rows[place])
    have = [Decimal(0)] * len(want)
    for n in range(place - 1, -1, -1):
        if not rows[n].values or rows[n].doubtful:
            return ()
        have = [a + b for a, b in zip(have, _figures(rows[n]), strict=True)]
        begins = n == 0 or rows[n - 1].above != rows[n].above
        if begins and place - n > 1 and all(abs(a - b) <= 1 for a, b in zip(have, want, strict=True)):
            return rows[n].above
    return ()


def _summed(rows: Sequence[GridRow], place: int) -> bool:
    """Whether some run of rows with this one comes to the next total, in every column."""
    total = next((n for n in range(place + 1, len(rows)) if "total" in rows[n].words and rows[n].values), None)
    if total is None:
        return False
    want = [value.number or Decimal(0) for value in rows[total].values]
    have = [Decimal(0)] * len(want)
    for n in range(total - 1, -1, -1):
        row = rows[n]
        if not row.values or ("total" in row.words and n < place):
            return False
        have = [a + (value.number or Decimal(0)) for a, value in zip(have, row.values, strict=True)]
        if n <= place and all(abs(a - b) <= TOLERANCE for a, b in zip(have, want, strict=True)):
            return True
    return False
