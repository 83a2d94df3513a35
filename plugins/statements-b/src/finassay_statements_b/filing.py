"""A filing as this family reads it."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import date
from decimal import Decimal
from itertools import pairwise
from typing import Final

from attrs import evolve, frozen

from finassay.api.source import Document, Page
from finassay_rubrics.metrics.ground import Cell, Slice
from finassay_rubrics.metrics.table import table
from finassay_statements_b.checks import Proof, named, prove, settled
from finassay_statements_b.grid import Token
from finassay_statements_b.lines import Finder, line_rules
from finassay_statements_b.owners import debts, totals_of_equity
from finassay_statements_b.table import GridRow, GridTable, Heading, more_rows, read_table

_MIN_ROWS: Final = 8
_COLUMNS: Final = {"income": (2, 3), "balance": (2, 2), "cash": (2, 3)}
_OWNED: Final = re.compile(r"non-?controlling|redeemable (?:interest|and)|minority interest", re.IGNORECASE)
_HINT: Final = re.compile(
    r"(?i)total\s+assets|total\s+(?:current\s+)?liabilities|operating\s+activities|(?:by|from)\s+operations|(?:income|earnings|loss|profit)[^\n]*before[^\n]*tax|pre-?tax\s+(?:income|earnings|profit|loss)"
    r"|\A[\s\S]{0,300}?(?:balance\s+sheets?|income\s+statements?|statements?\s+of\s+(?:consolidated\s+)?(?:income|operations|earnings|cash|financial))"
)
"""What a page of a primary statement cannot do without; others are not read as grids."""
_FEWEST, _MOST = Decimal(100_000), Decimal(50_000_000_000)
"""Bounds of a plausible number of shares."""
_FAR: Final = 165
"""Days around half a year: what ends further than 18 days apart within the year is no other year's same end."""
_KEYS: Final = {"income": ("revenue", "net_income_total"), "balance": ("total_assets",), "cash": ("cfo",)}


@frozen
class Found:
    """A statement that was found and proved."""

    table: GridTable
    rows: tuple[GridRow, ...]
    proof: Proof

    @property
    def page(self) -> Page:
        return self.table.page

    @property
    def scale(self) -> Decimal:
        return self.table.scale

    @property
    def columns(self) -> tuple[Heading, ...]:
        return self.table.columns


def found_statements(document: Document) -> dict[str, Found]:
    """The statement of each kind that keeps most of its sums; none where equally good ones show different figures."""
    found: dict[str, list[Found]] = {}
    for one in _candidates(document.pages):
        found.setdefault(one.proof.kind, []).append(one)
    chosen: dict[str, Found] = {}
    for kind, several in found.items():
        several.sort(key=lambda one: (-_covered(one), -one.proof.held, -len(one.rows)))
        newest = max(one.columns[0].year if one.columns[0].year > one.columns[-1].year else one.columns[-1].year for one in several)
        current = [one for one in several if newest in (one.columns[0].year, one.columns[-1].year)]
        if all(_same(kind, current[0], other) for other in current[1:]):
            chosen[kind] = current[0]
    return chosen


def _covered(one: Found) -> int:
    """How many lines of its statement a table has: a note's table has few of them."""
    finder = Finder(one.rows)
    return sum(bool(finder.places(id)) for id, item in table().lines.items() if item.statement == one.proof.kind and id in line_rules())


def _same(kind: str, one: Found, other: Found) -> bool:
    """Whether two sets show the same in what tells a group from its parts; a set with far fewer lines does not count."""
    if _covered(other) * 10 < _covered(one) * 7:
        return True
    for line in _KEYS[kind]:
        left, right = Finder(one.rows).found(line), Finder(other.rows).found(line)
        if left and right and left[0].values and right[0].values:
            ours = {c.year: v.number for c, v in zip(one.columns, left[0].values, strict=True)}
            theirs = {c.year: v.number for c, v in zip(other.columns, right[0].values, strict=True)}
            if any(ours[year] != theirs[year] for year in ours.keys() & theirs.keys()):
                return False
    return True


def _candidates(pages: Sequence[Page]) -> Iterator[Found]:
    for place, page in enumerate(pages):
        if not _HINT.search(page.text.replace("\u00a0", " ")):
            continue
        grid_table = read_table(page)
        if grid_table is None or grid_table.strange:
            continue
        rows = named(settled(grid_table.rows))
        proof = prove(rows)
        if proof is None and place + 1 < len(pages) and sum(1 for row in rows if row.values) >= _MIN_ROWS and _begins(rows):
            rows = named(settled((*rows, *_rest(pages[place + 1], grid_table))))
            proof = prove(rows)
        if proof is None or not _believed(grid_table, rows, proof):
            continue
        yield Found(grid_table, rows, proof)


