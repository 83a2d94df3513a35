"""A filing as this family reads it: annual primary statements, cells by line and fiscal year."""

import re
import tomllib
from collections.abc import Sequence
from datetime import date
from decimal import Decimal
from functools import cache
from importlib import resources
from typing import Final

from attrs import evolve, frozen

from finassay.api.source import Document, Page
from finassay_rubrics.metrics.ground import Cell, Slice
from finassay_rubrics.metrics.table import table
from finassay_statements_a.choice import AFTER, BEFORE, equity_row, has_other_owners, unclear
from finassay_statements_a.heads import MONTHS, Column, Head, continues, date_of, heads
from finassay_statements_a.rows import Row, Value, rows, with_totals_named

_ANCHORS: Final = {
    "income": ("revenue", "operating_income", "pretax_income", "income_tax", "net_income"),
    "balance": ("current_assets", "total_assets", "current_liabilities", "total_liabilities", "equity", "total_liabilities_and_equity"),
    "cash": ("cfo", "cfi", "cff"),
}
_NEEDED: Final = {"income": 3, "balance": 3, "cash": 3}
_MIN_ROWS: Final = 8
_NET: Final = r"(?:income|earnings|loss|profit|income \(loss\)|earnings \(loss\)|\(loss\) income|\(loss\) earnings|income/\(loss\)|earnings/\(loss\)|\(loss\)/income|loss \(income\))"


@cache
def labels() -> dict[str, tuple[re.Pattern[str], ...]]:
    """Expressions of each line's labels, in the order in which they are tried."""
    raw = tomllib.loads((resources.files("finassay_statements_a") / "labels.toml").read_text("utf-8"))
    return {line: tuple(re.compile(one.replace("{net}", _NET)) for one in patterns) for line, patterns in raw.items()}


@frozen
class Statement:
    """One primary statement, pages joined."""

    head: Head
    page: Page
    columns: tuple[Column, ...]
    rows: tuple[tuple[Page, Row], ...]

    def zone(self, line: str) -> list[tuple[Page, Row]]:
        """The rows among which a line stands."""
        low, high = (self._total(names.get(line, "")) for names in (AFTER, BEFORE))
        each = line.startswith(("eps_", "shares_")) or self.head.kind != "income"
        inside = self.rows[0 if low is None else low + 1 : high]
        return [(page, row) for page, row in inside if each or not _PER_SHARE.search(row.section)]

    def _total(self, line: str) -> int | None:
        patterns = labels().get(line, ())
        fits = (p for p, (_, row) in enumerate(self.rows) if any(x.fullmatch(n) for x in patterns for n in names_of(row.label)))
        return next(fits, None)

    def fitting(self, line: str) -> list[tuple[Page, Row]]:
        """The rows that a line's first fitting expression finds."""
        kept = self.zone(line)
        for pattern in labels().get(line, ()):
            found = [(page, row) for page, row in kept if any(pattern.fullmatch(name) for name in names_of(row.label, row.section))]
            if found:
                return list(equity_row(self, line, found)) if line in ("equity", "equity_total") else found
        return []

    @property
    def anchors(self) -> int:
        return sum(1 for line in _ANCHORS[self.head.kind] if self.fitting(line))


_HEADING: Final = re.compile(
    r"^(?:cash flows?(?: -)? (?:from )?(?:operating|investing|financing) activities|(?:current )?assets|less|(?:liabilities and .{0,40}equity )?current liabilities):? "
)
_PER_SHARE: Final = re.compile(r"(?i)\bper\s+(?:\w+\s+)?share")
_REDEEMABLE: Final = re.compile(r"(?i)\b(?:redeemable|temporary\s+equity|mezzanine)\b")
_INCOME: Final = re.compile(
    rf"(?:consolidated )?net {_NET}(?: per (?:common )?share)?(?: (?:attributable|available|applicable) to (?!.*(?:non-?controlling|minority|preferred)).*)?"
)
"""What a row under `Earnings per share - diluted` says where it is not told apart by operations."""
_BOTH: Final = re.compile(rf"net {_NET},? (?:- )?(?:basic|diluted|basic and diluted)")
_AVERAGE: Final = re.compile(r"(?:weighted|average).*shares? outstanding")
_SHORT: Final = re.compile(r"(?:total|basic|diluted|basic and diluted)")


