"""From a grammar and a seed to a task."""

from collections.abc import Callable
from typing import Any

from finassay.api.errors import UsageError
from finassay.api.strategy import DATA_KINDS, Grammar, Universe
from finassay.api.task import Conditions, Task

PERSONAS = ("retail-investor", "generalist-analyst", "biotech-specialist")
"""Persona of task s is pool[s mod 3] unless the grammar pairs its own (`persona_for`)."""


def sample_task(grammar: Grammar, seed: int, needs: frozenset[str], conditions: Callable[[Universe], Conditions], *, id: str = "") -> Task:
    """The task of a seed: a pure function of the grammar's version, the seed, the data needed and the conditions.

    Without an `id` of its own it is named after the seed.

    Raises `UsageError` for a kind of data that there is not, or if no strategy can be built from those kinds.
    """
    unknown = needs - set(DATA_KINDS)
    if unknown:
        raise UsageError(f"no kind of data {min(unknown)!r}", hint=f"Kinds: {', '.join(DATA_KINDS)}.")
    try:
        strategy = grammar.sample(seed, needs)
    except ValueError as error:
        raise UsageError(f"grammar {grammar.id!r}, seed {seed}: {error}") from error
    chooser: Any = getattr(grammar, "persona_for", None)
    return Task(
        id=id or f"{grammar.id}-{seed}",
        grammar=grammar.id,
        grammar_version=grammar.version,
        seed=seed,
        persona=chooser(seed) if chooser else PERSONAS[seed % len(PERSONAS)],
        strategy=strategy,
        belief=grammar.belief(strategy),
        conditions=conditions(grammar.universe(strategy, needs)),
        observables=dict(grammar.observables(strategy)),
    )
