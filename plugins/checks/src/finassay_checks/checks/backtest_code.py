"""3.6 (bonus): does the delivered code run again and give the reported figures?"""

from collections.abc import Mapping

from finassay.api.delivery import Package
from finassay.api.errors import SandboxError
from finassay.api.grading import Answer
from finassay.api.verdict import NotApplicable, Verdict
from finassay_checks.checks.backtest_base import ProgramCheck, note, value


class CodeReproducibility(ProgramCheck):
    """Delivered scripts in a writable copy of the tree, in a clean sandbox without network. Not asked where no code may be run: it is a
    bonus."""

    description = "Code reproducibility: delivered scripts run again in a clean sandbox, their metrics compared with the report."
    id = "3-6-code-reproducibility"
    dimension = "3.6"
    by_turn = False

    def run(self, package: Package, answers: Mapping[str, Answer]) -> Verdict:
        from finassay_checks.delivered import read_delivery
        from finassay_checks.recompute.rerun import rerun, scripts

        delivered = package.fact(read_delivery)
        if not delivered.code:
            return self.scored(0, "No code was delivered.")
        if package.runner is None:
            return NotApplicable("delivered code is not run here: the evaluator has no sandbox for it", self.id)
        if not scripts(delivered):
            return self.scored(
                1, "The delivered code holds no Python script that could be started.", [note(d.where) for d in delivered.code[:5]]
            )
        try:
            runs = package.fact(rerun)
        except SandboxError as error:
            return NotApplicable(f"the sandbox could not run delivered code: {error}", self.id)
        best = max(runs, key=lambda run: run.level)
        evidence = [note(f"{r.script}: {r.text}", r.script, found=r.output.strip()[-300:]) for r in runs]
        evidence += [
            value(
                f"{m.metric} of {best.script} {'matches' if m.matches else 'does not match'} the report",
                m.where,
                f"{m.recomputed:.6g}",
                f"{m.reported:.6g}",
            )
            for m in best.matches
        ]
        facts = {"script": best.script, "runs": {r.script: r.level for r in runs}, "exit_codes": {r.script: r.exit_code for r in runs}}
        return self.scored(best.level, f"{best.script} {best.text}.", evidence, facts)
