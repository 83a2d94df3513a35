"""One place for every fault: its name, its dimension, how it must show, and the function that plants it."""

from collections.abc import Callable
from typing import Literal

import numpy as np
from attrs import frozen

from finassay_calibrate.clean.draft import Draft

Shows = Literal["veto", "lower", "finding"]
Planter = Callable[[Draft, np.random.Generator], Draft | None]


@frozen
class Fault:
    """`shows` is `veto` where the dimension's veto must fail, `lower` where its level must fall below that of the clean delivery, `finding`
    where it must fall or, since the figure may lie inside a tolerance, the evidence must name the fault.
    """

    id: str
    dimension: str
    text: str
    shows: Shows
    plant: Planter


FAULTS: dict[str, Fault] = {}


def fault(name: str, dimension: str, text: str, shows: Shows = "veto") -> Callable[[Planter], Planter]:
    """Register a planter. It gets a draft that it may change and gives it, or another, back; None if the draft cannot hold the fault."""

    def register(planter: Planter) -> Planter:
        if name in FAULTS:
            raise ValueError(f"two faults are called {name}")
        FAULTS[name] = Fault(name, dimension, text, shows, planter)
        return planter

    return register


def plant(name: str, draft: Draft, seed: int) -> Draft | None:
    """A copy of the draft with the fault in it, or None if it cannot hold it. Raises `KeyError` for an unknown fault."""
    try:
        return FAULTS[name].plant(draft.copy(), np.random.default_rng([seed, len(name), *map(ord, name[:8])]))
    except ValueError:
        return None
