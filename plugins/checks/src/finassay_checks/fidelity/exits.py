"""Which rule explains the days on which the portfolio leaves the market? (spec D.2, timing against its sibling options)"""

from collections.abc import Iterator

import numpy as np
import pandas as pd
from attrs import frozen

from finassay_checks.fidelity.execution import risk_fills
from finassay_checks.fidelity.exposure import OUT, at_frequencies, delivered_states, derived_states, off_sessions
from finassay_checks.fidelity.ledger import Ledger

RULES = ("index_ma", "index_abs_mom", "breadth", "vol_regime", "yield_curve")
"""Timing rules whose state follows from delivered prices, the delivered index or delivered yields."""
FITS = 0.9
FAILS = 0.5
NEAR = 1
"""Sessions by which an exit may lie beside the switch of the state that it follows."""
SEVERAL = 3


@frozen
class Fit:
    """Of the exits the share that lies at a switch to off, and of the switches met while invested the share that is followed by one."""

    exits: float
    switches: float
    name: str

    @property
    def worse(self) -> float:
        return min(self.exits, self.switches)


def exits(ledger: Ledger) -> "np.ndarray | None":
    """Rows of the sessions on which the last holding goes, those on which a risk rule sold left aside; None without holdings."""
    exposure = ledger.exposure
    if exposure is None or ledger.fills is None:
        return None
    out = exposure.to_numpy() <= OUT
    first = np.flatnonzero(out & ~np.r_[True, out[:-1]])
    controlled = exposure.index.isin(ledger.fills.loc[risk_fills(ledger.fills), "fill_date"])
    return np.asarray(first[~controlled[first]])


def fit(state: pd.Series, ledger: Ledger, left: np.ndarray, name: str) -> Fit | None:
    """The best fit of one state over fills one, no or two sessions after its switch; None if it is never off, or unknown at most exits:
    an average needs its history."""
    exposure = ledger.exposure
    assert exposure is not None
    invested = exposure.to_numpy() > OUT
    best: Fit | None = None
    begin = int(exposure.index.searchsorted(state.index[0])) + 1 if len(state) else len(exposure)
    left = left[left > begin]
    if len(left) < SEVERAL:
        return None
    for delay in (1, 0, 2):
        off = off_sessions(state, pd.DatetimeIndex(exposure.index), delay)
        switch = np.flatnonzero(off & ~np.r_[off[:1], off[:-1]])
        if not len(switch):
            continue
        met = switch[invested[np.maximum(switch - 1, 0)]]
        near = np.abs(left[:, None] - switch[None, :]) <= NEAR
        heeded = (np.abs(met[:, None] - left[None, :]) <= NEAR).any(axis=1)
        found = Fit(float(near.any(axis=1).mean()), float(heeded.mean()) if len(met) else 0.0, name)
        if best is None or found.worse > best.worse:
            best = found
    return best


def _fits(states: Iterator[pd.Series], ledger: Ledger, left: np.ndarray, name: str) -> Iterator[Fit]:
    for state in states:
        for one in at_frequencies(state):
            found = fit(one, ledger, left, name)
            if found is not None:
                yield found


def another_rule(ledger: Ledger, rule: str) -> str:
    """Evidence that the exits follow another rule than `rule`, or a delivered state that this rule does not give; else an empty text.

    All of three exits or more must have a switch of the other state and the other way round, and most must have none of this rule's.
    """
    left = exits(ledger)
    if rule not in RULES or left is None or len(left) < SEVERAL:
        return ""
    own = max((f.exits for f in _fits(derived_states(ledger, rule), ledger, left, rule)), default=None)
    if own is None or own > FAILS:
        return ""
    others = (f for other in RULES if other != rule for f in _fits(derived_states(ledger, other), ledger, left, other.replace("_", " ")))
    delivered = (f for name, state in delivered_states(ledger) for f in _fits(iter((state,)), ledger, left, f"the delivered '{name}'"))
    for found in (*delivered, *others):
        if found.worse >= FITS:
            return f"{found.name} explains {found.exits:.0%} of {len(left)} exits from the market, the stated rule {own:.0%}"
    return ""
