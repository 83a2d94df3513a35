"""The exact size of the space, by classes: factor sets that the rules cannot tell apart are counted together."""

from collections import Counter
from collections.abc import Iterator
from functools import cache
from itertools import combinations, product
from math import prod

from finassay_us_long_only.options import FACTORS, FAMILIES, OPTIMISERS, SLOTS
from finassay_us_long_only.rules import RULES, Combination

SLOT_NAMES = ("combination", "timing", "weighting", "covariance", "risk", "schedule", "cost")


@cache
def factor_sets() -> tuple[tuple[str, ...], ...]:
    """All sets of one to three factors from different families: 15 + 97 + 353 = 465."""
    return tuple(
        members
        for n in (1, 2, 3)
        for families in combinations(FAMILIES, n)
        for members in product(*(FAMILIES[family] for family in families))
    )


def _features(members: tuple[str, ...]) -> tuple[int, bool, bool, bool, bool]:
    """(number, has event, has fast, all fund, has low_vol): all that the rules look at in a factor set."""
    kinds = [FACTORS[name].kind for name in members]
    return len(members), "event" in kinds, "fast" in kinds, all(k == "fund" for k in kinds), "low_vol" in members


def _representatives() -> list[tuple[tuple[str, ...], int]]:
    """One factor set of each class, with the size of the class."""
    sizes = Counter(map(_features, factor_sets()))
    found = {_features(members): members for members in factor_sets()}
    return [(members, sizes[key]) for key, members in found.items()]


TOLD_APART = {
    "combination": ("screen_then_rank",),
    "timing": ("vol_regime",),
    "weighting": ("inverse_vol", *sorted(OPTIMISERS)),
    "covariance": ("none",),
    "risk": ("vol_target",),
    "schedule": ("on_event", "quarterly", "weekly"),
    "cost": (),
}
"""Options that a rule looks at. The other options of a slot are alike to every rule: one stands for all."""


def _alike(slot: str) -> list[tuple[str, tuple[str, ...]]]:
    """(one option, all options that no rule tells apart from it) of a slot."""
    special: list[tuple[str, tuple[str, ...]]] = [(name, (name,)) for name in TOLD_APART[slot]]
    rest = tuple(o.id for o in SLOTS[slot] if o.id not in TOLD_APART[slot])
    return [*special, (rest[0], rest)] if rest else [*special]


def _slot_products(members: tuple[str, ...]) -> Iterator[tuple[Combination, dict[str, tuple[str, ...]]]]:
    """(a combination, for each slot the options alike to the one taken) for one factor set; R1 holds by construction."""
    slots = [_alike(name) if name != "combination" or len(members) >= 2 else [("none", ("none",))] for name in SLOT_NAMES]
    for taken in product(*slots):
        choices: dict[str, tuple[str, ...]] = {"factor": members}
        choices.update({slot: (one,) for slot, (one, _) in zip(SLOT_NAMES, taken, strict=True) if slot != "combination" or one != "none"})
        yield choices, {slot: alike for slot, (_, alike) in zip(SLOT_NAMES, taken, strict=True)}


@cache
def count() -> dict[str, dict[str, int]]:
    """Coherent strategies by number of factors and by option of each slot, and raw combinations that each rule rejects.

    Keys: `total` {coherent, raw, factor sets}, `factors` {1, 2, 3}, one for each slot, `rejected` {R2 … R8}.
    """
    by: dict[str, Counter[str]] = {name: Counter() for name in ("total", "factors", *SLOT_NAMES, "rejected")}
    by["total"]["factor sets"] = len(factor_sets())
    for members, size in _representatives():
        for choices, alike in _slot_products(members):
            weight = size * prod(len(options) for options in alike.values())
            broken = [rule.id for rule in RULES.values() if rule.breaks(choices)]
            by["total"]["raw"] += weight
            by["rejected"].update(dict.fromkeys(broken, weight))
            if broken:
                continue
            by["total"]["coherent"] += weight
            by["factors"][str(len(members))] += weight
            for slot, options in alike.items():
                by[slot].update(dict.fromkeys(options, weight // len(options)))
    return {name: {key: counts[key] for key in _ordered(name, counts)} for name, counts in by.items()}


def _ordered(name: str, counts: Counter[str]) -> list[str]:
    known = [o.id for o in SLOTS.get(name, ())]
    return [key for key in known if key in counts] + sorted(key for key in counts if key not in known)
