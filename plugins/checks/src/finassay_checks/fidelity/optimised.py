"""Risk parity, mean-variance and their covariance estimators: solved again, else read from the code (spec D.2)."""

import re
from collections.abc import Iterator, Mapping

import numpy as np
import pandas as pd
from attrs import define, field, frozen

from finassay.api.strategy import Stance
from finassay_checks.fidelity.ledger import Ledger, stated_windows
from finassay_checks.fidelity.optimiser import (
    Array,
    ewma_covariance,
    ledoit_wolf_covariance,
    maximise_sharpe,
    maximise_utility,
    minimise_variance,
    oas_covariance,
    risk_parity,
    sample_covariance,
)
from finassay_checks.fidelity.places import code_arguments, newest_entry
from finassay_checks.fidelity.selection import Selection
from finassay_checks.fidelity.shown import ENOUGH, Shown, cannot_tell
from finassay_checks.fidelity.sizing import WITHIN, contradicted_by_formula, invested, plainly_equal, planned, sampled

ESTIMATORS = ("sample", "ewma", "shrinkage")
WINDOWS = (252, 126, 63, 60, 120, 250)
MOST_NAMES = 60
PROBE = 8
CLEARLY = 0.25
NEARER = 4.0
_CODE_WORDS: Mapping[str, str] = {
    "sample": r"EmpiricalCovariance|np\.cov\(|\.cov\(\)|sample[_ ]?cov|['\"]sample['\"]|numpy\.cov",
    "ewma": r"EWCovariance|\.ewm\(|['\"]ewma?['\"]|exponential[_ ]?cov",
    "shrinkage": r"LedoitWolf|ledoit[_ ]?wolf|OAS\(|ShrunkCovariance|shrinkage|['\"]LW\d*['\"]|shrunk",
    "risk_parity": r"RiskBudgeting|risk[_ ]?parity|equal[_ ]?risk|\berc\(|['\"]erc['\"]|risk[_ ]?contribution",
    "mean_variance": (
        r"MeanRisk|mean[_ ]?variance|max[_ ]?sharpe|min[_ ]?variance|risk[_ ]?aversion|efficient[_ ]?frontier"
        r"|EfficientFrontier"
    ),
}
_CAP = re.compile(
    r"(?:cap(?:ped)?(?:\s+(?:at|of))?|max(?:imum)?(?:\s+weight)?(?:\s+of)?|at most|0\s*[-–]|≤|<=)\s*(\d{1,3}(?:\.\d+)?)\s*%", re.IGNORECASE
)
_CAP_AFTER = re.compile(r"(\d{1,3}(?:\.\d+)?)\s*%\s*(?:cap|max(?:imum)?|limit|a name|per name|per stock)", re.IGNORECASE)
_AVERSION = re.compile(
    r"risk[- ]aversion\W{0,12}(?:of|is|=|:|coefficient)?\W{0,6}(\d+(?:\.\d+)?)|(\d+(?:\.\d+)?)\s*/\s*2\s*[x×*]?\s*(?:variance|w)",
    re.IGNORECASE,
)
_PER_SCORE = re.compile(r"(\d+(?:\.\d+)?)\s*%\s*(?:a|per) year\s*(?:for each|per)\s*(?:standard deviation|sd|unit)", re.IGNORECASE)


@frozen(eq=False)
class Problem:
    """One rebalance to solve again: the names held, their weights, and the last rows of returns that may have been known."""

    weights: Array
    past: Array
    expected: tuple[Array, ...]


