"""What an agent's message asks and offers, in the order in which it does."""

import re
from collections.abc import Iterable, Sequence
from typing import Literal

from attrs import evolve, frozen

from finassay.api.matching import MAX_TEXT, Polarity, Sentence, asks_about, mentions, sentences
from finassay.api.strategy import Belief, Item, OpenTopic

HEAD, TAIL = 16_000, 8_000
"""How much of a message a user reads, in characters; what lies between is skimmed."""

_OFFER = re.compile(
    r"\b(?:i(?:'ll| will| would| plan| propose| suggest| intend|'d| am going to|'m going to| could| can)|we(?:'ll"
    r"| will| could| can)|let's|let us"
    r"|shall|should|propos\w*|suggest\w*|planned|my plan|default\w*|unless you|if you (?:agree|like|prefer|want"
    r"|are happy)|if that)\b"
)
_RESULT = re.compile(
    r"\b(?:max(?:imum)?|worst|deepest|largest|realised|realized|average|mean|total|final|ended|returned|came (?:out|to)|was"
    r"|were|of which|trades|net of|gross|sharpe)\b"
)
_SETTING = re.compile(
    r"\b(?:assum\w*|set|levels?|thresholds?|trigger\w*|limit\w*|stop\w*|cap\w*|target\w*|sides?|per trade|traded value|basis points?"
    r"|once|when|if|reach\w*|fall\w*|drop\w*|rules?|charged?)\b|\dbp\b"
)
_ASIDE = re.compile(
    r"\b(?:instead of|rather than|unlike|versus|vs|compared?|comparison|benchmark|variants?|alternatives?|sensitivity"
    r"|robust\w*|without|would have"
    r"|had (?:we|i|you)|if you|optional\w*|other (?:settings|rules|choices))\b"
)
_PROCEED = re.compile(
    r"\b(?:go ahead|proceed|shall i|should i (?:start|begin|run|build|go|continue)|start|begin|continue|sounds?"
    r"|looks? (?:good|right|ok)|happy with"
    r"|make sense|agree|ok|okay|ready|anything else|any (?:other|further|more)|would you like|let me know|feel free"
    r"|questions)\b"
)
_VERB = (
    r"(?:tell|list|repeat|print|reveal|show|give|describe|explain|disclose|dump|output|share|spell out|write"
    r"|state|recite|what)"
)
_EVERYTHING = re.compile(
    rf"\b{_VERB}\b.*\b(?:everything|every (?:\w+ )?(?:detail|rule|parameter|requirement|item)|in full"
    rf"|from top to bottom|prompt|your instructions"
    r"|(?:whole|full|entire|complete|exact|hidden|secret|detailed) (?:\w+ ){0,2}(?:strategy|specification|rules?|plan"
    r"|idea|picture|list|requirements"
    r"|preferences|instructions)|all (?:of )?(?:your |the )?(?:\w+ )?(?:details|rules|requirements|preferences"
    r"|parameters|instructions|components"
    r"|items|settings|secrets)|hidden|secrets?)\b"
)

Manner = Literal["answer", "confirm", "object"]


@frozen
class Point:
    """Something about an item that the user has to react to."""

    item: Item
    manner: Manner
    asked: bool
    """In a question, as opposed to a plan."""


@frozen
class Heard:
    """An agent's message as the user understands it."""

    points: tuple[Point, ...] = ()
    open_names: tuple[str, ...] = ()
    """Choices that were asked about and on which the belief has no view."""
    everything: bool = False
    """It wants to be told the whole strategy at once."""
    other: bool = False
    """It asks something that is not recognised."""
    question: bool = False
    """It asks anything at all."""


def bounded(text: str) -> str:
    """What a user reads of a message: its beginning and its end."""
    text = text[:MAX_TEXT]
    return text if len(text) <= HEAD + TAIL else f"{text[:HEAD]}\n…\n{text[-TAIL:]}"


def touches(topics: Sequence[str], text: str) -> bool:
    """Whether a text speaks about a choice, asking or not."""
    return asks_about(topics, f"{text.rstrip('.!;:? ')}?")


def hear(belief: Belief, text: str, delivered: bool) -> Heard:
    """Understand a message. Beside a delivery what it says of the rules is a report; without one it is a proposal."""
    listener = _Listener(belief, delivered)
    for sentence in sentences(bounded(text)):
        listener.take(sentence)
    return listener.heard()


