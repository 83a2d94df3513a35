"""The phrase matcher: what a text asks about, proposes, states or denies, item by item.

One matcher serves the disclosure gate, the model-free simulator and the fidelity checks, so that what a user may say, what a user said
and what a delivery says are decided by the same rules.

The pattern language
--------------------
Patterns are regular expressions over *normalised* text (see `normalise`), written in lower case, with five additions:

- a space matches any run of spaces, hyphens, slashes or opening parentheses: `mean variance` finds `mean-variance` and `mean/variance`;
  ` ?` also matches none;
- ` ~ ` matches up to six words in between, within one sentence: `rebalanc\\w* ~ monthly`. In a pattern with a number no word in between
  may start with a digit, so that each number belongs to the word nearest to it;
- `{number}` matches one number with its unit; its value decides between accepting and contradicting the item. A number without a unit is
  about something else, unless it is a fraction below one;
- `{number}!` also takes a number without a unit, where the pattern itself names the unit: `cost bps ~ {number}!`;
- a pattern is anchored at word boundaries on both sides.

Matching works sentence by sentence, on bounded text. Gaps and words cannot be split in two ways, so hostile text cannot make it run long.
"""

import re
from collections.abc import Iterable, Sequence
from enum import StrEnum
from functools import lru_cache

from attrs import frozen

from finassay.api.patterns import NUMBER, Phrase, found, hits
from finassay.api.strategy import Item, Number, OpenTopic, Unit
from finassay.api.text import MAX_SENTENCE, MAX_TEXT, Sentence, normalise, sentences

__all__ = [
    "MAX_SENTENCE",
    "MAX_TEXT",
    "Mention",
    "Polarity",
    "Sentence",
    "asked",
    "asks_about",
    "contains_quote",
    "contains_term",
    "mentions",
    "normalise",
    "open_topics_asked",
    "proposed",
    "raised",
    "sentences",
    "stated",
    "value_of",
]


class Polarity(StrEnum):
    ACCEPTS = "accepts"
    """The text says the item."""
    CONTRADICTS = "contradicts"
    """The text says an alternative, another value, or denies the item."""


@frozen
class Mention:
    """One place where a text speaks about an item."""

    item: str
    polarity: Polarity
    quote: str
    """The sentence, verbatim."""
    start: int
    """Offset of the sentence in the text."""
    question: bool
    """The sentence asks or offers; it does not decide."""


# -- numbers ----------------------------------------------------------------------------------------------------------

_MOVED = re.compile(rf"\s*(?:to|->|into|up to|down to)\s+{NUMBER}")
_LISTED = re.compile(r"\s*(?:,|-|/|and|or|,\s*(?:and|or))\s*[-+]?\d+(?:\.\d+)?(?:%|bp)")


def value_of(match: re.Match[str], unit: Unit, *, bare: bool = False) -> float | None:
    """The matched number in `unit`, or None if its notation does not fit: 0.2 is 20 %; 14 without a unit is a percentage only if `bare`."""
    value = float(match["value"])
    written = match["unit"]
    if unit is Unit.COUNT:
        return value if written is None else None
    if written is None and bare and value >= 0.05:
        return value
    if written == "%":
        percent = value
    elif written == "bp":
        percent = value / 100
    elif value < 1:
        percent = value * 100
    else:
        return None
    return percent * 100 if unit is Unit.BASIS_POINTS else percent


def _same(value: float, number: Number) -> bool:
    return abs(value - number.value) <= 1e-6 * max(1.0, abs(number.value))


def _says_value(number: Number, phrase: Phrase, hit: re.Match[str], norm: str) -> bool | None:
    """Whether a hit states the item's value; None if its number is about something else or one of several that are weighed."""
    after = norm[hit.end("value") + len(hit["unit"] or "") :]
    moved = _MOVED.match(after)
    if moved is None and _LISTED.match(after):
        return None
    bare = phrase.bare
    values = [value_of(m, number.unit, bare=bare) for m in (moved or hit,)]
    if values[0] is None and bare and hit["unit"] is None:
        values = [value_of(hit, number.unit)]
    return None if values[0] is None else _same(values[0], number)


# -- negation ---------------------------------------------------------------------------------------------------------