def names_of(label: str, section: str = "") -> tuple[str, ...]:
    """A row's label as it is compared: without notes, what follows a heading on its line, and a mere `Basic` under its heading."""
    plain = _compared(label)
    found = [plain, plain.rsplit(": ", 1)[-1], _HEADING.sub("", plain)]
    above = _compared(section)
    if _SHORT.fullmatch(plain) or (_PER_SHARE.search(above) and _BOTH.fullmatch(plain)):
        found = [f"{above} {plain}"]
    elif _PER_SHARE.search(above) and ("basic" in above) != ("diluted" in above):
        if _INCOME.fullmatch(plain):
            found = [above]
        elif _AVERAGE.match(plain):
            found = [f"{plain} - {'basic' if 'basic' in above else 'diluted'}"]
    return tuple(dict.fromkeys(part.strip(" :*") for part in found))


def _compared(label: str) -> str:
    plain = label.lower().replace("’", "'").replace("—", "-").replace("–", "-").replace("\u2010", "-")
    plain = re.sub(r"\((?:see )?notes? [^)]*\)|,? ?(?:see )?notes? \d+(?:(?:,| and) \d+)*|\(\d\)|\(pp&e\)", " ", plain)
    plain = re.sub(r"-{2,}", " - ", plain)
    plain = re.sub(r"\s*-\s+|\s+-\s*", " - ", re.sub(r"\s+", " ", plain)).strip(" :*-")
    plain = re.sub(r" \((?:in )?(?:€|euros?|yen|¥|£|us\$|usd|dollars?)\)", "", plain)
    plain = re.sub(r" \(includ[^()]*\)", "", plain)
    return re.sub(r"^.*\b(?:19|20)\d\d (?!and |or |to )", "", plain)


def statements(document: Document) -> dict[str, Statement]:
    """The primary statement of each kind, the one that shows most of what it must; none where two equally good ones disagree."""
    found: dict[str, list[Statement]] = {}
    for place, page in enumerate(document.pages):
        for head in heads(page.text):
            statement = _read(document.pages, place, head)
            if statement is not None and _holds(statement):
                found.setdefault(head.kind, []).append(statement)
    best: dict[str, Statement] = {}
    for kind, several in found.items():
        latest = max(column.year for one in several for column in one.columns)
        current = [one for one in several if latest in {column.year for column in one.columns}]
        most = max(one.anchors for one in current)
        full = [one for one in current if one.anchors == most]
        if all(_agrees(full[0], other) for other in full[1:]):
            best[kind] = full[0]
    return best


def _agrees(one: Statement, other: Statement) -> bool:
    """Whether two statements with one title show the same main figures; a guarantor's or a parent's set does not."""
    for line in ("revenue", "total_assets", "cfo"):
        sides = [
            {column.year: value.number for column, value in zip(s.columns, row.values, strict=True)}
            for s in (one, other)
            for _, row in s.fitting(line)[:1]
            if row.values
        ]
        if len(sides) == 2 and any(sides[0][year] != sides[1][year] for year in sides[0].keys() & sides[1].keys()):
            return False
    return True


def _statement(page: Page, head: Head, found: Sequence[tuple[Page, Row]]) -> Statement:
    named = with_totals_named([row for _, row in found])
    return Statement(head, page, head.columns, tuple((on, row) for (on, _), row in zip(found, named, strict=True)))


