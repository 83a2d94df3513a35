"""Bounds of what is read from a delivery. What exceeds them is not delivered, and says so."""

from attrs import frozen


class Unreadable(Exception):
    """A file that cannot or must not be read; the message goes into the findings. `check` is the finding's kind."""

    def __init__(self, message: str, check: str = "unreadable-file") -> None:
        super().__init__(message)
        self.check = check


@frozen
class ReadLimits:
    """Sizes in bytes, counts of rows, columns, cells and tables."""

    files: int = 5_000
    """Files with different bytes that are looked at over all turns, newest first."""
    delivery_bytes: int = 3 * 2**30
    """Bytes that are read over all files."""
    table_bytes: int = 512 * 2**20
    """One CSV, TSV or parquet file."""
    text_bytes: int = 8 * 2**20
    """One document, code file or notebook."""
    json_bytes: int = 64 * 2**20
    workbook_bytes: int = 128 * 2**20
    expanded_bytes: int = 768 * 2**20
    """What the members of a workbook or document may expand to, measured and not as declared."""
    rows: int = 10_000_000
    columns: int = 20_000
    cells: int = 120_000_000
    tables_per_file: int = 200
    tables: int = 1_500
    """Tables over all files and turns, the newest files first."""
    workbook_cells: int = 8_000_000
    text_cells: int = 2_000_000
    """Cells of one small delimited file, which is read cell by cell."""
    worker_seconds: int = 120
    """Processor time of the process that parses a workbook."""
    worker_bytes: int = 3 * 2**30
    """Address space of that process."""


DEFAULT_LIMITS = ReadLimits()
