"""Reading one file of prices, bounded. Whoever put it there may have made a mistake, or meant harm: what cannot be read is said, not guessed."""

import io
import os
import re
import stat
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import Any, Final

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from finassay_market_data.series import Days, Values

MAX_BYTES: Final = 2**30
"""Of one file, and of what a packed one unpacks to."""
MAX_CELLS: Final = 100_000_000
MAX_COLUMNS: Final = 20_000
_HEAD: Final = 4 * 2**20
"""Bytes within which the header and the first row of a CSV file must end."""
_DELIMITERS: Final = (",", ";", "\t", "|")
PACKED: Final = (".gz", ".bz2", ".zst", ".lz4")
_FIRST_DAY, _LAST_DAY = np.datetime64("1700-01-01", "D"), np.datetime64("2300-01-01", "D")
MISSING: Final = (
    *("", "-", "--", ".", "—", "NaN", "nan", "-nan", "NA", "<NA>", "N/A", "n/a", "n.a.", "#N/A", "#NA", "NULL", "null", "None", "none"),
)
"""How CSV files say that there is no value."""
_NUMBER: Final = re.compile(r"[-+]?(?:\d+[.,]?\d*|[.,]\d+)(?:[eE][-+]?\d+)?|[-+]?inf(?:inity)?", re.IGNORECASE)
_ISO: Final = re.compile(r"\d{4}-\d\d-\d\d")


class UnreadableError(Exception):
    """A file is not taken; the message says why, without its path."""


@frozen
class Head:
    """What a file's beginning says."""

    columns: tuple[str, ...]
    first: tuple[str, ...] = ()
    """The first row of a CSV file, as it is written."""
    dated: tuple[str, ...] = ()
    """Columns of a parquet file that are of a date's type."""
    texts: frozenset[str] = frozenset()
    """Columns that hold text: by their type, in a CSV file by their first cell."""
    delimiter: str = ","
    decimal: str = "."


def check_file(path: Path) -> None:
    """Raises `UnreadableError` unless it is a regular file of a bearable size; links are not followed."""
    try:
        status = os.lstat(path)
    except OSError as error:
        raise UnreadableError(f"cannot be read: {error.strerror}") from error
    if not stat.S_ISREG(status.st_mode):
        raise UnreadableError("is a link or no regular file")
    if not 0 < status.st_size <= MAX_BYTES:
        raise UnreadableError("is empty" if status.st_size == 0 else f"is larger than {MAX_BYTES:,} bytes")


def is_parquet(path: Path) -> bool:
    return path.name.casefold().endswith((".parquet", ".pq"))


def head_of(path: Path) -> Head:
    """Names of the columns, without reading the rows. Raises `UnreadableError`."""
    check_file(path)
    try:
        return _parquet_head(path) if is_parquet(path) else _csv_head(path)
    except UnreadableError:
        raise
    except Exception as error:  # pyarrow's, and whatever a file provokes in it
        raise UnreadableError(f"cannot be read: {_short(error)}") from error


def read_columns(path: Path, head: Head, names: Sequence[str]) -> dict[str, Any]:
    """The named columns as arrow arrays, in one piece each. Raises `UnreadableError`."""
    check_file(path)
    try:
        table = _read_parquet(path, names) if is_parquet(path) else _read_csv(path, head, names)
        return {name: table.column(name).combine_chunks() for name in names}
    except UnreadableError:
        raise
    except Exception as error:  # pyarrow's, and whatever a file provokes in it
        raise UnreadableError(f"cannot be read: {_short(error)}") from error


def _parquet_head(path: Path) -> Head:
    import pyarrow as pa
    import pyarrow.parquet as pq

    with pq.ParquetFile(path, memory_map=False) as file:
        schema, metadata = file.schema_arrow, file.metadata
        _check_size(metadata.num_rows, len(schema.names))
        unpacked = sum(metadata.row_group(n).total_byte_size for n in range(metadata.num_row_groups))
        if unpacked > MAX_BYTES:
            raise UnreadableError(f"unpacks to more than {MAX_BYTES:,} bytes")
        dated = tuple(f.name for f in schema if pa.types.is_date(f.type) or pa.types.is_timestamp(f.type))
        texts = frozenset(f.name for f in schema if _is_text(f.type) or (pa.types.is_dictionary(f.type) and _is_text(f.type.value_type)))
        return Head(tuple(schema.names), dated=dated, texts=texts)