def _begins(rows: Sequence[GridRow]) -> bool:
    """Whether rows are the first part of a statement that may go on over the page."""
    finder = Finder(rows)
    return any(finder.places(line) for line in ("cfo", "total_assets", "current_assets", "revenue", "depreciation"))


def _rest(page: Page, first: GridTable) -> tuple[GridRow, ...]:
    """The rows of the next page: those below its own head where it repeats the head, none where its head is another."""
    again = read_table(page)
    if again is None or not again.rows:
        return more_rows(page, len(first.columns))
    same = [one.year for one in again.columns] == [one.year for one in first.columns] and again.scale == first.scale
    return again.rows if same and not again.strange else ()


def _believed(grid_table: GridTable, rows: Sequence[GridRow], proof: Proof) -> bool:
    few, many = _COLUMNS[proof.kind]
    ends = [column.end for column in grid_table.columns if column.end is not None]
    if any(abs(abs(one.timetuple().tm_yday - other.timetuple().tm_yday) - 183) < _FAR for one, other in pairwise(ends)):
        return False  # a quarter's end beside a year's
    full = sum(1 for row in rows if row.values)
    return few <= len(grid_table.columns) <= many and full >= _MIN_ROWS and proof.held > 0 and proof.failed == 0


class GridFiling:
    """Implements `finassay_rubrics.metrics.ground.Filing`."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.found = found_statements(document)
        self._finders = {kind: Finder(one.rows) for kind, one in self.found.items()}
        self._shift = self._issuer_shift()
        self.years: Sequence[int] = sorted({year for kind in self.found for year in self._years(kind)}, reverse=True)

    # -- fiscal years

    def _ends(self) -> list[date]:
        return sorted((c.end for one in self.found.values() for c in one.columns if c.end is not None), reverse=True)

    def _issuer_shift(self) -> tuple[int, str]:
        """By how much the issuer's fiscal year differs from the year of its end, and how that is known. Only early ends can differ."""
        ends = self._ends()
        if not ends or ends[0].month > 5:
            return 0, "calendar year of end" if ends else "issuer"
        labels = [c.year for one in self.found.values() for c in one.columns if c.end is None or c.end.year != c.year]
        if labels and max(labels) - ends[0].year in (0, -1):
            return max(labels) - ends[0].year, "issuer"
        said: Counter[int] = Counter()
        for page in self.document.pages:
            lower = page.text.lower().replace("\u00a0", " ")
            said.update(int(year) for year in re.findall(r"\bfiscal\s+(?:year\s+)?(20\d\d)\b", lower))
        candidates = {year: said[year] for year in (ends[0].year, ends[0].year - 1)}
        if sum(candidates.values()) < 3:
            first_days = ends[0].month == 1 and ends[0].day <= 7
            return (-1, "majority of months") if first_days else (0, "calendar year of end")
        return (0, "issuer") if candidates[ends[0].year] >= candidates[ends[0].year - 1] * 0.4 else (-1, "issuer")

    def _years(self, kind: str) -> dict[int, int]:
        """Fiscal year to the place of its column."""
        shift = self._shift[0]
        columns = enumerate(self.found[kind].columns)
        return {c.year + (shift if c.end is not None and c.end.year == c.year else 0): place for place, c in columns}

    # -- cells

    def cell(self, line: str, year: int) -> Cell | str:
        """A figure, or why there is none that can be relied on."""
        item = table().lines.get(line)
        if item is None or line not in line_rules():
            return "this family has no rule for the line"
        one = self.found.get(item.statement)
        if one is None:
            return f"no {item.statement} statement keeps its sums"
        years = self._years(item.statement)
        if year not in years:
            return f"the {item.statement} statement does not show that year"
        finder = self._finders[item.statement]
        rows = finder.found(line)
        if line in ("equity", "equity_total"):
            rows = totals_of_equity(finder, line)
        if line == "net_income" and not any(_OWNED.search(row.label) for row in one.rows):
            rows = finder.found("net_income_total") or rows  # net of preferred dividends it is that of common shareholders alone
        if line == "short_term_investments" and not finder.places("current_assets"):
            rows = [row for row in rows if {"short-term", "current"} & set(row.words)]
        if (
            not rows
            and line == "redeemable"
            and any(word in one.page.text.lower() for word in ("redeemable", "temporary equity", "mezzanine"))
        ):
            return "the page speaks of a redeemable interest, and no row shows it"
        if not rows:
            return f"the {item.statement} statement has no such line"
        problem = self._problem(one, line, rows, years[year])
        return problem or self._made(one, line, year, rows[0], years[year])

    def _problem(self, one: Found, line: str, rows: Sequence[GridRow], place: int) -> str:
        if any(not row.values for row in rows):
            return f"a row {rows[0].label[:60]!r} has another number of figures than there are columns"
        if any(row.doubtful for row in rows):
            return f"no sum decides how the row {rows[0].label[:60]!r} is to be read"
        if place in rows[0].blank:
            return "the cell is empty"
        if len({row.values[place].number for row in rows}) > 1:
            return f"rows differ that may be meant: {', '.join(repr(row.label[:40]) for row in rows[:3])}"
        if rows[0].values[place].percent:
            return "the row shows percentages"
        if line_rules()[line].strict and re.search(r"\bnet\b|\((?!(?:see )?notes?\b)", _plainly(rows[0].label)):
            return f"the row {rows[0].label[:60]!r} is of a net amount"
        several = debts(self._finders[one.proof.kind]) if line == "short_term_debt" else []
        if len(several) > 1:
            return f"current debt stands in {len(several)} rows"
        if (
            line in ("short_term_debt", "short_term_borrowings")
            and not self._finders[one.proof.kind].places("current_liabilities")
            and not {"short-term", "commercial", "current", "within"} & set(rows[0].words)
        ):
            return "nothing tells current liabilities from others"
        return _unlike(line_rules()[line].only, one.rows, rows[0])

    def _made(self, one: Found, line: str, year: int, row: GridRow, place: int) -> Cell | str:
        token = row.values[place]
        shown = token.number or Decimal(0)
        ones = line.startswith("eps_") or (line.startswith("shares_") and one.table.shares_in_ones)
        scale = Decimal(1) if ones else one.scale
        if line.startswith("shares_") and not _FEWEST <= shown * scale <= _MOST:
            return "the number of shares cannot be in the statement's scale"
        decimals = max(0, -int(shown.as_tuple().exponent))
        cell = Cell(
            line,
            year,
            shown * scale,
            row.page.text[token.start : token.end],
            scale,
            scale.scaleb(-decimals),
            row.label,
            _slice(row.page, row.start, row.end),
            _slice(one.page, *one.table.head),
            self._end(one.columns[place]),
            self._shift[1],
            currency=one.table.currency,
        )
        return self._charge(place, cell) if line == "income_tax" else cell

    def _charge(self, place: int, cell: Cell) -> Cell | str:
        """Whether a tax in brackets is a charge: what net income is says so."""
        finder = self._finders["income"]
        before, after = (_at(finder.found(line), place) for line in ("pretax_income", "net_income_total"))
        if before is None or after is None or before.number is None or after.number is None:
            return "no net income says whether the tax is a charge"
        shown = cell.value / cell.scale
        return evolve(cell, reversed=abs(before.number + shown - after.number) < abs(before.number - shown - after.number))

    def _end(self, column: Heading) -> date | None:
        if column.end is not None:
            return column.end
        year = column.year
        return next((end for end in self._ends() if end.year == year), None)


