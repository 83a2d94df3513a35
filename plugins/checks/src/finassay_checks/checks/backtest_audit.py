"""3.7: ten checks that a verifier makes of the books."""

from collections.abc import Mapping

from finassay.api.delivery import Package
from finassay.api.grading import Answer
from finassay.api.verdict import Evidence, EvidenceKind, Verdict
from finassay_checks.checks.backtest_base import ProgramCheck


class VerifierAudit(ProgramCheck):
    """Tickers, fill prices, shorts, cash, weights, equity, trade count, schedule, fees, period. A part that is not delivered is a fault
    of the delivery; only a check that several tables leave open is nobody's verdict."""

    description = "Verifier audit: ten checks of tickers, fills, cash, weights, equity, counts, schedule, fees and period."
    id = "3-7-verifier-audit"
    dimension = "3.7"

    def run(self, package: Package, answers: Mapping[str, Answer]) -> Verdict:
        from finassay_checks.recompute.audit import audit, level

        outcomes = package.fact(audit)
        order = {"fail": 0, "unverifiable": 1, "pass": 2, "n/a": 3}
        evidence = [
            Evidence(EvidenceKind.VALUE, f"({o.letter}) {o.title}: {o.status}", o.where, o.rows, expected=o.expected, found=o.found)
            for o in sorted(outcomes, key=lambda o: order[o.status])
        ]
        counts = {status: [o.letter for o in outcomes if o.status == status] for status in order}
        told = "; ".join(f"{status} {', '.join(letters)}" for status, letters in counts.items() if letters and status != "pass")
        reason = f"{len(counts['pass'])} of ten checks pass{'; ' + told if told else ''}."
        return self.scored(
            level(outcomes),
            reason,
            evidence,
            {"outcomes": {o.letter: o.status for o in outcomes}},
            unverified=tuple(f"audit ({o.letter}) {o.title}" for o in outcomes if o.ambiguous),
        )
