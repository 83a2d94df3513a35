"""Starts a delivered script on changed data. Copied into the sandbox and run there: imports nothing of this distribution.

`_probe_.json` beside it names the script and what is done to every table that pandas reads:

- `cut`: rows dated after that day are dropped;
- `after`: market data after that day are replaced by surrogates: the daily cross-sections of returns in another order of dates, tickers
  exchanged within each day, the mean taken out, a jump of 20 % up or down for each name first. Nothing after the day can be foreseen, and
  nothing that follows it says anything about the day before. Logs, weights and scores are left as they are.

`rewrite` names files whose bytes are changed instead, for code that reads without pandas.
"""

import atexit
import json
import re
import runpy
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

CONFIG, REPORT = "_probe_.json", "_probe_report_.json"
JUMP = 0.2
_READERS = ("read_csv", "read_parquet", "read_json", "read_excel", "read_feather", "read_table", "read_hdf")
_LOG = re.compile(
    r"^(?:side|action|shares|qty|quantity|weight\w*|target\w*|position\w*|score\w*|rank\w*|signal\w*|equity|nav|cash|pnl|fees?)$", re.I
)
_VOLUME = re.compile(r"vol(?:ume)?$|turnover|dollar", re.I)
_CLOSE = ("close", "adj close", "adj_close", "adjclose", "adjusted_close", "price", "px", "last", "px_last")


def day_of(frame: Any) -> "pd.Series | None":
    """The date of each row, naive and at midnight, from the index or one of the first three columns; None for an undated table."""
    if isinstance(frame.index, pd.MultiIndex):
        for level in range(min(2, frame.index.nlevels)):
            found = _dates(pd.Series(frame.index.get_level_values(level)))
            if found is not None:
                return found
    elif (found := _dates(pd.Series(frame.index))) is not None:
        return found
    if isinstance(frame, pd.Series):
        return None
    for column in list(frame.columns)[:3]:
        values = frame[column]
        if isinstance(values, pd.Series) and (found := _dates(values.reset_index(drop=True))) is not None:
            return found
    return None


def _dates(values: "pd.Series") -> "pd.Series | None":
    kind = str(values.dtype)
    if not ("datetime" in kind or "date" in kind or values.dtype == object or kind in ("str", "string") or kind.startswith("period")):
        return None
    if kind.startswith("period"):
        values = values.dt.to_timestamp(how="end")
    text = values if "datetime" in kind else values.astype(str).where(values.notna())
    dates = pd.to_datetime(text, errors="coerce", utc=True, format=None if "datetime" in kind else "mixed")
    if not len(dates) or dates.notna().mean() <= 0.95:
        return None
    return pd.Series(dates.dt.tz_localize(None).dt.normalize().to_numpy())


def cut(frame: Any, last: pd.Timestamp) -> Any:
    """The rows dated up to `last`; an undated table as it is."""
    days = day_of(frame)
    return frame if days is None else frame[(days <= last).to_numpy()]


def surrogate(frame: Any, after: pd.Timestamp, seed: int) -> tuple[Any, int]:
    """(frame with its market data after `after` replaced, number of replaced cells)."""
    if isinstance(frame, pd.Series):
        made, cells = surrogate(frame.to_frame("close"), after, seed)
        return made.iloc[:, 0].rename(frame.name), cells
    days = day_of(frame)
    if days is None or not (days > after).any() or any(_LOG.match(str(_last(c))) for c in frame.columns):
        return frame, 0
    if days.duplicated().mean() > 0.2:
        return _long(frame, days, after, seed)
    return _wide(frame, days, after, seed)


def _last(column: Any) -> Any:
    return column[-1] if isinstance(column, tuple) else column


