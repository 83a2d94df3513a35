"""JSON: every list of records is a table, every flat object a name-value table; columns and split forms as well (spec D.0.2)."""

import json
import re
from collections import deque
from collections.abc import Iterator
from typing import Any

import pandas as pd

from finassay_checks.reading.content import Content, RawTable
from finassay_checks.reading.limits import ReadLimits, Unreadable
from finassay_checks.reading.text import decode

MAX_NODES, MAX_TABLES = 20_000, 50
_NESTED: dict[type[Any], str] = {list: "[…]", dict: "{…}"}


def _scalar(value: Any) -> bool:
    return value is None or isinstance(value, (str, int, float, bool))


def _cell(value: Any) -> Any:
    """A cell as delivered; integers beyond 64 bits as text, nested values as a mark."""
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return value[:10_000] if isinstance(value, str) else value
    if isinstance(value, int) and abs(value) >= 2**63:
        return str(value)[:400]
    return value if isinstance(value, (int, float)) else _NESTED.get(type(value))


def _records(value: list[Any], outer: dict[str, Any]) -> pd.DataFrame | None:
    """A list of objects as a table; scalars of the object around it (a symbol) are repeated where the records lack them."""
    if not value or not all(isinstance(item, dict) for item in value):
        return None
    names: dict[str, None] = {}
    for item in value[:5_000]:
        for name in item:
            names.setdefault(str(name)[:200])
    columns = {name: [_cell(item.get(name)) for item in value] for name in names if any(_scalar(item.get(name)) for item in value[:200])}
    if not columns:
        return None
    for name, scalar in outer.items():
        if name.lower() in ("symbol", "ticker", "asset", "name", "pair") and name not in columns and isinstance(scalar, str):
            columns[name] = [scalar] * len(value)
    return pd.DataFrame(columns)


_CANDLE = ("time", "open", "high", "low", "close", "volume")


def _rows(value: list[Any]) -> pd.DataFrame | None:
    """A list of equally long rows: the first one names the columns, or they are candles as exchanges give them, stamped in epoch time."""
    if len(value) < 2 or not all(isinstance(row, list) and len(row) == len(value[0]) and all(map(_scalar, row)) for row in value):
        return None
    head, width = value[0], len(value[0])
    if width >= 2 and all(isinstance(cell, str) and cell.strip() and not _number(cell) for cell in head) and len(set(head)) == width:
        return pd.DataFrame([[_cell(c) for c in row] for row in value[1:]], columns=[cell[:200] for cell in head])
    if 5 <= width <= 12 and all(isinstance(row[0], int) and row[0] > 10**8 for row in value) and all(_number(c) for c in head[1:5]):
        names = [*_CANDLE, *(f"field {k}" for k in range(7, 13))][:width]
        return pd.DataFrame([[_cell(c) for c in row] for row in value], columns=names)
    return None


def _number(cell: Any) -> bool:
    try:
        float(cell)
    except (TypeError, ValueError, OverflowError):
        return False
    return not isinstance(cell, bool)


def _mapped(value: dict[str, Any]) -> pd.DataFrame | None:
    """`{column: {key: cell}}`, `{column: [cells]}`, `{key: {column: cell}}`, and the split form `{columns, index, data}`."""
    if {"columns", "data"} <= set(value) and isinstance(value["data"], list) and isinstance(value["columns"], list):
        rows = [row for row in value["data"] if isinstance(row, list)]
        width = len(value["columns"])
        if rows and all(len(row) == width for row in rows):
            frame = pd.DataFrame([[_cell(c) for c in row] for row in rows], columns=[str(c)[:200] for c in value["columns"]])
            index = value.get("index")
            if isinstance(index, list) and len(index) == len(frame) and index != list(range(len(frame))):
                frame.insert(0, "", [_cell(c) for c in index])
            return frame
    items = list(value.items())
    if (
        len(items) >= 2
        and all(isinstance(v, list) and v and all(_scalar(c) for c in v) for _, v in items)
        and len({len(v) for _, v in items}) == 1
    ):
        return pd.DataFrame({str(k)[:200]: [_cell(c) for c in v] for k, v in items})
    if len(items) >= 1 and all(isinstance(v, dict) and v and all(_scalar(c) for c in v.values()) for _, v in items):
        inner = {str(k) for _, v in items[:50] for k in v}
        outer = {str(k) for k, _ in items}
        if (_dated(inner) and not _dated(outer)) or _counted(items):
            keys = list(dict.fromkeys(k for _, v in items for k in v))
            index = {} if _counted(items) else {"": keys}
            return pd.DataFrame(index | {str(k)[:200]: [_cell(v.get(key)) for key in keys] for k, v in items})
        if _dated(outer) or (len(items) >= 2 and len(inner) <= 60):
            keys = list(dict.fromkeys(k for _, v in items for k in v))
            return pd.DataFrame({"": list(value)} | {str(k)[:200]: [_cell(v.get(k)) for _, v in items] for k in keys})
    return None


_TICKER = re.compile(r"\^?[A-Z0-9]{1,6}(?:[.\-/][A-Z0-9]{1,4})?")
_NUMBERED = re.compile(r"^\d{1,2}[a-z]?\. ")


