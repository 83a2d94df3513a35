"""Tables to files: delimited text, parquet, JSON in three orientations, one workbook."""

import io

import pandas as pd

from finassay_calibrate.clean.layouts.dress import dressed, file_safe
from finassay_calibrate.clean.layouts.forms import Frames, shaped
from finassay_calibrate.clean.layouts.spec import Layout

DATA = frozenset({"prices", "index", "fundamentals", "actions", "market_caps", "rates", "sources", "universe"})
SUFFIX = {
    "csv": ".csv",
    "tsv": ".tsv",
    "semicolon-csv": ".csv",
    "parquet": ".parquet",
    "json-records": ".json",
    "json-columns": ".json",
    "json-split": ".json",
}


STAND_FOR = {"round_trips": "trades", "daily_weights": "positions"}


def written(tables: Frames, layout: Layout, tickers: tuple[str, ...], dropped: frozenset[str] = frozenset()) -> dict[str, bytes]:
    """Every table but those dropped as a file of the layout; a workbook holds all but the prices, which stay delimited text."""
    names = frozenset(tickers)
    kept = {n: f for n, f in shaped(tables, layout).items() if STAND_FOR.get(n, n.split("/")[0]) not in dropped}
    ready = {name: dressed(name, frame, layout, names) for name, frame in kept.items()}
    if layout.files == "workbook":
        big = {name: frame for name, frame in ready.items() if name.startswith("prices")}
        rest = {name: frame for name, frame in ready.items() if name not in big}
        found = {_path(name, layout, ".csv"): _text(frame, ",") for name, frame in big.items()}
        return found | {("results/" if layout.folders else "") + "backtest.xlsx": _workbook(rest)}
    return {_path(name, layout, _suffix(frame, layout)): content(frame, layout) for name, frame in ready.items()}


def _suffix(frame: pd.DataFrame, layout: Layout) -> str:
    """A header of two rows has no form in JSON; tools write it as delimited text."""
    two_rows = isinstance(frame.columns, pd.MultiIndex)
    return ".csv" if two_rows and layout.files.startswith("json") else SUFFIX[layout.files]


def _path(name: str, layout: Layout, suffix: str) -> str:
    folder, _, ticker = name.partition("/")
    shown = {"targets": "target_weights"}.get(folder, folder)
    inner = f"{shown}/{file_safe(ticker)}{suffix}" if ticker else f"{shown}{suffix}"
    return inner if not layout.folders else f"{'data' if folder in DATA else 'results'}/{inner}"


def content(frame: pd.DataFrame, layout: Layout) -> bytes:
    """One file's bytes. A header of two rows is written as text in every format, as tools do."""
    if isinstance(frame.columns, pd.MultiIndex):
        return _text(frame, "\t" if layout.files == "tsv" else ",") if layout.files != "parquet" else _two_levels_parquet(frame)
    if layout.files == "parquet":
        buffer = io.BytesIO()
        frame.to_parquet(buffer, index=False)
        return buffer.getvalue()
    if layout.files.startswith("json"):
        orient = layout.files.removeprefix("json-")
        return str(frame.to_json(orient=orient, date_format="iso", double_precision=15)).encode()  # type: ignore[call-overload]
    return _text(frame, {"tsv": "\t", "semicolon-csv": ";"}.get(layout.files, ","))


def _text(frame: pd.DataFrame, separator: str) -> bytes:
    return frame.to_csv(index=isinstance(frame.columns, pd.MultiIndex), sep=separator, lineterminator="\n").encode()


def _two_levels_parquet(frame: pd.DataFrame) -> bytes:
    buffer = io.BytesIO()
    frame.to_parquet(buffer)
    return buffer.getvalue()


def _workbook(tables: Frames) -> bytes:
    buffer = io.BytesIO()
    with pd.ExcelWriter(buffer, engine="openpyxl") as book:
        for name, frame in tables.items():
            frame.to_excel(book, sheet_name=name.replace("_", " ").title()[:31], index=False)
    return buffer.getvalue()
