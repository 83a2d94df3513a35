"""Pipe tables of Markdown text, in one pass over its lines."""

import re
from collections.abc import Iterator

from attrs import frozen

from finassay_checks.reading.content import Content, RawTable
from finassay_checks.reading.grid import Row, frame_of

_HEADING = re.compile(r"\s{0,3}#{1,6}\s+(.*)")
MAX_LINES = 200_000
MAX_COLUMNS = 200
MAX_TABLES = 200


@frozen
class TextTable:
    """A pipe table with where it stands: `heading` above it, the paragraph line before it, and its line numbers."""

    header: Row
    body: tuple[Row, ...]
    heading: str
    caption: str
    start: int
    end: int

    def raw(self, label: str) -> RawTable:
        notes = tuple(note for note in (self.heading, self.caption) if note)
        return RawTable(frame_of(self.header, self.body), label, notes)


def _cells(line: str) -> list[str]:
    line = line.strip()
    line = line[1:] if line.startswith("|") else line
    line = line[:-1] if line.endswith("|") and not line.endswith("\\|") else line
    cells = re.split(r"(?<!\\)\|", line) if "\\|" in line else line.split("|")
    return [_unmarked(cell) for cell in cells[:MAX_COLUMNS]]


def _unmarked(cell: str) -> str:
    """A cell without emphasis and code marks."""
    return cell.replace("\\|", "|").replace("**", "").replace("`", "").strip().strip("*_").strip()


def is_rule(line: str) -> bool:
    return len(line) < 5_000 and "-" in line and set(line) <= set("|:- \t") and ("|" in line or line.strip().startswith(":"))


def text_tables(text: str) -> Iterator[TextTable]:
    """The pipe tables of a text, in order; fenced code is skipped."""
    lines = text.split("\n")[:MAX_LINES]
    heading, caption, fenced, at, found = "", "", False, 0, 0
    while at < len(lines) and found < MAX_TABLES:
        line = lines[at]
        if line.lstrip().startswith(("```", "~~~")):
            fenced = not fenced
        elif not fenced and (match := _HEADING.match(line[:500])):
            heading, caption = match[1].strip(), ""
        elif not fenced and "|" in line and at + 1 < len(lines) and is_rule(lines[at + 1]):
            end = at + 2
            while end < len(lines) and "|" in lines[end] and lines[end].strip():
                end += 1
            yield TextTable(_cells(line), tuple(_cells(row) for row in lines[at + 2 : end]), heading, caption, at, end)
            found += 1
            at = end
            continue
        elif line.strip() and not fenced:
            caption = line.strip()[:300]
        at += 1


def prose_content(text: str) -> Content:
    """A text with its pipe tables."""
    tables = tuple(table.raw(f"table{number}") for number, table in enumerate(text_tables(text), start=1))
    return Content(tables=tables, prose=text)
