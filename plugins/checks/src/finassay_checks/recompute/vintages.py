"""Which version of restated figures the delivered scores used: the one known on the date, or a later one (spec 3.1).

A score is computed again from one delivered column of fundamentals, under the figures as they were known on each date and under two
kinds of hindsight: figures that count from the end of their period, and restated values that count from the first announcement.
Versions of one (ticker, period, name) differ in value and in their dates of announcement or restatement.
"""

import re
from bisect import insort
from collections.abc import Iterator, Mapping
from functools import cached_property
from itertools import permutations
from typing import Any, Literal

import numpy as np
import pandas as pd
from attrs import evolve, frozen
from numpy.typing import NDArray

from finassay.api.delivery import Package
from finassay_checks.delivered import read_delivery
from finassay_checks.recompute.entered import chosen
from finassay_checks.recompute.information import alike_dates
from finassay_checks.recompute.panel import Floats, Panel, carried
from finassay_checks.recompute.rebuilt import price_panel
from finassay_checks.roles.cells import to_dates

Sight = Literal["known", "before", "restated", "period"]
SIGHTS: tuple[Sight, ...] = ("known", "before", "restated", "period")
HONEST: frozenset[Sight] = frozenset({"known", "before"})
"""Announced up to the date, or before it."""
LATEST, SUM, CHANGE = "the latest value", "the sum of four periods", "the change over four periods"
RATIO, SURPRISE = "the ratio of the latest values", "the difference of the latest values over the second"
REACH = {RATIO: 1, SURPRISE: 1, LATEST: 1, SUM: 4, CHANGE: 5}
"""Periods that each form needs, the newest included."""
DEPTH = 5
ROWS, DATES, NAMES, COLUMNS = 400_000, 60, 40, 12
"""Rows of fundamentals that are read, and dates, tickers and columns that are sampled."""
_RESTATED = re.compile(r"re-?stat\w*|revis\w*", re.I)
AGREE = 0.95
"""A sight reproduces a score that agrees on this share of dates."""
MIN_DATES = 3
"""Dates that only hindsight explains."""
MIN_VALUES = 30
MAX_SHOWN = 200


@frozen
class LateVersion:
    """One score that holds a value before that value was announced. `row` is the row of the score, `figure` that of the value."""

    ticker: str
    date: pd.Timestamp
    announced: pd.Timestamp
    row: int
    figure: int


@frozen
class Vintages:
    """What the scores of one name follow. `status` in words; `late` is empty unless a later version was used."""

    score: str
    column: str
    sight: Sight | None
    status: str
    late: tuple[LateVersion, ...] = ()


@frozen(eq=False)
class _Versions:
    """Rows of one column and ticker: period ends, days from which each counts as known, values and rows."""

    period: NDArray[np.datetime64]
    announced: NDArray[np.datetime64]
    value: Floats
    row: NDArray[np.int64]

    @cached_property
    def steps(self) -> "tuple[NDArray[np.datetime64], NDArray[np.int64]]":
        """Days on which something becomes known, and before the first and after each the positions of the last five known periods."""
        order = np.argsort(self.announced, kind="stable")
        steps = np.full((len(order) + 1, DEPTH), -1, dtype=np.int64)
        ends: list[int] = []
        newest: dict[int, int] = {}
        periods = self.period.astype("int64").tolist()
        for step, position in enumerate(order.tolist(), start=1):
            end = periods[position]
            if end not in newest:
                insort(ends, end)
            newest[end] = position
            last = [newest[e] for e in ends[-DEPTH:]]
            steps[step, DEPTH - len(last) :] = last
        return self.announced[order], steps

    @cached_property
    def seen(self) -> "dict[Sight, _Versions]":
        """Sights under which it was looked at before."""
        return {}


_Figures = Mapping[str, Mapping[str, _Versions]]
"""Versions by column and ticker."""


def restated_cells(fundamentals: pd.DataFrame) -> int:
    """(ticker, period, name) with several values that were announced on different dates."""
    dated = fundamentals[fundamentals["announced"].notna() & fundamentals["period_end"].notna()]
    counts = dated.groupby(["ticker", "period_end", "name"])[["announced", "value"]].nunique()
    return int(((counts["announced"] > 1) & (counts["value"] > 1)).sum())


def figures(package: Package) -> pd.DataFrame | None:
    """The canonical fundamentals, where restated values stand in columns of their own (`eps`, `eps_restated`, `restated_on`) as versions
    of the same name that are announced when they were restated."""
    table = chosen(package.fact(read_delivery), "fundamentals")
    if table is None or table.frame.empty:
        return None
    source, frame = table.table.frame, table.frame
    names = frame["name"].astype(str)
    later = names.str.contains(_RESTATED)
    days = next((dates for c in source.columns if _RESTATED.search(str(c)) and (dates := _dates(source[c], package)).notna().any()), None)
    if days is None or not later.any() or not (frame["row"].between(1, len(source))).all():
        return frame
    base = names.str.replace(_RESTATED, "", regex=True).str.strip(" _-.")
    base = base.where(base.isin(set(names[~later])), names[~later].iloc[0] if (~later).any() else base)
    restated = pd.Series(days.to_numpy()[frame["row"].to_numpy() - 1], index=frame.index)
    return frame.assign(name=names.where(~later, base), announced=frame["announced"].where(~later, restated))


