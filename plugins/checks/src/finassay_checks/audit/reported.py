"""The figures that a folder reports: every labelled number of name-value tables, of tables with metrics across, and of prose."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from attrs import Factory, evolve, frozen

from finassay.api.delivery import Package
from finassay_checks.audit.labels import FRACTIONS, audit_metric, frequency_of, turnover_name, words_of
from finassay_checks.delivered import read_delivery
from finassay_checks.figures.values import Printed, printed
from finassay_checks.model import Delivered, Figure, Table
from finassay_checks.roles import names

MAX_ROWS = 400
_HOLDS_DATA = frozenset(
    {
        "prices",
        "signals",
        "weights",
        "positions",
        "trades",
        "round_trips",
        "equity",
        "benchmark",
        "fundamentals",
        "universe",
        "cash_flows",
        "actions",
        "entries",
        "variants",
        "checks",
        "sources",
    }
)
_BASIS = re.compile(r"basis|note|definition|unit|how|convention|comment|description|annuali", re.I)
_PERCENT = re.compile(r"%|(?:^|[\b_ ])pct\b|percent|100$", re.I)


@frozen
class Reported:
    """One reported figure. `value` is in the metric's unit as far as its own notation tells: fractions, drawdowns negative."""

    metric: str
    value: float
    precision: float
    label: str
    written: str
    where: str
    around: str = ""
    """What the same table states besides."""
    notation: str | None = None
    """`positive_percent` or `positive_fraction` for a drawdown that is written so; None where the notation needs no name."""
    name: str = ""
    """How the audit lists it; the metric unless another figure of the same metric counts."""
    bare: bool = False
    """No percent sign stands behind it or in its label: it may be percent all the same."""


@frozen
class Statements:
    """What name-value tables state besides metrics, by words of the label in lower case."""

    said: Mapping[str, str] = Factory(dict)

    def number(self, pattern: str) -> float | None:
        for label, text in self.said.items():
            if re.search(pattern, label):
                found = printed(text)
                if found is not None:
                    return found.value
        return None

    def text(self, pattern: str) -> str:
        return next((text for label, text in self.said.items() if re.search(pattern, label)), "")

    @property
    def words(self) -> str:
        return " | ".join(f"{label}: {text}" for label, text in self.said.items()).lower()[:20_000]


def reported(package: Package) -> tuple[Reported, ...]:
    """All reported figures, tables first, the first of each metric in front."""
    delivered = package.fact(read_delivery)
    found = [figure for table in metric_tables(delivered) for figure in _of_table(table)]
    tabled = {figure.metric for figure in found}
    found += [figure for figure in map(_of_figure, delivered.figures) if figure is not None and figure.metric not in tabled]
    return tuple(_named(found))


def _named(found: list[Reported]) -> list[Reported]:
    """The figure that counts for each metric first: not of a coarser sampling, then the one printed most exactly; the others under their
    labels."""
    groups: dict[str, list[Reported]] = {}
    for figure in found:
        groups.setdefault(figure.metric, []).append(figure)
    made: list[Reported] = []
    for metric, figures in groups.items():
        lead = min(
            figures, key=lambda f: (frequency_of(f.label) in ("W", "M", "Y"), round(np.log10(f.precision / max(abs(f.value), 1e-12))))
        )
        made.append(lead)
        seen = {(lead.label, lead.where)}
        for figure in figures:
            if (figure.label, figure.where) not in seen:
                seen.add((figure.label, figure.where))
                made.append(
                    evolve(figure, name=f"{metric} ({figure.label[:60]}{'' if figure.label != lead.label else ', ' + figure.where[-60:]})")
                )
    return made


def statements(package: Package) -> Statements:
    """What is stated beside the metrics, of all name-value tables."""
    delivered = package.fact(read_delivery)
    said: dict[str, str] = {}
    for table in metric_tables(delivered):
        for label, value, _ in _pairs(table):
            if audit_metric(label) is None and value is not None and len(said) < 2_000:
                said.setdefault(words_of(label).lower(), str(value)[:400])
    return Statements(said)


def metric_tables(delivered: Delivered) -> Iterator[Table]:
    """Current tables that may report figures: those that hold no data of their own."""
    roles: dict[int, set[str]] = {}
    for candidate in delivered.role_tables:
        roles.setdefault(id(candidate.table), set()).add(candidate.role)
    for table in delivered.tables:
        if {"reported", "claimed"} & set(map(str, table.frame.columns)) and len(table.frame.columns) > 2:
            continue  # a comparison of reported figures with others is no report
        if table.current and not roles.get(id(table), set()) & _HOLDS_DATA and 0 < len(table.frame.columns) <= 60:
            if "periods" in roles.get(id(table), set()) and not _named_rows(table):
                continue
            yield table


