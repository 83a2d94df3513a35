"""Figures of the headline portfolio: text of the last report and message first, then the metrics table."""

from collections.abc import Iterable, Iterator, Sequence

from finassay_checks.figures.basis import basis_of, document_basis, formula_basis
from finassay_checks.figures.prose import said
from finassay_checks.figures.tables import cells_of
from finassay_checks.figures.values import in_unit, printed
from finassay_checks.model import Document, Figure, Finding, MetricName, RoleTable, Table

MAX_FIGURES = 200


def _from_prose(document: Document, summary: bool) -> Iterator[Figure]:
    """Figures in a document's prose, those of its summary and results sections or the others."""
    whole = document_basis(document.text)
    for item in said(document.text):
        if item.summary is not summary:
            continue
        number = printed(item.token)
        scaled = in_unit(item.metric, number, "") if number is not None else None
        if scaled is not None:
            basis = whole | formula_basis(document.text, item.metric) | basis_of(item.sentence)
            yield Figure(item.metric, scaled.value, scaled.precision, document.where, item.sentence, _kept(item.metric, basis))


def _from_table(table: Table, text: str, known: dict[MetricName, float]) -> Iterator[Figure]:
    """Figures in a metrics table; what stands above it and what the report says in general belong to their basis."""
    whole = document_basis(text)
    for cell in cells_of(table, known):
        around = f"{cell.around} {' '.join(table.notes)}"
        basis = whole | formula_basis(text, cell.metric) | basis_of(around)
        yield Figure(cell.metric, cell.number.value, cell.number.precision, table.where, cell.text, _kept(cell.metric, basis))


def _kept(metric: MetricName, basis: dict[str, str]) -> dict[str, str]:
    return {
        name: text[:200]
        for name, text in basis.items()
        if not (name == "annualisation" and metric in ("total_return", "max_drawdown", "trades"))
    }


def _known(figures: Iterable[Figure]) -> dict[MetricName, float]:
    found: dict[MetricName, float] = {}
    for figure in figures:
        found.setdefault(figure.metric, figure.value)
    return found


def headline_figures(
    reports: Sequence[Document], message: Document | None, metrics_tables: Sequence[RoleTable], file_table: RoleTable | None
) -> tuple[Figure, ...]:
    """All reported figures of the headline in order of authority, without repetitions of a metric in one place.

    `metrics_tables` are the current tables in the role `metrics` (those inside a report or message have its path); `file_table` is
    the metrics file that counts.
    """
    found: list[Figure] = []
    documents = [*reports, *([message] if message is not None else [])]
    for document in documents:
        inside = [t.table for t in metrics_tables if t.table.path == document.where and t is not file_table]
        found += _from_prose(document, summary=True)
        for table in inside:
            found += _from_table(table, document.text, _known(found))
        found += _from_prose(document, summary=False)
    if file_table is not None:
        found += _from_table(file_table.table, "\n".join(d.text for d in reports), _known(found))
    first: dict[tuple[str, str], Figure] = {}
    for figure in found:
        first.setdefault((figure.metric, figure.where), figure)
    return tuple(first.values())[:MAX_FIGURES]


def disagreements(figures: Sequence[Figure]) -> Iterator[Finding]:
    """Places that differ from the first figure of a metric beyond the printed precision of both (a finding, spec D.0.3)."""
    first: dict[str, Figure] = {}
    for figure in figures:
        lead = first.setdefault(figure.metric, figure)
        slack = 1.02 * (figure.precision + lead.precision) + 1e-9
        if abs(figure.value - lead.value) > slack:
            yield Finding(
                "figures-differ",
                f"{figure.metric} differs between {lead.where} and {figure.where}",
                figure.where,
                expected=f"{lead.value:.6g}",
                found=f"{figure.value:.6g}",
            )