def _by_ticker(value: dict[str, Any]) -> pd.DataFrame | None:
    """`{ticker: [records]}` and `{ticker: {date: record}}` as one table with a ticker column."""
    if not value or len(value) > 5_000 or not all(_TICKER.fullmatch(str(key)) for key in value):
        return None
    pieces = []
    for ticker, held in value.items():
        if isinstance(held, list):
            frame = _records(held, {})
        elif isinstance(held, dict) and held and _dated({str(k) for k in held}) and all(isinstance(v, dict) for v in held.values()):
            frame = _mapped(held)
        else:
            return None
        if frame is None or {"ticker", "symbol"} & {str(c).lower() for c in frame.columns}:
            return None
        pieces.append(frame.assign(ticker=str(ticker)))
    return pd.concat(pieces, ignore_index=True)


def _counted(items: list[tuple[str, Any]]) -> bool:
    """Whether every column's keys are the same row numbers, in whatever order: pandas' own default orientation."""
    first = list(items[0][1])
    return (
        all(list(v) == first for _, v in items)
        and all(k.isdecimal() and len(k) < 8 for k in first)
        and not all(k.isdecimal() for k, _ in items)
        and not (len(items) == 1 and len(first) == 1)
    )


def _dated(keys: set[str]) -> bool:
    sample = list(keys)[:20]
    return bool(sample) and all(len(k) >= 8 and k[:4].isdigit() and (k[4] in "-/" or k.isdigit()) for k in sample)


def _walk(root: Any, limits: ReadLimits) -> Iterator[tuple[str, pd.DataFrame]]:
    """(key path, table), breadth first without recursion."""
    pending: deque[tuple[str, Any, dict[str, Any]]] = deque([("", root, {})])
    seen = 0
    while pending and seen < MAX_NODES:
        path, value, outer = pending.popleft()
        seen += 1
        if isinstance(value, list):
            frame = _records(value, outer)
            if frame is None and (frame := _rows(value)) is not None:
                yield path, frame
                continue
            if frame is not None:
                yield path, frame
            nested = [v for v in value[:2_000] if isinstance(v, (list, dict))]
            pending += [
                (path, v, {})
                for v in nested
                if frame is None or (isinstance(v, dict) and any(isinstance(x, (list, dict)) for x in v.values()))
            ][: limits.tables_per_file]
        elif isinstance(value, dict):
            frame = _mapped(value)
            if frame is None:
                frame = _by_ticker(value)
            if frame is not None:
                yield path, frame
                continue
            flat = {k: v for k, v in value.items() if _scalar(v)}
            if len(flat) >= (1 if not path and len(flat) == len(value) else 2) and not (outer and path.endswith("[]")):
                yield (
                    path,
                    pd.DataFrame(
                        {"name": [str(k)[:200] for k in flat], "value": pd.Series([_cell(v) for v in flat.values()], dtype=object)}
                    ),
                )
            pending += [(f"{path}.{k}"[-200:].lstrip("."), v, flat) for k, v in value.items() if not _scalar(v)]


def _merged(tables: list[tuple[str, pd.DataFrame]]) -> list[tuple[str, pd.DataFrame]]:
    """Lists of one key path and equal columns (one a ticker) are one table."""
    groups: dict[tuple[str, tuple[str, ...]], list[pd.DataFrame]] = {}
    for path, frame in tables:
        groups.setdefault((path, tuple(frame.columns)), []).append(frame)
    return [(path, frames[0] if len(frames) == 1 else pd.concat(frames, ignore_index=True)) for (path, _), frames in groups.items()]


def _parse(data: bytes, suffix: str) -> Any:
    text = decode(data)
    try:
        if suffix in (".jsonl", ".ndjson"):
            return [json.loads(line) for line in text.splitlines() if line.strip()]
        return json.loads(text)
    except RecursionError:
        raise Unreadable("is nested too deeply") from None
    except ValueError as error:
        lines = text.strip().splitlines()
        if suffix == ".json" and len(lines) > 1 and lines[0].lstrip().startswith("{") and lines[0].rstrip().endswith("}"):
            return _parse(data, ".jsonl")
        raise Unreadable(f"is no JSON: {str(error)[:150]}") from None


def read_json(data: bytes, suffix: str, limits: ReadLimits) -> Content:
    """The tables of a JSON text. Raises `Unreadable`."""
    found: list[tuple[str, pd.DataFrame]] = []
    cells = 0
    for path, frame in _walk(_parse(data, suffix), limits):
        frame = frame.rename(columns=lambda name: _NUMBERED.sub("", str(name)))
        cells += frame.size
        if len(frame.columns) > limits.columns or len(frame) > limits.rows or cells > limits.cells:
            raise Unreadable("holds a table beyond the limits", "too-large")
        found.append((path, frame))
        if len(found) >= 40 * MAX_TABLES:
            break
    merged = _merged(found)[:MAX_TABLES]
    single = len(merged) == 1
    return Content(tables=tuple(RawTable(frame, "" if single else path) for path, frame in merged))
