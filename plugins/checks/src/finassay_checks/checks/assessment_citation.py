"""4.2: do the numbers of the report lead to something delivered?"""

from collections.abc import Mapping
from typing import ClassVar

from finassay.api.delivery import Package
from finassay.api.grading import Answer, CheckBrief, CheckRole
from finassay.api.verdict import Evidence, EvidenceKind, Scored, Source, Verdict
from finassay_checks.options import NoOptions

LIMITS = (0.10, 0.40, 0.70, 0.90)
SHOWN = 8


class EvidenceCitation:
    """Credits of `claims` over their number: 1 a named source that holds it, 0.5 traceable, 0 untraced."""

    api_version = 1
    Options = NoOptions
    description = "Evidence citation: share of the report's numbers that a named or matching delivered table bears out."
    id: ClassVar[str] = "4-2-evidence-citation"
    dimension: ClassVar[str] = "4.2"
    role: ClassVar[CheckRole] = "scores"
    by_turn = False

    def __init__(self, options: NoOptions) -> None:
        self.options = options

    def brief(self, package: Package) -> CheckBrief:
        return CheckBrief()

    def run(self, package: Package, answers: Mapping[str, Answer]) -> Verdict:
        from finassay_checks.claims import claims

        found = package.fact(claims)
        share = found.share
        if share is None:
            return Scored(0, Source.PROGRAM, self.id, "The last report states no number.", facts={"claims": 0})
        untraced = found.untraced
        evidence = [
            Evidence(EvidenceKind.QUOTE, c.sentence, where=c.where, expected="a delivered source", found=f"{c.text}: untraced")
            for c in untraced[:SHOWN]
        ]
        evidence += [
            Evidence(EvidenceKind.QUOTE, c.sentence, where=c.where, found=f"{c.text}: {c.by}") for c in found.claims if c.credit == 1
        ][:3]
        return Scored(
            level=sum(share >= limit for limit in LIMITS),
            source=Source.PROGRAM,
            by=self.id,
            reason=f"{share:.0%} of {len(found.claims)} numbers are borne out; {len(untraced)} lead nowhere.",
            evidence=tuple(evidence),
            facts={
                "share": share,
                "claims": len(found.claims),
                "untraced": len(untraced),
                "named": sum(c.credit == 1 for c in found.claims),
            },
        )
