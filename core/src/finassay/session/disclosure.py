"""The disclosure gate: S_t ∖ S_{t−1} ⊆ Q(a_t) (paper, equation 2), enforced before a message is sent, for every simulator."""

import re
from typing import Final

from attrs import evolve, frozen

from finassay.api.matching import asks_about, normalise, raised, sentences, stated
from finassay.api.simulator import Rejection
from finassay.api.strategy import Belief, Item

RULES: Final = {
    "opening-incomplete": "the opening leaves out an item that it has to tell",
    "opening-tells-too-much": "the opening tells an item, or settles a component, that it should not",
    "volunteered": "the message tells an item, or settles a component, that the agent did not raise",
}
"""Rule id to what a message that breaks it does."""

_LEFT_OPEN = re.compile(r"\b(?:no (?:strong )?(?:preference|view|opinion)|you choose|your call|up to you|(?:do not|don't) mind)\b")


@frozen
class Disclosure:
    """What a user has told so far."""

    belief: Belief
    stated: frozenset[str] = frozenset()
    """S_t: ids of items of H told by now. Settled absent components (`cost.option:none`) are never in S and not kept here."""
    undecided: frozenset[str] = frozenset()
    """Items that the last message may have told in words the matcher does not know; left to a model's check where one runs."""

    def check_opening(self, message: str) -> tuple[Rejection, ...]:
        """The opening states the belief's opening items, all of them and no other, and settles no component that the belief leaves out."""
        told, wanted = stated(self._sayable, message), frozenset(self.belief.opening)
        problems = [Rejection("opening-incomplete", f"the opening does not tell {name}") for name in sorted(wanted - told)]
        problems += [Rejection("opening-tells-too-much", f"the opening tells {name}") for name in sorted(told - wanted)]
        return tuple(problems)

    def check(self, message: str, agent_message: str) -> tuple[Rejection, ...]:
        """One rejection for each item that the message tells first although the agent did not raise it. Repeating what was told is free."""
        fresh = stated(self._sayable, message, agent_message) - self.stated
        volunteered = fresh - raised(self._sayable, agent_message) if fresh else fresh
        return tuple(Rejection("volunteered", f"the message tells {name}, which the agent did not raise") for name in sorted(volunteered))

    def after(self, message: str, agent_message: str) -> "Disclosure":
        """The state once the message was sent."""
        told = self.stated | stated(self.belief.items, message, agent_message)
        unclear = (item.id for item in self.belief.items if item.id not in told and _touches(item, message))
        return evolve(self, stated=told, undecided=frozenset(unclear))

    @property
    def _sayable(self) -> tuple[Item, ...]:
        return (*self.belief.items, *self.belief.absent)


def _touches(item: Item, message: str) -> bool:
    """Whether a sentence that decides something speaks about the item's choice without a phrase that the matcher knows."""
    for sentence in sentences(message):
        if sentence.question or _LEFT_OPEN.search(sentence.norm):
            continue
        if normalise(item.piece) in sentence.norm or asks_about(item.topics, f"{sentence.text.rstrip('.!; ')}?"):
            return True
    return False
