"""A message of the user in its place: what was said before, what is seen, and which choices a sentence speaks about."""

import re
from collections.abc import Iterator
from functools import cached_property

from attrs import define

from finassay.api.matching import MAX_TEXT, Polarity, Sentence, asks_about, mentions, normalise, sentences
from finassay.api.patterns import found, hits
from finassay.api.simulator import Scene
from finassay.api.strategy import Item, OpenTopic
from finassay.session.disclosure import Disclosure, Heard

NO_VIEW = re.compile(
    r"\b(?:no (?:strong |real |particular )?(?:preference|view|opinion)s?|you (?:choose|decide|pick)|your (?:call|choice)|up to you"
    r"|whatever you|(?:don't|do not) (?:really |much )?(?:mind|care)|leave (?:it|that|this|them|those) to you|not fussed|no (?:idea|thoughts))\b"
)
WORDS = 25
"""A phrase of so many characters is about one thing."""
COMPARES = re.compile(r"\b(?:against|versus|vs|compar\w+|benchmark|for reference)\b")
_BRACKETS = re.compile(r"\[[^\[\]]{0,400}\]|\((?:i|we)(?:'ve| have)? (?:assum|us|chose|pick|took|set)[^()]{0,400}\)", re.IGNORECASE)
_OFFERS = re.compile(
    r"^(?:(?:happy|glad) to\b|i can (?:also )?(?:adjust|change|add)\b|(?:please )?(?:tell me|let me know|say so|say|shout) if you"
    r"(?:'d| would)? (?:want|prefer|like|need)\b)"
)


@define(slots=False)
class Said:
    """One message. What it tells is the gate's reading of it (`heard`)."""

    message: str
    action: str
    scene: Scene
    before: Disclosure
    heard: Heard
    agent: str
    """The agent's message that it answers; empty for the opening."""

    @property
    def opening(self) -> bool:
        return not self.agent

    @cached_property
    def statements(self) -> tuple[Sentence, ...]:
        """Sentences that decide or report something."""
        return tuple(s for s in sentences(self.message) if not s.norm.endswith("?"))

    @cached_property
    def untold(self) -> tuple[Item, ...]:
        """Items of H that the user has not told yet, this message included."""
        return tuple(item for item in self.before.belief.items if item.id not in self.heard.after.stated)

    @cached_property
    def questions(self) -> tuple[str, ...]:
        """What the agent asks, without the assumptions that stand in brackets beside a question, and without mere offers."""
        asking = (without_assumptions(s.text) for s in sentences(self.agent) if s.question)
        return tuple(text for text in asking if "?" in text or not _OFFERS.search(normalise(text)))

    @cached_property
    def seen(self) -> tuple[str, ...]:
        """All that the agent has said and what is visible of the files."""
        texts = (*(m.text for m in self.scene.conversation.of("agent")), *(e.text for e in self.scene.excerpts))
        return tuple(text[:MAX_TEXT] for text in texts)

    def asks(self, topics: tuple[str, ...]) -> bool:
        """Whether the agent's message asks about a choice: in words that are not those of a choice left open ('what account size')."""
        return any(self.about(question, topics) for question in self.questions)

    def asks_openly(self, topic: OpenTopic) -> bool:
        """The same of a choice that the belief leaves open."""
        return any(touched(topic.topics, question) for question in self.questions)

    def about(self, text: str, topics: tuple[str, ...]) -> bool:
        """Whether a text of the agent's speaks about a choice, and not of a comparison or of a choice left open in the same words."""
        norm = normalise(text)
        if COMPARES.search(norm):
            return False
        spans = [hit.span() for _, hit in hits(topics, norm)]
        if not spans:
            return False
        others = [hit.span() for topic in self.before.belief.open_topics if topic.topics != topics for _, hit in hits(topic.topics, norm)]
        wider = [(a, b) for a, b in others if b - a <= WORDS]
        return any(not any(a <= start and end <= b and (a, b) != (start, end) for a, b in wider) for start, end in spans)

    def spoken_of(self, item: Item) -> bool:
        """Whether the agent ever raised the item, or anything visible says or contradicts it."""
        return item.id in self.heard.raised or any(mentions(item, text) for text in self.seen)

    def says_an_item(self, sentence: Sentence) -> bool:
        """Whether a sentence states something of the belief."""
        return any(m.polarity is Polarity.ACCEPTS for item in self.before.belief.items for m in mentions(item, sentence.text))

    def open_topics(self, text: str) -> Iterator[OpenTopic]:
        """Choices without a view that a text speaks about."""
        return (topic for topic in self.before.belief.open_topics if touched(topic.topics, text))

    def others(self, item: Item) -> tuple[Item, ...]:
        """Items of the same choice."""
        return tuple(one for one in self.before.belief.items if one.slot == item.slot and one is not item)


def touched(topics: tuple[str, ...], text: str) -> bool:
    """Whether a text speaks about a choice, asking or not."""
    return asks_about(topics, f"{text.rstrip('.!;:? ')}?") or found(topics, normalise(text))


def without_assumptions(text: str) -> str:
    """A sentence of the agent's without what it says in brackets to have assumed."""
    return _BRACKETS.sub(" ", text)