_FEW_WORDS = r"(?: (?!with\b|using\b|when\b|if\b|once\b|after\b)[\w'%./-]+){0,3}"
_NEGATED_BEFORE = tuple(
    re.compile(expression + r"\s*$")
    for expression in (
        r"\b(?:not(?! only| just)|never|nor|neither|cannot|no longer|\w+n't)(?: [\w'%./-]+){0,6}",
        r"\b(?:no|without|zero|skip\w*|omit\w*|avoid\w*|exclud\w*|remov\w*|disabl\w*|drop(?:ped|s)? (?:the|any|this|that|all))"
        + _FEW_WORDS,
        r"\b(?:instead of|rather than|as opposed to|unlike|other than|stop(?:ped)? using)" + _FEW_WORDS,
        r"\breplac\w+(?: (?!with\b|by\b)[\w'%./-]+){0,4}",
    )
)
_NO_MORE_THAN = re.compile(
    r"\b(?:no|not|never|nothing) (?:be |go |any )?(?:more|higher|larger|greater|over|above|beyond|less|fewer|exceed\w*)\b"
)
_BOUND = re.compile(r"\b(?:more|higher|larger|further|greater) than\b|\b(?:beyond|over|above|below|past|exceed\w*)\b")
"""What makes a limit out of a negation: 'no position may fall more than 10%'."""
_REACH_BREAK = re.compile(r"[,:;()|=]|\s-\s|\b(?:but|and|while|so|because|which|then|otherwise)\b")
_NEGATED_AFTER = re.compile(
    r"\s*(?:rules?|controls?|overlays?|schedule|weights?|weighting|rebalancing|filters?|levels?|limits?)?"
    r"(?:\s*(?:[:|=]\s*|\(\s*|-\s+)\"?(?:none|no|n/a|not (?:used|applied|applicable|included|wanted)|off|false|disabled|unused|0)\b"
    r"|\s+(?:is|are|was|were|will be|has been|have been|be|should be)?\s*(?:not|never|no longer)\s+(?:be(?:en|ing)? )?"
    r"(?:use[ds]?|appl\w+|want\w*|need\w*|includ\w+|implement\w+|part|in place|set|chosen|considered|what|how|desired|in use"
    r"|charged|deducted|modell?ed)\b"
    r"|\s+(?:is|are|was|were) (?:excluded|dropped|ignored|disabled|switched off|turned off|left out|omitted|removed)\b)"
)


def _negated(norm: str, start: int) -> bool:
    """Whether a negation before `start` governs what stands there: a few words away, with no clause boundary in between."""
    before = norm[max(0, start - 200) : start]
    clause = _REACH_BREAK.split(before)[-1].rstrip(" \"'")
    if _NO_MORE_THAN.search(clause):
        return False
    return any(expression.search(clause) for expression in _NEGATED_BEFORE)


def _denied(norm: str, hit: re.Match[str]) -> bool:
    limits = "value" in hit.re.groupindex and _BOUND.search(hit[0]) is not None
    return (not limits and _negated(norm, hit.start())) or _NEGATED_AFTER.match(norm, hit.end()) is not None


# -- what a text says about an item -----------------------------------------------------------------------------------


@lru_cache(maxsize=16_384)
def _polarity(item: Item, norm: str) -> Polarity | None:
    """What one sentence says about an item: an accepting phrase wins over a contradicting one beside it ('weekly, not monthly')."""
    contradicts = False
    for phrase, hit in hits(item.accept, norm):
        if item.number is not None and "value" in hit.re.groupindex:
            same = _says_value(item.number, phrase, hit, norm)
            if same is None:
                continue
            if not same:
                contradicts = True
                continue
        if not _denied(norm, hit):
            return Polarity.ACCEPTS
        contradicts = True
    if not contradicts:
        contradicts = any(not _denied(norm, hit) for _, hit in hits(item.reject, norm))
    return Polarity.CONTRADICTS if contradicts else None


def mentions(item: Item, text: str) -> tuple[Mention, ...]:
    """Every sentence of `text` that says or contradicts `item`, in order. Empty text gives none."""
    said = []
    for sentence in sentences(text):
        polarity = _polarity(item, sentence.norm)
        if polarity is not None:
            said.append(Mention(item.id, polarity, sentence.text, sentence.start, sentence.question))
    return tuple(said)


def asks_about(topics: Sequence[str], text: str) -> bool:
    """Whether a sentence that asks something, or a point of a list in a message that asks, touches one of the topics."""
    return any(sentence.question and found(topics, sentence.norm) for sentence in sentences(text))


def asked(items: Iterable[Item], text: str) -> frozenset[str]:
    """Items whose choice the text asks about."""
    return frozenset(item.id for item in items if asks_about(item.topics, text))


@lru_cache(maxsize=16_384)
def _says(items: tuple[Item, ...], norm: str) -> tuple[tuple[str, Polarity], ...]:
    """(item id, polarity) of each item on which one sentence says something."""
    said = ((item.id, _polarity(item, norm)) for item in items)
    return tuple((name, polarity) for name, polarity in said if polarity is not None)


def proposed(items: Iterable[Item], text: str) -> dict[str, Polarity]:
    """Items on whose choice the text proposes, assumes or reports something, with whether it agrees (the last sentence counts)."""
    known = tuple(items)
    return {name: polarity for sentence in sentences(text) for name, polarity in _says(known, sentence.norm)}


def raised(items: Iterable[Item], agent_text: str) -> frozenset[str]:
    """Q(a_t): what the agent asks about or proposes in a message (paper, equation 2)."""
    known = tuple(items)
    return asked(known, agent_text) | frozenset(proposed(known, agent_text))


# -- what a user states -----------------------------------------------------------------------------------------------

