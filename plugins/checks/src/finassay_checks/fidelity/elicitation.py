"""H, O, S, who raised each item first, clarification coverage and assumption rate (paper, section 4.1; spec D.0.4)."""

from collections.abc import Mapping
from typing import Literal

from attrs import Factory, frozen

from finassay.api.delivery import Package
from finassay.api.matching import Polarity, asked, mentions, proposed, stated
from finassay.api.strategy import Item

Raiser = Literal["question", "assumption", "delivery", "user", "nobody"]


@frozen
class Raised:
    by: Raiser
    turn: int
    quote: str = ""
    where: str = ""


@frozen
class Elicitation:
    """Item sets by id, in the order of H. `turn` of an item in S is that of the user's message: 0 is the opening."""

    h: tuple[str, ...]
    o: tuple[str, ...]
    s: tuple[str, ...]
    stated_turn: Mapping[str, int]
    stated_quote: Mapping[str, tuple[str, str]]
    """Item to (sentence, message id)."""
    session_items: tuple[str, ...]
    """`<component>.option:none` that the user decided in words (spec A.7)."""
    raised: Mapping[str, Raised] = Factory(dict)
    questions: int = 0
    """Sentences with which the agent asked something, over all turns."""
    builds: tuple[int, ...] = ()
    """Turns in which delivered files appeared or changed."""

    @property
    def coverage(self) -> float | None:
        """|S \\ O| / |H \\ O|; None if the opening told everything."""
        untold = set(self.h) - set(self.o)
        return len(set(self.s) - set(self.o)) / len(untold) if untold else None

    def raised_before(self, turn: int) -> tuple[str, ...]:
        """Items of H \\ O that the agent raised first, by a question or a right visible assumption, before the build of `turn`."""
        own = ("question", "assumption", "delivery")
        return tuple(i for i in self.h if i not in self.o and (r := self.raised.get(i)) and r.by in own and r.turn < turn)


def _quote(item: Item, text: str) -> str:
    said = [mention.quote for mention in mentions(item, text) if mention.polarity is Polarity.ACCEPTS]
    return said[-1] if said else " ".join(text.split())[:200]


def _turn_texts(package: Package) -> dict[int, list[tuple[str, str]]]:
    """Delivered prose that appeared or changed in each turn, as (path, text)."""
    from finassay_checks.fidelity.prose import new_prose

    return new_prose(package)


def _first_raised(item: Item, package: Package, prose: Mapping[int, list[tuple[str, str]]]) -> Raised:
    """Walk through the session; the first who speaks about the choice raised it. A wrong guess raises nothing (spec D.0.6)."""
    before = ""
    for message in package.conversation.messages:
        if message.sender == "user":
            if item.id in stated((item,), message.text, before):
                return Raised("user", message.turn, _quote(item, message.text), message.id)
            continue
        before = message.text
        if item.id in asked((item,), message.text):
            return Raised("question", message.turn, _question(item, message.text), message.id)
        if proposed((item,), message.text).get(item.id) is Polarity.ACCEPTS:
            return Raised("assumption", message.turn, _quote(item, message.text), message.id)
        for path, text in prose.get(message.turn, []):
            if proposed((item,), text).get(item.id) is Polarity.ACCEPTS:
                return Raised("delivery", message.turn, _quote(item, text), path)
    return Raised("nobody", 0)


def _question(item: Item, text: str) -> str:
    from finassay.api.matching import asks_about, sentences

    return next((s.text for s in sentences(text) if s.question and asks_about(item.topics, s.text)), "")


def elicitation(package: Package) -> Elicitation:
    """The fact `elicitation`; use it as `package.fact(elicitation)`."""
    from finassay.api.matching import sentences

    belief = package.task.belief
    turns: dict[str, int] = {}
    quotes: dict[str, tuple[str, str]] = {}
    decided: list[str] = []
    before = ""
    for message in package.conversation.messages:
        if message.sender == "agent":
            before = message.text
            continue
        for item in (*belief.items, *belief.absent):
            if item.id in stated((item,), message.text, before) and item.id not in turns:
                turns[item.id] = message.turn
                quotes[item.id] = (_quote(item, message.text), message.id)
                if item not in belief.items:
                    decided.append(item.id)
    # What the session's second check found told, in words that the matcher does not know: by the last message at the latest.
    last = max((m.turn for m in package.conversation.of("user")), default=0)
    turns |= {item.id: last for item in belief.items if item.id in package.confirmed and item.id not in turns}
    prose = _turn_texts(package)
    known = tuple(item.id for item in belief.items)
    return Elicitation(
        h=known,
        o=tuple(i for i in known if turns.get(i) == 0),
        s=tuple(i for i in known if i in turns),
        stated_turn=turns,
        stated_quote=quotes,
        session_items=tuple(decided),
        raised={item.id: _first_raised(item, package, prose) for item in belief.items},
        questions=sum(s.question for m in package.conversation.of("agent") for s in sentences(m.text)),
        builds=_builds(package),
    )


def _builds(package: Package) -> tuple[int, ...]:
    before: frozenset[tuple[str, str]] = frozenset()
    found = []
    for delivery in package.deliveries:
        now = frozenset((file.path, file.sha256) for file in delivery.files)
        if now - before:
            found.append(delivery.turn)
        before = now
    return tuple(found)
