"""Strategies, the items a belief voices, and the protocol of a strategy grammar."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final, Protocol, runtime_checkable

from attrs import Factory, frozen


class Unit(StrEnum):
    """Unit of a voiced number. Matching converts notations (0.2, 20 %, 2000 bp, 'a fifth') into this unit."""

    PERCENT = "percent"
    BASIS_POINTS = "bp"
    COUNT = "count"


@frozen
class Number:
    """A voiced value: 20 with `Unit.PERCENT` is a fifth, 15 with `Unit.BASIS_POINTS` is 0.0015."""

    value: float
    unit: Unit


@frozen(cache_hash=True)
class Item:
    """One thing that a belief voices: an element of H (or, for `<component>.option:none`, a possible session item).

    `topics`, `accept` and `reject` are patterns in the language of `finassay.api.matching`.
    """

    id: str
    """For example `stock.factor:mom_12_1`, `risk.threshold`; ids compare as whole strings."""
    component: str
    """One of the grammar's components, for example `stock`, `timing`, `portfolio`, `risk`, `execution`, `cost`."""
    slot: str
    """The choice it decides, for example `weighting`. Items of one slot are alternatives, except that `stock.factor` may hold several."""
    piece: str
    """What a user calls this part of a delivery without restating the strategy: 'the position sizing'."""
    sentence: str
    """The conviction in plain words with exact numbers; no persona's forbidden term."""
    opening: str
    """The same as a clause that follows 'I like' in a vague opening: 'last year's winners, skipping the latest month'."""
    topics: tuple[str, ...]
    """How people ask about the choice, whatever the answer."""
    accept: tuple[str, ...]
    """How the item is said."""
    reject: tuple[str, ...]
    """How the alternatives are said: the other options of the slot."""
    number: Number | None = None
    """Present if saying the item needs a value; patterns then use `{number}`."""


@frozen
class OpenTopic:
    """Something a user may be asked about on which the belief has no view: 'no preference, you choose'."""

    id: str
    name: str
    """As a user says it: 'the number of names'."""
    topics: tuple[str, ...]


@frozen
class Belief:
    """The hidden strategy in words. Sealed: read by the simulator and the evaluator only.

    `items` is H in the order of the grammar, `opening` names O, `absent` holds one possible session item
    (`<component>.option:none`) for each component that the belief does not voice, `open_topics` what it leaves open.
    """

    items: tuple[Item, ...]
    opening: tuple[str, ...]
    absent: tuple[Item, ...] = ()
    open_topics: tuple[OpenTopic, ...] = ()

    def of(self, component: str) -> tuple[Item, ...]:
        """H_k: the voiced items of one component, possibly none."""
        return tuple(item for item in self.items if item.component == component)

    def item(self, item_id: str) -> Item:
        """The voiced or absent item of that id. Raises `KeyError` for another id."""
        for item in (*self.items, *self.absent):
            if item.id == item_id:
                return item
        raise KeyError(item_id)


@frozen
class Strategy:
    """One point of a grammar's space with its drawn values."""

    grammar: str
    grammar_version: str
    seed: int
    choices: Mapping[str, tuple[str, ...]]
    """Slot to chosen option ids; `factor` may hold several, an absent slot is not present."""
    parameters: Mapping[str, float] = Factory(dict)
    """Voiced and unvoiced values by parameter name."""
    difficulty: int = 0


@frozen
class Universe:
    """What the strategy may hold: told in the opening, never part of the belief."""

    id: str
    text: str
    """As the user says it: 'these eight names: AAPL, …'."""
    tickers: tuple[str, ...] = ()


@frozen
class SpaceSize:
    """Exact number of coherent strategies before parameter values, with breakdowns: `by['weighting']['equal']`."""

    total: int
    by: Mapping[str, Mapping[str, int]]


@frozen
class RuleViolation:
    """A coherence rule that a combination breaks."""

    rule: str
    text: str


class Stance(StrEnum):
    """What delivered trades, weights and prices say about an item."""

    SUPPORTS = "supports"
    CONTRADICTS = "contradicts"
    CANNOT_TELL = "cannot tell"


@frozen
class Observable:
    """How trades can show an item: the name of the test and its arguments.

    The grammar names the test (`schedule`, `equal-weights`, `fee-rate`, `factor`, `long-only` …) because it knows what the option
    means; the evaluator runs it because it knows how deliveries are read. An unknown name gives `Stance.CANNOT_TELL`.
    """

    test: str
    arguments: Mapping[str, str | float] = Factory(dict)


DATA_KINDS: Final = ("prices", "fundamentals", "sectors", "announcements", "market-cap", "rates")
"""Kinds of data that strategies may need."""


@runtime_checkable
class Grammar(Protocol):
    """A space of strategies that can be sampled, counted and put into words.

    Everything is a pure function of the grammar's version and the arguments. `needs` names kinds of data
    (`DATA_KINDS`); a strategy is drawn only if those suffice; the empty set means every kind.
    """

    id: str
    version: str
    components: tuple[str, ...]

    def sample(self, seed: int, needs: frozenset[str] = frozenset()) -> Strategy:
        """The strategy of a seed: draw, and redraw whole until it is coherent and the data can serve it."""
        ...

    def check(self, choices: Mapping[str, tuple[str, ...]]) -> tuple[RuleViolation, ...]:
        """The coherence rules that a combination breaks; empty if it is in the space."""
        ...

    def size(self) -> SpaceSize:
        """Exact count of the space, without enumerating it; under a second."""
        ...

    def belief(self, strategy: Strategy) -> Belief:
        """H, O, the absent items and the open topics of a strategy."""
        ...

    def universe(self, strategy: Strategy, needs: frozenset[str] = frozenset()) -> Universe:
        """The universe paired with the strategy's seed."""
        ...

    def observables(self, strategy: Strategy) -> Mapping[str, Observable]:
        """Item id to the test by which trades can show it; items that no trade can show are absent."""
        ...

    def rejected_examples(self) -> Mapping[str, Mapping[str, tuple[str, ...]]]:
        """For each rule's id one combination that only this rule rejects; for conformance and documentation."""
        ...