def _plainly(label: str) -> str:
    """A label in lower case without `net of amounts capitalized`, which makes nothing a net amount."""
    return re.sub(r"\bnet of [^(]*capitali[sz]ed", " ", label.lower())


def _at(rows: Sequence[GridRow], place: int) -> Token | None:
    return rows[0].values[place] if rows and rows[0].values else None


def _unlike(only: str, rows: Sequence[GridRow], row: GridRow) -> str:
    """Why a row may not be whose figures the line means, or nothing."""
    shared = any(_OWNED.search(one.label) for one in rows)
    label = row.label.lower()
    if (
        only == "owner"
        and shared
        and "attributable" not in label
        and "available to" not in label
        and not re.search(r"(?:share|stock)(?:holder|owner)", label)
    ):
        return "others than shareholders have a part, and no row shows that of shareholders"
    liquid = {words for one in rows for words in (("short-term", "investment"), ("marketable", "security")) if set(words) <= set(one.words)}
    if only == "one-kind" and len(liquid) > 1:
        return "short-term investments and marketable securities stand in rows of their own"
    if only == "all-amortization" and any(other is not row and _amortizes(other) for other in rows):
        return "several rows are of amortization"
    accumulated = any({"accumulated", "depreciation"} <= set(one.words) or "gross" in one.words for one in rows)
    if only == "net" and not {"net", "accumulated"} & set(row.words) and accumulated:
        return "the row is not said to be net, and depreciation stands in another row"
    return ""


def _amortizes(row: GridRow) -> bool:
    """Whether a row is of amortization that is no interest."""
    return "amortization" in row.words and not {"debt", "discount", "premium", "financing", "issuance"} & set(row.words)


def _slice(page: Page, start: int, end: int) -> Slice:
    return Slice(page.number, start, end, page.text[start:end], page.digest)
