"""Headline figures in metrics tables: which row or column is the headline portfolio (spec D.0.3)."""

import re
from collections.abc import Iterator
from typing import Any

import pandas as pd
from attrs import frozen

from finassay_checks.figures.values import Printed, in_unit, printed
from finassay_checks.model import MetricName, Table
from finassay_checks.roles import names
from finassay_checks.roles.metric_names import metric_of

MAX_ROWS = 400
_HEADLINE = re.compile(r"strateg|portfolio|\byour?s?\b|headline|\bfinal\b|\bbase\b|\bnet\b|\bused\b|sleeve|backtest|value$", re.I)
_BASIS_COLUMN = re.compile(r"basis|note|definition|unit|how|convention|comment|description|annuali", re.I)


@frozen
class Cell:
    """One metric of the headline in a table. `text` is its row or cell with labels; `around` what the table states about it."""

    metric: MetricName
    number: Printed
    text: str
    around: str


def _label_score(label: str) -> int:
    """How headline-like a row or column label is; negative for benchmarks and variants."""
    if names.is_benchmark(label) or names.is_variant(label):
        return -2
    version = re.search(r"\bv(?:ersion)? ?(\d{1,3})\b", label, re.I)
    return (2 if _HEADLINE.search(label) else 0) + (1 + int(version[1]) if version else 0)


def _by_row(table: Table, frame: pd.DataFrame) -> Iterator[Cell]:
    """Metric rows with one value column or one column a portfolio."""
    first = str(frame.columns[0])
    others = [c for c in frame.columns[1:] if not _BASIS_COLUMN.search(str(c))]
    numeric = [c for c in others if any(printed(v) is not None for v in frame[c].head(MAX_ROWS))]
    if not numeric:
        return
    column = max(numeric, key=lambda c: (_label_score(str(c)), -numeric.index(c)))
    notes = [c for c in frame.columns[1:] if _BASIS_COLUMN.search(str(c))]
    grown = _growth([(str(label), value) for label, value in frame[[first, column]].head(MAX_ROWS).itertuples(index=False)])
    for label, value, *rest in frame[[first, column, *notes]].head(MAX_ROWS).itertuples(index=False):
        metric, number = metric_of(str(label)), printed(value)
        if metric is None or number is None:
            continue
        words = " ".join(str(r) for r in rest if r is not None and r == r)
        scaled = in_unit(metric, number, f"{label} {column} {words if re.search('percent|pct', words) else ''}")
        if scaled is not None:
            yield Cell(metric, scaled, f"{label} | {_shown(value)}" + (f" | {words}" if words else ""), f"{label} {column} {words}")
    if grown is not None:
        yield grown


def _by_column(table: Table, frame: pd.DataFrame, known: dict[MetricName, float]) -> Iterator[Cell]:
    """One row a portfolio, metrics across."""
    metric_columns = [(c, metric) for c in frame.columns if (metric := metric_of(str(c))) is not None]
    labels = [
        c for c in frame.columns if metric_of(str(c)) is None and any(isinstance(v, str) and printed(v) is None for v in frame[c].head(20))
    ]
    head = frame.head(MAX_ROWS)
    rows = list(range(len(head)))
    named = [" ".join(str(head[c].iloc[i]) for c in labels[:1]) for i in rows]
    row = max(rows, key=lambda i: (_label_score(named[i]), _agreement(head.iloc[[i]], metric_columns, known), -i))
    for column, metric in metric_columns:
        value = head[column].iloc[row]
        number = printed(value)
        scaled = in_unit(metric, number, str(column)) if number is not None else None
        if scaled is not None:
            label = named[row]
            yield Cell(metric, scaled, f"{label} | {column} | {_shown(value)}".strip(" |"), f"{label} {column}")
    grown = _growth([(str(c), head[c].iloc[row]) for c in head.columns])
    if grown is not None:
        yield grown


_START = re.compile(r"^(?:start(?:ing)?|initial|opening|beginning)[ _](?:nav|value|equity|capital|wealth|balance)$", re.I)
_END = re.compile(r"^(?:end(?:ing)?|final|closing|terminal)[ _](?:nav|value|equity|wealth|balance)$", re.I)


def _growth(pairs: list[tuple[str, Any]]) -> Cell | None:
    """The total return that a start and an end value imply, where a row or column of labelled values gives both."""
    found: dict[str, tuple[str, Printed]] = {}
    for label, value in pairs:
        text, number = " ".join(label.replace("_", " ").split()), printed(value)
        for name, pattern in (("start", _START), ("end", _END)):
            if pattern.match(text) and number is not None and number.value > 0 and number.unit not in ("%", "bp", "bps"):
                found.setdefault(name, (f"{label} {_shown(value)}", number))
    if len(found) < 2:
        return None
    (first, start), (last, end) = found["start"], found["end"]
    ratio = Printed(end.value / start.value - 1, end.precision / start.value + start.precision * end.value / start.value**2, "")
    return Cell("total_return", ratio, f"{first} | {last}", f"{first} {last}")


def _agreement(row: pd.DataFrame, columns: list[tuple[Any, MetricName]], known: dict[MetricName, float]) -> int:
    """How many figures of the report's summary a row repeats."""
    count = 0
    for column, metric in columns:
        number = printed(row[column].iloc[0])
        scaled = in_unit(metric, number, str(column)) if number is not None and metric in known else None
        count += scaled is not None and abs(scaled.value - known[metric]) <= max(0.006 * abs(known[metric]), 1.01 * scaled.precision)
    return count


def _shown(value: Any) -> str:
    return repr(value) if isinstance(value, float) else str(value)


def cells_of(table: Table, known: dict[MetricName, float]) -> list[Cell]:
    """The headline's metrics in a metrics table, in its order; `known` are figures of the report's summary, to recognise its row."""
    frame = table.frame
    if not len(frame) or len(frame.columns) < 2:
        return []
    by_row = sum(metric_of(str(v)) is not None for v in frame.iloc[:MAX_ROWS, 0])
    by_column = sum(metric_of(str(c)) is not None for c in frame.columns)
    made = list(_by_row(table, frame)) if by_row >= by_column else list(_by_column(table, frame, known))
    first: dict[MetricName, Cell] = {}
    for cell in made:
        first.setdefault(cell.metric, cell)
    return list(first.values())
