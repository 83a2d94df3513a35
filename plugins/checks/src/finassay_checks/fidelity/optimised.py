"""Risk parity, mean-variance and their covariance estimators: solved again, else read from the code (spec D.2)."""

import re
from collections.abc import Iterator, Mapping

import numpy as np
import pandas as pd
from attrs import define, field

from finassay.api.strategy import Stance
from finassay_checks.fidelity.ledger import Ledger, stated_windows
from finassay_checks.fidelity.optimiser import (
    Array, ewma_covariance, ledoit_wolf_covariance, maximise_sharpe, maximise_utility, minimise_variance, oas_covariance, risk_parity, sample_covariance,
)
from finassay_checks.fidelity.places import code_arguments, newest_entry
from finassay_checks.fidelity.selection import Selection
from finassay_checks.fidelity.sizing import WITHIN, contradicted_by_formula, invested, sampled
from finassay_checks.fidelity.shown import ENOUGH, Shown, cannot_tell

ESTIMATORS = ("sample", "ewma", "shrinkage")
WINDOWS = (252, 126, 63, 60, 120, 250)
MOST_NAMES = 60
_CODE_WORDS: Mapping[str, str] = {
    "sample": r"EmpiricalCovariance|np\.cov\(|\.cov\(\)|sample[_ ]?cov|['\"]sample['\"]|numpy\.cov",
    "ewma": r"EWCovariance|\.ewm\(|['\"]ewma?['\"]|exponential[_ ]?cov",
    "shrinkage": r"LedoitWolf|ledoit[_ ]?wolf|OAS\(|ShrunkCovariance|shrinkage|['\"]LW\d*['\"]|shrunk",
    "risk_parity": r"RiskBudgeting|risk[_ ]?parity|equal[_ ]?risk|['\"]erc['\"]|risk[_ ]?contribution",
    "mean_variance": r"MeanRisk|mean[_ ]?variance|max[_ ]?sharpe|min[_ ]?variance|risk[_ ]?aversion|efficient[_ ]?frontier|EfficientFrontier",
}
_CAP = re.compile(r"(?:cap(?:ped)?(?:\s+(?:at|of))?|max(?:imum)?(?:\s+weight)?(?:\s+of)?|at most|0\s*[-–]|≤|<=)\s*(\d{1,3}(?:\.\d+)?)\s*%", re.IGNORECASE)
_CAP_AFTER = re.compile(r"(\d{1,3}(?:\.\d+)?)\s*%\s*(?:cap|max(?:imum)?|limit|a name|per name|per stock)", re.IGNORECASE)
_AVERSION = re.compile(r"risk[- ]aversion\W{0,12}(?:of|is|=|:|coefficient)?\W{0,6}(\d+(?:\.\d+)?)|(\d+(?:\.\d+)?)\s*/\s*2\s*[x×*]?\s*(?:variance|w)", re.IGNORECASE)
_PER_SCORE = re.compile(r"(\d+(?:\.\d+)?)\s*%\s*(?:a|per) year\s*(?:for each|per)\s*(?:standard deviation|sd|unit)", re.IGNORECASE)


