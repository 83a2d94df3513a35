"""Part of the fact behind 3.4: returns that a comparison states for a benchmark, against the benchmark's own delivered series."""

import re
from collections.abc import Iterator, Mapping

import numpy as np
import pandas as pd

from finassay_checks.model import Delivered, RoleTable
from finassay_checks.recompute import metrics
from finassay_checks.recompute.panel import Floats
from finassay_checks.recompute.stated import Statement
from finassay_checks.roles.cells import to_numbers

SMALL = 60
"""Rows of a table of figures at most."""
APART: Mapping[str, float] = {"total": 0.03, "annual": 0.03}
"""From which difference on a return is another one, for wealth that neither doubles nor halves: days of begin and end give less."""
_FAMILIES: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("index", re.compile(r"spy(?![a-z])|spx(?![a-z])|s&p(?: ?500)?|sp.?500|\^?gspc", re.I)),
    ("equal", re.compile(r"equal.?weight(?:ed)?", re.I)),
)
_PLAIN = re.compile(
    r"\b(?:benchmarks?|index|etf|the|of|all|same|names|stocks|universe|portfolio|basket|close|level|value|equity|price|total|return|tr"
    r"|buy|and|hold|trust)\b",
    re.I,
)
_SPANS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("annual", re.compile(r"(?:annual(?:i[sz]ed)?|yearly).{0,3}return|cagr", re.I)),
    ("total", re.compile(r"(?:total|cumulative|overall).{0,3}return", re.I)),
)
Returns = dict[str, dict[str, float]]


def family(name: str) -> str | None:
    """Which benchmark a name tells of, if it tells of one alone and of no variant of it: `Equal weight with a stop` is another portfolio."""
    found = [(key, pattern.sub(" ", name)) for key, pattern in _FAMILIES if pattern.search(name)]
    return found[0][0] if len(found) == 1 and not re.search(r"\w", _PLAIN.sub(" ", found[0][1].replace("_", " "))) else None


def denied(delivered: Delivered, curve: pd.Series, own: Mapping[str, float]) -> Statement | None:
    """The first return of a benchmark in a table that also gives the strategy's right one, where no delivered series of that benchmark has it
    over the strategy's dates. None where nothing is unambiguous."""
    series = _own(delivered, curve)
    if not series or "strategy_total" not in own:
        return None
    for table in delivered.tables:
        if not table.current or len(table.frame) > SMALL or len(table.frame.columns) > 20:
            continue
        said = _said(table.frame)
        if not any(_is(mine, own, "strategy") for name, mine in said.items() if family(name) is None):
            continue
        for name, figures in said.items():
            known = series.get(family(name) or "", [])
            span = "total" if "total" in figures else "annual"
            if known and span in figures and all(_apart(figures[span], one[span], span) for one in known):
                return Statement(figures[span], table.where, f"{name}: {span} return {figures[span]:.4f}; its series: {known[0][span]:.4f}")
    return None


def _apart(said: float, own: float, span: str) -> bool:
    return abs(said - own) > APART[span] * max(1.0, 1.0 + own)


def _is(figures: Mapping[str, float], own: Mapping[str, float], whose: str) -> bool:
    """Whether the figures are those of `own`: then the table is about the same dates, in the same unit."""
    shared = [span for span in figures if f"{whose}_{span}" in own]
    return bool(shared) and all(not _apart(figures[span], own[f"{whose}_{span}"], span) for span in shared)


def _said(frame: pd.DataFrame) -> Returns:
    """Portfolio to its stated returns, from a table with portfolios down and figures across, or the other way round."""
    labels = frame.iloc[:, 0].astype(str) if len(frame.columns) > 1 else pd.Series(dtype=str)
    found: Returns = {}
    for span, pattern in _SPANS:
        column = next((c for c in frame.columns[1:] if pattern.search(str(c).replace("_", " "))), None)
        if column is not None:
            for label, value in zip(labels, _fractions(frame[column], str(column)), strict=True):
                if np.isfinite(value):
                    found.setdefault(label, {}).setdefault(span, float(value))
            continue
        row = next((i for i, label in enumerate(labels) if pattern.search(label.replace("_", " "))), None)
        if row is None:
            continue
        for name in frame.columns[1:]:
            value = _fractions(frame[name].iloc[[row]], f"{labels.iloc[row]}").iloc[0]
            if np.isfinite(value):
                found.setdefault(str(name), {}).setdefault(span, float(value))
    return found


def _fractions(cells: pd.Series, heading: str) -> pd.Series:
    values = to_numbers(cells)
    written = cells.astype(str).str.contains("%").any()
    return values / 100 if re.search(r"%|\bpct\b|percent", heading, re.I) and not written else values


def _own(delivered: Delivered, curve: pd.Series) -> dict[str, list[dict[str, float]]]:
    """Total and annual return over the strategy's dates of every delivered series, by what its column (or, with one series, its table) is
    called."""
    found: dict[str, list[dict[str, float]]] = {}
    for candidate in delivered.role_tables:
        if candidate.role == "benchmark" and candidate.table.current:
            for name, level in _levels(candidate):
                kind, figures = family(name), _returns(level, pd.DatetimeIndex(curve.index))
                if kind is not None and figures:
                    found.setdefault(kind, []).append(figures)
    return found


def _levels(candidate: RoleTable) -> Iterator[tuple[str, pd.Series]]:
    dated = candidate.frame[candidate.frame["date"].notna()]
    frame = candidate.table.frame.iloc[dated["row"].to_numpy() - 1]
    for column in frame.columns:
        if family(str(column)) is None:
            continue
        values = pd.Series(to_numbers(frame[column]).to_numpy(dtype=float), index=pd.DatetimeIndex(dated["date"])).dropna().sort_index()
        if len(values) > 2 and (values > 0).all():
            yield str(column), values[~values.index.duplicated(keep="last")]


def _returns(level: pd.Series, days: pd.DatetimeIndex) -> dict[str, float]:
    """Empty where the series does not cover the strategy's dates."""
    known = level.reindex(days).dropna()
    if len(known) < 0.95 * len(days) or known.index[0] > days[min(5, len(days) - 1)] or known.index[-1] < days[max(-5, -len(days))]:
        return {}
    r: Floats = np.asarray(known.pct_change().dropna(), dtype=np.float64)
    return {"total": metrics.total_return(r), "annual": metrics.annual_return(r, metrics.periods_per_year(pd.DatetimeIndex(known.index)))}
