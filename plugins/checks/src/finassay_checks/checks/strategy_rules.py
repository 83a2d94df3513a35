"""2.7, 2.8a, 2.9 (facts for a judge) and 2.10 (a judge labels, a rule scores)."""

from collections.abc import Mapping
from typing import ClassVar

from finassay.api.delivery import Package
from finassay.api.grading import Answer, CheckBrief, CheckRole, LabelQuestion
from finassay.api.verdict import Evidence, EvidenceKind, Json, Scored, Source, Unscored, Verdict
from finassay_checks.checks.judged import JudgedCheck
from finassay_checks.options import NoOptions


class StrategyAmbiguity(JudgedCheck):
    """What of the rules programs could execute: the tests that support an item rebuilt it from the written rules and the tables."""

    description = "Facts for strategy ambiguity: rule sections, specification tables, code files, rules rebuilt by tests."
    id = "2-7-strategy-ambiguity"
    dimension = "2.7"

    def facts(self, package: Package) -> Mapping[str, Json]:
        from finassay_checks.fidelity.items import fidelity
        from finassay_checks.fidelity.observe import observations

        ledger = package.fact(observations).ledger
        found = package.fact(fidelity)
        return {
            "rule_places": [f"{place.where}: {place.name}" for place in ledger.places if place.rules],
            "code_files": [document.where for document in ledger.delivered.code][:50],
            "rebuilt_by_a_test": {f.item.component: f.supported for f in found.findings},
            "components_in_words": sorted({f.item.component for f in found.findings if f.in_words}),
        }


class SignalRationale(JudgedCheck):
    """Which signals need a mechanism."""

    description = "Facts for signal rationale: the signals that the delivery uses."
    id = "2-8a-signal-rationale"
    dimension = "2.8a"

    def facts(self, package: Package) -> Mapping[str, Json]:
        from finassay_checks.delivered import read_delivery

        delivered = package.fact(read_delivery)
        signals = delivered.frame("signals")
        names = [] if signals is None or signals.empty else [str(n) for n in signals["name"].dropna().unique()[:20]]
        return {
            "signals": names,
            "statistics_tables": [t.table.where for t in delivered.role_tables if t.role in ("variants", "periods") and t.table.current][
                :20
            ],
        }


class ParameterJustification(JudgedCheck):
    """Which settings the user gave and which tables vary one."""

    description = "Facts for parameter justification: what the user stated, and tables that vary a setting."
    id = "2-9-parameter-justification"
    dimension = "2.9"

    def facts(self, package: Package) -> Mapping[str, Json]:
        from finassay_checks.delivered import read_delivery
        from finassay_checks.fidelity.elicitation import elicitation

        delivered = package.fact(read_delivery)
        raised = package.fact(elicitation)
        return {
            "stated_by_user": {item: quote[0] for item, quote in raised.stated_quote.items()},
            "variant_tables": [t.table.where for t in delivered.role_tables if t.role == "variants" and t.table.current][:20],
        }


CASES: Mapping[str, str] = {
    "missing-price": "a price is missing on a day on which a trade is due",
    "delisting": "a name is halted or delisted",
    "ties": "two names have the same ranking value",
    "few-candidates": "there are fewer candidates than slots",
    "all-cash": "nothing qualifies or a rule takes the whole portfolio to cash",
    "warm-up": "there is not yet enough history to compute a signal",
    "corporate-actions": "splits and dividends",
    "re-entry": "a name or the portfolio comes back after a stop or an exit rule",
}
LABELS = ("handled", "mentioned", "absent", "not applicable")
LIMITS = (0.20, 0.40, 0.60, 0.80)


class BoundaryConditions:
    """Share of the applicable cases that text or code handles (1) or mentions (0.5)."""

    api_version = 1
    Options = NoOptions
    description = "Boundary conditions: eight cases labelled by a judge, scored by their share."
    id: ClassVar[str] = "2-10-boundary-conditions"
    dimension: ClassVar[str] = "2.10"
    role: ClassVar[CheckRole] = "scores"
    by_turn = False

    def __init__(self, options: NoOptions) -> None:
        self.options = options

    def brief(self, package: Package) -> CheckBrief:
        from finassay_checks.fidelity.items import fidelity

        found = package.fact(fidelity)
        components = sorted({finding.item.component for finding in found.findings if not finding.session_item})
        text = (
            "How do delivered text or code treat each case: handled (a rule or code says what happens), mentioned (named without a"
            " rule), absent, "
            "or not applicable to this strategy? Quote the text or code for handled and mentioned."
        )
        return CheckBrief({"components_with_rules": components}, (LabelQuestion("cases", text, dict(CASES), LABELS),))

    def run(self, package: Package, answers: Mapping[str, Answer]) -> Verdict:
        answer = answers.get("cases")
        if answer is None:
            return Unscored("judge unavailable", "the eight cases were not labelled", self.id)
        labels = {case: answer.labels[case] for case in CASES if case in answer.labels}
        undecided = tuple(case for case in CASES if case not in labels)  # no label, or one without a quote that stands in the delivery
        if not labels:
            return Unscored("judge unparsed", "none of the eight cases has a label with a quote", self.id)
        applicable = [case for case in labels if labels[case] != "not applicable"]
        if not applicable:
            told = "No case applies, so none is handled."
            return Scored(0, Source.HYBRID, self.id, told, unverified=undecided, facts={"labels": labels})
        share = sum(1.0 if labels[c] == "handled" else 0.5 if labels[c] == "mentioned" else 0.0 for c in applicable) / len(applicable)
        evidence = tuple(
            Evidence(
                EvidenceKind.QUOTE, answer.case_quotes[case].text, where=answer.case_quotes[case].where, found=f"{case}: {labels[case]}"
            )
            for case in applicable
            if case in answer.case_quotes
        )
        return Scored(
            sum(share >= limit for limit in LIMITS),
            Source.HYBRID,
            self.id,
            f"{share:.0%} of {len(applicable)} applicable cases are handled.",
            evidence,
            unverified=undecided,
            facts={"labels": labels, "share": share},
        )
