"""Facts for 4.1, 4.4, 4.5 and 4.6 (settled where nothing was fitted and nothing is claimed)."""

import re
from collections.abc import Mapping

from finassay.api.delivery import Package
from finassay.api.grading import Answer, CheckBrief, LabelQuestion
from finassay.api.matching import normalise, sentences
from finassay.api.verdict import Json, NotApplicable, Verdict
from finassay_checks.checks.judged import JudgedCheck
from finassay_checks.fidelity.places import is_rule_heading, sections
from finassay_checks.model import Delivered

_CHOSEN = re.compile(
    r"\b(?:tun(?:ed|ing)|optimi[sz]ed (?:the )?(?:window|parameter|threshold|look ?back|setting)|calibrated|grid search|chosen"
    r" (?:because|by|for) [^.]{0,40}(?:sharpe|return|result|perform)"
    r"|picked [^.]{0,30}(?:best|highest)|best (?:performing|combination|setting)|gave the (?:best|highest)|selected (?:by|for|on)"
    r" [^.]{0,40}(?:sharpe|return|result|perform))\b"
)
_DENIED = re.compile(r"\b(?:not|no|never|without|nothing|none|did ?n.t|was ?n.t)\b")
_HOLDOUT = re.compile(
    r"\b(?:out of sample|out-of-sample|hold-?out|walk-?forward|train(?:ing)? (?:and|/) test|test (?:set|period|sample)|in-sample"
    r"|cross-validat\w+)\b",
    re.IGNORECASE,
)
_ROW = re.compile(r"^\|\s*([^|]{2,60}?)\s*\|\s*([^|]{1,160}?)\s*\|")
_VALUE = re.compile(r"\d+(?:\.\d+)?")


class GroundedConclusions(JudgedCheck):
    """Recomputed metrics beside the reported ones, exact findings, numbers that lead nowhere, results without the control."""

    description = "Facts for grounded conclusions: recomputed metrics, mismatches, exact findings, untraced numbers."
    id = "4-1-grounded-conclusions"
    dimension = "4.1"

    def facts(self, package: Package) -> Mapping[str, Json]:
        from finassay_checks.claims import claims
        from finassay_checks.recompute.curve_said import curve_facts
        from finassay_checks.recompute.matches import equity_matches, metric_matches
        from finassay_checks.recompute.rebuilt import rebuilt

        by_equity = {match.metric: match for match in package.fact(equity_matches)}
        # Where nothing can be rebuilt from trades, the delivered curve is the next best witness of what the conclusions say.
        matches = [m if m.recomputed is not None else by_equity.get(m.metric, m) for m in package.fact(metric_matches)]
        found = package.fact(claims)
        return {
            "rebuilt": package.fact(rebuilt) is not None,
            "metrics": [
                {"metric": m.metric, "reported": m.reported, "recomputed": m.recomputed, "matches": m.matches, "convention": m.convention}
                for m in matches
            ],
            "mismatches": [m.metric for m in matches if m.recomputed is not None and not m.matches],
            "claims": len(found.claims),
            "claim_credit": found.share,
            "untraced": [{"number": c.text, "sentence": c.sentence, "where": c.where} for c in found.untraced[:20]],
            "untraced_count": len(found.untraced),
            "curve": package.fact(curve_facts),
        }


class RiskDisclosure(JudgedCheck):
    """Sizes that a quantified risk should agree with."""

    description = "Facts for risk disclosure: recomputed drawdown, volatility and turnover."
    id = "4-4-risk-disclosure"
    dimension = "4.4"

    def facts(self, package: Package) -> Mapping[str, Json]:
        from finassay_checks.recompute.matches import metric_matches

        return {"recomputed": {m.metric: m.recomputed for m in package.fact(metric_matches) if m.recomputed is not None}}


def table_facts(delivered: Delivered, role: str) -> list[dict[str, Json]]:
    """Current tables of a role: place, columns and row count."""
    return [
        {"table": c.table.where, "columns": [str(x)[:40] for x in c.frame.columns[:20]], "rows": len(c.frame)}
        for c in delivered.role_tables
        if c.role == role and c.table.current
    ][:20]


