"""`late_rows` (spec D.0.4): rows of delivered tables of all turns whose data date lies after the cutoff."""

import re
from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from attrs import define, frozen

from finassay.api.delivery import Package
from finassay_checks.delivered import read_delivery
from finassay_checks.model import Delivered, RoleTable, Table
from finassay_checks.roles import names
from finassay_checks.roles.cells import to_dates, to_numbers
from finassay_checks.roles.shape import Shape, shape_of
from finassay_checks.sessions import sessions_between

_ORDER = (
    "trades",
    "round_trips",
    "fundamentals",
    "prices",
    "positions",
    "equity",
    "benchmark",
    "signals",
    "weights",
    "states",
    "events",
    "universe",
)
_DATE_OF = {"trades": "fill_date", "round_trips": "exit_date", "universe": "start", "fundamentals": "announced"}
_LABELLED = frozenset({"periods", "metrics", "variants", "equity", "benchmark"})
_NO_DATA_DATE = re.compile(
    r"retriev|fetch|download|access|generated|created|run_?at|planned|plan(?:ned)?_|target|forecast|expected|next|schedul|due|maturity|payable|pay_?date|delist|cut-?off|valid|fill|effective|"
    r"execution|^to$|^end|until|expir",
    re.I,
)
_RETRIEVAL = re.compile(r"retriev|fetch|download|access|as_?of|snapshot|timestamp|updated|collected", re.I)
_LABEL = re.compile(
    r"^\s*(?:(?P<year>(?:19|20)\d{2})(?:\s*\(.{0,20}\))?|(?P<y2>(?:19|20)\d{2})[-/ ]?(?P<month>0[1-9]|1[0-2])|(?P<y3>(?:19"
    r"|20)\d{2})[- ]?Q(?P<q>[1-4])|Q(?P<q2>[1-4])[- ](?P<y4>(?:19|20)\d{2}))\s*$"
)
MAX_SHOWN = 12


@frozen
class LateTable:
    """One table with rows after the cutoff: `rows` are 1-based rows, `dates` their dates, both cut to the first dozen."""

    where: str
    turn: int
    count: int
    rows: tuple[int, ...]
    dates: tuple[str, ...]
    label: bool = False
    """The dates are period labels."""


@frozen
class LateRows:
    """`dated` counts the dated rows of all delivered tables, equal tables once; `late` those after the cutoff."""

    dated: int
    tables: tuple[LateTable, ...]
    dated_tables: int = 0
    notes: tuple[str, ...] = ()

    @property
    def late(self) -> int:
        return sum(table.count for table in self.tables)


@frozen(eq=False)
class _Dated:
    """Dates of a table's rows, and whether they are labels of periods with these starts."""

    dates: "pd.Series[Any]"
    starts: "pd.Series[Any] | None" = None


def late_rows(package: Package) -> LateRows:
    """Counts over every table of every turn, messages included. Use as `package.fact(late_rows)`."""
    delivered = package.fact(read_delivery)
    return _Count(package, delivered).all()


