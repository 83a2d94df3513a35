"""CSV and TSV. Small files cell by cell (text stays as printed), large ones through Arrow's reader."""

import csv
import io
import re
from collections import Counter
from itertools import islice
from pathlib import Path

import pandas as pd
import pyarrow as pa
from pyarrow import csv as arrow_csv

from finassay_checks.reading.content import Content, RawTable
from finassay_checks.reading.grid import Row, find_header, flat_header, is_empty, tables_of_grid, unique_names
from finassay_checks.reading.limits import ReadLimits, Unreadable
from finassay_checks.reading.text import decode, encoding_of, read_bytes

SMALL = 64 * 1024
_HEAD = 64 * 1024
_DELIMITERS = (",", ";", "\t", "|")
_ZONED = re.compile(r"\d{1,2}:\d{2}.*(?:[+-]\d{2}:?\d{2}|Z)$|^\d{4}-\d{2}-\d{2}T.*Z$")
_NULLS = ["", "NA", "N/A", "n/a", "NaN", "nan", "null", "NULL", "None", "-", "#N/A"]


def delimiter_of(head: str) -> str:
    """The delimiter that cuts most of the first lines into the same number of cells; a comma if none does."""
    lines = [line for line in head.splitlines()[:40] if line.strip()][:30]
    best, best_score = ",", 0.0
    for delimiter in _DELIMITERS:
        counts = Counter(line.count(delimiter) for line in lines if delimiter in line)
        if not counts:
            continue
        cells, lines_with = counts.most_common(1)[0]
        score = lines_with / len(lines) * (1 + min(cells, 50) / 100)
        if score > best_score:
            best, best_score = delimiter, score
    return best


def _rows(text: str, delimiter: str) -> list[Row]:
    try:
        return list(csv.reader(io.StringIO(text), delimiter=delimiter))
    except csv.Error as error:
        raise Unreadable(f"is no readable table: {error}") from None


def _sections(rows: list[Row]) -> list[Row] | None:
    """Broker statements hold `section, Header|Data|Total, …` rows of many tables: they become grids parted by empty rows, else None."""
    kinds = Counter(str(row[1]) for row in rows if len(row) > 2)
    if len(rows) < 4 or kinds["Header"] < 2 or kinds["Data"] < 2 or kinds["Header"] + kinds["Data"] < 0.6 * len(rows):
        return None
    grid: list[Row] = []
    for row in rows:
        if len(row) > 2 and row[1] == "Header":
            grid += [[], ["section", *row[2:]]]
        elif len(row) > 2 and row[1] == "Data":
            grid.append([row[0], *row[2:]])
    return grid[1:]


def read_small(data: bytes, suffix: str, limits: ReadLimits) -> Content:
    """Every cell as the text that was delivered."""
    text = decode(data)
    rows = _rows(text, "\t" if suffix in (".tsv", ".tab") else delimiter_of(text[:_HEAD]))
    if len(rows) > limits.rows:
        raise Unreadable(f"has more than {limits.rows:,} rows", "too-large")
    if sum(len(row) for row in rows) > limits.text_cells:
        raise Unreadable(f"has more than {limits.text_cells:,} cells in a small file", "too-large")
    return Content(tables=tuple(tables_of_grid(_sections(rows) or rows, limits)))