def _numeric(frame: Any) -> list[int]:
    """Places of the columns of decimal or large whole numbers."""
    found = []
    for place in range(frame.shape[1]):
        values = frame.iloc[:, place]
        if (
            pd.api.types.is_numeric_dtype(values)
            and not pd.api.types.is_bool_dtype(values)
            and values.nunique() > min(10, len(values) // 3)
        ):
            found.append(place)
    return found


def _is_price(values: Any) -> bool:
    known = np.asarray(values, dtype=float)
    known = known[np.isfinite(known)]
    if len(known) < 3 or (known <= 0).any():
        return False
    return bool(np.median(np.abs(np.diff(np.log(known)))) < 0.2)


def _is_return(values: Any) -> bool:
    known = np.asarray(values, dtype=float)
    known = known[np.isfinite(known)]
    return len(known) >= 3 and bool((known < 0).mean() > 0.1) and bool(np.abs(known).max() < 3) and bool(abs(known.mean()) < 0.05)


def _wide(frame: Any, days: "pd.Series", after: pd.Timestamp, seed: int) -> tuple[Any, int]:
    order = np.argsort(days.to_numpy(), kind="stable")
    late = (days > after).to_numpy()[order]
    places = _numeric(frame)
    prices = [p for p in places if _is_price(frame.iloc[order, p]) and not _VOLUME.search(str(_last(frame.columns[p])))]
    returns = [p for p in places if p not in prices and _is_return(frame.iloc[order, p])]
    made, cells = frame.copy(), 0
    names = [str(_last(frame.columns[p])).lower() for p in prices]
    if any(n in _CLOSE for n in names) and any(n in ("open", "high", "low") for n in names):
        close = next(p for p, n in zip(prices, names, strict=True) if n in _CLOSE)
        lead = frame.iloc[order, close].to_numpy(dtype=float)[:, None]
        factor = paths(lead, late, seed)[:, 0] / lead[:, 0]
        for place in prices:
            cells += _put(made, place, order, late, frame.iloc[order, place].to_numpy(dtype=float) * factor)
    elif prices:
        fresh = paths(frame.iloc[order, prices].to_numpy(dtype=float), late, seed)
        for at, place in enumerate(prices):
            cells += _put(made, place, order, late, fresh[:, at])
    if returns:
        steps = shuffled(frame.iloc[order, returns].to_numpy(dtype=float), late, seed)
        for at, place in enumerate(returns):
            cells += _put(made, place, order, late, steps[:, at])
    return made, cells


def _put(made: Any, place: int, order: Any, late: Any, values: Any) -> int:
    """Write values, in date order, into the late rows of a column; how many."""
    column = made.iloc[:, place].to_numpy(dtype=float).copy()
    column[order[late]] = values[late]
    made.isetitem(place, column)
    return int(late.sum())


def _long(frame: Any, days: "pd.Series", after: pd.Timestamp, seed: int) -> tuple[Any, int]:
    """One row a (date, ticker): every price of a row moves by the factor of its close."""
    ticker = _ticker(frame, days)
    numbers = _numeric(frame)
    by_name = {str(_last(frame.columns[p])).lower(): p for p in numbers}
    lead = next((by_name[n] for n in _CLOSE if n in by_name), None)
    if lead is None:
        lead = next((p for n, p in by_name.items() if not _VOLUME.search(n)), None)
    if ticker is None or lead is None:
        return frame, 0
    keys = pd.MultiIndex.from_arrays([days.to_numpy(), ticker])
    table = pd.Series(frame.iloc[:, lead].to_numpy(dtype=float), index=keys)
    wide = table[~table.index.duplicated()].unstack().sort_index()
    late = np.asarray(wide.index > after)
    values = wide.to_numpy(dtype=float)
    some = values[:, int(np.isfinite(values).sum(axis=0).argmax())]
    row = pd.DataFrame(index=wide.index, columns=wide.columns, dtype=float)
    rows = (days > after).to_numpy()
    made = frame.copy()
    if _is_price(some):
        row[:] = paths(values, late, seed) / values
        factor = row.stack(future_stack=True).reindex(keys).to_numpy(dtype=float)
        priced = [p for n, p in by_name.items() if p == lead or (not _VOLUME.search(n) and _near(frame.iloc[:, p], frame.iloc[:, lead]))]
    elif _is_return(some):
        row[:] = shuffled(values, late, seed)
        fresh = row.stack(future_stack=True).reindex(keys).to_numpy(dtype=float)
        priced, factor = [lead], fresh / frame.iloc[:, lead].to_numpy(dtype=float)
    else:
        return frame, 0
    for place in priced:
        column = made.iloc[:, place].to_numpy(dtype=float).copy()
        column[rows] = column[rows] * factor[rows]
        made.isetitem(place, column)
    return made, int(rows.sum()) * len(priced)


def _near(one: Any, other: Any) -> bool:
    """Whether two columns are prices of the same thing: within a factor of two in most rows (open beside close)."""
    with np.errstate(all="ignore"):
        ratio = np.asarray(one, dtype=float) / np.asarray(other, dtype=float)
    known = ratio[np.isfinite(ratio)]
    return len(known) > 0 and bool(((known > 0.5) & (known < 2)).mean() > 0.9)


def _ticker(frame: Any, days: "pd.Series") -> Any:
    """The labels that, with the date, tell rows apart."""
    texts = [frame.index.get_level_values(i) for i in range(frame.index.nlevels)] if isinstance(frame.index, pd.MultiIndex) else []
    texts += [frame.iloc[:, p] for p in range(frame.shape[1]) if not pd.api.types.is_numeric_dtype(frame.iloc[:, p])]
    for text in texts:
        labels = pd.Series(np.asarray(text), dtype=object).astype(str)
        pairs = pd.DataFrame({"d": days.to_numpy(), "t": labels.to_numpy()})
        if 1 < labels.nunique() < len(labels) and not pairs.duplicated().mean() > 0.01:
            return labels.to_numpy()
    return None


def shuffled(steps: Any, late: Any, seed: int) -> Any:
    """Returns (dates, names): the late rows in another order of dates, names exchanged within each row, the mean taken out. What is
    missing in a row is drawn from its other names."""
    generator = np.random.default_rng(seed)
    at = np.flatnonzero(late)
    order = generator.permutation(len(at))
    out = np.array(steps, dtype=float)
    mixed = np.random.default_rng(seed + 1)
    for place, source in zip(at, at[order], strict=True):
        row = steps[source]
        known = row[np.isfinite(row)]
        if len(known) == row.size:
            out[place] = row[mixed.permutation(row.size)]
        else:
            out[place] = mixed.choice(known, row.size) if len(known) else 0.0
    out[at] -= np.nanmean(out[at]) if len(at) else 0.0
    out[at] = np.where(np.isfinite(steps[at]), out[at], np.nan)
    return out


def paths(prices: Any, late: Any, seed: int) -> Any:
    """Prices (dates, names) whose late rows follow shuffled returns from the last price before them; missing prices stay missing."""
    filled = pd.DataFrame(prices).ffill().to_numpy()
    steps = np.zeros_like(prices)
    with np.errstate(all="ignore"):
        steps[1:] = filled[1:] / filled[:-1] - 1
    steps[~np.isfinite(steps) | ~np.isfinite(prices)] = np.nan
    at = np.flatnonzero(late)
    fresh = np.nan_to_num(shuffled(steps, late, seed)[at])
    jump = np.where(np.random.default_rng(seed + 2).random(prices.shape[1]) < 0.5, -JUMP, JUMP)
    if prices.shape[1] == 1:
        jump[:] = JUMP
    fresh = np.clip(fresh, -0.5, 1.0)
    if len(fresh):
        fresh[0] = (1 + fresh[0]) * (1 + jump) - 1
    first = at[0] if len(at) else 0
    base = filled[first - 1] if first else filled[0]
    starts = pd.DataFrame(prices).bfill().to_numpy()[0]
    base = np.where(np.isfinite(base), base, starts)
    out = np.array(prices, dtype=float)
    out[at] = np.where(np.isfinite(prices[at]), base * np.cumprod(1 + fresh, axis=0), np.nan)
    return out


class Changing:
    """What is done to each table read, and the count of it."""

    def __init__(self, config: dict[str, Any]) -> None:
        self.last = pd.Timestamp(config["cut"]) if config.get("cut") else None
        self.after = pd.Timestamp(config["after"]) if config.get("after") else None
        self.seed = int(config.get("seed", 0))
        self.cells = self.tables = 0

    def __call__(self, read: Any) -> Any:
        if isinstance(read, dict):
            return {name: self(value) for name, value in read.items()}
        if not isinstance(read, pd.DataFrame | pd.Series) or not len(read):
            return read
        if self.last is not None:
            read = cut(read, self.last)
        if self.after is not None:
            read, cells = surrogate(read, self.after, self.seed)
            self.cells, self.tables = self.cells + cells, self.tables + bool(cells)
        return read

    def wrapped(self, reader: Callable[..., Any]) -> Callable[..., Any]:
        def read(*args: Any, **kwargs: Any) -> Any:
            depth.append(1)
            try:
                found = reader(*args, **kwargs)
            finally:
                depth.pop()
            return found if depth else self(found)  # a reader that calls another is changed once

        depth: list[int] = _DEPTH
        return read


_DEPTH: list[int] = []


def main() -> None:
    config = json.loads(Path(CONFIG).read_text())
    change = Changing(config)
    for name in config.get("rewrite", ()):
        change(pd.read_csv(name)).to_csv(name, index=False)
    if not config.get("rewrite"):
        for name in _READERS:
            setattr(pd, name, change.wrapped(getattr(pd, name)))
    report = Path(REPORT).resolve()
    atexit.register(lambda: report.write_text(json.dumps({"tables": change.tables, "cells": change.cells})))
    script = config["script"]
    sys.argv = [script]
    sys.path[0] = str(Path(script).parent.resolve())
    runpy.run_path(script, run_name="__main__")


if __name__ == "__main__":
    main()
