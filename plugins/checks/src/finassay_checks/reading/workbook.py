"""Workbooks: every sheet's cached values; parsed in a process of its own."""

from pathlib import Path

from finassay_checks.reading.content import Content, RawTable
from finassay_checks.reading.grid import tables_of_grid
from finassay_checks.reading.limits import ReadLimits, Unreadable
from finassay_checks.reading.worker import in_worker


def read_workbook(path: Path, suffix: str, limits: ReadLimits) -> Content:
    """The tables of all sheets. Formula cells without a cached value are empty and a problem. Raises `Unreadable`."""
    size = path.stat().st_size
    if size > limits.workbook_bytes:
        raise Unreadable(f"is larger than {limits.workbook_bytes:,} bytes ({size:,})", "too-large")
    book = in_worker("workbook", path, limits)
    tables: list[RawTable] = []
    for name, rows in book["sheets"]:
        tables += tables_of_grid(rows, limits, str(name)[:100])
    problems: tuple[tuple[str, str], ...] = ()
    if book["empty_formulas"]:
        problems = (("formula-without-value", f"{book['empty_formulas']:,} formula cells hold no cached value and were read as empty"),)
    return Content(tables=tuple(tables[: limits.tables_per_file]), problems=problems)
