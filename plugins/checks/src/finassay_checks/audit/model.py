"""What an audit says: a verdict, every metric beside the program's own value, findings with evidence, and the role of every table."""

from collections.abc import Mapping
from typing import Any, Literal

from attrs import Factory, frozen

from finassay_checks.facts.tables_read import TableRead

AuditVerdict = Literal["pass", "pass_with_note", "wrong", "data_problem", "unverifiable"]
Severity = Literal["wrong", "data", "note", "info"]
"""`wrong`: a claim or the timing is false. `data`: the input data are faulty. `note`: right under a named reading. `info`: worth knowing."""

EXIT_CODES: Mapping[AuditVerdict, int] = {"pass": 0, "pass_with_note": 0, "wrong": 20, "data_problem": 21, "unverifiable": 22}


@frozen
class AuditFinding:
    """One thing to see with one's own eyes. `facts` are further keys of the JSON (a date, a ratio, a symbol, a count)."""

    check: str
    message: str
    severity: Severity
    file: str = ""
    rows: tuple[str, ...] = ()
    expected: str = ""
    found: str = ""
    facts: Mapping[str, Any] = Factory(dict)


@frozen
class AuditMetric:
    """A metric as reported and as recomputed; fractions, drawdowns negative. `explained_by` names the convention that reproduces the
    reported value, or a fault's fingerprint inside the tolerance; `fault` the fault that reproduces a wrong value."""

    name: str
    reported: float | None
    recomputed: float | None
    tolerance: float | None
    within_tolerance: bool | None
    explained_by: str | None = None
    fault: str | None = None
    accepted: bool = True
    """False for a number that neither the tolerance nor a convention explains."""
    noted: bool = False
    """Right under a named convention only, or not exactly what the label says."""
    data_fault: bool = False
    """The reported value follows from faulty input data."""
    aside: bool = False
    """Of another portfolio or period: not judged."""
    basis: str = ""
    """What the program's own value was computed from."""
    label: str = ""
    written: str = ""
    file: str = ""
    note: str = ""


@frozen
class Audit:
    """The result of one audit. `rebuilt` holds what the program rebuilt: source, values and counts."""

    verdict: AuditVerdict
    reason: str
    metrics: tuple[AuditMetric, ...]
    findings: tuple[AuditFinding, ...]
    tables: tuple[TableRead, ...]
    rebuilt: Mapping[str, Any]
    settings: Mapping[str, Any]
    """Exchange, time zone, cutoff and frequency, each with where it comes from."""
