"""Tasks: a persona, a belief and the conditions, frozen together."""

from collections.abc import Mapping
from datetime import date
from typing import Any

from attrs import Factory, evolve, frozen

from finassay.api.strategy import Belief, Observable, Strategy, Universe


@frozen
class Goal:
    """Something the user wants to have in hand. The session closes only when every core goal is met with evidence."""

    id: str
    text: str
    core: bool = True


GOALS = (
    Goal("backtest", "A backtest of this strategy on real data."),
    Goal(
        "traceable-results",
        "Return, Sharpe ratio, maximum drawdown and number of trades that trace back to trade dates and prices.",
    ),
    Goal("report", "A report with a summary, the method, the results and the limitations."),
)
"""The core goals of the released tasks (paper, section 3.3)."""


@frozen
class Conditions:
    """c = (cutoff, channels, T, Δ) with what else must be equal for scores to be comparable."""

    cutoff: date
    """Last date whose data may be used, inclusive, in `timezone`."""
    universe: Universe
    channels: tuple[str, ...]
    """Ids of the channels through which the agent may reach data."""
    max_turns: int = 6
    turn_seconds: float = 300.0
    network: bool = False
    exchange: str = "XNYS"
    """ISO 10383 code of the exchange whose sessions count as trading days."""
    timezone: str = "America/New_York"
    session_seconds: float | None = None
    """Whole-session limit of wall-clock time, or none."""
    max_delivery_bytes: int = 4 * 2**30


@frozen
class Drawn:
    """Limits as a task was drawn with them, where a run has overridden them; None where not."""

    max_turns: int | None = None
    turn_seconds: float | None = None

    @property
    def values(self) -> dict[str, Any]:
        """Those that are known."""
        return {name: value for name, value in (("max_turns", self.max_turns), ("turn_seconds", self.turn_seconds)) if value is not None}


@frozen
class Task:
    """τ = (p, b, c). Sealed as a whole; an agent sees only its `Brief` and what the user says."""

    id: str
    grammar: str
    grammar_version: str
    seed: int
    persona: str
    """Id of the persona component."""
    strategy: Strategy
    belief: Belief
    conditions: Conditions
    goals: tuple[Goal, ...] = GOALS
    observables: Mapping[str, Observable] = Factory(dict)
    """Item id to the test by which trades can show it, so that grading does not need the grammar that drew the task."""
    drawn: Drawn = Drawn()
    """Conditions that a run has overridden, as they were before."""

    @property
    def as_drawn(self) -> "Task":
        """The task before any run overrode its conditions."""
        return evolve(self, conditions=evolve(self.conditions, **self.drawn.values), drawn=Drawn())

    def held_under(self, max_turns: int | None = None, turn_seconds: float | None = None) -> "Task":
        """The task with other limits; what it was drawn with stays known. None leaves a limit as it is."""
        before = self.as_drawn.conditions
        turns = self.conditions.max_turns if max_turns is None else max_turns
        seconds = self.conditions.turn_seconds if turn_seconds is None else turn_seconds
        drawn = Drawn(
            before.max_turns if before.max_turns != turns else None, before.turn_seconds if before.turn_seconds != seconds else None
        )
        return evolve(self, conditions=evolve(self.conditions, max_turns=turns, turn_seconds=seconds), drawn=drawn)


@frozen
class Brief:
    """All that an agent is told besides the user's messages: where to work and the limits. Holds nothing of the task's belief."""

    session: str
    """Opaque id, safe to use in file names."""
    instructions: str
    """The same text for every agent and task of a run."""
    max_turns: int
    turn_seconds: float
    channels: tuple[str, ...]
    network: bool
