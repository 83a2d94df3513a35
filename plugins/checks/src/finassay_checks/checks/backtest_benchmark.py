"""3.4: is the comparison with a benchmark borne out?"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from finassay.api.delivery import Package
from finassay.api.grading import Answer, CheckBrief, LabelQuestion
from finassay.api.verdict import Evidence, EvidenceKind, Source, Verdict
from finassay_checks.checks.backtest_base import ProgramCheck, note, plain, told, value

if TYPE_CHECKING:
    from finassay_checks.recompute.benchmark import Comparison

QUESTION = LabelQuestion(
    id="benchmark",
    text="What does the last report, with the last message, say about a benchmark? "
    "Answer each case with yes or no, and quote the place for yes.",
    cases={
        "named": "A benchmark is named: an index, a fund, an equal-weight basket, buy and hold.",
        "claim": "The strategy is compared with it in words: better, worse, ahead, behind, in line.",
        "numbers": "The comparison, or the benchmark's result, is given in numbers.",
        "fits-universe": "The benchmark's constituents and currency fit what the strategy may hold.",
    },
    labels=("yes", "no"),
)


class BenchmarkComparison(ProgramCheck):
    """A judge names the benchmark, the claims and whether it fits the universe; the program checks series, overlap and excess return, and
    scores by the rule. What a judge did not answer is settled by what the program can read, except the fit."""

    description = "Benchmark comparison: named, in numbers, with a series on the same dates and an excess return that recomputes."
    id = "3-4-benchmark-comparison"
    dimension = "3.4"

    def brief(self, package: Package) -> CheckBrief:
        from finassay_checks.recompute.benchmark import comparison

        found = package.fact(comparison)
        facts = {
            "benchmark_series": found.series,
            "overlap": found.overlap,
            "coarser": found.coarser,
            "own": found.own,
            "universe": package.task.conditions.universe.text,
            "sentences": [s.text[:300] for s in found.named[:8]],
        }
        return CheckBrief(plain(facts), (QUESTION,))

    def run(self, package: Package, answers: Mapping[str, Answer]) -> Verdict:
        from finassay_checks.recompute.benchmark import OVERLAP, comparison

        found = package.fact(comparison)
        answer = answers.get(QUESTION.id)
        said = dict(answer.labels) if answer is not None else {}
        named, claim, numbers = (
            _holds(said, case, bool(own)) for case, own in (("named", found.named), ("claim", found.claims), ("numbers", found.numbers))
        )
        aligned = found.series and not found.coarser and found.overlap >= OVERLAP
        unverified: tuple[str, ...] = ()
        if not named and not found.series:
            level, reason = 0, "No benchmark is named."
        elif not numbers:
            level = 0 if claim else 1
            reason = "A comparison is claimed without numbers." if claim else "A benchmark is named without claim or numbers."
        elif not aligned:
            level, reason = 2, _why_not_aligned(found)
        elif found.denied is not None:
            level, reason = 2, "The return that is stated for the benchmark is not that of its series over the strategy's dates."
        elif found.excess is None or said.get("fits-universe") == "no":
            level = 3
            reason = "The series covers the same dates; " + (
                "no excess return recomputes." if found.excess is None else "the benchmark does not fit the universe."
            )
        elif "fits-universe" in said:
            level, reason = 4, "The series covers the same dates, the excess return recomputes, and the benchmark fits the universe."
        else:
            level, reason = (
                3,
                "The series covers the same dates and the excess return recomputes; nobody judged whether it fits the universe.",
            )
            unverified = ("benchmark fits the universe",)
        source = Source.HYBRID if said else Source.PROGRAM
        return self.scored(
            level, reason, _evidence(found, answer), {"overlap": found.overlap, "own": found.own, "labels": said}, unverified, source
        )


def _holds(said: Mapping[str, str], case: str, own: bool) -> bool:
    return said[case] == "yes" if case in said else own


def _why_not_aligned(found: "Comparison") -> str:
    if not found.series:
        return "Numbers are given, but no benchmark series was delivered."
    if found.coarser:
        return "The benchmark series is coarser than the equity."
    return f"The benchmark series has only {found.overlap:.0%} of the strategy's dates."


def _evidence(found: "Comparison", answer: Answer | None) -> list[Evidence]:
    evidence = [note(answer.reason)] if answer is not None else []
    if answer is not None:
        evidence += [Evidence(EvidenceKind.QUOTE, quote.text, quote.where) for quote in answer.case_quotes.values()]
    evidence += [told(s.text, s.where) for s in (*found.numbers[:2], *found.claims[:2])]
    if found.denied is not None:
        evidence.append(told(found.denied.text, found.denied.where))
    if found.own:
        own = found.own
        evidence.append(
            value(
                "annual return of strategy and benchmark over common dates",
                found.excess.where if found.excess is not None else "",
                f"{own.get('strategy_annual', float('nan')):.4f}, {own.get('benchmark_annual', float('nan')):.4f}",
                found.excess.text[:200] if found.excess is not None else "no excess return that recomputes",
            )
        )
    return evidence