def _read(pages: Sequence[Page], place: int, head: Head) -> Statement | None:
    page = pages[place]
    found = [(page, row) for row in rows(page.text, head.end, len(head.columns), head.noted)]
    statement = _statement(page, head, found)
    last = "total_liabilities_and_equity" if head.kind == "balance" else "cff" if head.kind == "cash" else "net_income"
    if not statement.fitting(last) and place + 1 < len(pages):
        after = pages[place + 1]
        again = next(iter(heads(after.text)), None)
        if again is not None and again.kind == head.kind and again.columns == head.columns and again.scale == head.scale:
            found += [(after, row) for row in rows(after.text, again.end, len(head.columns), head.noted)]
        elif again is None and (
            continues(after.text, head.kind) or not re.search(r"(?i)statements? of|balance sheet|notes to", after.text[:300])
        ):
            found += [(after, row) for row in rows(after.text, 0, len(head.columns), head.noted)]
        statement = _statement(page, head, found)
    full = sum(1 for _, row in found if row.values)
    return statement if full >= _MIN_ROWS and statement.anchors >= _NEEDED[head.kind] else None


def _holds(statement: Statement) -> bool:
    """Whether assets are what liabilities and equity come to, where both are shown."""
    if statement.head.kind != "balance":
        return True
    totals = [
        [v.number for v in row.values]
        for line in ("total_assets", "total_liabilities_and_equity")
        for _, row in statement.fitting(line)[:1]
    ]
    return len(totals) == 2 and totals[0] == totals[1] and bool(totals[0])


