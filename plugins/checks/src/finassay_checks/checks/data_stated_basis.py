"""5.4 bound: the share of headline metrics that state their basis limits how professional a judge may find the work."""

import math
from collections.abc import Mapping
from typing import ClassVar

from finassay.api.delivery import Package
from finassay.api.grading import Answer, CheckBrief, CheckRole
from finassay.api.verdict import Verdict
from finassay_checks.checks.backtest_base import ProgramCheck, note


class StatedBasis(ProgramCheck):
    """bound = floor(4·b + 0.5), 0 without a metric; b counts period, annualisation or unit, and gross or net (spec 5.4)."""

    id: ClassVar[str] = "5-4-professionalism-bound"
    description: ClassVar[str] = "Share of headline metrics that state period, annualisation or unit, gross or net."
    dimension: ClassVar[str] = "5.4"
    role: ClassVar[CheckRole] = "bounds"

    def brief(self, package: Package) -> CheckBrief:
        stated, lacking = _stated(package)
        return CheckBrief(
            facts={"metrics_with_basis": stated, "metrics_without_basis": lacking, "figures_that_differ": _differences(package)}
        )

    def run(self, package: Package, answers: Mapping[str, Answer]) -> Verdict:
        stated, lacking = _stated(package)
        count = len(stated) + len(lacking)
        share = len(stated) / count if count else 0.0
        level = math.floor(4 * share + 0.5) if count else 0
        reason = f"{len(stated)} of {count} headline metrics state their basis." if count else "No headline metric is reported."
        evidence = [note(f"{metric} lacks {', '.join(what)}") for metric, what in lacking.items()]
        return self.scored(level, reason, evidence, {"share": round(share, 4), "stated": stated, "lacking": lacking})


def _differences(package: Package) -> list[str]:
    from finassay_checks.delivered import read_delivery

    return [f"{f.message}: {f.expected} and {f.found}" for f in package.fact(read_delivery).findings if f.check == "figures-differ"][:20]


def _stated(package: Package) -> tuple[list[str], dict[str, list[str]]]:
    """Metrics that state their basis somewhere in the report, the message or the metrics table; the others with what they lack."""
    from finassay_checks.delivered import read_delivery
    from finassay_checks.figures.basis import COSTED, SCALED, is_stated

    by_metric: dict[str, dict[str, str]] = {}
    stated: list[str] = []
    for figure in package.fact(read_delivery).figures:
        by_metric.setdefault(figure.metric, {}).update(figure.basis)
        if figure.metric not in stated and is_stated(figure.metric, figure.basis):
            stated.append(figure.metric)
    lacking: dict[str, list[str]] = {}
    for metric, basis in by_metric.items():
        if metric not in stated:
            wanted = ["period"] if "period" not in basis else []
            wanted += ["annualisation or unit"] if metric in SCALED and not {"annualisation", "unit"} & set(basis) else []
            wanted += ["gross or net"] if metric in COSTED and "costs" not in basis else []
            lacking[metric] = wanted or ["all of it in one place"]
    return stated, lacking