def _is_text(kind: Any) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _check_size(rows: int, columns: int) -> None:
    if columns > MAX_COLUMNS or rows * columns > MAX_CELLS:
        raise UnreadableError(f"has more than {MAX_COLUMNS:,} columns or {MAX_CELLS:,} values")


def _read_parquet(path: Path, names: Sequence[str]) -> Any:
    import pyarrow.parquet as pq

    _parquet_head(path)  # it may have changed since it was looked at
    with pq.ParquetFile(path, memory_map=False) as file:
        return file.read(columns=list(names), use_threads=True)


class _Bounded(io.RawIOBase):
    """What a file unpacks to, which ends in an error where it is too much."""

    def __init__(self, path: Path) -> None:
        import pyarrow as pa

        packed = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd", ".lz4": "lz4"}.get(path.suffix.casefold())
        self._inner = pa.input_stream(str(path), compression=packed)
        self._left = MAX_BYTES

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        data = bytes(self._inner.read(self._left + 1 if size < 0 else size))
        self._left -= len(data)
        if self._left < 0:
            raise UnreadableError(f"unpacks to more than {MAX_BYTES:,} bytes")
        return data

    def close(self) -> None:
        if not self.closed:
            self._inner.close()
        super().close()


def _csv_head(path: Path) -> Head:
    import csv

    with _Bounded(path) as stream:
        raw = stream.read(_HEAD)
    if b"\0" in raw:
        raise UnreadableError("is no text")
    text = raw.decode("utf-8-sig", "replace")
    lines = [line for line in text.splitlines()[:2] if line.strip()]
    if len(lines) < 2 or (len(raw) == _HEAD and text.count("\n") < 2):
        raise UnreadableError("has no header with rows below it")
    delimiter = max(_DELIMITERS, key=lambda mark: lines[0].count(mark))
    csv.field_size_limit(_HEAD)
    columns, first = next(csv.reader([lines[0]], delimiter=delimiter)), next(csv.reader([lines[1]], delimiter=delimiter))
    if len(columns) < 2:
        raise UnreadableError("has one column only")
    if len(columns) > MAX_COLUMNS:
        raise UnreadableError(f"has more than {MAX_COLUMNS:,} columns")
    if len(first) == len(columns) + 1:  # written by R: no name above the row names
        columns.insert(0, "")
    decimal = "," if delimiter != "," and any(re.fullmatch(r"-?\d+,\d+", cell.strip()) for cell in first) else "."
    texts = frozenset(
        name for name, cell in zip(columns, first, strict=False) if not _NUMBER.fullmatch(cell.strip()) and cell.strip() not in MISSING
    )
    return Head(tuple(columns), tuple(first), delimiter=delimiter, decimal=decimal, texts=texts)


def _read_csv(path: Path, head: Head, names: Sequence[str]) -> Any:
    import pyarrow.csv as pc

    read = pc.ReadOptions(column_names=list(head.columns), skip_rows=1, block_size=4 * 2**20)
    parse = pc.ParseOptions(delimiter=head.delimiter)
    convert = pc.ConvertOptions(
        include_columns=list(names), decimal_point=head.decimal, strings_can_be_null=True, null_values=list(MISSING)
    )
    with _Bounded(path) as stream:
        table = pc.read_csv(stream, read, parse, convert)
    _check_size(table.num_rows, len(head.columns))
    return table


# -- columns ----------------------------------------------------------------------------------------------------------


