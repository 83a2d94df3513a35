"""Whether a run wrote a table again that was delivered."""

from pathlib import Path

import numpy as np
import pandas as pd

from finassay_checks.reading.files import read_file
from finassay_checks.reading.limits import DEFAULT_LIMITS, Unreadable
from finassay_checks.roles.cells import to_numbers

MAX_BYTES = 200 * 2**20
RELATIVE, ABSOLUTE = 1e-6, 1e-9


def same_table(name: str, one: Path, other: Path) -> bool:
    """Equal bytes, or equal tables up to 1e-6 relative."""
    if one.stat().st_size > MAX_BYTES or other.stat().st_size > MAX_BYTES:
        return False
    if one.read_bytes() == other.read_bytes():
        return True
    try:
        left, right = (read_file(path, name, DEFAULT_LIMITS).tables for path in (one, other))
    except Unreadable:
        return False
    pairs = list(zip(left, right, strict=False))
    return len(left) == len(right) and bool(pairs) and all(a.label == b.label and same_frame(a.frame, b.frame) for a, b in pairs)


def same_frame(left: pd.DataFrame, right: pd.DataFrame) -> bool:
    """Equal columns, numbers up to 1e-6 relative, other cells as text."""
    if left.shape != right.shape or list(left.columns) != list(right.columns):
        return False
    for place in range(left.shape[1]):
        one, other = left.iloc[:, place], right.iloc[:, place]
        a, b = to_numbers(one), to_numbers(other)
        if not np.allclose(a, b, rtol=RELATIVE, atol=ABSOLUTE, equal_nan=True):
            return False
        texts = (a.isna() & b.isna()).to_numpy()
        if not (one[texts].astype(str).to_numpy() == other[texts].astype(str).to_numpy()).all():
            return False
    return True
