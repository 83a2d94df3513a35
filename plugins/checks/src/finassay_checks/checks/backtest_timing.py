"""3.1: does every fill come after what decided it?"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from finassay.api.delivery import Package
from finassay.api.grading import Answer
from finassay.api.verdict import Evidence, Verdict
from finassay_checks.checks.backtest_base import ProgramCheck, note, rows

if TYPE_CHECKING:
    from finassay_checks.recompute.timing import Timing


class PointInTimeCorrectness(ProgramCheck):
    """Lags of decision and sizing inputs, announcement dates, weights that earn their own day, fill prices within their day."""

    description = "Point-in-time correctness: every fill after what decided it, every fundamental after its announcement."
    id = "3-1-point-in-time-correctness"
    dimension = "3.1"

    def run(self, package: Package, answers: Mapping[str, Answer]) -> Verdict:
        from finassay_checks.recompute.timing import timing

        found = package.fact(timing)
        return self.scored(found.level, found.reason, _evidence(found), found.facts)


def _evidence(found: "Timing") -> list[Evidence]:
    evidence = [rows(text, where, named, found=what, expected=wanted) for text, where, named, what, wanted in found.rows]
    return evidence + [note(text, where) for text, where in found.notes]
