"""2.1 to 2.6: is each component of the delivered strategy the one that the user holds? (paper, equation 6; spec D.2)"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

from finassay.api.delivery import Package
from finassay.api.grading import Answer, CheckBrief, CheckRole, LabelQuestion
from finassay.api.verdict import Evidence, EvidenceKind, NotApplicable, Scored, Source, Verdict
from finassay_checks.options import NoOptions

if TYPE_CHECKING:
    from finassay_checks.fidelity.items import Fidelity, ItemFinding

QUESTION = "undecided-items"
LABELS = ("matched", "contradicted", "missing")
_TEXT = (
    "For each item: does the delivered headline strategy, as its rules, last message or code describe it, do this (matched), do"
    " something else "
    "instead (contradicted), or say nothing about it (missing)? Quote the delivery verbatim for matched and contradicted."
)


class FidelityCheck:
    """One component. n/a if the belief voices nothing of it and the user decided nothing."""

    api_version = 1
    Options = NoOptions
    role: ClassVar[CheckRole] = "scores"
    by_turn = True
    id: ClassVar[str]
    dimension: ClassVar[str]
    component: ClassVar[str]

    def __init__(self, options: NoOptions) -> None:
        self.options = options

    def brief(self, package: Package) -> CheckBrief:
        found = self._fidelity(package)
        undecided = {f.item.id: f.item.sentence for f in found.of(self.component) if f.undecided}
        facts = {f.item.id: f.json() for f in found.of(self.component)}
        return CheckBrief(facts, (LabelQuestion(QUESTION, _TEXT, undecided, LABELS),) if undecided else ())

    def run(self, package: Package, answers: Mapping[str, Answer]) -> Verdict:
        from finassay_checks.fidelity.items import level_of, settle

        found = self._fidelity(package)
        own = found.of(self.component)
        if not own:
            return NotApplicable("The belief voices nothing of this component and the user decided nothing about it.", self.id)
        findings = settle(own, answers.get(QUESTION))
        level = level_of(findings, delivered=found.delivered_anything, moved=self._moved(found, findings))
        return Scored(
            level=level.level,
            source=Source.HYBRID,
            by=self.id,
            reason=level.reason,
            evidence=tuple(evidence for finding in findings for evidence in _evidence(finding)),
            unverified=level.unverified,
            facts={"items": {finding.item.id: finding.json() for finding in findings}},
        )

    def _moved(self, found: "Fidelity", findings: "tuple[ItemFinding, ...]") -> bool | None:
        return True

    def _fidelity(self, package: Package) -> "Fidelity":
        from finassay_checks.fidelity.items import fidelity

        return package.fact(fidelity)


def _evidence(finding: "ItemFinding") -> list[Evidence]:
    found = []
    words, shown = finding.words, finding.shown
    if words.quote:
        kind = EvidenceKind.QUOTE if words.verbatim else EvidenceKind.ROWS
        found.append(Evidence(kind, words.quote, where=words.where, found=words.condition.value, expected=finding.item.id))
    elif finding.missing:
        found.append(Evidence(EvidenceKind.NOTE, f"{finding.item.id}: nothing in the delivery says it", expected=finding.item.id))
    if finding.stated_quote[0]:
        found.append(
            Evidence(
                EvidenceKind.QUOTE,
                finding.stated_quote[0],
                where=finding.stated_quote[1],
                expected=finding.item.id,
                found="stated by the user",
            )
        )
    share = f"{shown.share:.1%} of {shown.count}" if shown.share is not None else "nothing compared"
    found.append(
        Evidence(EvidenceKind.VALUE, f"{finding.item.id}: {shown.note}", expected="95 % or more", found=f"{shown.stance.value}, {share}")
    )
    return found


class StockSelection(FidelityCheck):
    """Factors and how they are combined."""

    description = "Fidelity of the stock selection: factors and combination, in words and by the names bought."
    id = "2-1-stock-selection"
    dimension = "2.1"
    component = "stock"


class MarketTiming(FidelityCheck):
    """When the portfolio is in the market."""

    description = "Fidelity of the market timing: the rule in words and cash while it is off."
    id = "2-2-market-timing"
    dimension = "2.2"
    component = "timing"


class PortfolioConstruction(FidelityCheck):
    """Weights and their covariance estimator."""

    description = "Fidelity of the portfolio construction: weights derived again after rebalances."
    id = "2-3-portfolio-construction"
    dimension = "2.3"
    component = "portfolio"


class RiskControl(FidelityCheck):
    """The control and its threshold; positions must change because of it."""

    description = "Fidelity of the risk control: the rule, its threshold, and positions that change because of it."
    id = "2-4-risk-control"
    dimension = "2.4"
    component = "risk"

    def _moved(self, found: "Fidelity", findings: "tuple[ItemFinding, ...]") -> bool | None:
        return True if all(finding.session_item for finding in findings) else found.moved


class Execution(FidelityCheck):
    """When it trades."""

    description = "Fidelity of the execution: the schedule that the rebalance fills keep."
    id = "2-5-execution"
    dimension = "2.5"
    component = "execution"


class TransactionCost(FidelityCheck):
    """What trading costs."""

    description = "Fidelity of the transaction cost: the rate in words and in the fills."
    id = "2-6-transaction-cost"
    dimension = "2.6"
    component = "cost"
