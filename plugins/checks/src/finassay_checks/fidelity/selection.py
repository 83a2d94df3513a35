"""Were the names bought the best by the factors of the belief? (spec D.2, rows 'factors, combination')"""

import re
from collections.abc import Iterator, Mapping
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from attrs import define, field, frozen

from finassay.api.strategy import Observable, Stance
from finassay_checks.fidelity.factors import DELIVERED_NAMES, KINDS, MONTHS, RIVALS, combine, month_end_momentum, raw_score
from finassay_checks.fidelity.ledger import Ledger, slots, stated_windows, wide
from finassay_checks.fidelity.shown import ENOUGH, Shown, cannot_tell

METHODS = ("zscore_mean", "rank_mean", "screen_then_rank")
MAX_COMPOSITES = 24
LOOK_BACKS = (3, 5, 10, 15, 21, 30, 42, 52, 63, 75, 84, 95, 105, 126, 150, 189, 220, 252, 378, 504)
FEW_DATES = 5
UNLIKE = 0.4
MANY = 30
"""Purchases from which on their mean percentile is no accident."""
_SCREEN = re.compile(r"\b(?:exclud\w+|filter\w*|minimum price|liquidity|only (?:names|stocks) (?:with|that)|eligib\w+)\b", re.IGNORECASE)
_TIMES = {
    "mom_12_1": r"moment|12[- ]?1|winner|return",
    "mom_6_1": r"moment|6[- ]?1|winner|return",
    "high_52w": r"52|high",
    "low_vol": r"volatil|calm|std|deviation",
    "low_beta": r"beta",
    "rev_5d": r"revers|los[et]|week",
    "rev_21d": r"revers|los[et]|month",
}


@frozen
class Agreement:
    """`share` of buys and full exits that agree, `count` of them, mean percentile of the `bought` names bought (1 is the best)."""

    share: float
    count: int
    percentile: float
    bought: int = 0


