"""Equal tables in two formats are one table (spec D.0.1): kept is parquet, else workbook, CSV, JSON."""

import numpy as np
import pandas as pd

from finassay_checks.model import Finding, RoleTable
from finassay_checks.reading.files import suffix_of
from finassay_checks.roles.cells import number_share, to_numbers

_ORDER = {".parquet": 0, ".pq": 0, ".xlsx": 1, ".xls": 1, ".ods": 1, ".csv": 2, ".tsv": 2, ".json": 3}


def _rank(candidate: RoleTable) -> int:
    return _ORDER.get(suffix_of(candidate.table.path), 4)


def _equal(one: pd.DataFrame, other: pd.DataFrame) -> bool:
    """Equal columns, rows and values (relative 1e-6), whatever the order of rows."""
    columns = [c for c in one.columns if c != "row"]
    if len(one) != len(other) or columns != [c for c in other.columns if c != "row"]:
        return False
    for column in columns:
        left, right = one[column], other[column]
        if left.dtype == object and right.dtype == object and number_share(left) == 1.0 == number_share(right):
            left, right = to_numbers(left), to_numbers(right)
        if pd.api.types.is_numeric_dtype(left.dtype) and pd.api.types.is_numeric_dtype(right.dtype):
            if not np.allclose(left.to_numpy(float), right.to_numpy(float), rtol=1e-6, atol=1e-9, equal_nan=True):
                return False
        elif (
            left.isna().to_numpy().tolist() != right.isna().to_numpy().tolist()
            or not (left.dropna().astype(str).to_numpy() == right.dropna().astype(str).to_numpy()).all()
        ):
            return False
    return True


def _stem(candidate: RoleTable) -> str:
    path, _, label = candidate.table.where.partition("#")
    name = path.rpartition("/")[2].rsplit(".", 1)[0].lower()
    return label.lower() or name


def drop_twins(found: list[RoleTable], named: str, findings: list[Finding]) -> list[RoleTable]:
    """One of each pair of current twins in one role. Tables of one name in two formats that differ are a finding; the one that the
    text names counts."""
    dropped: set[int] = set()
    current = [
        r for r in found if r.table.current and r.role not in ("unknown", "metrics", "spec", "sources", "variants", "periods", "checks")
    ]
    for index, one in enumerate(current):
        for other in current[index + 1 :]:
            if (
                one.role != other.role
                or suffix_of(one.table.path) == suffix_of(other.table.path)
                or id(one) in dropped
                or id(other) in dropped
            ):
                continue
            equal = len(one.frame) == len(other.frame) and _equal(one.frame, other.frame)
            if not equal and _stem(one) != _stem(other):
                continue
            first, second = sorted((one, other), key=_rank)
            if not equal:
                findings.append(Finding("twins-differ", f"holds other values than {second.table.where}", first.table.where))
                if second.table.path.rpartition("/")[2] in named and first.table.path.rpartition("/")[2] not in named:
                    first, second = second, first
            dropped.add(id(second))
    return [r for r in found if id(r) not in dropped]