@define
class Resolved:
    """Shares of sampled rebalances that each (weighting, estimator) solves again, each computed once."""

    ledger: Ledger
    chosen: Selection
    _shares: dict[tuple[str, str], tuple[float, int, float]] = field(factory=dict)

    def share(self, weighting: str, estimator: str) -> tuple[float, int, float]:
        """(share within 0.02, dates compared, mean absolute difference) at the best stated or usual window."""
        key = (weighting, estimator)
        if key not in self._shares:
            best = (0.0, 0, np.inf)
            for window in self._windows():
                found = self._at(weighting, estimator, window)
                if found[1] and (found[0], -found[2]) > (best[0], -best[2]):
                    best = found
                if best[0] >= 0.999 and best[2] < 1e-4:
                    break
            self._shares[key] = best
        return self._shares[key]

    def _windows(self) -> tuple[int, ...]:
        stated = tuple(w for w in stated_windows(self.ledger.rules, "covarian|risk parity|mean.?variance|optimi|estimat|volatil|look.?back") if w >= 15)
        return tuple(dict.fromkeys((*stated, *WINDOWS)))[:8]

    def _at(self, weighting: str, estimator: str, window: int) -> tuple[float, int, float]:
        held = invested(self.ledger)
        if held is None or self.ledger.closes is None:
            return 0.0, 0, np.inf
        returns = self.ledger.closes.pct_change(fill_method=None)
        outcomes = [(0.0, 0, np.inf)]
        for dates in (held.decisions, held.fills):
            differences = []
            for at in sampled(held):
                weights = held.weights.iloc[at]
                names = weights.index[weights.to_numpy() > 1e-6]
                row = returns.index.searchsorted(dates[at], side="right")
                past = returns.iloc[max(0, row - window) : row].reindex(columns=names).to_numpy(dtype=float)
                if len(names) < 2 or len(names) > MOST_NAMES or len(past) < 0.9 * window or not np.isfinite(past).all():
                    continue
                mean = self._expected(dates[at], names, past)
                solved = [s for cov in covariances(past, estimator) for s in solutions(weighting, cov, mean, self.ledger.rules)]
                if solved:
                    differences.append(min(float(np.abs(weights[names].to_numpy() - s).max()) for s in solved))
            if differences:
                gaps = np.array(differences)
                outcomes.append((float((gaps <= WITHIN).mean()), len(gaps), float(gaps.mean())))
        return max(outcomes, key=lambda o: (o[0], -o[2]))

    def _expected(self, day: pd.Timestamp, names: pd.Index, past: Array) -> list[Array]:
        """Annual expected returns that the rules allow: a stated premium for a unit of score, else the sample mean."""
        premium = _PER_SCORE.search(self.ledger.rules)
        if premium:
            found = []
            for _, score in self.chosen.composites(self.chosen.factors, self.chosen.method):
                row = score.index.searchsorted(day, side="right") - 1
                values = score.iloc[row] if row >= 0 else score.iloc[0] * np.nan
                spread = values.std(ddof=0)
                scaled = ((values - values.mean()) / spread).reindex(names).to_numpy(dtype=float)
                if np.isfinite(scaled).all():
                    found += [float(premium[1]) / 100 * scaled, float(premium[1]) / 100 * values.reindex(names).to_numpy(dtype=float)]
                if len(found) >= 4:
                    break
            return found
        return [past.mean(axis=0) * 252]


def covariances(past: Array, estimator: str) -> Iterator[Array]:
    """Annual covariance matrices of one estimator; several where the option leaves its constant open."""
    if estimator == "sample":
        yield 252 * sample_covariance(past)
    elif estimator == "ewma":
        for decay in (0.94, 0.97, 0.99, 0.8):
            yield 252 * ewma_covariance(past, decay)
    else:
        yield 252 * ledoit_wolf_covariance(past)
        yield 252 * oas_covariance(past)


def solutions(weighting: str, covariance: Array, means: list[Array], rules: str) -> Iterator[Array]:
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
        return Shown(Stance.SUPPORTS, own[0], own[1], f"solved again, mean difference {own[2]:.4f}; siblings fit " + ", ".join(f"{n} {f[0]:.0%}" for n, f in siblings.items()))
    better = next((name for name, found in siblings.items() if found[0] >= ENOUGH > own[0] and found[1]), "")
    if better:
        return Shown(Stance.CONTRADICTS, own[0], own[1], f"{better} fits {siblings[better][0]:.1%} of the dates, {covariance} {own[0]:.1%}")
    return by_code(resolved.ledger, covariance, ESTIMATORS, own)


def by_code(ledger: Ledger, option: str, options: tuple[str, ...], solved: tuple[float, int, float]) -> Shown:
    """The argument that the newest entry script really passes; a constant or default that names an option decides before a mere use."""
    share, count = (solved[0], solved[1]) if solved[1] else (None, 0)
    entry = newest_entry(ledger.delivered)
    if entry is None:
        return cannot_tell("inputs are not stated and there is no code") if share is None else Shown(Stance.CANNOT_TELL, share, count, "not solved again, and no code says it")
    arguments = [f"{name}='{value}'" for name, value, _ in code_arguments(entry.text) if re.search(r"cov|estimat|weight|method|sizing|optim|scheme", name, re.IGNORECASE)]
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
