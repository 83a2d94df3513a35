"""3.2: does the program arrive at the reported figures from the log and the prices alone?"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from finassay.api.delivery import Package
from finassay.api.grading import Answer
from finassay.api.verdict import Evidence, Json, Verdict
from finassay_checks.checks.backtest_base import SHOWN, ProgramCheck, note, value

if TYPE_CHECKING:
    from finassay_checks.model import MetricMatch, Rebuilt
    from finassay_checks.recompute.rebuilt import Rebuilding

RETURNS = ("total_return", "annual_return")
ALL_OF = ("sharpe", "max_drawdown", "trades")


class IndependentRecomputation(ProgramCheck):
    """Rebuild the portfolio from delivered fills (else weights) and prices, and compare every reported metric of the headline."""

    description = "Independent recomputation: the portfolio rebuilt from the log and prices, every reported metric compared."
    id = "3-2-independent-recomputation"
    dimension = "3.2"

    def run(self, package: Package, answers: Mapping[str, Answer]) -> Verdict:
        from finassay_checks.delivered import read_delivery
        from finassay_checks.recompute.matches import conflicts, metric_matches
        from finassay_checks.recompute.rebuilt import rebuilding

        made = package.fact(rebuilding)
        if made.rebuilt is None:
            return self.scored(0, f"Nothing could be rebuilt: {made.reason}.", [note(made.reason)], {"rebuilt": False})
        matches = package.fact(metric_matches)
        level, reason = grade(matches)
        evidence = [_compared(m) for m in matches if m.recomputed is not None and not m.matches][:SHOWN]
        evidence += [_compared(m) for m in matches if m.matches and m.convention][:SHOWN]
        evidence += [_compared(m) for m in matches if m.matches and not m.convention][:SHOWN]
        evidence += [
            note(f"{m.metric} was not compared: {m.convention}", m.where, f"{m.reported:.6g}") for m in matches if m.recomputed is None
        ]
        evidence += _left(made)
        for lead, other in conflicts(package.fact(read_delivery).figures):
            evidence.append(
                value(f"{lead.metric} is reported twice and differs", other.where, f"{lead.value:.6g} ({lead.where})", f"{other.value:.6g}")
            )
        return self.scored(level, reason, evidence, _facts(matches, made.rebuilt))


def grade(matches: "tuple[MetricMatch, ...]") -> tuple[int, str]:
    """The level and its reason. Metrics that are not compared (too few returns) leave the shares; one that could not be recomputed for
    want of what it is made of is no match at level 4."""
    if not matches:
        return 1, "The portfolio could be rebuilt, but no metric is reported."
    compared = [m for m in matches if m.recomputed is not None]
    fits = {m.metric for m in compared if m.matches}
    share = len(fits) / len(compared) if compared else 0.0
    wrong = [m.metric for m in compared if not m.matches]
    told = f"{len(fits)} of {len(compared)} reported metrics match" + (f"; not {', '.join(wrong)}" if wrong else "") + "."
    returns = any(name in fits for name in RETURNS) and not any(name in wrong for name in RETURNS)
    any_return = any(name in fits for name in RETURNS)
    unmade = [m.metric for m in matches if m.recomputed is None and "not compared" not in m.convention]
    skipped = {m.metric for m in matches if m.recomputed is None and "not compared" in m.convention}
    if returns and not wrong and not unmade and all(name in fits or name in skipped for name in ALL_OF):
        return 4, told
    if any_return and "max_drawdown" in fits and share >= 0.8:
        return 3, told
    if any_return and share >= 0.5:
        return 2, told
    return 1, told if any_return else f"The return does not match. {told}"


def _compared(match: "MetricMatch") -> Evidence:
    text = f"{match.metric} {'matches' if match.matches else 'does not match'}" + (f" ({match.convention})" if match.convention else "")
    return value(text, match.where, f"{match.recomputed:.6g} ± {match.tolerance:.3g}", f"{match.reported:.6g}")


def _left(made: "Rebuilding") -> list[Evidence]:
    from finassay_checks.recompute.divergence import departure

    assert made.rebuilt is not None
    evidence = [note(text) for text in made.rebuilt.notes]
    if made.rebuilt.first_divergence is not None:
        day, apart = made.rebuilt.first_divergence
        evidence.append(note(f"the delivered equity leaves the rebuilt one beyond 0.5 % first on {day}", found=f"{apart:+.2%}"))
    left = departure(made)
    if left is not None:
        cause = f", which is {left.cause}" if left.cause else ""
        evidence.append(note(f"the delivered equity first differs at all on {left.date.date()}{cause}", found=f"{left.amount:+,.2f}"))
    return evidence


def _facts(matches: "tuple[MetricMatch, ...]", rebuilt: "Rebuilt") -> dict[str, Json]:
    return {
        "rebuilt": True,
        "source": rebuilt.source,
        "start_capital": rebuilt.start_capital,
        "first_divergence": None if rebuilt.first_divergence is None else [str(rebuilt.first_divergence[0]), rebuilt.first_divergence[1]],
        "metrics": [
            {
                "metric": m.metric,
                "reported": m.reported,
                "recomputed": m.recomputed,
                "matches": m.matches,
                "convention": m.convention,
                "where": m.where,
            }
            for m in matches
        ],
    }