@define
class Selection:
    """Scores and agreements of one delivery, each computed once. `factors` in the belief's order; `method` empty for one factor."""

    ledger: Ledger
    factors: tuple[str, ...]
    method: str
    exits: bool
    """Whether full exits are asked about (not of optimisers, whose weight may be 0)."""
    _scores: dict[Any, pd.DataFrame | None] = field(factory=dict)
    _agreements: dict[Any, Agreement | None] = field(factory=dict)
    _rows: np.ndarray | None = None

    def windows(self, factor: str) -> tuple[tuple[int, int] | str, ...]:
        """Stated look-backs first; else the definition of the grammar and its calendar variants."""
        spec = KINDS[factor]
        stated = stated_windows(self.ledger.rules, _TIMES[factor])
        own = spec.windows
        if spec.kind in ("volatility", "beta"):
            own = tuple(dict.fromkeys((*((window, 0) for window in stated if window >= 10), *own)))
        months: tuple[tuple[int, int] | str, ...] = (
            () if factor not in MONTHS else ("months", "running months") if MONTHS[factor][1] else ("months",)
        )
        return (*own, *months)

    def score(self, factor: str, window: tuple[int, int] | str) -> pd.DataFrame | None:
        """The factor's score on the decision dates only: ranking every session would cost far more than it tells."""
        key = (factor, window)
        if key not in self._scores:
            closes = self.ledger.adjusted
            if closes is None:
                self._scores[key] = None
            elif isinstance(window, str):
                self._scores[key] = KINDS[factor].sign * month_end_momentum(closes, *MONTHS[factor], running=window != "months")
            else:
                self._scores[key] = raw_score(factor, closes, window, self.ledger.market)
            found = self._scores[key]
            if found is not None:
                self._scores[key] = self.decided(found)
        return self._scores[key]

    def decided(self, score: pd.DataFrame) -> pd.DataFrame:
        """The rows of a score on every session that are decision dates."""
        return score.iloc[self._decision_rows()]

    def _decision_rows(self) -> np.ndarray:
        if self._rows is None:
            fills, closes = self.ledger.fills, self.ledger.closes
            assert closes is not None
            if fills is None or fills.empty:
                self._rows = np.arange(len(closes))
            else:
                rows = self.ledger.rows_at(pd.DatetimeIndex(fills["decision"].unique()))
                self._rows = np.unique(rows[rows >= 0])
        return self._rows

    def served(self, factor: str) -> bool:
        """Whether delivered prices (and for beta the delivered index) can serve the factor."""
        return factor in KINDS and self.ledger.closes is not None and (factor != "low_beta" or self.ledger.market is not None)

    def delivered(self, factor: str) -> pd.DataFrame | None:
        """The delivered values of a factor, high is good, from the signals or fundamentals table by its name."""
        names, sign = (KINDS[factor].names, 1) if factor in KINDS else DELIVERED_NAMES.get(factor, ((factor,), 1))
        signals = self.ledger.delivered.frame("signals")
        if signals is not None and not signals.empty:
            named = signals[
                signals["name"]
                .astype(str)
                .str.lower()
                .str.replace(r"[\s-]+", "_", regex=True)
                .apply(lambda name: any(word in name for word in names))
            ]
            named = named if not named.empty else signals if signals["name"].nunique() <= 1 else named
            value = wide(named, "score")
            if value is None and (ranks := wide(named, "rank")) is not None:
                return -ranks
            if value is not None and factor in KINDS and KINDS[factor].sign < 0:
                return _oriented(value, self.ledger)
            return None if value is None else sign * value
        return self._fundamental(names, sign)

    def _fundamental(self, names: tuple[str, ...], sign: int) -> pd.DataFrame | None:
        frame = self.ledger.delivered.frame("fundamentals")
        if frame is None or frame.empty or self.ledger.closes is None:
            return None
        rows = frame[
            frame["name"]
            .astype(str)
            .str.lower()
            .str.replace(r"[\s-]+", "_", regex=True)
            .apply(lambda name: any(word in name for word in names))
        ]
        known = rows.assign(date=rows["announced"].where(rows["announced"].notna(), rows["period_end"]))
        value = wide(known, "value")
        return (
            None
            if value is None
            else sign * value.reindex(self.ledger.closes.index.union(value.index)).ffill().reindex(self.ledger.closes.index)
        )

    def composites(self, factors: tuple[str, ...], method: str) -> Iterator[tuple[Any, pd.DataFrame]]:
        """Every combined score that the definitions allow, with a key; bounded."""
        choices = []
        for factor in factors:
            if self.served(factor):
                choices.append([(factor, window) for window in self.windows(factor)])
            else:
                choices.append([(factor, "delivered")])
        for count, picked in enumerate(product(*choices)):
            if count >= MAX_COMPOSITES:
                return
            scores = [self.delivered(f) if w == "delivered" else self.score(f, w) for f, w in picked]
            if all(score is not None for score in scores):
                combined = combine(self.aligned([s for s in scores if s is not None]), method)
                if combined is not None:
                    yield (method, picked), combined

    def aligned(self, scores: list[pd.DataFrame]) -> list[pd.DataFrame]:
        """Scores of several sources on the same decisions and tickers: a delivered one is what was last known on each date."""
        if len(scores) < 2 or self.ledger.closes is None:
            return scores
        dates, names = self.ledger.closes.index[self._decision_rows()], self.ledger.closes.columns
        found = []
        for score in scores:
            row = score.index.searchsorted(dates, side="right") - 1
            values = score.reindex(columns=names).to_numpy(dtype=float)[np.maximum(row, 0)]
            found.append(pd.DataFrame(np.where((row >= 0)[:, None], values, np.nan), index=dates, columns=names))
        return found

    def best(self, factors: tuple[str, ...], method: str) -> Agreement | None:
        """The best agreement over the allowed definitions; None if nothing can be compared."""
        key = (factors, method)
        if key not in self._agreements:
            found = None
            for _, composite in self.composites(factors, method):
                agreement = self.agreement(composite)
                if agreement is not None and (found is None or agreement.share > found.share):
                    found = agreement
                if found is not None and found.share >= 0.999:
                    break
            self._agreements[key] = found
        return self._agreements[key]

    def agreement(self, score: pd.DataFrame) -> Agreement | None:
        """Share of rebalance fills that agree with a score known at the decision."""
        fills = self.ledger.rebalance_fills
        if fills is None or fills.empty or score.empty:
            return None
        decisions = pd.DatetimeIndex(fills["decision"])
        row = score.index.searchsorted(decisions, side="right") - 1
        column = score.columns.get_indexer(pd.Index(fills["ticker"]))
        used, position = np.unique(row[row >= 0], return_inverse=True)
        if not len(used):
            return None
        chosen = score.iloc[used]
        ranks = chosen.rank(axis=1, ascending=False, method="min").to_numpy()
        valid = chosen.notna().sum(axis=1).to_numpy()
        keep = row >= 0
        rank = np.full(len(fills), np.nan)
        ranked = np.zeros(len(fills))
        rank[keep] = np.where(column[keep] >= 0, ranks[position, np.maximum(column[keep], 0)], np.nan)
        ranked[keep] = valid[position]
        shares, after = fills["shares"].to_numpy(), fills["after"].to_numpy()
        most = held_most(self.ledger)
        limit = slots(self.ledger, most)
        buy = shares > 0
        out = (shares < 0) & (np.abs(after) < 1e-7)
        asked = np.isfinite(rank) & (ranked >= limit) & (buy | (out & self.exits))
        if not asked.any():
            return None
        agrees = np.where(buy, rank <= limit, rank > limit)
        bought = asked & buy
        percentile = float(np.mean(1 - (rank[bought] - 1) / np.maximum(ranked[bought] - 1, 1))) if bought.any() else np.nan
        return Agreement(float(agrees[asked].mean()), int(asked.sum()), percentile, int(bought.sum()))