_YES = re.compile(
    r"^(?:yes|yeah|yep|yup|right|correct|exactly|agreed|perfect|confirmed|sounds (?:good|right)|that's (?:right|it|correct|fine)"
    r"|that is (?:right|correct|fine)|go with that|do that)\b"
)
_YES_TO_ALL = re.compile(
    r"\b(?:yes|agree|agreed|correct|right|fine|good|confirmed) (?:to|with|on) (?:all|everything|both|each)\b"
    r"|\b(?:all|everything|both)(?: of (?:that|it|them|those|these))?(?: points)?(?: is| are| sounds?| looks?)?(?: all)?"
    r" (?:correct|right|fine|good|agreed|as i want)\b"
)
_FINE = re.compile(r"\b(?:fine|good|right|correct|ok|okay|agreed|(?:is|are|exactly|just) (?:as|what) i (?:want(?:ed)?|had in mind))\b")
_NO_VIEW = re.compile(
    r"\b(?:no (?:strong |real |particular )?(?:preference|view|opinion)|you (?:choose|decide|pick)|your (?:call|choice)|up to you"
    r"|whatever you|(?:don't|do not) (?:mind|care)|leave (?:it|that|this) to you|not fussed|no idea)\b"
)
_BARE_VALUE = re.compile(rf"^\W*(?:[a-z']+\W+){{0,6}}?{NUMBER}(?:\W+[a-z']+){{0,4}}\W*$")


_REMEMBERED = 8_000
"""Shorter exchanges are remembered: the gate, the record and the grading ask the same of them."""


def stated(items: Iterable[Item], user_text: str, agent_text: str = "") -> frozenset[str]:
    """Items that a user says in words: the option or value, a bare value in answer to a question that asks for it, a yes to the one
    proposal that names it, or approval naming the piece.

    What is left to the agent ('no preference'), asked, denied or merely hinted at is not stated.
    """
    known = tuple(items)
    brief = len(user_text) + len(agent_text) <= _REMEMBERED
    return (_stated if brief else _stated.__wrapped__)(known, user_text, agent_text)


@lru_cache(maxsize=2048)
def _stated(known: tuple[Item, ...], user_text: str, agent_text: str) -> frozenset[str]:
    offers = {i for i, polarity in proposed(known, agent_text).items() if polarity is Polarity.ACCEPTS} if agent_text else set()
    values = [item for item in known if item.number is not None and asks_about(item.topics, agent_text)] if agent_text else []
    told: set[str] = set()
    for sentence in sentences(user_text):
        if _NO_VIEW.search(sentence.norm) or sentence.norm.endswith("?"):
            continue
        told.update(name for name, polarity in _says(known, sentence.norm) if polarity is Polarity.ACCEPTS)
        told.update(item.id for item in values if _answers(item, sentence.norm))
        if offers:
            told.update(item.id for item in known if item.id in offers and _approves(item, sentence.norm))
        if (_YES.search(sentence.norm) and len(offers) == 1) or _YES_TO_ALL.search(sentence.norm):
            told |= offers
    return frozenset(told)


def _answers(item: Item, norm: str) -> bool:
    """A short sentence that holds the item's value and no other number: 'Fifteen percent, I think.'"""
    hit = _BARE_VALUE.match(norm)
    if hit is None or item.number is None or _negated(norm, hit.start("value")):
        return False
    value = value_of(hit, item.number.unit)
    return value is not None and _same(value, item.number)


def _approves(item: Item, norm: str) -> bool:
    """A sentence that calls what was proposed fine, by the name of the piece or a word for the choice: 'The position sizing is fine.'"""
    fine = _FINE.search(norm)
    if fine is None or _negated(norm, fine.start()):
        return False
    piece = " ".join(re.escape(word) for word in normalise(item.piece).split())
    return found((*item.topics, piece), norm)


def open_topics_asked(topics: Iterable[OpenTopic], text: str) -> tuple[OpenTopic, ...]:
    """Which of the choices that a belief leaves open the text asks about."""
    return tuple(topic for topic in topics if asks_about(topic.topics, text))


# -- words and quotes -------------------------------------------------------------------------------------------------


@lru_cache(maxsize=256)
def _terms(terms: tuple[str, ...]) -> tuple[tuple[str, str, re.Pattern[str]], ...]:
    spoken = [(term, normalise(term)) for term in terms]
    return tuple((term, norm, re.compile(rf"(?<!\w){re.escape(norm)}(?!\w)")) for term, norm in spoken)


def contains_term(terms: Iterable[str], text: str) -> str | None:
    """The first forbidden term that stands in the text as a word or phrase, or None."""
    norm = normalise(text)
    return next((term for term, needle, expression in _terms(tuple(terms)) if needle in norm and expression.search(norm)), None)


def contains_quote(quote: str, text: str) -> bool:
    """Whether a quote stands in a text verbatim, whitespace-normalised. An empty quote is never found."""
    wanted = " ".join(quote.split())
    return bool(wanted) and wanted in " ".join(text.split())
