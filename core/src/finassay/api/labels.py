"""Labels of what the simulated user said: how well each message kept to its part, and what it did to the agent.

Programs label every message when it is sent. The labels are first labels: people may decide otherwise. Leaks help an agent and errors
hinder it, so that rates are told in both directions.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from enum import StrEnum

from attrs import Factory, frozen


class Conduct(StrEnum):
    """What a message was, by its worst slip."""

    ERROR_FREE = "error-free"
    BENIGN = "benign"
    """It broke a rule of the part, with no effect on what the agent can know or build."""
    HELPED = "critical-helped"
    """It gave away something that the agent had not asked for."""
    HINDERED = "critical-hindered"
    """It misled the agent, or kept back what it was asked for."""


@frozen
class Slip:
    """One thing that a message did wrong. Sealed: `reason` and `items` name what is hidden."""

    kind: str
    effect: Conduct
    reason: str
    quote: str
    """The sentence, verbatim."""
    items: tuple[str, ...] = ()


@frozen
class UserLabel:
    """The label of one message of the user, with its reasons."""

    turn: int
    label: Conduct
    slips: tuple[Slip, ...] = ()


WORST_FIRST = (Conduct.HINDERED, Conduct.HELPED, Conduct.BENIGN)


def label_of(turn: int, slips: tuple[Slip, ...]) -> UserLabel:
    """The label that a message's slips give: the worst counts, misleading before giving away."""
    effects = {slip.effect for slip in slips}
    return UserLabel(turn, next((effect for effect in WORST_FIRST if effect in effects), Conduct.ERROR_FREE), slips)


@frozen
class LabelCounts:
    """How many of the user's messages have which label."""

    by_label: Mapping[str, int] = Factory(dict)
    by_kind: Mapping[str, int] = Factory(dict)
    """Messages with a kind of slip."""

    @property
    def messages(self) -> int:
        return sum(self.by_label.values())

    def share(self, label: Conduct) -> float | None:
        """Share of the labelled messages, 0 to 1; None where none is labelled."""
        return self.by_label.get(label.value, 0) / self.messages if self.messages else None


def count_labels(messages: Iterable[tuple[str, Iterable[str]]]) -> LabelCounts:
    """Counts over (label, kinds of slips) of messages. Messages without a label, from older records, are left out."""
    known = [(label, tuple(kinds)) for label, kinds in messages if label]
    kinds = Counter(kind for _, found in known for kind in set(found))
    return LabelCounts(dict(Counter(label for label, _ in known)), dict(kinds.most_common()))
