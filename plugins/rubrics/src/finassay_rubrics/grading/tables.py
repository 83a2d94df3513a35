"""Tables in an answer: Markdown, tab or comma separated; with the labels, units and scales that their heads state."""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from attrs import frozen

MAX_ROWS: Final = 2_000
MAX_COLUMNS: Final = 60
_RULE: Final = re.compile(r"^\s*\|?\s*:?-{2,}:?\s*(?:\|\s*:?-{2,}:?\s*)*\|?\s*$")


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
    """Markdown tables, and blocks of lines with the same number of tabs or semicolons (two columns and two rows at least)."""
    lines = list(_lines(answer))
    found: list[Table] = []
    index = 0
    while index < len(lines):
        for separator in ("|", "\t", ";"):
            taken = _block(lines, index, separator)
            if taken is not None:
                table, index = taken
                found.append(table)
                break
        else:
            index += 1
    return found


def _lines(answer: str) -> Iterator[tuple[int, str]]:
    start = 0
    for line in answer.splitlines(keepends=True):
        yield start, line.rstrip("\r\n")
        start += len(line)


def _block(lines: Sequence[tuple[int, str]], index: int, separator: str) -> tuple[Table, int] | None:
    block: list[tuple[int, str]] = []
    at = index
    while at < len(lines) and separator in lines[at][1] and len(block) < MAX_ROWS:
        block.append(lines[at])
        at += 1
    if len(block) < 2 or (separator == "|" and not any(_RULE.match(text) for _, text in block[:3])):
        return None
    rows = [_cells(start, text, separator) for start, text in block if not _RULE.match(text)]
    if len(rows) < 2 or min(len(row) for row in rows) < 2 or (separator != "|" and len({len(row) for row in rows}) > 1):
        return None
    start, end = block[0][0], block[-1][0] + len(block[-1][1])
    return Table(start, end, tuple(c.text for c in rows[0]), tuple(tuple(row) for row in rows[1:])), at


def _cells(start: int, text: str, separator: str) -> list[TableCell]:
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