class LabelFiling:
    """Implements `finassay_rubrics.metrics.ground.Filing`."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.found = statements(document)
        self.ends = self._ends()
        self.years: Sequence[int] = sorted({year for by in (self._years(kind) for kind in self.found) for year in by}, reverse=True)

    def _ends(self) -> tuple[date, ...]:
        """Ends of fiscal years that heads give, the newest first."""
        return tuple(sorted({c.end for s in self.found.values() for c in s.columns if c.end is not None}, reverse=True))

    def _years(self, kind: str) -> dict[int, tuple[int, Column, str]]:
        """Fiscal year to (column's place, column, basis)."""
        found: dict[int, tuple[int, Column, str]] = {}
        for place, column in enumerate(self.found[kind].columns):
            year, basis = self._label(column)
            found[year] = (place, column, basis)
        return found

    @cache  # noqa: B019 - one filing lives as long as its cache
    def _label(self, column: Column) -> tuple[int, str]:
        """The issuer's fiscal year of a column."""
        if column.end is None:
            return column.year, "issuer"
        if column.end.month > 5:
            return column.year, "calendar year of end"
        latest = self.ends[0] if self.ends else column.end
        newest = self._newest_label(latest)
        if newest is None:
            early = column.end.month == 1 and column.end.day <= 7
            return (column.year - 1, "majority of months") if early else (column.year, "calendar year of end")
        return newest + column.end.year - latest.year, "issuer"

    def _newest_label(self, latest: date) -> int | None:
        """What the filing calls its own year: the bare label of a column, a label beside the year's end, else the newest year that it often calls fiscal."""
        bare = [column.year for one in self.found.values() for column in one.columns if column.end is None]
        if bare and max(bare) in (latest.year - 1, latest.year):
            return max(bare)
        text = " ".join(page.text for page in self.document.pages)
        text = re.sub(r"\s+", " ", text.replace("\u00a0", " ")).lower()
        day = f"{MONTHS[latest.month - 1]} {latest.day}, ?{latest.year}"
        beside = re.findall(rf"fiscal (?:years? )?(20\d\d)[^.;]{{0,40}}?(?:ended|ending|ends|\() ?(?:on )?{day}", text)
        counts = {year: len(re.findall(rf"fiscal (?:years? )?{year}\b", text)) for year in (latest.year - 1, latest.year)}
        if beside:
            return max({int(y) for y in beside}, key=[int(y) for y in beside].count)
        if max(counts.values()) < 3:
            return None
        return latest.year if counts[latest.year] * 2 >= counts[latest.year - 1] else latest.year - 1

    def cell(self, line: str, year: int) -> Cell | str:
        """A figure, or why there is none that can be relied on."""
        item = table().lines.get(line)
        if item is None:
            return "is no line of the table"
        statement = self.found.get(item.statement)
        if statement is None:
            return f"no {item.statement} statement was found"
        years = self._years(item.statement)
        if year not in years:
            return f"the {item.statement} statement does not show that year"
        place, column, basis = years[year]
        fitting = statement.fitting(line)
        if line == "net_income" and not has_other_owners(statement):
            fitting = (
                statement.fitting("net_income_total") or fitting
            )  # what is left for common shareholders after preferred dividends is less
        if line == "short_term_investments" and not statement.fitting("current_assets"):
            fitting = [(page, row) for page, row in fitting if re.search(r"(?i)short-term|\bcurrent\b", row.label)]
        if not fitting and line == "redeemable" and _REDEEMABLE.search(statement.page.text):
            return "the page speaks of a redeemable interest, and no row shows it"
        if not fitting:
            return f"the {item.statement} statement has no such line"
        if any(not row.values for _, row in fitting):
            return f"the row {fitting[0][1].label[:60]!r} does not have a value for each column"
        if len({row.values[place].number for _, row in fitting}) > 1:
            return f"several rows may be meant: {', '.join(repr(row.label[:40]) for _, row in fitting[:3])}"
        page, row = fitting[0]
        reason = unclear(statement, line, row)
        if reason:
            return reason
        cell = self._cell(statement, item.id, year, page, row, row.values[place], column, basis)
        return cell if line != "income_tax" or isinstance(cell, str) else self._signed(statement, place, cell)

    def _signed(self, statement: Statement, place: int, cell: Cell) -> Cell | str:
        """A tax charge may stand with or without brackets: which it is, income before and after it tells."""
        sides = [
            [row.values[place].number for _, row in statement.fitting(line)[:1] if row.values]
            for line in ("pretax_income", "net_income_total")
        ]
        if not all(sides):
            return "nothing shows whether the tax is a charge or a credit"
        (before,), (after,) = sides
        shown = cell.value / cell.scale
        return evolve(cell, reversed=abs(before + shown - after) < abs(before - shown - after))

    def _cell(
        self, statement: Statement, line: str, year: int, page: Page, row: Row, value: Value, column: Column, basis: str
    ) -> Cell | str:
        head = statement.head
        if value.percent:
            return "the row shows percentages"
        if line.startswith("shares_") and re.search(r"000|thousand", f"{row.section} {row.label}".lower()):
            return "the row has a scale of its own"
        scale = Decimal(1) if line.startswith("eps_") or (line.startswith("shares_") and head.shares_apart) else head.scale
        places = -int(value.number.as_tuple().exponent)
        step = scale.scaleb(-max(places, 0))
        return Cell(
            line,
            year,
            value.number * scale,
            value.text,
            scale,
            step,
            row.label,
            _slice(page, row.start, row.end),
            _slice(statement.page, head.start, head.end),
            self._end(column),
            basis,
            currency=head.currency,
        )

    def _end(self, column: Column) -> date | None:
        if column.end is not None:
            return column.end
        same = next((end for end in self.ends if end.year == column.year), None)
        return same or self._cover_end(column.year)

    def _cover_end(self, year: int) -> date | None:
        for page in self.document.pages[:3]:
            match = re.search(r"(?i)fiscal year ended:?\s+([a-z]+)\s+(\d{1,2}),\s+(20\d\d)", page.text)
            if match and int(match[3]) == year:
                return date_of(match[1].lower(), match[2], match[3])
        return None


def _slice(page: Page, start: int, end: int) -> Slice:
    text = page.text[start:end]
    lead = len(text) - len(text.lstrip())
    text = text.strip()
    return Slice(page.number, start + lead, start + lead + len(text), text, page.digest)


__all__ = ["LabelFiling", "statements"]
