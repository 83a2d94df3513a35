"""How things are said: the persona's phrases, chosen by hash, and checked so that a sentence tells what it is meant to and no more."""

import hashlib
from collections.abc import Iterable, Iterator, Sequence

from attrs import frozen

from finassay.api.matching import contains_term, normalise, stated
from finassay.api.persona import Persona
from finassay.api.strategy import Belief, Item, Unit


def chosen(seed: int, turn: int, place: str, count: int) -> int:
    """Index of a variant, below `count`; a function of its arguments alone."""
    return int(hashlib.sha256(f"{seed}|{turn}|{place}".encode()).hexdigest()[:13], 16) % count


def listed(parts: Sequence[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def filled(template: str, **values: str) -> str:
    """A phrase with its marks filled, beginning with a capital letter and ended by a stop."""
    text = template.format(**values).strip()
    text = text[:1].upper() + text[1:]
    return text if text.endswith((".", "!", "?")) else f"{text}."


def sayable(belief: Belief) -> tuple[Item, ...]:
    """Everything that words could settle: the items of H and the components that the belief leaves out."""
    return (*belief.items, *belief.absent)


@frozen
class Speech:
    """One message in the making."""

    belief: Belief
    persona: Persona
    allowed: frozenset[str]
    """Items that may be told now: those told before and those that the agent raised."""
    seed: int
    turn: int
    salt: int
    before: str = ""
    """All that the user said so far; what stands in it is said again only for want of another wording."""

    def rotated(self, variants: Sequence[str], place: str) -> Iterator[str]:
        """All variants, beginning with the one that the hash names."""
        first = chosen(self.seed, self.turn, f"{place}|{self.salt}", len(variants))
        return (variants[(first + step) % len(variants)] for step in range(len(variants)))

    def sound(self, text: str) -> bool:
        """Whether a text may be said: no forbidden term, no item that may not be told."""
        return contains_term(self.persona.forbidden, text) is None and stated(sayable(self.belief), text) <= self.allowed

    def say(self, variants: Sequence[str], place: str, plain: str, **values: str) -> str:
        """The first sound variant that fits, else `plain`, else nothing."""
        texts = [filled(template, **values) for template in (*self.rotated(variants, place), plain)]
        return next((text for text in self._fresh_first(texts) if self.sound(text)), "")

    def tell(self, variants: Sequence[str], item: Item, place: str, step: int = 0) -> str:
        """A sentence that tells an item: in the persona's words where the item is recognised in them, else plainly.

        `step` counts what was said in this manner before, so that two sentences in a row do not sound alike.
        """
        texts = [filled(template, sentence=item.sentence) for template in self.rotated(variants, place)]
        step %= len(texts)
        texts = [*self._fresh_first([*texts[step:], *texts[:step]]), *(filled(template) for template in _plainly(item))]
        told = next((text for text in texts if item.id in stated((item,), text) and self.sound(text)), "")
        return told or next((text for text in texts if self.sound(text)), "")

    def _fresh_first(self, texts: list[str]) -> list[str]:
        return sorted(texts, key=lambda text: text in self.before)

    def tells(self, texts: Iterable[str], item: Item) -> bool:
        """Whether what was said so far tells the item already."""
        return item.id in stated((item,), " ".join(texts))


def _plainly(item: Item) -> Iterator[str]:
    yield f"I want to {item.sentence}"
    yield f"I like {item.opening}"
    if item.number is not None:
        value = {
            Unit.PERCENT: f"{item.number.value:g}%",
            Unit.BASIS_POINTS: f"{item.number.value:g} basis points",
            Unit.COUNT: f"{item.number.value:g}",
        }[item.number.unit]
        yield f"{item.piece}: {value}"
        yield f"I have {value} there"


def unheard(text: str, said: Iterable[str], number: int) -> str:
    """The text, with a clause added if it was said before word for word."""
    before = {normalise(message) for message in said}
    if normalise(text) not in before:
        return text
    endings = ("As I said.", "That has not changed.", "I am repeating myself here.", f"I say so in my message {number}.")
    return next((longer for longer in (f"{text} {ending}" for ending in endings) if normalise(longer) not in before), text)