@define
class Resolved:
    """Shares of sampled rebalances that each (weighting, estimator) solves again, each computed once."""

    ledger: Ledger
    chosen: Selection
    _shares: dict[tuple[str, str], tuple[float, int, float]] = field(factory=dict)
    _problems: dict[tuple[int, bool], list[Problem]] = field(factory=dict)
    _scores: list[pd.DataFrame] | None = None

    def share(self, weighting: str, estimator: str) -> tuple[float, int, float]:
        """(share within 0.02, dates compared, mean absolute difference) at the best stated or usual window."""
        key = (weighting, estimator)
        if key not in self._shares:
            best = (0.0, 0, np.inf)
            for window in self._windows():
                for at_fill in (False, True):
                    found = self._at(weighting, estimator, self._problem_set(window, at_fill))
                    if found[1] and (found[0], -found[2]) > (best[0], -best[2]):
                        best = found
                    if found[0] >= ENOUGH:
                        break
                if best[0] >= 0.999 and best[2] < 2e-3:
                    break
            self._shares[key] = best
        return self._shares[key]

    def _windows(self) -> tuple[int, ...]:
        """Stated windows, else the usual ones."""
        words = "covarian|risk parity|mean.?variance|optimi|estimat|shrink|sizing|weight"
        stated = tuple(w for w in stated_windows(self.ledger.rules, words) if w >= 15)
        return stated[:4] or WINDOWS

    def _problem_set(self, window: int, at_fill: bool) -> list[Problem]:
        """Sampled rebalances with complete returns up to the decision, or up to the fill for sizing at lag 0."""
        key = (window, at_fill)
        if key not in self._problems:
            self._problems[key] = []
            held = planned(self.ledger) or invested(self.ledger)
            if held is not None and self.ledger.adjusted is not None:
                returns = self.ledger.adjusted.pct_change(fill_method=None)
                dates = held.fills if at_fill else held.decisions
                for at in sampled(held):
                    weights = held.weights.iloc[at]
                    names = weights.index[weights.to_numpy() > 1e-6]
                    row = returns.index.searchsorted(dates[at], side="right")
                    past = returns.iloc[max(0, row - window) : row].reindex(columns=names).to_numpy(dtype=float)
                    if 2 <= len(names) <= MOST_NAMES and len(past) >= 0.9 * window and np.isfinite(past).all():
                        self._problems[key].append(
                            Problem(weights[names].to_numpy(dtype=float), past, self._expected(dates[at], names, past))
                        )
        return self._problems[key]

    def _at(self, weighting: str, estimator: str, problems: list[Problem]) -> tuple[float, int, float]:
        """A probe of a few dates first: an option that fits none of them is not solved for all."""
        differences: list[float] = []
        probe = max(1, len(problems) // PROBE)
        for count, problem in enumerate([*problems[::probe], *(p for n, p in enumerate(problems) if n % probe)]):
            if count == PROBE and min(differences, default=np.inf) > WITHIN:
                break
            solved = [
                s for cov in covariances(problem.past, estimator) for s in solutions(weighting, cov, problem.expected, self.ledger.rules)
            ]
            if solved:
                differences.append(min(float(np.abs(problem.weights - s).max()) for s in solved))
        if not differences:
            return 0.0, 0, np.inf
        gaps = np.array(differences)
        return float((gaps <= WITHIN).mean()), len(gaps), float(gaps.mean())

    def _expected(self, day: pd.Timestamp, names: pd.Index, past: Array) -> tuple[Array, ...]:
        """Annual expected returns that the rules allow: a stated premium for a unit of score, else the sample mean."""
        premium = _PER_SCORE.search(self.ledger.rules)
        if premium is None:
            return (past.mean(axis=0) * 252,)
        found: list[Array] = []
        for score in self._ranked():
            row = int(score.index.searchsorted(day, side="right")) - 1
            values = score.iloc[max(row, 0)]
            spread = values.std(ddof=0)
            for scaled in ((values - values.mean()) / spread, values):
                one = float(premium[1]) / 100 * scaled.reindex(names).to_numpy(dtype=float)
                if np.isfinite(one).all():
                    found.append(one)
        return tuple(found)

    def _ranked(self) -> list[pd.DataFrame]:
        """The combined score that the buys follow best."""
        if self._scores is None:
            known = [score for _, score in self.chosen.composites(self.chosen.factors, self.chosen.method)]
            agreed = [(agreement.share if (agreement := self.chosen.agreement(score)) else 0.0, -n) for n, score in enumerate(known)]
            self._scores = [known[-max(agreed)[1]]] if known else []
        return self._scores


def covariances(past: Array, estimator: str) -> Iterator[Array]:
    """Annual covariance matrices of one estimator; several where the option leaves its constant open."""
    if estimator == "sample":
        yield 252 * sample_covariance(past)
    elif estimator == "ewma":
        for decay in (0.94, 0.97):
            yield 252 * ewma_covariance(past, decay)
    else:
        yield 252 * ledoit_wolf_covariance(past)
        yield 252 * oas_covariance(past)


def solutions(weighting: str, covariance: Array, means: tuple[Array, ...], rules: str) -> Iterator[Array]:
    """The portfolios that the stated inputs allow. Mean-variance without a stated objective gives nothing."""
    if weighting == "risk_parity":
        yield risk_parity(covariance)
        return
    stated = _CAP.search(rules) or _CAP_AFTER.search(rules)
    cap = float(stated[1]) / 100 if stated and 0 < float(stated[1]) <= 100 else 1.0
    if re.search(r"minimum[- ]variance|min(?:imi[sz]e)?[- ]?(?:imum)? ?(?:variance|volatility|risk)", rules, re.IGNORECASE):
        yield minimise_variance(covariance, cap)
    aversion = _AVERSION.search(rules)
    if aversion:
        level = float(aversion[1] or aversion[2])
        for mean in means:
            yield maximise_utility(mean, covariance, level, cap)
            yield maximise_utility(mean, covariance, 2 * level, cap)
    elif re.search(r"max(?:imum|imi[sz]\w*)?[- ](?:the )?sharpe|highest sharpe|tangency", rules, re.IGNORECASE):
        for mean in means:
            yield maximise_sharpe(mean, covariance, cap)


def weighting_shown(resolved: Resolved, weighting: str, covariance: str) -> Shown:
    """Risk parity or mean-variance with the belief's estimator, any estimator else; then the code; then what a formula explains."""
    if plainly_equal(resolved.ledger):
        return Shown(Stance.CONTRADICTS, None, 0, "the weights of every rebalance are equal")
    order = dict.fromkeys((covariance, *ESTIMATORS)) if covariance else dict.fromkeys(ESTIMATORS)
    best = (0.0, 0, np.inf)
    for estimator in order:
        best = max(best, resolved.share(weighting, estimator), key=lambda found: (found[0], -found[2]))
        if best[0] >= ENOUGH:
            return Shown(Stance.SUPPORTS, best[0], best[1], f"solved again with the {estimator} covariance, mean difference {best[2]:.4f}")
    formula = contradicted_by_formula(resolved.ledger, resolved.chosen)
    if formula and best[1]:
        return Shown(Stance.CONTRADICTS, best[0], best[1], f"the weights are {formula.replace('_', ' ')} within 0.02")
    return by_code(resolved.ledger, weighting, ("risk_parity", "mean_variance"), best)


def covariance_shown(resolved: Resolved, weighting: str, covariance: str) -> Shown:
    """The estimator: its dates solved again, no sibling fitting more of them; else the code."""
    shares = {estimator: resolved.share(weighting, estimator) for estimator in ESTIMATORS}
    own = shares[covariance]
    siblings = {name: found for name, found in shares.items() if name != covariance}
    if own[1] and own[0] >= ENOUGH and not any(found[0] > own[0] for found in siblings.values()):
        return Shown(
            Stance.SUPPORTS,
            own[0],
            own[1],
            f"solved again, mean difference {own[2]:.4f}; siblings fit " + ", ".join(f"{n} {f[0]:.0%}" for n, f in siblings.items()),
        )
    better = next((name for name, found in siblings.items() if found[1] and found[0] >= ENOUGH > own[0] and _closer(found, own)), "")
    if better:
        return Shown(Stance.CONTRADICTS, own[0], own[1], f"{better} fits {siblings[better][0]:.1%} of the dates, {covariance} {own[0]:.1%}")
    return by_code(resolved.ledger, covariance, ESTIMATORS, own)


def _closer(found: tuple[float, int, float], own: tuple[float, int, float]) -> bool:
    """Whether a sibling estimator is evidence against one that fits most dates too: estimators differ little, so it must fit many more
    dates, or be far nearer. Weights held after fills move off every solution by more than the estimators lie apart."""
    return found[0] - own[0] >= CLEARLY or found[2] <= own[2] / NEARER


def by_code(ledger: Ledger, option: str, options: tuple[str, ...], solved: tuple[float, int, float]) -> Shown:
    """The argument that the newest entry script really passes; a constant or default that names an option decides before a mere use."""
    share, count = (solved[0], solved[1]) if solved[1] else (None, 0)
    entry = newest_entry(ledger.delivered)
    if entry is None:
        return (
            cannot_tell("inputs are not stated and there is no code")
            if share is None
            else Shown(Stance.CANNOT_TELL, share, count, "not solved again, and no code says it")
        )
    arguments = [f"{name}='{value}'" for name, value, _ in code_arguments(entry.text) if re.search(r"[A-Za-z]{2}", value)]
    for text, kind in (("\n".join(arguments), "argument"), (_called(entry.text), "call")):
        named = {o for o in options if re.search(_CODE_WORDS[o], text, re.IGNORECASE)}
        if named == {option}:
            return Shown(Stance.SUPPORTS, share, count, f"{kind} in {entry.where}")
        if len(named) == 1:
            return Shown(Stance.CONTRADICTS, share, count, f"{kind} in {entry.where} is {named.pop()}")
    return Shown(Stance.CANNOT_TELL, share, count, f"{entry.where} does not settle it")


def _called(code: str) -> str:
    """Code without comments, imports and documentation strings."""
    text = re.sub(r'"""[\s\S]{0,5000}?"""', "", code[:400_000])
    return "\n".join(line.split("#", 1)[0] for line in text.split("\n") if not re.match(r"\s*(?:import|from)\s", line))
