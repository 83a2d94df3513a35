"""Returns by month, quarter or year: `Jan 2020 | 2.1%`, or years down and months across."""

import re
from typing import Any

import numpy as np
import pandas as pd

from finassay.api.delivery import Package
from finassay_checks.audit.wealth import compounded
from finassay_checks.delivered import read_delivery
from finassay_checks.model import RoleTable, Table
from finassay_checks.roles import names
from finassay_checks.roles.cells import to_numbers

_MONTHS = {m: i for i, m in enumerate(("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"), start=1)}
_NAMED = re.compile(r"^\s*([a-z]{3})[a-z]*\.?[\s,/\-']+((?:19|20)\d{2}|\d{2})\s*$", re.I)
_NUMBERED = re.compile(r"^\s*((?:19|20)\d{2})\s*[-/.M ]\s*(\d{1,2})\s*$", re.I)
_REVERSED = re.compile(r"^\s*(\d{1,2})\s*[-/.]\s*((?:19|20)\d{2})\s*$")
_QUARTER = re.compile(r"^\s*(?:((?:19|20)\d{2})[\s\-/]*Q([1-4])|Q([1-4])[\s\-/]*((?:19|20)\d{2}))\s*$", re.I)


def period_end(text: str) -> pd.Timestamp | None:
    """Last day of a labelled month or quarter: `Jan 2020`, `2020-01`, `01/2020`, `2020 Q1`; None for anything else."""
    if match := _QUARTER.match(text):
        year, quarter = int(match[1] or match[4]), int(match[2] or match[3])
        return pd.Timestamp(year, 3 * quarter, 1) + pd.offsets.MonthEnd(0)
    if match := _NAMED.match(text):
        month, year = _MONTHS.get(match[1].lower()), int(match[2])
        year += 2000 if year < 70 else 1900 if year < 100 else 0
    elif match := _NUMBERED.match(text):
        year, month = int(match[1]), int(match[2])
    elif match := _REVERSED.match(text):
        month, year = int(match[1]), int(match[2])
    else:
        return None
    if month is None or not 1 <= month <= 12:
        return None
    return pd.Timestamp(year, month, 1) + pd.offsets.MonthEnd(0)


def curve_of_periods(package: Package) -> pd.Series | None:
    """The wealth of the only table of labelled periods with a return each; None without one, or with several."""
    found = package.fact(period_tables)
    return compounded(found[0][1]) if len(found) == 1 else None


def period_tables(package: Package) -> tuple[tuple[Table, pd.Series], ...]:
    """Current tables of labelled periods with their returns by period end."""
    made = []
    for candidate in package.fact(read_delivery).role_tables:
        if candidate.role in ("periods", "unknown", "metrics") and candidate.table.current:
            returns = _returns(candidate)
            if returns is not None and len(returns) >= 6:
                made.append((candidate.table, returns))
    return tuple(made)


def _returns(candidate: RoleTable) -> pd.Series | None:
    frame = candidate.table.frame
    if len(frame.columns) < 2 or len(frame) > 2_000 or not len(frame):
        return None
    grid = _grid(frame)
    if grid is not None:
        return grid
    ends = [period_end(str(cell)) for cell in frame.iloc[:, 0]]
    if sum(end is not None for end in ends) < 0.9 * len(ends):
        return None
    columns = [c for c in frame.columns[1:] if not names.is_benchmark(str(c)) and to_numbers(frame[c]).notna().mean() > 0.8]
    column = next((c for c in columns if {"return", "ret", "returns", "strategy", "portfolio", "net"} & set(names.parts(str(c)))), None)
    column = column if column is not None else columns[0] if len(columns) == 1 else None
    if column is None:
        return None
    return _scaled(
        pd.Series(to_numbers(frame[column]).to_numpy(), index=pd.DatetimeIndex([e if e is not None else pd.NaT for e in ends])),
        frame[column],
        str(column),
    )


def _grid(frame: pd.DataFrame) -> pd.Series | None:
    """Years down, months across."""
    months = {
        c: _MONTHS[str(c).strip().lower()[:3]] for c in frame.columns if str(c).strip().lower()[:3] in _MONTHS and len(str(c).strip()) <= 9
    }
    years = pd.to_numeric(frame.iloc[:, 0], errors="coerce")
    if len(months) != 12 or not years.between(1900, 2100).all():
        return None
    cells: dict[pd.Timestamp, float] = {}
    for column, month in months.items():
        for year, value in zip(years, to_numbers(frame[column]), strict=True):
            cells[pd.Timestamp(int(year), month, 1) + pd.offsets.MonthEnd(0)] = float(value)
    series = pd.Series(cells).sort_index().dropna()
    first = next(iter(months))
    return _scaled(series, frame[first], " ".join(map(str, frame.columns)))


def _scaled(series: pd.Series, cells: "pd.Series[Any]", label: str) -> pd.Series | None:
    """Returns as fractions: percent numbers without a sign behind them are scaled where the label says so or the size shows it."""
    series = series[series.index.notna() & np.isfinite(series.to_numpy(dtype=float))].sort_index()
    if not len(series):
        return None
    signed = cells.astype(str).str.contains("%").any()
    if not signed and ("%" in label or "pct" in names.parts(label) or (series.abs().median() > 0.3 and series.abs().max() > 1.5)):
        series = series / 100
    return series if series.abs().max() < 5 else None