def _oriented(value: pd.DataFrame, ledger: Ledger) -> pd.DataFrame:
    """A delivered volatility, beta or reversal, high is good: the sign under which the names bought come first."""
    fills = ledger.rebalance_fills
    if fills is None or fills.empty:
        return -value
    percent = value.rank(axis=1, pct=True)
    row = percent.index.searchsorted(pd.DatetimeIndex(fills["decision"]), side="right") - 1
    column = percent.columns.get_indexer(pd.Index(fills["ticker"]))
    buys = (row >= 0) & (column >= 0) & (fills["shares"].to_numpy() > 0)
    return value if buys.any() and np.nanmean(percent.to_numpy()[row[buys], column[buys]]) > 0.5 else -value


def held_most(ledger: Ledger) -> int:
    """The largest number of names held right after a rebalance."""
    invested = ledger.invested()
    if invested is None or invested[0].empty:
        return 1
    return max(1, int((invested[0].to_numpy() > 1e-6).sum(axis=1).max()))


def selection(ledger: Ledger, observables: Mapping[str, Observable]) -> Selection:
    factors = tuple(str(o.arguments["factor"]) for o in observables.values() if o.test == "factor" and "factor" in o.arguments)
    method = next((str(o.arguments.get("method", "")) for o in observables.values() if o.test == "combination"), "")
    optimised = any(o.test == "optimised-weights" for o in observables.values())
    return Selection(ledger, factors, method, exits=not optimised)


def _limit(ledger: Ledger) -> float:
    return 0.90 if _SCREEN.search(ledger.rules) else ENOUGH


def factor_test(chosen: Selection, factor: str) -> Shown:
    """One factor: the belief's ranking, else what positive evidence says against it."""
    if chosen.ledger.fills is None:
        return cannot_tell("no trade log")
    if chosen.method == "ic_weighted":
        return _changing_weights(chosen, factor)
    if factor not in chosen.factors:
        return cannot_tell("the factor is none of the belief's")
    best, enough = _own(chosen)
    if best is None:
        return cannot_tell("the ranking cannot be derived again from delivered files")
    slots_held = slots(chosen.ledger, held_most(chosen.ledger))
    note = f"buys among the best {slots_held} and exits outside them: {best.share:.1%} of {best.count}"
    closer = ""
    for rival in _rivals(chosen, factor, others=best.share < enough):
        agreements = (chosen.best(rival, method if len(rival) > 1 else "") for method in _methods(chosen))
        other = max((a.share for a in agreements if a is not None), default=0.0)
        if other >= ENOUGH and (_better(other, best, enough) or (other == best.share and len(rival) < len(chosen.factors))):
            closer = f"{' and '.join(rival)} fits {other:.1%}"
            break
    if best.share >= enough:
        # A ranking that fits as well without this factor leaves it unshown.
        return Shown(Stance.CANNOT_TELL if closer else Stance.SUPPORTS, best.share, best.count, f"{note}; {closer}" if closer else note)
    closer = closer or _other_window(chosen, factor, best)
    if closer:
        return Shown(Stance.CONTRADICTS, best.share, best.count, f"{note}; {closer}")
    against = _wrong_side(chosen, factor) or _other_scores(chosen, factor)
    if against:
        return Shown(Stance.CONTRADICTS, best.share, best.count, f"{note}; {against}")
    return Shown(Stance.CANNOT_TELL, best.share, best.count, note)


