"""The coherence rules, as named predicates over a combination."""

from collections.abc import Callable, Mapping
from typing import Final

from attrs import frozen

from finassay_us_long_only.options import FACTORS, OPTIMISERS

Combination = Mapping[str, tuple[str, ...]]


@frozen
class Rule:
    """`breaks` is true for a combination that the rule excludes."""

    id: str
    text: str
    breaks: Callable[[Combination], bool]


def _kinds(choices: Combination) -> list[str]:
    return [FACTORS[name].kind for name in choices["factor"]]


def _one(choices: Combination, slot: str) -> str:
    return choices.get(slot, ("none",))[0]


RULES: Final = {
    rule.id: rule
    for rule in (
        Rule(
            "R1",
            "a combination method is present if and only if there are two or more factors",
            lambda c: (len(c["factor"]) >= 2) != ("combination" in c),
        ),
        Rule(
            "R2",
            "screen_then_rank needs exactly two factors",
            lambda c: _one(c, "combination") == "screen_then_rank" and len(c["factor"]) != 2,
        ),
        Rule(
            "R3",
            "a covariance estimator is present if and only if weighting is risk_parity or mean_variance",
            lambda c: (_one(c, "weighting") in OPTIMISERS) != (_one(c, "covariance") != "none"),
        ),
        Rule("R4", "on_event needs a factor of kind event", lambda c: _one(c, "schedule") == "on_event" and "event" not in _kinds(c)),
        Rule("R5", "a fast factor excludes quarterly", lambda c: _one(c, "schedule") == "quarterly" and "fast" in _kinds(c)),
        Rule(
            "R6",
            "if every factor is fund, weekly is excluded",
            lambda c: _one(c, "schedule") == "weekly" and all(k == "fund" for k in _kinds(c)),
        ),
        Rule(
            "R7",
            "vol_regime timing and vol_target risk control exclude each other",
            lambda c: _one(c, "timing") == "vol_regime" and _one(c, "risk") == "vol_target",
        ),
        Rule(
            "R8",
            "factor low_vol and weighting inverse_vol exclude each other",
            lambda c: "low_vol" in c["factor"] and _one(c, "weighting") == "inverse_vol",
        ),
    )
}


def broken_rules(choices: Combination) -> tuple[Rule, ...]:
    """The rules that a combination breaks; a combination without factors breaks none of them, it is no combination."""
    return tuple(rule for rule in RULES.values() if rule.breaks(choices))


REJECTED: Final[dict[str, dict[str, tuple[str, ...]]]] = {}
"""For each rule a combination that only this rule excludes."""

_PLAIN = {
    "factor": ("mom_12_1",),
    "timing": ("none",),
    "weighting": ("equal",),
    "covariance": ("none",),
    "risk": ("none",),
    "schedule": ("monthly",),
    "cost": ("none",),
}
_TWO = {**_PLAIN, "factor": ("mom_12_1", "low_beta"), "combination": ("zscore_mean",)}
REJECTED["R1"] = {k: v for k, v in _TWO.items() if k != "combination"}
REJECTED["R2"] = {**_TWO, "factor": ("mom_12_1", "low_beta", "small_size"), "combination": ("screen_then_rank",)}
REJECTED["R3"] = {**_PLAIN, "weighting": ("risk_parity",)}
REJECTED["R4"] = {**_PLAIN, "schedule": ("on_event",)}
REJECTED["R5"] = {**_PLAIN, "factor": ("rev_5d",), "schedule": ("quarterly",)}
REJECTED["R6"] = {**_PLAIN, "factor": ("roe",), "schedule": ("weekly",)}
REJECTED["R7"] = {**_PLAIN, "timing": ("vol_regime",), "risk": ("vol_target",)}
REJECTED["R8"] = {**_PLAIN, "factor": ("low_vol",), "weighting": ("inverse_vol",)}