def _dates(column: "pd.Series[Any]", package: Package) -> "pd.Series[Any]":
    if pd.api.types.is_numeric_dtype(column.dtype):
        return pd.Series(pd.NaT, index=column.index)
    return to_dates(column, package.task.conditions.timezone)


def vintages(package: Package) -> tuple[Vintages, ...]:
    """One entry a named score that follows one column of the fundamentals; nothing without both tables and announcement dates."""
    signals, fundamentals = package.fact(read_delivery).frame("signals"), package.fact(figures)
    if signals is None or fundamentals is None or signals.empty or len(fundamentals) > ROWS:
        return ()
    dated = fundamentals[fundamentals["announced"].notna() & fundamentals["period_end"].notna() & fundamentals["ticker"].notna()]
    if dated.empty or not (dated["announced"] > dated["period_end"]).any():
        return ()
    found = []
    columns = [str(name) for name in dated["name"].unique()[:COLUMNS]]
    known = {name: _versions(dated[dated["name"].astype(str) == name]) for name in columns}
    names = signals["name"].astype(object).where(signals["name"].notna(), "")
    for name, rows in list(signals.groupby(names, sort=False))[:COLUMNS]:
        one = _of_score(str(name), rows, dated, known, package.fact(price_panel))
        if one is not None:
            found.append(one)
    return tuple(found)


def _of_score(name: str, signals: pd.DataFrame, fundamentals: pd.DataFrame, figures_of: _Figures, panel: Panel | None) -> Vintages | None:
    rows = signals[signals["score"].notna() & signals["date"].notna() & signals["ticker"].isin(fundamentals["ticker"].unique())]
    table = rows.pivot_table(index="date", columns="ticker", values="score", aggfunc="last")
    table = table[table.notna().sum(axis=1) >= 3]
    if table.size == 0 or int(table.notna().to_numpy().sum()) < MIN_VALUES:
        return None
    table = table.iloc[_spread(len(table), DATES), _spread(table.shape[1], NAMES)]
    score = table.to_numpy(dtype=float)
    tried: list[_Tried] = []
    for columns, form, sight, candidate in _all_candidates(figures_of, table, panel):
        alike, enough = alike_dates(score, candidate)
        if enough.mean() > 0.5:
            tried.append(_Tried(columns, form, sight, alike, enough))
    best = max(tried, key=lambda one: one.share, default=None)
    if best is None or best.share < AGREE:
        return None
    honest = max((one for one in tried if one.sight in HONEST), key=lambda one: one.share)
    return _judged(name, best, honest, rows, fundamentals)


@frozen(eq=False)
class _Tried:
    """One score computed again: the dates on which it is the delivered one, and those on which that can be told."""

    columns: tuple[str, ...]
    form: str
    sight: Sight
    alike: NDArray[np.bool_]
    enough: NDArray[np.bool_]

    @property
    def column(self) -> str:
        return "' and '".join(self.columns)

    @property
    def share(self) -> float:
        return float(self.alike[self.enough].mean()) if self.enough.any() else 0.0


def _judged(name: str, best: _Tried, honest: _Tried, rows: pd.DataFrame, facts: pd.DataFrame) -> Vintages:
    """What was known on each date clears the score unless hindsight explains dates that it does not, and it explains none besides."""
    only = int((best.alike & ~honest.alike).sum())
    if best.sight in HONEST or honest.share >= best.share or only < MIN_DATES:
        return Vintages(name, honest.column, "known", f"'{name}' follows {honest.form} of '{honest.column}' as it was known on each date")
    late = _late(rows, facts[facts["name"].astype(str).isin(best.columns)], best)
    if not late or (honest.alike & ~best.alike & honest.enough & best.enough).any():
        return Vintages(name, best.column, None, f"'{name}' follows '{best.column}', and which version of the figures cannot be told")
    seen = "the restated values from the first announcement on" if best.sight == "restated" else "figures from the end of their period on"
    text = (
        f"{best.form} of '{best.column}' reproduces '{name}' on {best.share:.0%} of dates with {seen}; "
        f"what was known reproduces it on {honest.share:.0%}"
    )
    return Vintages(name, best.column, best.sight, text, late)


def _spread(count: int, wanted: int) -> NDArray[np.int64]:
    return np.unique(np.linspace(0, max(count - 1, 0), min(wanted, max(count, 1))).astype(np.int64))


def _versions(rows: pd.DataFrame) -> dict[str, _Versions]:
    """Those of each ticker of one column."""
    return {
        str(ticker): _Versions(
            own["period_end"].to_numpy().astype("datetime64[ns]"),
            own["announced"].to_numpy().astype("datetime64[ns]"),
            own["value"].to_numpy(dtype=float),
            own["row"].to_numpy(dtype=np.int64),
        )
        for ticker, own in rows.sort_values(["period_end", "announced"]).groupby("ticker")
    }