def _named_rows(table: Table) -> bool:
    return any(audit_metric(str(cell)) is not None for cell in table.frame.iloc[:MAX_ROWS, 0])


def _pairs(table: Table) -> Iterator[tuple[str, Any, str]]:
    """(label, value, notes beside it). A first row taken for a header counts when its second cell is a value."""
    frame = table.frame
    if len(frame.columns) < 2:
        return
    columns = list(frame.columns)
    others = [c for c in columns[1:] if not _BASIS.search(str(c))] or columns[1:]
    column = max(others[:8], key=lambda c: (_own(str(c)), frame[c].notna().sum() > 0, -others.index(c)))
    notes = [c for c in columns[1:] if c is not column and _BASIS.search(str(c))]
    head = str(column)
    unit = head if _PERCENT.search(head) and printed(head) is None else ""
    for line in table.notes:
        cells = line.rsplit(" ", 1)
        if len(cells) == 2 and printed(cells[1]) is not None:
            yield cells[0], cells[1], ""
    if str(columns[0]) and (printed(head) is not None or audit_metric(str(columns[0])) is not None):
        yield str(columns[0]), head, ""
    for row in frame[[columns[0], column, *notes]].head(MAX_ROWS).itertuples(index=False):
        yield str(row[0]), row[1], " ".join([unit, *(str(n) for n in row[2:] if n is not None and n == n)]).strip()


def _own(column: str) -> int:
    """How much a column is the strategy's own rather than a benchmark's."""
    if names.is_benchmark(column) or names.is_variant(column):
        return -1
    return int(bool(re.search(r"strateg|portfolio|value|result|net|backtest", column, re.I)))


def _of_table(table: Table) -> Iterator[Reported]:
    pairs = [p for p in _pairs(table) if p[1] is not None]
    named = [(label, value, notes, audit_metric(label)) for label, value, notes in pairs]
    if not any(metric for *_, metric in named):
        yield from _across(table)
        return
    around = " | ".join(f"{label}: {value}" for label, value, _, metric in named if metric is None)[:4_000]
    for label, value, notes, metric in named:
        number = printed(value) or _absurd(value)
        if metric is None or number is None:
            continue
        yield _figure(metric, number, label, str(value), table.where, f"{notes} | {around}", notes)


def _absurd(value: Any) -> Printed | None:
    """A finite number too large to be read as a figure: an absurd one must be seen all the same."""
    try:
        number = float(str(value))
    except ValueError:
        return None
    return Printed(number, abs(number) * 1e-9, "") if 1e15 < abs(number) < 1e300 else None


def _across(table: Table) -> Iterator[Reported]:
    """One row a portfolio, metrics across: the headline's row."""
    frame = table.frame
    columns = {c: m for c in frame.columns if (m := audit_metric(str(c))) is not None}
    if not columns or len(frame) > MAX_ROWS or (len(columns) < 2 and len(frame) > 1):
        return
    labels = [c for c in frame.columns if c not in columns]
    order = sorted(range(len(frame)), key=lambda i: -_own(" ".join(str(frame[c].iloc[i]) for c in labels[:1])))
    for column, metric in columns.items():
        value = frame[column].iloc[order[0]]
        number = printed(value)
        if number is not None:
            yield _figure(metric, number, str(column), str(value), table.where, "", "")


def _figure(metric: str, number: Printed, label: str, written: str, where: str, around: str, notes: str) -> Reported:
    value, precision, notation, bare = number.value, number.precision, None, False
    if metric == "net_profit" and number.unit == "%":
        metric = "total_return"  # one platform calls the return so
    if metric in FRACTIONS:
        percent_label = bool(_PERCENT.search(label) or _PERCENT.search(notes))
        as_percent = number.unit in ("%", "bp", "bps")
        if not as_percent and (
            percent_label or (metric in ("win_rate", "exposure") and value > 1.5) or (metric == "max_drawdown" and abs(value) > 1.5)
        ):
            value, precision, as_percent = value / 100, precision / 100, True
        bare = not as_percent
        if metric == "max_drawdown" and value > 0:
            notation = "positive_percent" if as_percent else "positive_fraction"
            value = -value
    if metric == "turnover":
        metric = turnover_name(label, around)
        if number.unit == "" and _PERCENT.search(label):
            value, precision = value / 100, precision / 100
    return Reported(metric, value, precision, label, written, where, around, notation, bare=bare)


def _of_figure(figure: Figure) -> Reported | None:
    """A figure of prose, in the audit's words."""
    metric = {"annual_vol": "volatility", "trades": "number_of_trades"}.get(figure.metric, figure.metric)
    around = " ".join(figure.basis.values())
    if metric == "turnover":
        metric = turnover_name("turnover", f"{figure.text} {around}")
    return Reported(metric, figure.value, figure.precision, figure.text[:120], figure.text[:200], figure.where, around)
