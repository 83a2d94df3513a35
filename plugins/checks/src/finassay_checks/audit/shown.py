"""An audit for people and for programs. What was delivered is shown without control characters and without markup."""

import json
import math
from typing import Any

from finassay_checks.audit.model import Audit, AuditFinding, AuditMetric
from finassay_checks.reading.text import shown

MAX_ROWS = 200
_STYLES = {"pass": "green", "pass_with_note": "green", "wrong": "red", "data_problem": "yellow", "unverifiable": "yellow"}


def as_json(audit: Audit) -> dict[str, Any]:
    """The JSON form: verdict, metrics by name, findings, tables, what was rebuilt, settings."""
    return {
        "verdict": audit.verdict,
        "reason": audit.reason,
        "metrics": {m.name: _metric(m) for m in audit.metrics},
        "findings": [_finding(f) for f in audit.findings],
        "tables": [
            {
                "file": t.where,
                "role": t.role,
                "columns": dict(t.columns),
                "reasons": list(t.reasons),
                "rows": t.rows,
                "used": t.used,
                "status": t.status,
            }
            for t in audit.tables
        ],
        "rebuilt": audit.rebuilt,
        "settings": audit.settings,
    }


def json_text(audit: Audit) -> str:
    return json.dumps(_plain(as_json(audit)), indent=1, ensure_ascii=False, allow_nan=False)


def _metric(metric: AuditMetric) -> dict[str, Any]:
    made: dict[str, Any] = {
        "reported": metric.reported,
        "recomputed": metric.recomputed,
        "tolerance": metric.tolerance,
        "within_tolerance": metric.within_tolerance,
        "explained_by": metric.explained_by,
        "matches": metric.accepted if metric.reported is not None and metric.recomputed is not None else None,
    }
    for name in ("fault", "basis", "label", "written", "file", "note"):
        if getattr(metric, name):
            made[name] = getattr(metric, name)
    return made


def _finding(finding: AuditFinding) -> dict[str, Any]:
    made: dict[str, Any] = {"check": finding.check, "message": finding.message, "severity": finding.severity}
    for name in ("file", "rows", "expected", "found"):
        if getattr(finding, name):
            made[name] = getattr(finding, name)
    return made | dict(finding.facts)


def _plain(value: Any) -> Any:
    """In types that JSON holds: what is not finite becomes None, numbers of numpy Python's."""
    if isinstance(value, dict):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(v) for v in value[:MAX_ROWS]]
    if isinstance(value, bool) or value is None or isinstance(value, (str, int)):
        return value
    if hasattr(value, "item"):
        return _plain(value.item())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return str(value)


def print_audit(audit: Audit, title: str) -> None:
    """Tables for a terminal: metrics with reported, recomputed and convention; findings with evidence; tables with roles and reasons."""
    from rich.console import Console
    from rich.text import Text

    out = Console(highlight=False)
    if not out.is_terminal:
        out = Console(highlight=False, width=150)
    out.print(Text.assemble((audit.verdict, f"bold {_STYLES[audit.verdict]}"), f"  {shown(audit.reason, 400)}"))
    settings = ", ".join(f"{name} {value}" for name, value in audit.settings.items() if value)
    out.print(Text(f"{shown(title, 200)}: {shown(settings, 300)}", style="dim"))
    _print_metrics(out, audit)
    _print_findings(out, audit)
    _print_tables(out, audit)


def _print_metrics(out: Any, audit: Audit) -> None:
    from rich.table import Table
    from rich.text import Text

    table = Table(title="metrics", title_justify="left", box=None, pad_edge=False)
    for name in ("metric", "reported", "recomputed", "tolerance", "", "convention or fault", "computed from"):
        table.add_column(name, justify="right" if name in ("reported", "recomputed", "tolerance") else "left")
    for m in audit.metrics:
        if m.reported is None:
            mark = Text("not reported", style="dim")
        elif m.recomputed is None:
            mark = Text("cannot tell", style="yellow")
        elif not m.accepted:
            mark = Text("differs", style="red")
        else:
            mark = Text("matches" if m.within_tolerance else "convention", style="green")
        told = m.explained_by or m.fault or m.note
        table.add_row(m.name, _number(m.reported), _number(m.recomputed), _number(m.tolerance), mark, shown(told, 80), shown(m.basis, 60))
    if audit.metrics:
        out.print(table)


def _number(value: float | None) -> str:
    return "" if value is None or not math.isfinite(value) else f"{value:.6g}"


def _print_findings(out: Any, audit: Audit) -> None:
    from rich.table import Table

    if not audit.findings:
        return
    table = Table(title="findings", title_justify="left", box=None, pad_edge=False)
    for name in ("check", "severity", "where", "what", "rows", "expected", "found"):
        table.add_column(name, overflow="fold")
    for f in audit.findings:
        rows = ", ".join(shown(r, 40) for r in f.rows[:6]) + (f" and {len(f.rows) - 6} more" if len(f.rows) > 6 else "")
        table.add_row(f.check, f.severity, shown(f.file, 60), shown(f.message, 200), rows, shown(f.expected, 80), shown(f.found, 80))
    out.print(table)


def _print_tables(out: Any, audit: Audit) -> None:
    from rich.table import Table

    table = Table(title="tables", title_justify="left", box=None, pad_edge=False)
    for name in ("file", "role", "rows", "columns", "reasons"):
        table.add_column(name, overflow="fold")
    for t in audit.tables:
        columns = ", ".join(f"{k} = {v}" for k, v in list(t.columns.items())[:8])
        role = t.role if t.used else f"({t.role})"
        table.add_row(shown(t.where, 60), role, str(t.rows), shown(columns, 160), shown("; ".join(t.reasons), 160))
    out.print(table)
