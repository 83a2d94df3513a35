"""A delivery before it is written: its tables in canonical form, its figures, its rules and the conversation. Faults change a draft."""

from copy import deepcopy
from datetime import date

import pandas as pd
from attrs import define, field, frozen

from finassay.api.strategy import Belief, Strategy, Universe
from finassay_calibrate.clean.layouts.spec import Layout
from finassay_calibrate.market.synthetic import SyntheticMarket
from finassay_reference.delivered.engine.strategy import Strategy as Settings


@frozen(eq=False)
class Setup:
    """Where a delivery comes from: what the investor wants, what was run, on which market, by which builder, in which layout."""

    seed: int
    strategy: Strategy
    belief: Belief
    universe: Universe
    settings: Settings
    market: SyntheticMarket = field(repr=False)
    builder: str
    layout: Layout
    cutoff: date

    @property
    def id(self) -> str:
        return f"{self.builder}-{self.strategy.seed}-{self.layout.name}"


@define(eq=False)
class Rule:
    """One row of the rule table. `item` is the belief's item that it states, if any."""

    component: str
    choice: str
    text: str
    source: str = "you"
    item: str = ""


@define(eq=False)
class Draft:
    """Tables by name (prices, index, universe, signals, targets, trades, positions, equity, benchmark, states, fundamentals, …)."""

    setup: Setup
    tables: dict[str, pd.DataFrame]
    figures: dict[str, float]
    """As reported: what a fault changes here stands in the report and in the metrics table."""
    rules: list[Rule]
    answers: list[str]
    """What the investor says when asked, in order."""
    questions: list[str]
    timing: str
    """How orders are filled, in words."""
    code: dict[str, str] = field(factory=dict)
    sections: dict[str, str] = field(factory=dict)
    """Heading to text that replaces, or is added to, the report's own sections."""
    appended: dict[str, str] = field(factory=dict)
    """Heading to a paragraph that follows the section's own text."""
    dropped: set[str] = field(factory=set)
    """Headings and table names that are left out."""
    extra: dict[str, bytes] = field(factory=dict)
    """Other files by path."""
    closing: str = ""
    """What the agent adds to its last message."""
    later: list[tuple[str, str]] = field(factory=list)
    """Further exchanges before the last message: what the user says, what the agent answers."""

    def copy(self) -> "Draft":
        """A draft that can be changed; the setup is shared."""
        twin = Draft(self.setup, {name: frame.copy() for name, frame in self.tables.items()}, dict(self.figures), [], [], [], self.timing)
        for name in ("rules", "answers", "questions", "code", "sections", "appended", "dropped", "extra", "closing", "later"):
            setattr(twin, name, deepcopy(getattr(self, name)))
        return twin
