"""3.8: can the way from the universe to the metrics be followed in what was delivered?"""

from collections.abc import Mapping

from finassay.api.delivery import Package
from finassay.api.grading import Answer
from finassay.api.verdict import Evidence, EvidenceKind, Verdict
from finassay_checks.checks.backtest_base import ProgramCheck

UNREAD = frozenset(
    {
        "archive-not-opened",
        "formula-without-value",
        "malformed-rows",
        "not-taken",
        "object-not-opened",
        "too-large",
        "too-many-files",
        "too-many-tables",
        "unknown-kind",
        "unreadable-file",
    }
)
"""Kinds of findings that say that a file, or a part of one, was not looked into; they stand beside the list of files."""


class ProcessCompleteness(ProgramCheck):
    """Seven parts, each present and linked to what it rests on. A link to a missing part is not counted."""

    description = "Process completeness: universe, prices, signals, targets, trades, equity and metrics, each linked."
    id = "3-8-process-completeness"
    dimension = "3.8"

    def run(self, package: Package, answers: Mapping[str, Answer]) -> Verdict:
        from finassay_checks.delivered import read_delivery
        from finassay_checks.facts.tables_read import tables_read
        from finassay_checks.recompute.chain import chain, level

        parts = package.fact(chain)
        words = {True: "linked", False: "broken link", None: "link not counted"}
        evidence = [
            Evidence(EvidenceKind.ROWS, f"{p.name}: {'present, ' + words[p.linked] if p.present else 'missing'}; {p.text}", p.where, p.rows)
            for p in sorted(parts, key=lambda p: (p.present, p.linked is not False))
        ]
        missing, broken = [p.name for p in parts if not p.present], [p.name for p in parts if p.present and p.linked is False]
        reason = f"{7 - len(missing)} of seven parts are there"
        reason += f"; missing: {', '.join(missing)}" if missing else ""
        reason += f"; broken: {', '.join(broken)}" if broken else ""
        facts = {
            "present": [p.name for p in parts if p.present],
            "missing": missing,
            "broken": broken,
            "unread": [{"file": f.file, "reason": f.message} for f in package.fact(read_delivery).findings if f.check in UNREAD][:200],
            "tables": [
                {"where": t.where, "role": t.role, "columns": t.columns, "reasons": t.reasons, "used": t.used, "ambiguous": t.ambiguous}
                for t in sorted(package.fact(tables_read), key=lambda t: (not t.used, not t.ambiguous))[:200]
            ],
        }
        return self.scored(level(parts), reason + ".", evidence, facts)
