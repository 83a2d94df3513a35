"""What is computed once of a frame or a column, for all that need it, and forgotten with it.

A text column of Arrow's never changes: a changed one is another array. So its codes can be kept as long as it lives, and every frame that
holds the same column finds them, whatever its other columns. Delivered frames are never written either.
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
    """`make()`, computed once for an owner that nobody changes, and kept as long as it lives. What is kept must not hold the owner."""
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

    def make() -> tuple[NDArray[np.int64], pd.DatetimeIndex]:
        codes, dates = pd.factorize(pd.DatetimeIndex(frame[name]), sort=True)
        codes.flags.writeable = False
        return codes, pd.DatetimeIndex(dates)

    return once(frame, ("days", name), make) if len(frame) >= SHORT else make()


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
