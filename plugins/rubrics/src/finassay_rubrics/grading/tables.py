"""Tables in an answer: Markdown, or parted by bars, tabs, semicolons or gaps; with the labels, units and scales that their heads state."""

import re
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Final

from attrs import frozen

MAX_ROWS: Final = 2_000
MAX_COLUMNS: Final = 60
MAX_TABLES: Final = 200
MAX_LINE: Final = 8_000
LONG: Final = 50
"""Lines of a run that is no table, after which it is not tried again from each of its lines."""
_RULE: Final = re.compile(r"^\s*\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)*\|?\s*$")


@frozen
class TableCell:
    """One cell, with its place in the answer."""

    text: str
    start: int


@frozen
class Table:
    """A table as it stands in an answer."""

    start: int
    end: int
    head: tuple[str, ...]
    rows: tuple[tuple[TableCell, ...], ...]

    @property
    def text_of_head(self) -> str:
        return " | ".join(self.head)


def tables(answer: str) -> list[Table]:
    """Markdown tables, and blocks of lines with the same number of bars, tabs, semicolons or wide gaps (two columns and two rows at least)."""
    lines = list(_lines(answer))
    found: list[Table] = []
    index = 0
    while index < len(lines) and len(found) < MAX_TABLES:
        taken = _markdown(lines, index) or next((t for kind in _PARTED if (t := _parted(lines, index, kind))), None)
        if taken is None:
            index += 1
            continue
        table, index = taken
        if table is not None:
            found.append(table)
    return found


def _lines(answer: str) -> Iterator[tuple[int, str]]:
    start = 0
    for line in answer.splitlines(keepends=True):
        yield start, line.rstrip("\r\n")[:MAX_LINE]
        start += len(line)


def _markdown(lines: Sequence[tuple[int, str]], index: int) -> tuple[Table | None, int] | None:
    """A table with a rule in its second or third line."""
    if "|" not in lines[index][1] or not any(_RULE.match(text) for _, text in lines[index + 1 : index + 3]):
        return None
    block: list[tuple[int, str]] = []
    at, ruled = index, False
    while at < len(lines) and "|" in lines[at][1] and len(block) < MAX_ROWS:
        rule = not ruled and bool(_RULE.match(lines[at][1]))
        ruled = ruled or rule
        block += [] if rule else [lines[at]]
        at += 1
    rows = [_cells(start, text, "|") for start, text in block]
    if not ruled or len(rows) < 2 or min(len(row) for row in rows) < 2:
        return (None, at) if len(block) > LONG else None
    return _table(block, rows), at


_PARTED: Final = (("|", re.compile(r"\|")), ("\t", re.compile(r"\t")), (";", re.compile(r";")), ("  ", re.compile(r"(?<=\S)[ ]{2,}(?=\S)")))


def _parted(lines: Sequence[tuple[int, str]], index: int, kind: tuple[str, re.Pattern[str]]) -> tuple[Table | None, int] | None:
    """A run of lines with the same number of separators. None where none stands in the line; no table where the run is too short."""
    separator, pattern = kind
    columns = _count(lines[index][1], pattern)
    if not columns:
        return None
    at = index
    if separator == "  " and at + 1 < len(lines) and _count(lines[at + 1][1], pattern) == columns + 1:
        columns, at = columns + 1, at + 1  # a head without a corner
    while at < len(lines) and at - index < MAX_ROWS and _count(lines[at][1], pattern) == columns:
        at += 1
    block = list(lines[index:at])
    figures = sum(1 for _, text in block[1:] if re.search(r"\d", text))
    if len(block) < 2 or not figures or (separator == "|" and columns < 2) or (separator == "  " and figures < len(block) - 1):
        return (None, at) if len(block) > LONG else None
    rows = [_cells(start, text, separator) for start, text in block]
    if len(rows[0]) < len(rows[1]):
        rows[0] = [TableCell("", block[0][0]), *rows[0]]
    return (_table(block, rows), at) if min(len(row) for row in rows) >= 2 else (None, at)


def _count(text: str, pattern: re.Pattern[str]) -> int:
    return len(pattern.findall(text.strip()))


def _table(block: Sequence[tuple[int, str]], rows: Sequence[Sequence[TableCell]]) -> Table:
    start, end = block[0][0], block[-1][0] + len(block[-1][1])
    return Table(start, end, tuple(c.text for c in rows[0]), tuple(tuple(row) for row in rows[1:]))


def _cells(start: int, text: str, separator: str) -> list[TableCell]:
    if separator == "  ":
        return [TableCell(m[0], start + m.start()) for m in islice(re.finditer(r"\S+(?: \S+)*", text), MAX_COLUMNS)]
    body, offset = text, start
    if separator == "|":
        lead = len(text) - len(text.lstrip())
        body = text.strip()
        offset += lead
        if body.startswith("|"):
            body, offset = body[1:], offset + 1
        body = body.removesuffix("|")
    cells = []
    for part in body.split(separator)[:MAX_COLUMNS]:
        cells.append(TableCell(part.strip(), offset + len(part) - len(part.lstrip())))
        offset += len(part) + 1
    return cells


def without_tables(answer: str, found: Sequence[Table]) -> str:
    """The prose at its own offsets: what belongs to tables is blank."""
    parts, at = [], 0
    for table in found:
        parts += [answer[at : table.start], re.sub(r"[^\n]", " ", answer[table.start : table.end])]
        at = table.end
    return "".join([*parts, answer[at:]])