class _Count:
    def __init__(self, package: Package, delivered: Delivered) -> None:
        self.cutoff = pd.Timestamp(package.cutoff)
        self.conditions = package.task.conditions
        self.delivered = delivered
        self.roles: dict[int, list[RoleTable]] = {}
        for candidate in delivered.role_tables:
            self.roles.setdefault(id(candidate.table), []).append(candidate)

    def all(self) -> LateRows:
        seen: dict[tuple[Any, ...], list[_Sums]] = {}
        dated_rows, dated_tables = 0, 0
        found: list[LateTable] = []
        notes: list[str] = []
        for table in self.delivered.tables:
            dated = self._dates(table, notes)
            if dated is None or not dated.dates.notna().any():
                continue
            if _is_again(table.frame, dated.dates, seen):
                continue
            dated_rows += int(dated.dates.notna().sum())
            dated_tables += 1
            late = self._late(table, dated)
            if late is not None:
                found.append(late)
        return LateRows(dated_rows, tuple(found), dated_tables, tuple(notes[:50]))

    def _dates(self, table: Table, notes: list[str]) -> _Dated | None:
        roles = self.roles.get(id(table), [])
        by_role = {r.role: r for r in roles}
        if "sources" in by_role or "spec" in by_role:
            return None
        for role in _ORDER:
            if role in by_role:
                return self._role_dates(by_role[role], table)
        shape = shape_of(table, frozenset(), self.conditions.timezone) if len(table.frame) and len(table.frame.columns) else None
        if shape is None:
            return None
        labels = self._labels(shape, table) if "checks" not in by_role else None
        return labels or self._other_dates(shape, table, notes)

    def _role_dates(self, candidate: RoleTable, table: Table) -> _Dated | None:
        name = candidate.columns.get(_DATE_OF.get(candidate.role, "date"))
        if candidate.role == "round_trips":
            entry = to_dates(table.frame[candidate.columns["entry_date"]], self.conditions.timezone)
            closed = to_dates(table.frame[name], self.conditions.timezone) if name else entry
            return _Dated(closed.where(closed.notna(), entry))
        if candidate.role == "fundamentals":
            base = to_dates(table.frame[candidate.columns["period_end"]], self.conditions.timezone)
            announced = to_dates(table.frame[name], self.conditions.timezone) if name else base
            return _Dated(announced.where(announced.notna(), base))
        if name is None or name not in table.frame:
            return None
        dates = to_dates(table.frame[name], self.conditions.timezone)
        starts = _period_starts(dates) if candidate.role in _LABELLED else None
        return _Dated(dates, starts)

    def _labels(self, shape: Shape, table: Table) -> _Dated | None:
        """Bare years, months and quarters in the first column."""
        first = table.frame.iloc[:, 0]
        if len(first) > 2_000:
            return None
        periods = [_parse_label(str(cell).removesuffix(".0")) for cell in first]
        known = [p for p in periods if p is not None]
        if len(known) < 0.8 * first.notna().sum() or not known or not shape.of("number"):
            return None
        return _Dated(
            pd.Series([p[1] if p else pd.NaT for p in periods], index=table.frame.index),
            pd.Series([p[0] if p else pd.NaT for p in periods], index=table.frame.index),
        )

    def _other_dates(self, shape: Shape, table: Table, notes: list[str]) -> _Dated | None:
        columns = shape.of("date")
        own = [c for c in columns if not _NO_DATA_DATE.search(c.name)]
        if own and _is_settings(shape, table):
            notes.append(f"{table.where}: dates of settings and of the report itself, no rows of data")
            return None
        if own:
            preferred = next((c for c in own if c.key in ("date", "datadate", "pricedate", "announced", "filed", "periodend")), own[0])
            dates = to_dates(table.frame[preferred.name], self.conditions.timezone)
            return _Dated(dates, _period_starts(dates) if names.is_period(table.where) else None)
        stamps = [c for c in columns if _RETRIEVAL.search(c.name)]
        if stamps and shape.of("number"):
            return _Dated(to_dates(table.frame[stamps[0].name], self.conditions.timezone))
        if stamps:
            notes.append(f"{table.where}: undated list, retrieved at the stamp in '{stamps[0].name}'")
        return None

    def _late(self, table: Table, dated: _Dated) -> LateTable | None:
        late = (dated.dates > self.cutoff).to_numpy(copy=True)
        if not late.any():
            return None
        if dated.starts is not None:
            for position in np.flatnonzero(late):
                start, end = dated.starts.iloc[position], dated.dates.iloc[position]
                late[position] = self._label_is_late(table.frame.iloc[position], start, end)
            if not late.any():
                return None
        rows = np.flatnonzero(late)
        shown = [str(d.date()) for d in dated.dates.iloc[rows[:MAX_SHOWN]]]
        return LateTable(
            table.where, table.turn, len(rows), tuple(int(r) + 1 for r in rows[:MAX_SHOWN]), tuple(shown), dated.starts is not None
        )

    def _label_is_late(self, row: "pd.Series[Any]", start: pd.Timestamp, end: pd.Timestamp) -> bool:
        """A period that begins after the cutoff is late; one that holds it, unless its value recomputes from rows up to the cutoff."""
        if start > self.cutoff:
            return True
        if not len(sessions_between(self.conditions.exchange, self.cutoff + pd.Timedelta(days=1), end)):
            return False
        values = to_numbers(row.astype(object)).dropna().to_numpy()
        own = [value for series in self._series() if (value := _period_return(series, start, self.cutoff)) is not None]
        return not any(abs(v * scale - o) <= 0.0051 for v in values for scale in (1.0, 0.01) for o in own)

    def _series(self) -> Iterator["pd.Series[float]"]:
        for role in ("equity", "benchmark"):
            for candidate in self.delivered.choices[role].candidates:
                frame = candidate.frame
                level = frame["equity"] if frame["equity"].notna().any() else (1 + frame["ret"].fillna(0)).cumprod()
                yield pd.Series(level.to_numpy(float), index=pd.DatetimeIndex(frame["date"])).dropna().sort_index()


