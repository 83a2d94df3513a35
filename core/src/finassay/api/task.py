"""Tasks: a persona, a belief and the conditions, frozen together."""

from collections.abc import Mapping
from datetime import date

from attrs import Factory, frozen

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
