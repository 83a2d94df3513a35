"""The observable tests by name: what delivered trades, weights and prices say about an item (spec D.2).

An unknown name, a wrong argument and a delivery that cannot be rebuilt give `cannot tell`; a test never raises for what was delivered.
"""

import warnings
from collections.abc import Callable, Mapping

import numpy as np
from attrs import define

from finassay.api.delivery import Package
from finassay.api.strategy import Observable, Stance
from finassay_checks.fidelity.execution import drift_band_test, fee_test, no_control_test, no_cost_test, on_event_test, schedule_test
from finassay_checks.fidelity.exits import another_rule
from finassay_checks.fidelity.exposure import always_invested_test, drawdown_test, timing_test, vol_target_test
from finassay_checks.fidelity.ledger import Ledger, ledger
from finassay_checks.fidelity.optimised import Resolved, covariance_shown, weighting_shown
from finassay_checks.fidelity.selection import Selection, combination_test, factor_test, selection
from finassay_checks.fidelity.shown import Shown, cannot_tell
from finassay_checks.fidelity.sizing import weighting_test
from finassay_checks.fidelity.stops import sector_cap_test, stop_test

FLAT = 1e-7

ABSENT: Mapping[str, Observable] = {
    "cost.option:none": Observable("no-cost"),
    "timing.option:none": Observable("always-invested"),
    "risk.option:none": Observable("no-control"),
}
"""Tests of the session items of spec A.7."""


@define
class Observations:
    """Runs tests of one package; the heavy parts are computed once."""

    ledger: Ledger
    observables: Mapping[str, Observable]
    chosen: Selection
    resolved: Resolved

    def show(self, observable: Observable) -> Shown:
        test = TESTS.get(observable.test)
        if test is None:
            return cannot_tell(f"no test is called '{observable.test}'")
        try:
            with np.errstate(all="ignore"), warnings.catch_warnings():
                warnings.simplefilter("ignore", RuntimeWarning)  # empty and infinite cells of hostile tables
                return test(self, observable.arguments)
        except (KeyError, TypeError, ValueError, IndexError, ZeroDivisionError, FloatingPointError, np.linalg.LinAlgError) as error:
            return cannot_tell(f"the delivered tables do not serve the test ({type(error).__name__})")

    @property
    def weighting(self) -> str:
        return next((str(o.arguments.get("weighting", "")) for o in self.observables.values() if o.test == "optimised-weights"), "")

    @property
    def covariance(self) -> str:
        return next((str(o.arguments.get("estimator", "")) for o in self.observables.values() if o.test == "covariance"), "")


Arguments = Mapping[str, str | float]
CONTROLS = frozenset({"position-stop", "trailing-stop", "drawdown-to-cash", "sector-cap", "vol-target", "on-event"})
"""Tests of rules that may lower exposure without any market timing: risk controls, and purchases that wait for an event."""


def _long_only(found: Observations, arguments: Arguments) -> Shown:
    held = found.ledger.held
    if held is None:
        return cannot_tell("no holdings can be rebuilt")
    share = float((held.to_numpy() >= -FLAT).mean())
    return Shown(Stance.SUPPORTS if share >= 0.999 else Stance.CONTRADICTS, share, held.size, "holdings that are not short")


TESTS: Mapping[str, Callable[[Observations, Arguments], Shown]] = {
    "factor": lambda f, a: factor_test(f.chosen, str(a["factor"])),
    "combination": lambda f, a: combination_test(f.chosen, str(a["method"])),
    "timing": lambda f, a: _timing(f.ledger, str(a["rule"])),
    "equal-weights": lambda f, a: weighting_test(f.ledger, f.chosen, "equal"),
    "score-weights": lambda f, a: weighting_test(f.ledger, f.chosen, "score_prop"),
    "inverse-vol-weights": lambda f, a: weighting_test(f.ledger, f.chosen, "inverse_vol"),
    "market-cap-weights": lambda f, a: weighting_test(f.ledger, f.chosen, "market_cap"),
    "optimised-weights": lambda f, a: weighting_shown(f.resolved, str(a["weighting"]), str(a.get("covariance", "") or f.covariance)),
    "covariance": lambda f, a: covariance_shown(f.resolved, f.weighting or str(a.get("weighting", "risk_parity")), str(a["estimator"])),
    "position-stop": lambda f, a: stop_test(f.ledger, "position-stop", float(a["threshold"])),
    "trailing-stop": lambda f, a: stop_test(f.ledger, "trailing-stop", float(a["threshold"])),
    "drawdown-to-cash": lambda f, a: drawdown_test(f.ledger, float(a["threshold"])),
    "sector-cap": lambda f, a: sector_cap_test(f.ledger, float(a["cap"])),
    "vol-target": lambda f, a: vol_target_test(f.ledger, float(a["target"])),
    "schedule": lambda f, a: schedule_test(f.ledger, str(a["period"])),
    "drift-band": lambda f, a: drift_band_test(f.ledger),
    "on-event": lambda f, a: on_event_test(f.ledger),
    "fee-rate": lambda f, a: fee_test(f.ledger, float(a["bps"]) / 1e4),
    "long-only": _long_only,
    "no-cost": lambda f, a: no_cost_test(f.ledger),
    "always-invested": lambda f, a: _always_invested(f),
    "no-control": lambda f, a: no_control_test(f.ledger),
}


def _timing(own: Ledger, rule: str) -> Shown:
    shown = timing_test(own, rule)
    if shown.stance is Stance.CONTRADICTS:
        return shown
    other = another_rule(own, rule)
    return Shown(Stance.CONTRADICTS, shown.share, shown.count, other) if other else shown


def _always_invested(own: Observations) -> Shown:
    tests = {o.test for o in own.observables.values()}
    return always_invested_test(own.ledger, controlled=bool(tests & set(CONTROLS)), by_event="on-event" in tests)


def observations(package: Package) -> Observations:
    """The fact `observations`; use it as `package.fact(observations)`."""
    own = package.fact(ledger)
    chosen = selection(own, package.observables)
    return Observations(own, package.observables, chosen, Resolved(own, chosen))