def _is_settings(shape: Shape, table: Table) -> bool:
    """A label and a date, and no number: what a date is about stands in its row ('report written', 'data retrieved'), as in prose."""
    if len(shape.columns) != 2 or shape.columns[0].kind != "text" or shape.columns[1].kind != "date":
        return False
    written = table.path.lower().endswith((".md", ".html", ".htm", ".txt", ".rst")) or "." not in table.path
    return shape.ticker is None and (written or not names.is_date_name(shape.columns[1].name))


def _period_return(series: "pd.Series[float]", start: pd.Timestamp, cutoff: pd.Timestamp) -> float | None:
    inside = series[(series.index >= start) & (series.index <= cutoff)]
    before = series[series.index < start]
    if not len(inside):
        return None
    base = before.iloc[-1] if len(before) else inside.iloc[0]
    return float(inside.iloc[-1] / base - 1) if base > 0 else None


def _period_starts(dates: "pd.Series[Any]") -> "pd.Series[Any] | None":
    """Starts of the periods that dates on week, month, quarter or year ends label; None if they lie on other days as well."""
    known = dates.dropna().sort_values()
    if len(known) < 3 or known.duplicated().any():
        return None
    spacing = float(known.diff().dt.days.median())
    if spacing >= 27 and bool(known.dt.is_month_end.all()):
        months = 1 if spacing < 45 else 3 if spacing < 120 else 12
        starts: pd.Series[Any] = dates.dt.to_period("M").dt.start_time - pd.DateOffset(months=months - 1)
        return starts
    if 6 <= spacing <= 8 and known.dt.dayofweek.nunique() == 1 and known.dt.dayofweek.iloc[0] >= 4:
        return dates - pd.Timedelta(days=6)
    return None


def _parse_label(text: str) -> tuple[pd.Timestamp, pd.Timestamp] | None:
    """(start, end) of `2016`, `2016-03`, `2016Q1`, `Q1 2016`."""
    match = _LABEL.match(text[:60])
    if match is None:
        return None
    year = int(match["year"] or match["y2"] or match["y3"] or match["y4"])
    if match["month"]:
        period = pd.Period(year=year, month=int(match["month"]), freq="M")
    elif match["q"] or match["q2"]:
        period = pd.Period(year=year, quarter=int(match["q"] or match["q2"]), freq="Q")
    else:
        period = pd.Period(year=year, freq="Y")
    return period.start_time.normalize(), period.end_time.normalize()


def _is_again(frame: pd.DataFrame, dates: "pd.Series[Any]", seen: "dict[tuple[Any, ...], list[_Sums]]") -> bool:
    """Whether an equal table was seen, in another file or turn: of equal size, dates and sums of the columns. Sums are only made of
    tables that are alike in size and dates."""
    known = dates.dropna()
    alike = seen.setdefault((len(frame), len(frame.columns), known.min(), known.max()), [])
    own = _Sums(frame)
    if any(other.values == own.values for other in alike):
        return True
    alike.append(own)
    return False


@define(eq=False)
class _Sums:
    """Sums of the first and last rows of a table's columns."""

    _frame: pd.DataFrame

    @cached_property
    def values(self) -> tuple[str, ...]:
        frame = self._frame
        cuts = (frame.iloc[:2_000], frame.iloc[-2_000:])
        return tuple(f"{to_numbers(cut.iloc[:, i]).sum():.8g}" for cut in cuts for i in range(min(len(frame.columns), 30)))