class SensitivityAnalysis(JudgedCheck):
    """Tables that vary a setting or a period."""

    description = "Facts for sensitivity analysis: delivered tables of variants and of sub-periods."
    id = "4-5-sensitivity-analysis"
    dimension = "4.5"

    def facts(self, package: Package) -> Mapping[str, Json]:
        from finassay_checks.delivered import read_delivery

        delivered = package.fact(read_delivery)
        return {"variants": table_facts(delivered, "variants"), "periods": table_facts(delivered, "periods")}


def fitted_quotes(package: Package) -> list[str]:
    """Sentences of the delivery which say that a parameter or rule was chosen by results; denials left out."""
    from finassay_checks.delivered import read_delivery

    delivered = package.fact(read_delivery)
    found = []
    for document in (*delivered.reports, *delivered.messages):
        for sentence in sentences(document.text[:200_000]):
            match = _CHOSEN.search(sentence.norm)
            if match and not sentence.question and not _DENIED.search(sentence.norm[max(0, match.start() - 60) : match.start()]):
                found.append(sentence.text)
    return found[:10]


def rule_values(text: str) -> dict[str, tuple[str, ...]]:
    """Numbers of each row of the rule tables of a report, by the row's label."""
    found = {}
    for section in sections(text):
        if is_rule_heading(section.heading):
            for line in section.text.split("\n"):
                match = _ROW.match(line.strip())
                if match and _VALUE.search(match[2]):
                    found[normalise(match[1])] = tuple(_VALUE.findall(match[2]))
    return found


def changed_rules(package: Package) -> list[str]:
    """Labels of rule rows whose numbers differ between the first and the last report with them, unless the user said the new one."""
    from finassay_checks.delivered import read_delivery
    from finassay_checks.fidelity.prose import new_prose

    delivered = package.fact(read_delivery)
    first: dict[str, tuple[str, ...]] = {}
    for _, documents in sorted(package.fact(new_prose).items()):
        for _, text in documents:
            for label, values in rule_values(text).items():
                first.setdefault(label, values)
    said = set(_VALUE.findall(" ".join(normalise(m.text) for m in package.conversation.of("user"))))
    last: dict[str, tuple[str, ...]] = {}
    for document in delivered.reports:
        last.update(rule_values(document.text))
    return [label for label, values in last.items() if label in first and set(values) - set(first[label]) - said][:20]


class OutOfSampleValidation(JudgedCheck):
    """n/a if nothing was fitted and no hold-out is claimed."""

    description = "Out-of-sample validation: whether anything was chosen by results; not applicable where nothing was."
    id = "4-6-out-of-sample-validation"
    dimension = "4.6"

    def facts(self, package: Package) -> Mapping[str, Json]:
        from finassay_checks.delivered import read_delivery

        delivered = package.fact(read_delivery)
        claimed = [
            s.text for d in (*delivered.reports, *delivered.messages) for s in sentences(d.text[:200_000]) if _HOLDOUT.search(s.text)
        ]
        quotes, changed = fitted_quotes(package), changed_rules(package)
        return {
            "fitted": bool(quotes or changed),
            "fitted_quotes": quotes,
            "changed_rules": changed,
            "hold_out_claims": claimed[:10],
            "periods": table_facts(delivered, "periods"),
        }

    def brief(self, package: Package) -> CheckBrief:
        facts = self.facts(package)
        cases = {"fitted": "a final parameter or rule was chosen by looking at results"}
        text = "Does the delivery say so? Quote it verbatim for yes."
        doubtful = bool(facts["changed_rules"]) and not facts["fitted_quotes"]
        return CheckBrief(facts, (LabelQuestion("fitted", text, cases, ("yes", "no")),) if doubtful else ())

    def run(self, package: Package, answers: Mapping[str, Answer]) -> Verdict:
        facts = self.facts(package)
        label = answers["fitted"].labels.get("fitted") if "fitted" in answers else None
        fitted = facts["fitted"] if label is None else label == "yes" or bool(facts["fitted_quotes"])
        if not fitted and not facts["hold_out_claims"]:
            return NotApplicable("No parameter or rule was chosen by results and no hold-out is claimed.", self.id)
        return self.open(package)
