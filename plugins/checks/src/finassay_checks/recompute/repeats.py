"""Rows of a delivered table that stand twice."""

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from finassay_checks.shared import factorized

_MIX = np.uint64(0x9E3779B97F4A7C15)
_ENOUGH = 100_000
"""Rows from which on numbers are looked at first: rows that differ in them are not compared cell by cell."""


def repeated_rows(frame: pd.DataFrame) -> NDArray[np.bool_]:
    """True for every row that equals an earlier one in all its cells."""
    if len(frame) < _ENOUGH:
        return _repeated(frame)
    suspect = pd.Series(_mixed(frame)).duplicated(keep=False).to_numpy()
    again = np.zeros(len(frame), dtype=bool)
    if suspect.any():
        again[suspect] = _repeated(frame[suspect])
    return again


def _repeated(frame: pd.DataFrame) -> NDArray[np.bool_]:
    try:
        return frame.duplicated().to_numpy()
    except TypeError:  # cells that are lists or objects
        return frame.astype(str).duplicated().to_numpy()


def _mixed(frame: pd.DataFrame) -> "NDArray[np.uint64]":
    """One number a row, equal for equal rows; of the cells that are numbers, stamps and text columns whose codes are known anyway."""
    mixed = np.zeros(len(frame), dtype=np.uint64)
    for place in range(frame.shape[1]):
        column = frame.iloc[:, place]
        if column.dtype == np.float64:
            values = column.to_numpy() + 0.0  # -0.0 equals 0.0
            values[np.isnan(values)] = np.nan
            bits = values.view(np.uint64)
        elif pd.api.types.is_datetime64_dtype(column.dtype) or (isinstance(column.dtype, np.dtype) and column.dtype.kind in "iu"):
            bits = column.to_numpy().astype(np.int64).view(np.uint64)
        elif isinstance(column.dtype, pd.StringDtype):
            bits = factorized(column)[0].astype(np.int64).view(np.uint64)
        else:
            continue
        mixed = (mixed ^ bits) * _MIX
        mixed ^= mixed >> np.uint64(29)
    return mixed