def days_of(column: Any) -> tuple[Days, NDArray[np.bool_]]:
    """Days, and which rows have one. Raises `UnreadableError` where the column does not hold dates that can be told for sure."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = column.type
    if pa.types.is_timestamp(kind):
        if kind.tz is not None:
            column = pc.local_timestamp(column)
        days = _from_arrow(column.cast(pa.timestamp(kind.unit)).cast(pa.date32(), safe=False))
    elif pa.types.is_date(kind):
        days = _from_arrow(column.cast(pa.date32(), safe=False))
    elif pa.types.is_integer(kind):
        days = _from_numbers(column)
    elif _is_text(kind):
        days = _from_texts(column)
    else:
        raise UnreadableError(f"its dates are of type {kind}")
    given = ~np.isnat(days)
    if bool((days[given] < _FIRST_DAY).any() or (days[given] > _LAST_DAY).any()):
        raise UnreadableError("has dates before 1700 or after 2300")
    return days, given


def _numpy(column: Any, dtype: type[np.generic]) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """The numbers of an arrow array of that type, and which are there.

    By its buffers: arrow's own way to numpy imports pandas where it is installed, which takes a second and 50 MB.
    """
    count, offset = len(column), column.offset
    bits, data = column.buffers()
    there = np.ones(count, bool)
    if bits is not None and column.null_count:
        there = np.unpackbits(np.frombuffer(bits, np.uint8), bitorder="little")[offset : offset + count].astype(bool)
    values = np.frombuffer(data, dtype)[offset : offset + count] if count else np.empty(0, dtype)
    return values, there


def _from_arrow(column: Any) -> Days:
    numbers, there = _numpy(column, np.int32)
    return np.where(there, numbers.astype("datetime64[D]"), np.datetime64("NaT"))


def _from_numbers(column: Any) -> Days:
    """20190131 as a day; any other numbers are not told apart from counts."""
    import pyarrow as pa

    whole, valid = _numpy(column.cast(pa.int64()), np.int64)
    whole = np.where(valid, whole, 0)
    if bool(((whole[valid] < 17000101) | (whole[valid] > 23000101)).any()):
        raise UnreadableError("its dates are numbers other than YYYYMMDD")
    texts = np.char.mod("%08d", whole)
    joined = [f"{t[:4]}-{t[4:6]}-{t[6:]}" if ok else "NaT" for t, ok in zip(texts, valid, strict=True)]
    return _parsed(joined)


def _from_texts(column: Any) -> Days:
    """ISO 8601, with or without a time of day; `31/01/2019` is refused because nobody can tell it from `01/31/2019`."""
    cache: dict[str, str] = {}
    days = []
    for text in column.to_pylist():
        if text is None or not text.strip():
            days.append("NaT")
            continue
        if text not in cache:
            start = text.strip()[:10]
            if not _ISO.fullmatch(start) or text.strip()[10:11] not in ("", " ", "T"):
                raise UnreadableError("has dates that are not written YYYY-MM-DD")
            cache[text] = start
        days.append(cache[text])
    return _parsed(days)


def _parsed(days: list[str]) -> Days:
    try:
        return np.array(days, "datetime64[D]")
    except ValueError as error:
        raise UnreadableError("has dates that do not exist") from error


def values_of(column: Any) -> Values | None:
    """Numbers as float64, NaN where there is none; None for a column of something else."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = column.type
    if pa.types.is_null(kind):
        return np.full(len(column), np.nan)
    if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)):
        return None
    values, there = _numpy(pc.cast(column, pa.float64(), safe=False), np.float64)
    return np.where(there & np.isfinite(values), values, np.nan)


def names_of(column: Any) -> tuple[NDArray[np.int64], list[object]]:
    """A column of names as numbers into a list of the different ones; -1 where there is none."""
    import pyarrow as pa

    encoded = column.dictionary_encode() if not pa.types.is_dictionary(column.type) else column
    codes, there = _numpy(encoded.indices.cast(pa.int64()), np.int64)
    return np.where(there, codes, -1), encoded.dictionary.to_pylist()


def plausible_date(text: str) -> bool:
    """Whether the first cell of a column looks like a date."""
    try:
        date.fromisoformat(text.strip()[:10])
    except ValueError:
        return bool(re.fullmatch(r"(?:1[7-9]|2[0-2])\d{6}", text.strip()))
    return True


def _short(error: Exception) -> str:
    return " ".join(str(error).split())[:200]
