"""The disclosure gate: S_t ∖ S_{t−1} ⊆ Q(a_t) (paper, equation 2), enforced before a message is sent, for every simulator."""

import re
from collections.abc import Callable, Mapping
from typing import Final

from attrs import evolve, frozen

from finassay.api.matching import asks_about, contains_quote, normalise, raised, sentences, stated
from finassay.api.simulator import DisclosureVerdict, Rejection
from finassay.api.strategy import Belief, Item

RULES: Final = {
    "opening-incomplete": "the opening leaves out an item that it has to tell",
    "opening-tells-too-much": "the opening tells an item, or settles a component, that it should not",
    "volunteered": "the message tells an item, or settles a component, that the agent did not raise",
}
"""Rule id to what a message that breaks it does."""

Ask = Callable[[tuple[Item, ...]], DisclosureVerdict | None]
"""The second check on the items that the matcher leaves open; None where no verdict comes."""

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
        return self.read(message, "", opening=True).rejections

    def check(self, message: str, agent_message: str) -> tuple[Rejection, ...]:
        """One rejection for each item that the message tells first although the agent did not raise it. Repeating what was told is free."""
        return self.read(message, agent_message).rejections

    def after(self, message: str, agent_message: str) -> "Disclosure":
        """The state once the message was sent."""
        return self.read(message, agent_message).after

    def read(self, message: str, agent_message: str, ask: Ask | None = None, *, opening: bool = False) -> "Heard":
        """What a message tells, with the matcher's verdict and, where that leaves something open, that of the second check.

        Open is what a message may tell in words that the matcher does not know, and what it tells although no words are known with which
        the agent raised it. `opening`: the message is held to the opening's rules.
        """
        fresh = stated(self.sayable, message, agent_message) - self.stated
        asked = raised(self.sayable, agent_message) if agent_message else frozenset[str]()
        unclear = {item.id for item in self.belief.items if item.id not in self.stated | fresh and touches(item, message)}
        doubtful = unclear if opening else unclear | (fresh - asked)
        verdict = ask(tuple(item for item in self.sayable if item.id in doubtful)) if ask and doubtful else None
        if verdict is not None:
            told = {name for name, words in verdict.told.items() if name in unclear and contains_quote(words, message)}
            fresh, unclear = fresh | told, set()
            specific = _specific(self.sayable, verdict.raised)
            asked |= {name for name, words in specific.items() if name in doubtful and contains_quote(words, agent_message)}
        rejections = self._of_opening(fresh) if opening else _volunteered(fresh - asked)
        voiced = frozenset(item.id for item in self.belief.items)
        after = evolve(self, stated=self.stated | (fresh & voiced), undecided=frozenset(unclear))
        return Heard(rejections, after, fresh, asked, frozenset(doubtful), verdict)

    def _of_opening(self, told: frozenset[str]) -> tuple[Rejection, ...]:
        wanted = frozenset(self.belief.opening)
        problems = [Rejection("opening-incomplete", f"the opening does not tell {name}") for name in sorted(wanted - told)]
        problems += [Rejection("opening-tells-too-much", f"the opening tells {name}") for name in sorted(told - wanted)]
        return tuple(problems)

    @property
    def sayable(self) -> tuple[Item, ...]:
        """Everything that words could settle: the items of H and the components that the belief leaves out."""
        return (*self.belief.items, *self.belief.absent)


@frozen
class Heard:
    """What the gate found in one message."""

    rejections: tuple[Rejection, ...]
    after: Disclosure
    """What the user has told once the message is sent."""
    told: frozenset[str]
    """Items, absent components included, that it tells for the first time."""
    raised: frozenset[str]
    """Q(a_t)."""
    doubtful: frozenset[str] = frozenset()
    """What the matcher left open."""
    verdict: DisclosureVerdict | None = None
    """The second check's, if there was one."""


def _specific(items: tuple[Item, ...], raised: Mapping[str, str]) -> dict[str, str]:
    """Raised items whose words are about one component. Words that are to raise several ('tell me everything') raise none."""
    component = {item.id: item.component for item in items}
    about: dict[str, set[str]] = {}
    for name, words in raised.items():
        about.setdefault(" ".join(words.split()), set()).add(component.get(name, ""))
    return {name: words for name, words in raised.items() if len(about[" ".join(words.split())]) == 1}


def _volunteered(items: frozenset[str]) -> tuple[Rejection, ...]:
    return tuple(Rejection("volunteered", f"the message tells {name}, which the agent did not raise") for name in sorted(items))


def touches(item: Item, message: str) -> bool:
    """Whether a sentence that decides something speaks about the item's choice without a phrase that the matcher knows."""
    for sentence in sentences(message):
        if sentence.question or _LEFT_OPEN.search(sentence.norm):
            continue
        if normalise(item.piece) in sentence.norm or asks_about(item.topics, f"{sentence.text.rstrip('.!; ')}?"):
            return True
    return False
