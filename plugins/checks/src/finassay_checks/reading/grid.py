"""Grids of cells (workbook sheets, small delimited files, text tables) to tables: header found, stacked tables parted (spec D.0.2)."""

import re
from collections.abc import Iterable, Sequence
from itertools import islice, zip_longest

import pandas as pd
from attrs import frozen

from finassay_checks.reading.content import RawTable
from finassay_checks.reading.limits import ReadLimits, Unreadable

Cell = str | float | int | bool | None
Row = Sequence[Cell]
HEADER_ROWS = 20
_NUMERIC = re.compile(r"[-+(]?\s*[$€£]?\s*[-+]?(?:\d[\d,. ]*|\.\d+)(?:[eE][-+]?\d{1,3})?\s*[%x)]?")
_DATE = re.compile(r"\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}(?:[T ].{0,40})?|(?:19|20)\d{2}-\d{2}")


def is_empty(cell: Cell) -> bool:
    return cell is None or (isinstance(cell, str) and not cell.strip()) or (isinstance(cell, float) and cell != cell)


def is_text(cell: Cell) -> bool:
    """A word: neither empty nor a number nor a date. Booleans are values, not words."""
    if not isinstance(cell, str) or is_empty(cell):
        return False
    stripped = cell.strip()
    if len(stripped) > 200:
        return True
    return not (_NUMERIC.fullmatch(stripped) or _DATE.fullmatch(stripped))


@frozen
class _Row:
    index: int
    cells: Row

    @property
    def filled(self) -> int:
        return sum(not is_empty(cell) for cell in self.cells)


def _is_header(rows: Sequence[_Row], at: int) -> bool:
    """At least two non-empty cells, all text, that fill at least 80 % of the widest of the next three non-empty rows."""
    row = rows[at]
    filled = [cell for cell in row.cells if not is_empty(cell)]
    if len(filled) < 2 or not all(is_text(cell) for cell in filled):
        return False
    following = list(islice((count for r in rows[at + 1 : at + 12] if (count := r.filled)), 3))
    if not following:
        return at == 0
    widest = max(following)
    # An unnamed first column (a key or an index) is one cell fewer than the rows below it.
    wanted = widest - 1 if is_empty(row.cells[0]) else widest
    return len(filled) >= 0.8 * min(widest, max(wanted, 1))


def find_header(rows: Sequence[Row]) -> int | None:
    """Index of the header among the first 20 rows, or None if no row qualifies."""
    head = [_Row(i, row) for i, row in enumerate(rows[: HEADER_ROWS + 12])]
    for at in range(min(HEADER_ROWS, len(head))):
        if _is_header(head, at):
            return at
    return None


def unique_names(header: Row, width: int) -> list[str]:
    """Column names as text, made unique by a number behind them; an unnamed column is `` (the first) or `column k`."""
    names: list[str] = []
    seen: dict[str, int] = {}
    for position in range(width):
        cell = header[position] if position < len(header) else None
        name = "" if is_empty(cell) else " ".join(str(cell).split())[:200]
        if not name and position:
            name = f"column {position + 1}"
        count = seen.get(name, 0)
        seen[name] = count + 1
        names.append(f"{name}.{count}" if count else name)
    return names


def _cells(column: Iterable[Cell]) -> list[Cell]:
    """A column with empty cells as None."""
    return [
        (cell if cell and not cell.isspace() else None) if cell.__class__ is str else None if is_empty(cell) else cell for cell in column
    ]


def frame_of(header: Row, body: Sequence[Row]) -> pd.DataFrame:
    """A frame of cells; rows that are wholly empty are left out, wholly empty unnamed columns as well."""
    columns = [_cells(column) for column in zip_longest(*(row for row in body if not _is_blank(row)))]
    rows = len(columns[0]) if columns else 0
    while len(columns) > len(header) and all(cell is None for cell in columns[-1]):
        columns.pop()
    columns += [[None] * rows for _ in range(len(header) - len(columns))]
    names = unique_names(header, len(columns))
    frame = pd.DataFrame({name: pd.Series(cells, dtype=object) for name, cells in zip(names, columns, strict=True)})
    unnamed_empty = [c for p, c in enumerate(names) if (p >= len(header) or is_empty(header[p])) and frame[c].isna().all()]
    return frame.drop(columns=unnamed_empty)


def _is_blank(row: Row) -> bool:
    return all(map(is_empty, row))


def _parts(rows: Sequence[Row]) -> list[tuple[int, int]]:
    """(header index, end) of each table; a row that looks like a header within three rows after an empty row starts another one."""
    first = find_header(rows)
    start = 0 if first is None else first
    starts = [start]
    last_empty = -10
    for at in range(start + 1, len(rows)):
        if _is_blank(rows[at]):
            last_empty = at
        elif (
            at - last_empty <= 3
            and last_empty > starts[-1] + 1
            and _is_header([_Row(i, row) for i, row in enumerate(rows[at : at + 13], start=at)], 0)
        ):
            starts.append(at)
            last_empty = -10
    return [(s, e) for s, e in zip(starts, [*starts[1:], len(rows)], strict=True)]


def _notes(rows: Sequence[Row]) -> tuple[str, ...]:
    """What stands above a header, one note a row."""
    lines = (" ".join(str(c) for c in row if not is_empty(c)) for row in rows)
    return tuple(line[:300] for line in lines if line)[:HEADER_ROWS]


def flat_header(rows: Sequence[Row], at: int) -> tuple[Row, int] | None:
    """yfinance's three header rows (`Price`, `Ticker`, `Date`, or grouped by ticker `Ticker`, `Price`, `Date`) as one header of
    `Field Ticker` names, with the number of rows they take."""
    if at + 2 >= len(rows):
        return None
    first, second, third = rows[at], rows[at + 1], rows[at + 2]
    if not first or not second:
        return None
    corner, below = (str(row[0]).strip().lower() for row in (first, second))
    if corner in ("ticker", "symbol", "symbols") and below in ("price", "field", "attributes", "attribute"):
        first, second = second, first
    elif below not in ("ticker", "symbol", "symbols"):
        return None
    names = [f"{a or ''} {b or ''}".strip() for a, b in zip(first, second, strict=False)]
    dated = bool(third) and str(third[0]).strip().lower() in ("date", "datetime") and all(is_empty(c) for c in third[1:])
    names[0] = str(third[0]) if dated else "Date"
    return names, 3 if dated else 2


def tables_of_grid(rows: Sequence[Row], limits: ReadLimits, label: str = "") -> list[RawTable]:
    """The tables of one grid, at most `limits.tables_per_file`. No header: the first row is taken. Raises `Unreadable` for absurd sizes."""
    width = max((len(row) for row in rows), default=0)
    if width > limits.columns:
        raise Unreadable(f"has more than {limits.columns:,} columns", "too-large")
    if not rows or not width:
        return []
    found = []
    previous_end = 0
    for number, (start, end) in enumerate(_parts(rows)[: limits.tables_per_file], start=1):
        flat = flat_header(rows, start)
        header, taken = flat or (rows[start], 1)
        frame = frame_of(header, rows[start + taken : end])
        above = rows[previous_end:start] if number == 1 else rows[max(start - 3, previous_end) : start]
        name = label if number == 1 else f"{label}!{number}"
        if len(frame.columns):
            found.append(RawTable(frame, name, _notes(above)))
        previous_end = end
    return found
