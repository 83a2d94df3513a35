"""Tables that are read as delivered: metrics, variants, periods, specification, sources, checks."""

import re

import numpy as np

from finassay_checks.model import Role, RoleTable
from finassay_checks.roles import names
from finassay_checks.roles.cells import to_dates
from finassay_checks.roles.context import stem_of
from finassay_checks.roles.metric_names import metric_of
from finassay_checks.roles.shape import Shape
from finassay_checks.roles.vocabulary import HINT_CHECK

_SPEC_KEYS = frozenset({"component", "rule", "item", "config", "parameter", "setting", "step", "assumption", "choice", "piece", "part"})
_SPEC_HEADS = frozenset({"rule", "setting", "choice", "definition", "component", "step", "parameter", "assumption"})
_SPEC_VALUES = frozenset(
    {"definition", "choice", "setting", "value", "rule", "how", "specification", "what", "detail", "details", "implementation", "source"}
)
_SOURCE_KEYS = frozenset({"series", "data", "dataset", "item", "what", "source", "table", "field"})
_SOURCE_VALUES = frozenset({"source", "url", "loader", "endpoint", "package", "provider", "vendor", "origin", "api", "link"})
MAX_METRIC_ROWS = 400
MIN_SERIES = 15
"""Fewer dated rows may as well be a comparison of runs."""


def _text_like(shape: Shape) -> bool:
    return bool(shape.columns) and shape.rows <= 2_000


def _context_words(shape: Shape) -> str:
    return " ".join((stem_of(shape), *shape.table.notes[:2]))


def metric_columns(shape: Shape) -> list[str]:
    """Columns that are named like metrics."""
    return [c.name for c in shape.columns if metric_of(c.name) is not None]


def metric_rows(shape: Shape) -> int:
    """Rows whose first cell is named like a metric."""
    first = shape.columns[0] if shape.columns else None
    if first is None or first.kind not in ("text", "empty"):
        return 0
    return sum(metric_of(text) is not None for text in first.texts)


def _is_periods(shape: Shape) -> bool:
    first = shape.columns[0]
    joined = " ".join(first.texts.head(8)) if first.kind in ("text", "number", "date") else ""
    above = " ".join(shape.table.notes[:2])
    if re.search(r"sub-?periods?\b|by (?:year|month|decade)|calendar years?\b|each year", above, re.I):
        return True
    return (
        names.is_period(stem_of(shape))
        or first.key in ("year", "period", "subperiod", "decade", "month", "yr")
        or (len(re.findall(r"\b(?:19|20)\d{2}\s*(?:-|–|—|to)\s*(?:(?:19|20)\d{2})", joined)) >= 2)
    )


def _is_variants(shape: Shape) -> bool:
    first = shape.columns[0]
    return (
        any(names.has(word, names.VARIANT) for word in (stem_of(shape), first.name))
        or first.key in ("changed", "change")
        or bool(re.search(r"sensitiv|robust|variant|scenario", " ".join(shape.table.notes[:2]), re.I))
    )


def _is_sources(shape: Shape, keys: set[str]) -> bool:
    """Series beside where they come from; a table that only names who chose a rule is none."""
    named = bool(re.search(r"source|provenance|lineage|\bdata\b", _context_words(shape), re.I))
    return (
        bool(keys & _SOURCE_VALUES)
        and len(keys & (_SOURCE_VALUES | _SOURCE_KEYS)) >= 2
        and named
        and not keys & _SPEC_HEADS
        and len(shape.of("text")) >= 1
    )


def _is_spec(shape: Shape, keys: set[str]) -> bool:
    """A first column of rules or components beside what was chosen, in words."""
    first = shape.columns[0]
    heads = {first.key, *first.parts} & _SPEC_KEYS
    values = {k for c in shape.columns[1:] for k in (c.key, *c.parts)} & _SPEC_VALUES
    words = [c for c in shape.columns[1:] if c.kind == "text" and (c.texts.str.len() > 12).mean() >= 0.4]
    return bool(heads and values and words)


def plain_roles(shape: Shape) -> list[RoleTable]:
    """Roles of undated tables; a table of metrics by variant or by period is no headline table."""
    if shape.columns and HINT_CHECK.search(stem_of(shape)) and metric_rows(shape) < 2:
        return [RoleTable("checks", shape.table, {c.name: c.name for c in shape.columns}, ("named as a check",), shape.table.frame)]
    if not _text_like(shape):
        return []
    columns = metric_columns(shape)
    rows = metric_rows(shape)
    role: Role | None = None
    why = ""
    keys = {c.key for c in shape.columns} | {p for c in shape.columns for p in c.parts}
    if _is_sources(shape, keys):
        role, why = "sources", "series with their source"
    elif rows < 4 and _is_spec(shape, keys):
        role, why = "spec", "rules with their definition"
    elif len(columns) >= 2 and shape.rows <= MAX_METRIC_ROWS and not shape.tickers and not _daily(shape):
        role, why = (
            ("variants", "metrics by setting")
            if _is_variants(shape)
            else ("periods", "metrics by period")
            if _is_periods(shape)
            else ("metrics", "one row a portfolio")
        )
    elif rows >= 2 and len(shape.columns) >= 2 and shape.rows <= MAX_METRIC_ROWS:
        role, why = ("variants", "metrics by setting") if _is_variants(shape) else ("metrics", "name and value")
    elif shape.columns and _is_periods(shape) and shape.of("number") and shape.ticker is None and not _daily(shape):
        role, why = "periods", "values by period"
    elif shape.columns and _is_variants(shape) and shape.of("number") and shape.ticker is None and not _daily(shape):
        role, why = "variants", "values by setting"
    if role is None:
        return []
    return [RoleTable(role, shape.table, {c.name: c.name for c in shape.columns}, (why,), shape.table.frame)]


def _daily(shape: Shape) -> bool:
    """A series with a row a session or a week, whatever its columns are called: `Commission` and `Returns` of each day are no headline."""
    if shape.date is None:
        return False
    if shape.rows > 400:
        return True
    dates = np.sort(to_dates(shape.table.frame[shape.date.name], "UTC").dropna().unique())
    if len(dates) < MIN_SERIES or len(dates) < 0.98 * shape.rows:
        return False
    return bool(np.median(np.diff(dates).astype("timedelta64[D]").astype(int)) <= 8)