def _better(other: float, own: Agreement, enough: float) -> bool:
    """Whether a rival ranking fits better; where the belief's own falls short of enough, so clearly that neither ties nor the number of
    rivals and windows that were tried explain it."""
    if own.share >= enough:
        return other > own.share
    return other - own.share >= CLEARLY / 2 and (other - own.share) * own.count > 2.5


def _wrong_side(chosen: Selection, factor: str) -> str:
    """What says that the names bought are not the factor's best: their mean percentile at every usual window; of a factor alone also one
    that draws by lot would reach. Other factors of a blend may pull against this one, so there only a clear miss counts."""
    found = [a for _, score in chosen.composites((factor,), "") if (a := chosen.agreement(score)) is not None and np.isfinite(a.percentile)]
    if not found:
        return ""
    best = max(found, key=lambda a: a.percentile)
    by_lot = 0.5 + 2 / np.sqrt(12 * best.bought) if len(chosen.factors) == 1 and best.bought >= MANY else 0.5
    if best.percentile >= by_lot or (len(chosen.factors) > 1 and best.bought < MANY):
        return ""
    return f"names bought lie at percentile {best.percentile:.0%} of the factor"


def _other_scores(chosen: Selection, factor: str) -> str:
    """For a factor alone: delivered scores under its name that the buys follow and that rank nothing like the factor at any usual window."""
    given = chosen.delivered(factor) if len(chosen.factors) == 1 and chosen.served(factor) else None
    followed = chosen.agreement(given) if given is not None else None
    if given is None or followed is None or followed.share < ENOUGH:
        return ""
    alike = []
    for window in chosen.windows(factor):
        score = chosen.score(factor, window)
        if score is not None:
            own, other = (s.rank(axis=1) for s in chosen.aligned([score, given]))
            rows = own.corrwith(other, axis=1).dropna()
            alike += [abs(float(rows.mean()))] if len(rows) >= FEW_DATES else []
    if not alike or max(alike) >= UNLIKE:
        return ""
    return f"the delivered scores, which the buys follow, have a rank correlation of {max(alike):.2f} with the factor"


def _other_window(chosen: Selection, factor: str, own: Agreement) -> str:
    """For a factor alone: the same measure over another look-back, if buys and exits agree with that one and clearly less with the usual."""
    if len(chosen.factors) > 1 or not chosen.served(factor) or own.share > ENOUGH - CLEARLY / 2:
        return ""
    kind = KINDS[factor].kind
    if kind not in ("momentum", "high"):  # the window of a volatility or a beta is never voiced
        return ""
    skips = (0, 1, 5, 21) if kind == "momentum" else (0,)
    tried: dict[tuple[int, int], float] = {}

    def share(window: tuple[int, int]) -> float:
        if window not in tried:
            score = raw_score(factor, chosen.ledger.adjusted, window, chosen.ledger.market) if chosen.ledger.adjusted is not None else None
            found = chosen.agreement(chosen.decided(score)) if score is not None else None
            tried[window] = found.share if found is not None else 0.0
        return tried[window]

    grid = [(look_back, skip) for look_back in LOOK_BACKS for skip in skips if look_back > 2 * skip]
    best = max(grid, key=share)
    for step in (8, 4, 2, 1):
        if share(best) >= ENOUGH:
            break
        near = [(best[0] + step * k, best[1]) for k in (-2, -1, 0, 1, 2) if best[0] + step * k > max(1, best[1])]
        best = max(near, key=share)
    if share(best) < ENOUGH or share(best) - own.share < CLEARLY / 2:
        return ""
    skipped = f", the last {best[1]} left out" if best[1] else ""
    return f"{best[0]} sessions{skipped} fit {share(best):.1%}"


def _methods(chosen: Selection) -> tuple[str, ...]:
    """The belief's combination first, then its siblings: a factor is shown under any of them."""
    return (chosen.method, *(m for m in METHODS if m != chosen.method)) if chosen.method else ("",)


def _own(chosen: Selection) -> tuple[Agreement | None, float]:
    """The agreement by the belief's combination, or by a sibling where that falls short, and the share that is enough."""
    enough = _limit(chosen.ledger)
    best: Agreement | None = None
    for method in _methods(chosen):
        found = chosen.best(chosen.factors, method)
        if found is not None and (best is None or found.share > best.share):
            best = found
        if best is not None and best.share >= enough:
            break
    return best, enough