def _seen(one: _Versions, sight: Sight) -> _Versions:
    """The versions with the days on which they count as known under a sight."""
    if sight not in one.seen:
        one.seen[sight] = _under(one, sight)
    return one.seen[sight]


def _under(one: _Versions, sight: Sight) -> _Versions:
    if sight in HONEST:
        return one
    last = np.append(one.period[1:] != one.period[:-1], True)  # the rows are in the order of period and announcement
    if sight == "period":
        return _Versions(one.period[last], one.period[last], one.value[last], one.row[last])
    first = np.append(True, one.period[1:] != one.period[:-1])
    return _Versions(one.period[last], one.announced[first], one.value[last], one.row[last])


def _newest(one: _Versions, days: "NDArray[np.datetime64]", before: bool) -> NDArray[np.int64]:
    """Positions of the last five periods that are known on each day (`before`: since an earlier one), newest version each; -1 where none."""
    known, steps = one.steps
    return steps[np.searchsorted(known, days, side="left" if before else "right")]


def _all_candidates(figures_of: _Figures, table: pd.DataFrame, panel: Panel | None) -> Iterator[tuple[tuple[str, ...], str, Sight, Floats]]:
    """Scores of one column, and of two, under every sight."""
    by_name = {name: [known.get(ticker) for ticker in table.columns] for name, known in figures_of.items()}
    for sight in SIGHTS:
        latest: dict[str, Floats] = {}
        for name, versions in by_name.items():
            made = _candidates(versions, table, sight, panel)
            latest[name] = made[LATEST]
            for form, candidate in made.items():
                yield (name,), form, sight, candidate
        for first, second in permutations(by_name, 2):
            with np.errstate(all="ignore"):
                yield (first, second), RATIO, sight, latest[first] / latest[second]
                yield (first, second), SURPRISE, sight, (latest[first] - latest[second]) / np.abs(latest[second])


def _candidates(versions: list[_Versions | None], table: pd.DataFrame, sight: Sight, panel: Panel | None) -> dict[str, Floats]:
    """Usual scores of one column: the latest value, the sum of four quarters, the change over a year; each also over the price."""
    made = {form: np.full(table.shape, np.nan) for form in (LATEST, SUM, CHANGE)}
    days = table.index.to_numpy().astype("datetime64[ns]")
    for column, one in enumerate(versions):
        if one is None:
            continue
        seen = _seen(one, sight)
        at = _newest(seen, days, sight == "before")
        values = np.where(at >= 0, seen.value[at], np.nan)
        made[LATEST][:, column] = values[:, -1]
        made[SUM][:, column] = values[:, 1:].sum(axis=1)
        with np.errstate(all="ignore"):
            made[CHANGE][:, column] = (values[:, -1] - values[:, 0]) / np.abs(values[:, 0])
    closes = _closes(panel, table) if panel is not None else None
    if closes is not None:
        for form in (LATEST, SUM):
            with np.errstate(all="ignore"):
                made[f"{form} over the close"] = made[form] / closes
    return made


def _closes(panel: Panel, table: pd.DataFrame) -> Floats:
    rows = np.asarray(panel.dates.searchsorted(pd.DatetimeIndex(table.index), side="right"), dtype=np.int64) - 1
    codes = panel.tickers.get_indexer(table.columns)
    closes = carried(panel.close)[np.maximum(rows, 0)][:, np.maximum(codes, 0)].copy()
    closes[rows < 0] = np.nan
    closes[:, codes < 0] = np.nan
    return closes


def _late(rows: pd.DataFrame, facts: pd.DataFrame, used: _Tried) -> tuple[LateVersion, ...]:
    """Scores that need, under the sight, a value that was announced only after their date."""
    if len(used.columns) > 1:
        parts = [_late(rows, facts[facts["name"].astype(str) == name], evolve(used, columns=(name,))) for name in used.columns]
        return tuple(sorted((one for part in parts for one in part), key=lambda one: (one.row, one.figure)))[:MAX_SHOWN]
    reach = next(depth for form, depth in REACH.items() if used.form.startswith(form))
    announced = dict(zip(facts["row"].to_numpy(), facts["announced"].to_numpy(), strict=True))
    found: list[LateVersion] = []
    known = _versions(facts)
    for ticker, own in rows.iloc[:20_000].groupby("ticker"):
        one = known.get(str(ticker))
        if one is None:
            continue
        seen = _seen(one, used.sight)
        days = own["date"].to_numpy().astype("datetime64[ns]")
        for day, row, at in zip(days, own["row"], _newest(seen, days, False), strict=True):
            late = [int(seen.row[i]) for i in at[-reach:] if i >= 0 and announced[seen.row[i]] > day]
            if late and len(found) < MAX_SHOWN:
                found.append(LateVersion(str(ticker), pd.Timestamp(day), pd.Timestamp(announced[late[-1]]), int(row), late[-1]))
    return tuple(found)
