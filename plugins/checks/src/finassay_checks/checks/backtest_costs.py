"""3.5: are costs treated as the report says?"""

from collections.abc import Mapping

from finassay.api.delivery import Package
from finassay.api.grading import Answer
from finassay.api.verdict import Verdict
from finassay_checks.checks.backtest_base import ProgramCheck, note, told, value

LEVELS = {"never mentioned": 0, "stated only": 1, "some fills": 2, "all fills": 3, "zero everywhere": 3}


class CostModel(ProgramCheck):
    """Costs as stated, in the fills, and whether gross against net recomputes (for zero costs: a stated sensitivity)."""

    description = "Cost model: costs stated, charged on the fills, gross against net recomputed."
    id = "3-5-cost-model"
    dimension = "3.5"

    def run(self, package: Package, answers: Mapping[str, Answer]) -> Verdict:
        from finassay_checks.recompute.costs import costs

        found = package.fact(costs)
        level = LEVELS[found.treatment]
        reason = {
            "stated only": "Costs are stated, but neither fills nor fees nor code carry them",
            "never mentioned": "Costs are never mentioned",
        }.get(found.treatment, found.text[:1].upper() + found.text[1:])
        evidence = [note(found.text)]
        if found.statement is not None:
            evidence.append(told(found.statement.text, found.statement.where))
        if level == 3 and found.shown is not None:
            level = 4
            evidence.append(told(found.shown.text, found.shown.where))
            reason += "; gross against net recomputes" if found.treatment == "all fills" else "; the stated sensitivity recomputes"
        elif level == 3:
            reason += "; no gross beside the net return, drag or sensitivity that recomputes"
        if found.gross is not None and found.net is not None:
            evidence.append(value("gross annual return with each day's fees added back", "", f"{found.gross:.4%}", f"{found.net:.4%} net"))
        facts = {"treatment": found.treatment, "rate": found.rate, "share_of_fills": found.share, "gross": found.gross, "net": found.net}
        return self.scored(level, reason + ".", evidence, facts)
