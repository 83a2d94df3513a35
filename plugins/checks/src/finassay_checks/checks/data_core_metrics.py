"""3.3 core metrics reported: return, Sharpe, maximum drawdown and number of trades of the headline."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

from finassay.api.delivery import Package
from finassay.api.grading import Answer
from finassay.api.verdict import Evidence, EvidenceKind, Verdict
from finassay_checks.checks.backtest_base import ProgramCheck

if TYPE_CHECKING:
    from finassay_checks.model import Figure

CORE = {
    "return": ("total_return", "annual_return"),
    "Sharpe": ("sharpe",),
    "maximum drawdown": ("max_drawdown",),
    "number of trades": ("trades",),
}
FURTHER = ("annual_vol", "turnover", "win_rate", "exposure")


class CoreMetricsReported(ProgramCheck):
    """Counts what the last report, message and metrics table state; whether it is true is 3.2's."""

    id: ClassVar[str] = "3-3-core-metrics-reported"
    description: ClassVar[str] = "Return, Sharpe, drawdown, trades and what else is reported with its basis."
    dimension: ClassVar[str] = "3.3"

    def run(self, package: Package, answers: Mapping[str, Answer]) -> Verdict:
        from finassay_checks.delivered import read_delivery
        from finassay_checks.figures.basis import is_stated

        figures = package.fact(read_delivery).figures
        first: dict[str, Figure] = {}
        for figure in figures:
            first.setdefault(figure.metric, figure)
        core = [name for name, metrics in CORE.items() if any(m in first for m in metrics)]
        further = [m for m in FURTHER if any(f.metric == m and is_stated(m, f.basis) for f in figures)]
        missing = [name for name in CORE if name not in core]
        level = {0: 0, 1: 1, 2: 1, 3: 2}.get(len(core), 4 if len(further) >= 2 else 3)
        evidence = [
            Evidence(
                EvidenceKind.QUOTE if "|" not in f.text else EvidenceKind.ROWS,
                f.text if "|" not in f.text else f"{f.metric} is reported",
                where=f.where,
                rows=(f.text,) if "|" in f.text else (),
                found=f"{f.value:.6g}",
            )
            for f in first.values()
        ]
        reason = f"{len(core)} of 4 core metrics are reported" + (f"; missing: {', '.join(missing)}" if missing else "")
        reason += (
            f"; with their basis also {', '.join(further)}."
            if further
            else "; none of volatility, turnover, win rate, exposure with its basis."
        )
        return self.scored(level, reason, evidence, {"core": core, "further_with_basis": further, "reported": sorted(first)})
