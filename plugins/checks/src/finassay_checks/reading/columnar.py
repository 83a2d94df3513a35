"""Parquet, row group by row group, within the limits that its own footer promises."""

import ast
import re
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from finassay_checks.reading.content import Content, RawTable
from finassay_checks.reading.limits import ReadLimits, Unreadable


def read_parquet(path: Path, limits: ReadLimits) -> Content:
    """The table of a parquet file; an index that carries dates or tickers becomes columns. Raises `Unreadable`."""
    size = path.stat().st_size
    if size > limits.table_bytes:
        raise Unreadable(f"is larger than {limits.table_bytes:,} bytes ({size:,})", "too-large")
    try:
        with pq.ParquetFile(path) as source:
            meta = source.metadata
            if meta.num_columns > limits.columns:
                raise Unreadable(f"has more than {limits.columns:,} columns", "too-large")
            if meta.num_rows > limits.rows or meta.num_rows * meta.num_columns > limits.cells:
                raise Unreadable(f"has more than {limits.rows:,} rows or {limits.cells:,} cells", "too-large")
            batches, rows, taken = [], 0, 0
            for batch in source.iter_batches(batch_size=65_536):
                rows, taken = rows + batch.num_rows, taken + batch.nbytes
                if rows > limits.rows or taken > 8 * limits.table_bytes:
                    raise Unreadable("expands beyond the limits", "too-large")
                batches.append(batch)
            table = pa.Table.from_batches(batches, schema=batches[0].schema) if batches else source.schema_arrow.empty_table()
    except (pa.ArrowException, OSError, ValueError) as error:
        raise Unreadable(f"is no readable parquet file: {str(error)[:200]}") from None
    return Content(tables=(RawTable(_frame(table)),))


def _frame(table: pa.Table) -> pd.DataFrame:
    # Nested columns would become Python objects of any depth; their text is enough to see that they are there.
    flat = [
        column if not pa.types.is_nested(column.type) else pa.array([str(v)[:200] for v in column.to_pylist()]) for column in table.columns
    ]
    flat = [column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column for column in flat]
    frame = (
        pa.Table.from_arrays(flat, names=_unique(_joined(table.column_names))).replace_schema_metadata(None).to_pandas(date_as_object=False)
    )
    renamed: pd.DataFrame = frame.rename(
        columns=lambda name: "" if name in ("__index_level_0__", "index") and _is_dated(frame[name]) else name
    )
    return renamed


_LEVELS = re.compile(r"""\(\s*(?:'[^']{0,80}'|"[^"]{0,80}")\s*(?:,\s*(?:'[^']{0,80}'|"[^"]{0,80}")\s*){1,3}\)""")


def _joined(names: list[str]) -> list[str]:
    """Columns of several levels, which pandas stores as `('Close', 'AAPL')`, as the words of their levels: `Close AAPL`."""
    return [" ".join(ast.literal_eval(name)).strip() if name.startswith("(") and _LEVELS.fullmatch(name) else name for name in names]


def _is_dated(series: "pd.Series[Any]") -> bool:
    return bool(pd.api.types.is_datetime64_any_dtype(series.dtype))


def _unique(names: list[str]) -> list[str]:
    seen: dict[str, int] = {}
    made = []
    for name in names:
        count = seen.get(name, 0)
        seen[name] = count + 1
        made.append(f"{name}.{count}" if count else name)
    return made
