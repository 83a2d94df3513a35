"""What is computed once of a frame or a column, for all that need it, and forgotten with it.

A text column of Arrow's never changes: a changed one is another array. So its codes can be kept as long as it lives, and every frame that
holds the same column finds them, whatever its other columns.
"""

import weakref
from collections.abc import Callable, Hashable
from typing import Any, TypeVar, cast

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

T = TypeVar("T")
Codes = tuple[NDArray[np.int64], pd.Index]
SHORT = 10_000
"""Rows from which on codes are kept: of fewer they are soon made again."""
_KEPT: dict[int, dict[Hashable, Any]] = {}


def once(owner: object, key: Hashable, make: Callable[[], T]) -> T:
    """`make()`, computed once for an owner and kept as long as it lives. What is kept must not hold the owner, and says nothing about
    what is written into it later."""
    held = _KEPT.get(id(owner))
    if held is None:
        held = _KEPT[id(owner)] = {}
        weakref.finalize(owner, _KEPT.pop, id(owner), None)
    if key not in held:
        held[key] = make()
    return cast(T, held[key])


def factorized(series: "pd.Series[Any]") -> Codes:
    """`pandas.factorize` of a series: a code for each row, -1 for a missing one, and the distinct values in order of appearance. The
    codes are shared and cannot be written."""
    column = _column(series) if len(series) >= SHORT else None
    return _codes(series) if column is None else once(column, "codes", lambda: _codes(series))


def _codes(series: "pd.Series[Any]") -> Codes:
    codes, uniques = pd.factorize(series)
    codes.flags.writeable = False
    return codes, pd.Index(uniques)


def sorted_codes(series: "pd.Series[Any]") -> Codes:
    """The same with the distinct values sorted."""
    codes, uniques = factorized(series)
    order = uniques.argsort()
    place = np.empty(len(uniques) + 1, dtype=np.int64)
    place[order], place[-1] = np.arange(len(uniques)), -1
    return place[codes], uniques[order]


def day_codes(frame: pd.DataFrame, name: str) -> tuple[NDArray[np.int64], pd.DatetimeIndex]:
    """Codes of a column of dates of a canonical frame, -1 for a missing one, and the distinct dates, sorted."""

    column = frame[name]
    # As long as the column is held here, pandas copies it before anything writes into the frame's: another place tells of a change.
    kept: list[tuple[pd.Series[Any], tuple[NDArray[np.int64], pd.DatetimeIndex]]] = once(frame, ("days", name), list)
    if kept and len(kept[0][0]) == len(column) and _place(kept[0][0]) == _place(column):
        return kept[0][1]
    codes, dates = pd.factorize(pd.DatetimeIndex(column), sort=True)
    codes.flags.writeable = False
    made = codes, pd.DatetimeIndex(dates)
    if len(frame) >= SHORT:
        kept[:] = [(column, made)]
    return made


def _place(column: "pd.Series[Any]") -> tuple[int, str]:
    """Where a column's cells lie in memory, and of what type they are."""
    values = column.to_numpy()
    return values.__array_interface__["data"][0], str(values.dtype)


def positions(index: pd.Index, series: "pd.Series[Any]") -> NDArray[np.int64]:
    """`index.get_indexer(series)`: each distinct value is looked up once."""
    codes, uniques = factorized(series)
    return np.append(np.asarray(index.get_indexer(uniques), dtype=np.int64), -1)[codes]


def _column(series: "pd.Series[Any]") -> "pa.ChunkedArray | None":
    """The Arrow column behind a text series; None for any other series."""
    get = getattr(series.array, "__arrow_array__", None)
    if get is None or not isinstance(series.dtype, pd.StringDtype):
        return None
    column = get()
    return column if isinstance(column, pa.ChunkedArray) else None
