"""Equations (3) to (6) of the paper, on verdicts."""

from collections.abc import Iterable, Mapping
from statistics import fmean
from typing import Final

from attrs import frozen

from finassay.api.delivery import EndReason
from finassay.api.dimension import Dimension
from finassay.api.verdict import NotApplicable, Scored, Unscored, Verdict
from finassay.grading.dimensions import SCORED_CATEGORIES
from finassay.grading.outcomes import OUTCOMES

FULL: Final = 25.0
"""A level of 4 is 100."""


def fidelity_cap(missing_stated: int, missing_unstated: int) -> int:
    """Equation (6): the highest level of a component with missing items, by whether the user had stated them."""
    if missing_stated:
        return 1
    return 2 if missing_unstated else 4


def category_mean(dimensions: Iterable[Dimension], verdicts: Mapping[str, Verdict]) -> float | None:
    """Mean level of J_k on the scale 0 to 100; None if nothing of the category applies and was judged.

    A dimension that is not applicable or unscored leaves J_k. A bonus dimension enters only if it raises the mean of the others.
    """
    levels: list[int] = []
    bonuses: list[int] = []
    for one in dimensions:
        verdict = verdicts.get(one.id)
        if isinstance(verdict, Scored):
            (bonuses if one.bonus else levels).append(verdict.level)
    if not levels:
        return None
    for bonus in sorted(bonuses, reverse=True):
        if bonus > fmean(levels):
            levels.append(bonus)
    return FULL * fmean(levels)


def category_means(dimensions: Iterable[Dimension], verdicts: Mapping[str, Verdict]) -> dict[str, float | None]:
    """`category_mean` of the five scored categories."""
    known = [one for one in dimensions if one.scored]
    return {name: category_mean([one for one in known if one.category == name], verdicts) for name in SCORED_CATEGORIES}


def quality(categories: Mapping[str, float | None]) -> float | None:
    """Equation (3): the mean over categories, 0 to 100. A category of which nothing was judged leaves K; None if all did."""
    known = [mean for mean in categories.values() if mean is not None]
    return fmean(known) if known else None


def failed_vetoes(dimensions: Iterable[Dimension], verdicts: Mapping[str, Verdict]) -> tuple[str, ...]:
    """Vetoes with a level below their threshold. One that is not applicable passes; one without a verdict is not a failed one."""
    found = []
    for one in dimensions:
        verdict = verdicts.get(one.id)
        if one.veto is not None and isinstance(verdict, Scored) and verdict.level < one.veto:
            found.append(one.id)
    return tuple(found)


def missing_verdicts(dimensions: Iterable[Dimension], verdicts: Mapping[str, Verdict]) -> tuple[str, ...]:
    """What leaves a grading incomplete, in words: judges without a verdict, items and audit checks that nobody could decide.

    Dimensions that are only reported take no part. A bonus that could not be tried on this machine is forgone, not missing.
    """
    found = []
    for one in dimensions:
        if not one.scored:
            continue
        verdict = verdicts.get(one.id, Unscored("not graded"))
        if isinstance(verdict, Unscored) and not (one.bonus and verdict.reason in ("evidence missing", "no check installed")):
            found.append(f"{one.id} {one.title}: {verdict.reason}" + (f" ({verdict.detail})" if verdict.detail else ""))
        elif isinstance(verdict, Scored) and verdict.unverified:
            found.append(f"{one.id} {one.title}: unverified {', '.join(verdict.unverified)}")
    return tuple(found)


@frozen
class Totals:
    """Equations (3) to (5) on one session."""

    categories: Mapping[str, float | None]
    quality: float | None
    failed_vetoes: tuple[str, ...]
    passed: bool
    score: float
    accepted: bool
    incomplete: tuple[str, ...]


def totals(dimensions: Iterable[Dimension], verdicts: Mapping[str, Verdict], end_reason: EndReason) -> Totals:
    """Q, pass, Score and AC. Sessions at a limit keep Q and score 0; sessions that are not graded have no Q."""
    known = tuple(dimensions)
    outcome = OUTCOMES[end_reason]
    if outcome.graded == "none":
        why = f"a session that ended with {end_reason} is not graded"
        return Totals(dict.fromkeys(SCORED_CATEGORIES), None, (), False, 0.0, False, (why,))
    categories = category_means(known, verdicts)
    q = quality(categories)
    failed = failed_vetoes(known, verdicts)
    unjudged = any(one.veto is not None and not isinstance(verdicts.get(one.id), Scored | NotApplicable) for one in known)
    passed = not failed and not unjudged
    incomplete = missing_verdicts(known, verdicts)
    score = q if q is not None and passed and not outcome.zero else 0.0
    return Totals(categories, q, failed, passed, score, passed and outcome.can_be_accepted and not incomplete, incomplete)
