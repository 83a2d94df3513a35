"""2.12: can each fill be explained?"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from finassay.api.delivery import Package
from finassay.api.grading import Answer
from finassay.api.verdict import Verdict
from finassay_checks.checks.backtest_base import ProgramCheck, rows

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from finassay_checks.model import RoleTable

LIMITS = (0.25, 0.75, 0.95)


class DecisionExplainability(ProgramCheck):
    """Share of fills with a signal date, a reason and the value that decided it, in the row or joined by key."""

    description = "Decision explainability: fills with signal date, reason and deciding value."
    id = "2-12-decision-explainability"
    dimension = "2.12"

    def run(self, package: Package, answers: Mapping[str, Answer]) -> Verdict:
        from finassay_checks.delivered import read_delivery
        from finassay_checks.recompute.explained import explained

        found = package.fact(explained)
        if found is None:
            return self.scored(0, "No trade log was delivered.")
        trades = package.fact(read_delivery).choices["trades"].chosen
        where = trades.table.where if trades is not None else ""
        level = 1 + sum(found.share >= limit for limit in LIMITS)
        agrees = found.agree is not None and found.agree >= 0.95
        reason = f"{found.share:.1%} of {len(found.credits)} fills are explained"
        if level == 4 and not agrees:
            level = 3
            compared = "no deciding value could be compared" if found.agree is None else f"only {found.agree:.1%} of deciding values agree"
            reason += f", but {compared}"
        evidence = [
            rows(f"fills {text}", where, [f"row {n}" for n in _numbers(trades, mask)], f"{mask.mean():.1%}", "100 %")
            for text, mask in (
                ("without a date", ~found.dated),
                ("without a reason", ~found.reasoned),
                ("without a deciding value", ~found.valued),
            )
            if mask.any()
        ]
        if found.credits.max() == 1 and trades is not None:
            row = trades.frame.iloc[int(found.credits.argmax())]
            shown = f"decided {str(row['signal_date'])[:10]}, {row['reason']}, value {row['decided_by']}"
            evidence.append(
                rows("an explained fill", where, [f"row {row['row']}: {row['ticker']} filled {str(row['fill_date'])[:10]}"], shown)
            )
        if found.wrong:
            evidence.append(
                rows("deciding values that do not agree", where, list(found.wrong), f"{found.agree:.1%} of {found.compared}", "95 %")
            )
        facts = {"share": found.share, "agree": found.agree, "compared": found.compared, "fills": len(found.credits)}
        return self.scored(level, reason + ".", evidence, facts)


def _numbers(trades: "RoleTable | None", mask: "NDArray[np.bool_]") -> list[int]:
    return [int(n) for n in trades.frame["row"][mask].head(8)] if trades is not None else []
