"""What the program checks of the backtest share. Imports light: everything heavy is imported where it is used."""

from collections.abc import Mapping
from typing import ClassVar

from finassay.api.delivery import Package
from finassay.api.grading import Answer, CheckBrief, CheckRole
from finassay.api.verdict import Evidence, EvidenceKind, Json, Scored, Source, Verdict
from finassay_checks.options import NoOptions

SHOWN = 8
"""Pieces of evidence of one kind that a verdict carries."""


class ProgramCheck:
    """A check that needs no judge. A subclass names itself and implements `run`."""

    api_version: ClassVar[int] = 1
    Options: ClassVar[type[NoOptions]] = NoOptions
    description: ClassVar[str] = ""
    id: ClassVar[str] = ""
    dimension: ClassVar[str] = ""
    role: ClassVar[CheckRole] = "scores"
    by_turn: ClassVar[bool] = True

    def __init__(self, options: NoOptions) -> None:
        self.options = options

    def brief(self, package: Package) -> CheckBrief:
        return CheckBrief()

    def run(self, package: Package, answers: Mapping[str, Answer]) -> Verdict:
        raise TypeError(f"{type(self).__name__} does not grade")

    def scored(
        self,
        level: int,
        reason: str,
        evidence: "list[Evidence] | tuple[Evidence, ...]" = (),
        facts: Mapping[str, Json] | None = None,
        unverified: tuple[str, ...] = (),
        source: Source = Source.PROGRAM,
    ) -> Scored:
        return Scored(level, source, self.id, reason, tuple(evidence), unverified=unverified, facts=plain(facts or {}))


def plain(value: Json) -> Json:
    """The same facts in types that JSON holds: numbers of numpy become Python's, what is not finite becomes None."""
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return value
    if hasattr(value, "item"):
        return plain(value.item())
    if isinstance(value, float):
        return value if value == value and abs(value) != float("inf") else None
    return value


def note(text: str, where: str = "", found: str = "", expected: str = "") -> Evidence:
    return Evidence(EvidenceKind.NOTE, text, where=where, expected=expected, found=found)


_PROSE = (".md", ".markdown", ".txt", ".rst", ".html", ".htm", ".pdf", ".docx", ".ipynb")


def told(text: str, where: str) -> Evidence:
    """A sentence of the delivery: a quote if it stands in a message or a document, a note if it was put together from the cells of a
    table."""
    message = where[:1] == "a" and where[1:].isdigit()
    verbatim = message or where.lower().endswith(_PROSE)
    return Evidence(EvidenceKind.QUOTE if verbatim else EvidenceKind.NOTE, text, where)


def rows(text: str, where: str, named: "list[str] | tuple[str, ...]", found: str = "", expected: str = "") -> Evidence:
    """Evidence in rows of a table: at most eight are named."""
    return Evidence(EvidenceKind.ROWS, text, where=where, rows=tuple(named)[:SHOWN], expected=expected, found=found)


def value(text: str, where: str, expected: str, found: str) -> Evidence:
    return Evidence(EvidenceKind.VALUE, text, where=where, expected=expected, found=found)