def read_large(path: Path, suffix: str, limits: ReadLimits) -> Content:
    """Types are inferred; columns whose stamps carry a zone stay text, so that the zone is not lost. Bad rows are counted, not guessed."""
    with open(path, "rb") as stream:
        head_bytes = stream.read(_HEAD)
    encoding = encoding_of(head_bytes)
    source: Path | pa.BufferReader = path
    if encoding != "utf-8":
        source = pa.BufferReader(decode(read_bytes(path, limits.table_bytes)).encode())
    head = head_bytes.decode(encoding.removesuffix("-sig"), errors="replace").lstrip("\ufeff")
    delimiter = "\t" if suffix in (".tsv", ".tab") else delimiter_of(head)
    rows = _rows(head.rsplit("\n", 1)[0][:_HEAD], delimiter)[:200]
    at = find_header(rows)
    flat = flat_header(rows, at or 0) if rows else None
    header, taken = flat or (rows[at or 0] if rows else [], 1)
    first = (at or 0) + taken
    width = max((len(row) for row in rows[first:]), default=len(header))
    if width > limits.columns:
        raise Unreadable(f"has more than {limits.columns:,} columns", "too-large")
    names = unique_names(header, max(width, len(header)))
    skipped: list[int] = []
    table = _arrow(source, delimiter, names, first, _text_columns(rows[first:], names), skipped, limits)
    frame = table.to_pandas(date_as_object=False, self_destruct=True)
    problems = (("malformed-rows", f"{len(skipped):,} rows with another number of cells were left out"),) if skipped else ()
    notes = tuple(" ".join(str(c) for c in row if not is_empty(c))[:300] for row in rows[: at or 0])
    return Content(tables=(RawTable(frame, "", tuple(n for n in notes if n)),), problems=problems)


def _text_columns(body: list[Row], names: list[str]) -> list[str]:
    """Columns that must stay text: stamps with a zone, and numbers with a decimal comma."""
    found: list[str] = []
    if not any(":" in line or "Z" in line for line in (" ".join(map(str, row)) for row in body)):
        return found  # most tables hold no time of day
    for position, name in enumerate(names):
        cells = islice((str(row[position]) for row in body if position < len(row) and not is_empty(row[position])), 50)
        if any(_ZONED.search(cell[:60]) for cell in cells):
            found.append(name)
    return found


def _arrow(
    source: Path | pa.BufferReader, delimiter: str, names: list[str], skip: int, text: list[str], skipped: list[int], limits: ReadLimits
) -> pa.Table:
    def bad_row(row: arrow_csv.InvalidRow) -> str:
        skipped.append(row.number or 0)
        return "skip"

    def attempt(newlines: bool, typed: bool) -> pa.Table:
        skipped.clear()
        wanted = text if typed else names
        return arrow_csv.read_csv(
            source,
            read_options=arrow_csv.ReadOptions(column_names=names, skip_rows=skip, block_size=8 * 2**20),
            parse_options=arrow_csv.ParseOptions(delimiter=delimiter, newlines_in_values=newlines, invalid_row_handler=bad_row),
            convert_options=arrow_csv.ConvertOptions(
                column_types={name: pa.string() for name in wanted}, null_values=_NULLS, strings_can_be_null=True
            ),
        )

    message = ""
    for newlines, typed in ((False, True), (True, True), (True, False)):
        try:
            table = attempt(newlines, typed)
        except (pa.ArrowInvalid, pa.ArrowKeyError, ValueError) as error:
            message = str(error)
            if isinstance(source, pa.BufferReader):
                source.seek(0)
            continue
        if table.num_rows > limits.rows or table.num_rows * table.num_columns > limits.cells:
            raise Unreadable(f"has more than {limits.rows:,} rows or {limits.cells:,} cells", "too-large")
        return table
    if ("UTF8" in message or "UTF-8" in message) and isinstance(source, Path):
        return _arrow(
            pa.BufferReader(decode(read_bytes(source, limits.table_bytes)).encode()), delimiter, names, skip, text, skipped, limits
        )
    raise Unreadable(f"is no readable table: {message[:200]}")


def read_delimited(path: Path, suffix: str, limits: ReadLimits) -> Content:
    """The tables of a CSV or TSV file. Raises `Unreadable`."""
    size = path.stat().st_size
    if size > limits.table_bytes:
        raise Unreadable(f"is larger than {limits.table_bytes:,} bytes ({size:,})", "too-large")
    if size <= SMALL:
        return read_small(read_bytes(path, SMALL), suffix, limits)
    content = read_large(path, suffix, limits)
    if size <= 4 * 2**20 and content.problems:
        return read_small(read_bytes(path, size), suffix, limits)
    return content


def as_text(frame: pd.DataFrame, rows: int) -> str:
    """The first rows as CSV text."""
    return frame.head(rows).to_csv(index=False)