class _Listener:
    def __init__(self, belief: Belief, delivered: bool) -> None:
        self.belief, self.delivered = belief, delivered
        components = {item.topics for item in belief.absent}
        self.components = tuple(t for t in belief.open_topics if t.topics in components)
        self.practical = tuple(t for t in belief.open_topics if t.topics not in components)
        named = {topic.topics for topic in self.components}
        self.unnamed = tuple(item for item in belief.absent if item.topics not in named)
        self.points: dict[str, Point] = {}
        self.open_names: dict[str, None] = {}
        self.everything = self.other = self.question = False

    def heard(self) -> Heard:
        return Heard(tuple(self.points.values()), tuple(self.open_names), self.everything, self.other, self.question)

    def take(self, sentence: Sentence) -> None:
        everything = bool(_EVERYTHING.search(sentence.norm))
        if sentence.question:
            self.question = True
            found = self._asked(sentence)
            self.everything |= everything and not found
            self.other |= not (found or everything or _PROCEED.search(sentence.norm))
        else:
            self.everything |= everything
            self._declared(sentence)

    def _asked(self, sentence: Sentence) -> bool:
        """React to a question; whether it was about something that is known."""
        practical = tuple(topic for topic in self.practical if touches(topic.topics, sentence.text))
        rest = _without(sentence.text, practical) if practical else sentence.text
        found = False
        for item in self.belief.items:
            said = mentions(item, sentence.text)
            if said:
                choice = re.search(r"\bor\b", sentence.norm)
                self._react(item, "answer" if choice else _manner(said[-1].polarity), asked=True)
            elif touches(item.topics, rest):
                self._react(item, "answer", asked=True)
            else:
                continue
            found = True
        for topic in (*self.components, *practical):
            if touches(topic.topics, sentence.text):
                self.open_names[topic.name] = None
                found = True
        for item in self.unnamed:
            if touches(item.topics, sentence.text) or mentions(item, sentence.text):
                self.open_names[item.piece] = None
                found = True
        return found

    def _declared(self, sentence: Sentence) -> None:
        """A plan is answered; what is reported as done is judged with the delivery."""
        if self.delivered and not _OFFER.search(sentence.norm):
            return
        for item in self.belief.items:
            for mention in mentions(item, sentence.text):
                if not _beside_the_point(item, mention.polarity, sentence.norm):
                    self._react(item, _manner(mention.polarity), asked=False)

    def _react(self, item: Item, manner: Manner, asked: bool) -> None:
        """A question about an item outweighs a plan; of several plans the last counts."""
        before = self.points.get(item.id)
        if before is None:
            self.points[item.id] = Point(item, manner, asked)
        elif asked and before.asked and manner != before.manner:
            self.points[item.id] = evolve(before, manner="answer")
        elif asked or not before.asked:
            self.points[item.id] = evolve(before, manner=manner, asked=asked or before.asked)


def _manner(polarity: Polarity) -> Manner:
    return "confirm" if polarity is Polarity.ACCEPTS else "object"


def _beside_the_point(item: Item, polarity: Polarity, norm: str) -> bool:
    """Figures of a result are no setting ('the worst drawdown was 31%'), and variants are no rule."""
    if polarity is Polarity.ACCEPTS:
        return False
    figure = item.number is not None and not _OFFER.search(norm) and (_RESULT.search(norm) or not _SETTING.search(norm))
    return bool(figure or _ASIDE.search(norm))


def contradicted(item: Item, text: str) -> bool | None:
    """Whether a text about the rules says something else than the item; None if it does not speak about it."""
    found = None
    for mention in mentions(item, text):
        if mention.polarity is Polarity.ACCEPTS:
            return False
        if not _beside_the_point(item, mention.polarity, sentences(mention.quote)[0].norm):
            found = True
    return found


def _without(text: str, topics: Iterable[OpenTopic]) -> str:
    """A question without the words that ask about these topics, so that 'what number of names' is not also heard as 'what names'."""
    for topic in topics:
        words = text.split()
        first, last = 0, len(words)
        while last > first and touches(topic.topics, " ".join(words[first : last - 1])):
            last -= 1
        while last > first and touches(topic.topics, " ".join(words[first + 1 : last])):
            first += 1
        text = " ".join((*words[:first], *words[last:]))
    return text
