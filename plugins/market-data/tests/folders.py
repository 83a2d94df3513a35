"""Folders of prices for tests: one small market in every shape."""

import gzip
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq

DAYS = np.array(["2019-12-27", "2019-12-30", "2019-12-31", "2020-01-02", "2020-01-03", "2020-01-06"], "datetime64[D]")
CLOSE = {
    "AAA": [10.0, 10.5, 11.0, 11.25, 11.5, 12.0],
    "BBB": [20.0, np.nan, 21.0, 22.0, np.nan, 23.5],
    "NEW": [np.nan, np.nan, np.nan, np.nan, 5.0, 5.125],
}


def _table(columns) -> pa.Table:
    return pa.table({name: pa.array(values, from_pandas=True) for name, values in columns.items()})


def _write(table: pa.Table, path: Path) -> None:
    if path.suffix == ".parquet":
        pq.write_table(table, path)
    elif path.suffix == ".gz":
        plain = path.with_suffix("")
        pc.write_csv(table, plain)
        path.write_bytes(gzip.compress(plain.read_bytes()))
        plain.unlink()
    else:
        pc.write_csv(table, path)


def wide(folder: Path, ending: str = ".csv") -> Path:
    _write(_table({"Date": DAYS, **CLOSE}), folder / f"prices{ending}")
    return folder


def long(folder: Path, ending: str = ".csv") -> Path:
    rows = [(day, name, values[n]) for name, values in CLOSE.items() for n, day in enumerate(DAYS) if values[n] == values[n]]
    rows.reverse()
    day, name, close = zip(*rows, strict=True)
    volume = [int(value * 1000) for value in close]
    _write(_table({"date": np.array(day), "Symbol": name, "Close": close, "volume": volume}), folder / f"all{ending}")
    return folder


def single(folder: Path, ending: str = ".csv") -> Path:
    for name, values in CLOSE.items():
        known = [n for n, value in enumerate(values) if value == value]
        close = np.array(values)[known]
        columns = {"Date": DAYS[known], "Open": close - 0.5, "High": close + 1, "Low": close - 1, "Close": close, "Adj Close": close / 2}
        _write(_table({**columns, "Volume": (close * 1000).astype(int)}), folder / f"{name}{ending}")
    return folder
