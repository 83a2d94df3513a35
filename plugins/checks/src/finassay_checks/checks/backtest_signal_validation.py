"""2.8b: are the signal's stated statistics borne out?"""

from collections.abc import Mapping

from finassay.api.delivery import Package
from finassay.api.grading import Answer
from finassay.api.verdict import Verdict
from finassay_checks.checks.backtest_base import SHOWN, ProgramCheck, told, value


class SignalValidation(ProgramCheck):
    """Stated IC, rank IC, spreads, hit rate, autocorrelation, coverage, computed again from signals and prices."""

    description = "Signal validation: stated statistics of the signal recomputed from signals and prices."
    id = "2-8b-signal-validation"
    dimension = "2.8b"

    def run(self, package: Package, answers: Mapping[str, Answer]) -> Verdict:
        from finassay_checks.recompute.signal_statistics import signal_statistics

        found = package.fact(signal_statistics)
        right = [s for s in found.stated if s.recomputes]
        if len(found.stated) >= 2 and right:
            level = 4 if len(right) >= 2 and len(found.by_period) >= 2 else 3
        elif found.stated:
            level = 2
        else:
            level = 1 if found.signals else 0
        reason = (
            f"{len(found.stated)} statistics are stated, {len(right)} recompute" if found.stated else "No statistic of the signal is stated"
        )
        reason += "; split by sub-period" if level == 4 else ""
        denied = [s for s in found.stated if s.denied]
        if denied and level > 2:
            # What recomputes stays right, but a statistic that the delivered signals deny is no validation.
            level, reason = level - 1, f"{reason}; {' and '.join(s.kind for s in denied)} lies far from what the delivered signals give"
        reason += "" if found.signals else "; no signals were delivered or could be derived again"
        evidence = [
            value(
                f"{s.kind} {'recomputes' if s.recomputes else 'does not recompute'}",
                s.where,
                "none" if s.own is None else f"{s.own:.4f} ± 0.02",
                f"{s.value:.4f}",
            )
            for s in found.stated
        ]
        evidence += [told(s.text, s.where) for s in found.by_period[:SHOWN]]
        facts = {
            "signals": found.signals,
            "stated": {s.kind: s.value for s in found.stated},
            "recompute": [s.kind for s in right],
            "by_period": len(found.by_period),
        }
        return self.scored(level, reason + ".", evidence, facts)
