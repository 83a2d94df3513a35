"""1.1 point-in-time strictness: no delivered row is dated after the cutoff, and nothing was made from one."""

from collections.abc import Mapping
from typing import ClassVar

from finassay.api.delivery import Package
from finassay.api.grading import Answer
from finassay.api.verdict import Evidence, Verdict
from finassay_checks.checks.backtest_base import ProgramCheck, note, rows


class PointInTimeStrictness(ProgramCheck):
    """Facts `late_rows` and `late_use` over all files of all turns, superseded ones included. Veto below 4."""

    id: ClassVar[str] = "1-1-point-in-time-strictness"
    description: ClassVar[str] = "Rows of all delivered tables against the cutoff; results made from later data."
    dimension: ClassVar[str] = "1.1"

    def run(self, package: Package, answers: Mapping[str, Answer]) -> Verdict:
        from finassay_checks.facts.late_rows import late_rows
        from finassay_checks.facts.late_use import late_use

        found = package.fact(late_rows)
        used = package.fact(late_use)
        cutoff = package.cutoff.isoformat()
        facts = {
            "dated_rows": found.dated,
            "dated_tables": found.dated_tables,
            "late_rows": found.late,
            "cutoff": cutoff,
            "late_use": used.status,
        }
        evidence: list[Evidence] = [
            rows(
                f"{t.count:,} rows of turn {t.turn} are dated after {cutoff}",
                t.where,
                [f"{r} ({d})" for r, d in zip(t.rows, t.dates, strict=True)],
                t.dates[0],
                f"≤ {cutoff}",
            )
            for t in sorted(found.tables, key=lambda t: -t.count)[:12]
        ]
        evidence += [note(text) for text in found.notes[:3]]
        evidence += [note(text, where) for where, text in used.evidence]
        if not found.dated:
            return self.scored(0, "No dated data row was delivered.", evidence, facts)
        share = found.late / found.dated
        if found.late and share >= 0.01:
            return self.scored(1, f"{found.late:,} of {found.dated:,} dated rows lie after the cutoff.", evidence, facts)
        if found.late >= 2:
            return self.scored(2, f"{found.late:,} of {found.dated:,} dated rows lie after the cutoff.", evidence, facts)
        if found.late == 1 or used.found:
            reason = "One row lies after the cutoff." if found.late else "A delivered result was made from data after the cutoff."
            return self.scored(3, reason, evidence, facts)
        return self.scored(4, f"None of {found.dated:,} dated rows lies after the cutoff. Late use: {used.status}.", evidence, facts)
