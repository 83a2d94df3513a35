"""The seeded draw. No library's random numbers: their streams may change between versions."""

from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Final

from finassay_us_long_only.options import FACTORS, FAMILIES, N_WEIGHTS, SLOTS, UNVOICED_GRIDS, VOICED_GRIDS
from finassay_us_long_only.rules import broken_rules

NAMESPACE: Final = "strategy-grammar/v1/1700"
MAX_ATTEMPTS: Final = 10_000

Choices = dict[str, tuple[str, ...]]


class Draw:
    """Uniform numbers of one seed and attempt, one for each slot."""

    def __init__(self, seed: int, attempt: int) -> None:
        self._prefix = f"{NAMESPACE}|{seed}|{attempt}|"

    def uniform(self, slot: str) -> float:
        """In [0, 1): the first 13 hexadecimal digits of a SHA-256."""
        return int(sha256((self._prefix + slot).encode()).hexdigest()[:13], 16) / 16**13

    def choose(self, slot: str, options: Sequence[str], weights: Sequence[float] | None = None) -> str:
        """The first option whose cumulative weight exceeds u times the total, strictly."""
        shares = [1.0] * len(options) if weights is None else list(weights)
        target, reached = self.uniform(slot) * sum(shares), 0.0
        for option, share in zip(options, shares, strict=True):
            reached += share
            if reached > target:
                return option
        return options[-1]


def draw_choices(seed: int, needs: frozenset[str]) -> Choices:
    """The coherent, servable combination of a seed: everything is drawn again until it is. Raises `ValueError` if the data serve nothing."""
    for attempt in range(MAX_ATTEMPTS):
        choices = _draw_once(Draw(seed, attempt))
        if not broken_rules(choices) and servable(choices, needs):
            return choices
    raise ValueError(f"no strategy can be built from {', '.join(sorted(needs))} alone")


def _draw_once(draw: Draw) -> Choices:
    count = int(draw.choose("n", [str(n) for n in N_WEIGHTS], list(N_WEIGHTS.values())))
    factors: list[str] = []
    families = list(FAMILIES)
    for index in range(count):
        family = draw.choose(f"family{index}", families)
        families.remove(family)
        factors.append(draw.choose(f"factor{index}", FAMILIES[family]))
    choices: Choices = {"factor": tuple(factors)}
    if count >= 2:
        choices["combination"] = (_slot(draw, "combination", "comb"),)
    for slot, name in (
        ("timing", "timing"),
        ("weighting", "weight"),
        ("covariance", "cov"),
        ("risk", "risk"),
        ("schedule", "sched"),
        ("cost", "cost"),
    ):
        choices[slot] = (_slot(draw, slot, name),)
    return choices


def _slot(draw: Draw, slot: str, name: str) -> str:
    return draw.choose(name, [o.id for o in SLOTS[slot]], [o.weight for o in SLOTS[slot]])


def servable(choices: Mapping[str, tuple[str, ...]], needs: frozenset[str]) -> bool:
    """Whether these kinds of data suffice; the empty set stands for every kind."""
    if not needs:
        return True
    wanted = frozenset[str]().union(*(FACTORS[name].needs for name in choices["factor"]))
    for slot, options in SLOTS.items():
        wanted |= frozenset().union(*(o.needs for o in options if (o.id,) == choices.get(slot)))
    return wanted <= needs


def draw_parameters(seed: int, choices: Mapping[str, tuple[str, ...]]) -> dict[str, float]:
    """Values of the chosen options: the voiced ones under the option's id, the others as defaults."""
    draw = Draw(seed, 0)
    values: dict[str, float] = {}
    for options in choices.values():
        for option in options:
            if option in VOICED_GRIDS:
                values[option] = float(draw.choose(f"value:{option}", [str(v) for v in VOICED_GRIDS[option]]))
    for name, grid in UNVOICED_GRIDS.items():
        values[name] = float(draw.choose(f"value:{name}", [str(v) for v in grid]))
    return values


def difficulty(choices: Mapping[str, tuple[str, ...]]) -> int:
    """Sum over all slots (reading E1 of the specification)."""
    total = sum(FACTORS[name].difficulty for name in choices["factor"])
    return total + sum(o.difficulty for slot, options in SLOTS.items() for o in options if (o.id,) == choices.get(slot))


def opening_ids(seed: int, items: Sequence[tuple[str, str]]) -> tuple[str, ...]:
    """O from H as (item id, slot) in order: the first factor and the schedule, then k more of those that may be told at once.

    At least two items stay untold.
    """
    draw = Draw(seed, 0)
    first = next(name for name, slot in items if slot == "factor")
    always = [first, *(name for name, slot in items if slot == "schedule")]
    pool = [name for name, slot in items if name not in always and slot in ("factor", "weighting", "timing", "risk")]
    pool.sort(key=lambda name: draw.uniform(f"open:{name}"))
    wanted = int(draw.choose("open.k", ["0", "1", "2"], [0.2, 0.5, 0.3]))
    extra = pool[: max(0, min(wanted, len(items) - 2 - len(always)))]
    return tuple(name for name, _ in items if name in {*always, *extra})