def _rivals(chosen: Selection, factor: str, *, others: bool) -> Iterator[tuple[str, ...]]:
    """The ranking without this factor; with `others` also with another one in its place."""
    if len(chosen.factors) > 1:
        yield tuple(f for f in chosen.factors if f != factor)
    if others:
        for other in RIVALS.get(factor, ()) if len(chosen.factors) > 1 else tuple(f for f in KINDS if f != factor):
            if other not in chosen.factors and chosen.served(other):
                yield tuple(other if f == factor else f for f in chosen.factors)


FEW = 5
"""Fills that must speak for another method: with fewer, one date on which a figure was announced late decides."""
CLEARLY = 0.15
"""By how much a rival must fit better before it is evidence: methods of combination agree on most names."""


def combination_test(chosen: Selection, method: str) -> Shown:
    """The method by which several factors are combined, against its siblings."""
    if chosen.ledger.fills is None:
        return cannot_tell("no trade log")
    if method == "ic_weighted":
        return _changing_weights(chosen, "")
    own = chosen.best(chosen.factors, method)
    if own is None:
        return cannot_tell("the ranking cannot be derived again from delivered files")
    note = f"{own.share:.1%} of {own.count} fills agree with the combined ranking"
    if own.share >= _limit(chosen.ledger):
        return Shown(Stance.SUPPORTS, own.share, own.count, note)
    for other in METHODS:
        rival = chosen.best(chosen.factors, other) if other != method else None
        gap = rival.share - own.share if rival is not None and rival.share >= ENOUGH else 0.0
        if rival is not None and gap >= CLEARLY and gap * own.count >= FEW:
            return Shown(Stance.CONTRADICTS, own.share, own.count, f"{note}; {other} fits {rival.share:.1%}")
    return Shown(Stance.CANNOT_TELL, own.share, own.count, note)


def _changing_weights(chosen: Selection, factor: str) -> Shown:
    """Weights by trailing information coefficients: the delivered total score is a blend of the factors whose weights change over time."""
    signals = chosen.ledger.delivered.frame("signals")
    if signals is None or signals.empty:
        return cannot_tell("changing factor weights need the delivered scores")
    names = signals["name"].astype(str)
    total = wide(signals[names.str.contains(r"composite|combined|total|final|blend|^score$", case=False, regex=True)], "score")
    parts = [part for f in chosen.factors if (part := chosen.delivered(f)) is not None]
    if total is None or len(parts) != len(chosen.factors):
        return cannot_tell("the delivered scores do not give every factor and their blend")
    agreement = chosen.agreement(total)
    if agreement is None or agreement.share < ENOUGH:
        return Shown(
            Stance.CANNOT_TELL,
            agreement.share if agreement else None,
            agreement.count if agreement else 0,
            "fills follow the delivered blend",
        )
    fitted, spread = _blend(total, parts)
    supports = fitted >= ENOUGH and spread > 0.05
    return Shown(
        Stance.SUPPORTS if supports else Stance.CANNOT_TELL,
        fitted,
        len(total),
        f"a blend of the factors on {fitted:.1%} of dates, weights vary by {spread:.2f}",
    )


def _blend(total: pd.DataFrame, parts: list[pd.DataFrame]) -> tuple[float, float]:
    """Share of dates on which the total is linear in the factors' z-scores, and how much the first weight's share varies."""
    fits, firsts = [], []
    for day in total.index[:: max(1, len(total) // 200)]:
        columns = [part.loc[day].reindex(total.columns) if day in part.index else None for part in parts]
        if any(column is None for column in columns):
            continue
        matrix = np.column_stack([*[c.to_numpy() for c in columns if c is not None], np.ones(total.shape[1])])
        value = total.loc[day].to_numpy()
        known = np.isfinite(matrix).all(axis=1) & np.isfinite(value)
        if known.sum() > matrix.shape[1] + 1:
            scale = matrix[known, :-1].std(axis=0)
            solution, *_ = np.linalg.lstsq(matrix[known], value[known], rcond=None)
            left = value[known] - matrix[known] @ solution
            fits.append(bool(left.var() <= 0.01 * max(value[known].var(), 1e-18)))
            loads = np.abs(solution[:-1] * scale)
            firsts.append(loads[0] / max(loads.sum(), 1e-18))
    return (float(np.mean(fits)), float(np.std(firsts))) if fits else (0.0, 0.0)
