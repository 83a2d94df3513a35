"""The phrase matcher: what a text asks about, proposes, states or denies, item by item.

One matcher serves the disclosure gate, the model-free simulator and the fidelity checks, so that what a user may say, what a user said
and what a delivery says are decided by the same rules.

The pattern language
--------------------
Patterns are regular expressions over *normalised* text (see `normalise`), written in lower case, with four additions:

- a space matches any run of spaces, hyphens, slashes or opening parentheses: `mean variance` finds `mean-variance` and `mean/variance`; ` ?` also matches none;
- ` ~ ` matches up to six words in between, within one sentence: `rebalanc\\w* ~ monthly`;
- `{number}` matches one number with its unit; its value decides between accepting and contradicting the item;
- a pattern is anchored at word boundaries on both sides.

Matching works sentence by sentence, on bounded text; hostile input cannot make it run long (sentences are cut at 2,000 characters).
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from functools import lru_cache

from attrs import frozen

from finassay.api.strategy import Item, Number, OpenTopic, Unit

MAX_TEXT = 200_000
MAX_SENTENCE = 2_000


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


@frozen
class Sentence:
    text: str
    """Verbatim."""
    norm: str
    start: int
    question: bool


_UNITS = {
    w: i
    for i, w in enumerate(
        "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen".split()
    )
}
_TENS = {w: 10 * i for i, w in enumerate("twenty thirty forty fifty sixty seventy eighty ninety".split(), start=2)}
_TENS_UNITS = re.compile(rf"\b({'|'.join(_TENS)})(?:[\s-]+({'|'.join(w for w, v in _UNITS.items() if 1 <= v <= 9)}))?\b")
_SMALL = re.compile(rf"\b({'|'.join(w for w, v in _UNITS.items() if v != 1)})\b")
_FRACTIONS = {
    "a half": 50.0,
    "one half": 50.0,
    "a third": 100 / 3,
    "a quarter of": 25.0,
    "one quarter of": 25.0,
    "a fifth": 20.0,
    "one fifth": 20.0,
    "a tenth": 10.0,
    "one tenth": 10.0,
    "a twentieth": 5.0,
}
_FRACTION = re.compile(rf"\b({'|'.join(sorted(_FRACTIONS, key=len, reverse=True))})\b")
_CHARACTERS = str.maketrans(
    {"‘": "'", "’": "'", "“": '"', "”": '"', "–": "-", "—": "-", "−": "-", "‑": "-", "×": "x", " ": " ", "*": " ", "`": " ", "_": " "}
)


def normalise(text: str) -> str:
    """Lower case, plain quotes and dashes, Markdown emphasis removed, number words as digits, `%` and `bp` as units.

    `A fifth` gives `20%`, `two thousand basis points` stays in its words beyond ninety-nine; `Fifteen bps` gives `15bp`.
    """
    text = unicodedata.normalize("NFKC", text).translate(_CHARACTERS).casefold()
    text = _FRACTION.sub(lambda m: f"{_FRACTIONS[m[1]]:g}%", text)
    text = _TENS_UNITS.sub(lambda m: str(_TENS[m[1]] + (_UNITS[m[2]] if m[2] else 0)), text)
    text = _SMALL.sub(lambda m: str(_UNITS[m[1]]), text)
    text = re.sub(r"(?<=\d),(?=\d{3}\b)", "", text)
    text = re.sub(r"(?<=\d)\s*(?:per ?cent(?:age points)?|pct|percentage points|%)", "%", text)
    text = re.sub(r"(?<=\d)[\s-]*(?:basis[\s-]points?|bips|bps?)\b", "bp", text)
    return re.sub(r"\s+", " ", text).strip()


_BREAK = re.compile(r"(?<=[.!?;])[\"')\]*_]*\s+|\n+|\s+\|\s+(?=\|)|(?<=\?)")
_REQUEST = re.compile(
    r"\?|^(?:[\d.()\-\s]*)(?:what|which|how|do you|would you|should|is there|are there|any\b)"
    r"|\b(?:please (?:also )?(?:tell|say|specify|confirm|clarify|share|give|advise|describe|provide|state|indicate|explain"
    r"|choose|pick|outline)"
    r"|let me know|tell me|could you|can you (?:tell|say|confirm)|do you (?:want|prefer|have|use|need)|should i"
    r"|i (?:would|'d) (?:also |still )?like to (?:know|understand|hear|ask)|i (?:also |still )?need to (?:know|understand|ask)|need your"
    r"|your (?:view|preference|preferred|call|choice) on|clarify|confirm (?:whether|if|that|the|your)"
    r"|(?:i am|i'm) (?:not sure|unsure|unclear|wondering|curious)|i wonder|it would help to know)\b"
    r"|, (?:and )?(?:what|how)\b"
)
_LEAD = re.compile(
    r"\b(?:questions?|i (?:still |also )?need (?:the following|these|a few|some|from you|answers|details)"
    r"|(?:need|want|missing|require\w*) from you"
    r"|your (?:input|answers?|choices?|preferences?)|to (?:confirm|decide|clarify|settle))\b.*:$"
)
_POINT = re.compile(r"(?:[-+•*–—]|\(?(?:\d{1,2}|[a-zA-Z])[.)])(?:\s|$)|\*\*\d{1,2}[.)]")


@lru_cache(maxsize=512)
def sentences(text: str) -> tuple[Sentence, ...]:
    """The sentences of a text; table rows, list items and headings count as sentences of their own.

    A list point below a request asks as well: 'Please tell me:' and below it '- position sizing'.
    """
    found = []
    text = text[:MAX_TEXT]
    start = 0
    asking = point = False
    new_line = True
    ends = [(m.start(), m.end()) for m in _BREAK.finditer(text)]
    for end, following in [*ends, (len(text), len(text))]:
        piece = text[start:end].strip()
        if piece:
            offset = text.index(piece, start)
            piece = piece[:MAX_SENTENCE]
            norm = normalise(piece)
            if new_line:
                point = bool(_POINT.match(piece)) or (asking and norm.endswith(":"))
                asking = asking and point
            asks = bool(_REQUEST.search(norm))
            found.append(Sentence(piece, norm, offset, asks or (asking and point)))
            if not point:
                asking = asks or bool(_LEAD.search(norm))
            new_line = False
        new_line = new_line or "\n" in text[end:following]
        start = following
    return tuple(found)


_NUMBER = r"(?P<sign>[-+]?)(?P<value>\d+(?:\.\d+)?|\.\d+)(?P<unit>%|bp)?"


@lru_cache(maxsize=8192)
def _compile(pattern: str) -> re.Pattern[str]:
    parts = []
    for chunk in re.split(r"( ~ | \?|\{number\}| )", pattern):
        if chunk == " ~ ":
            parts.append(r"(?:[^\w%]+[\w%'.-]+){0,6}?[^\w%]+")
        elif chunk == "{number}":
            parts.append(_NUMBER)
        elif chunk == " ?":
            parts.append(r"[\s\-/]*")
        elif chunk == " ":
            parts.append(r"[\s\-/(]+")
        else:
            parts.append(chunk)
    return re.compile(rf"(?<![\w])(?:{''.join(parts)})(?![\w])")


def value_of(match: re.Match[str], unit: Unit) -> float | None:
    """The matched number in `unit`, or None if its notation does not fit (0.2 is 20 %, a bare 14 is no percentage)."""
    value = float(match["value"])
    written = match["unit"]
    if unit is Unit.COUNT:
        return value if written is None else None
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


_NEGATION = re.compile(
    r"\b(?:not|no|never|without|nor|neither|cannot|can't|don't|doesn't|didn't|won't|isn't|aren't|wasn't|wouldn't|avoid\w*|exclud\w*|drop(?:ped|s)?|remov\w*"
    r"|rather than|instead of|as opposed to|unlike|other than|no longer|stop(?:ped)? using|replac\w+)\b"
)
_REACH_BREAK = re.compile(r"[,:;()|]|\b(?:but|and|while|so|because|which|then)\b")


def _negated(norm: str, start: int) -> bool:
    """Whether a negation governs the phrase: within six words before it, no clause boundary in between."""
    before = norm[:start]
    last = None
    for last in _REACH_BREAK.finditer(before):
        pass
    clause = before[last.end() :] if last else before
    words = clause.split()[-6:]
    return bool(_NEGATION.search(" ".join(words)))


def _hits(patterns: Iterable[str], norm: str) -> Iterator[re.Match[str]]:
    for pattern in patterns:
        yield from _compile(pattern).finditer(norm)


def _polarity(item: Item, norm: str) -> Polarity | None:
    """What one sentence says about an item: an accepting phrase wins over a contradicting one beside it ('weekly, not monthly')."""
    contradicts = False
    for hit in _hits(item.accept, norm):
        if item.number is not None and "value" in hit.re.groupindex:
            value = value_of(hit, item.number.unit)
            if value is None:
                continue  # a number without the unit is about something else: 14 times, 2019
            if not _same(value, item.number):
                contradicts = True
                continue
        if _negated(norm, hit.start()):
            contradicts = True
        else:
            return Polarity.ACCEPTS
    for hit in _hits(item.reject, norm):
        if not _negated(norm, hit.start()):
            contradicts = True
    return Polarity.CONTRADICTS if contradicts else None


def mentions(item: Item, text: str) -> tuple[Mention, ...]:
    """Every sentence of `text` that says or contradicts `item`, in order. Empty text gives none."""
    found = []
    for sentence in sentences(text):
        polarity = _polarity(item, sentence.norm)
        if polarity is not None:
            found.append(Mention(item.id, polarity, sentence.text, sentence.start, sentence.question))
    return tuple(found)


def asks_about(topics: Sequence[str], text: str) -> bool:
    """Whether a sentence that asks something (or a point of a list in a message that asks) touches one of the topics."""
    return any(sentence.question and next(_hits(topics, sentence.norm), None) for sentence in sentences(text))


def asked(items: Iterable[Item], text: str) -> frozenset[str]:
    """Items whose choice the text asks about."""
    return frozenset(item.id for item in items if asks_about(item.topics, text))


def proposed(items: Iterable[Item], text: str) -> dict[str, Polarity]:
    """Items on whose choice the text proposes, assumes or reports something, with whether it agrees (the last sentence counts)."""
    found = {}
    for item in items:
        said = mentions(item, text)
        if said:
            found[item.id] = said[-1].polarity
    return found


def raised(items: Iterable[Item], agent_text: str) -> frozenset[str]:
    """Q(a_t): what the agent asks about or proposes in a message (paper, equation 2)."""
    known = tuple(items)
    return asked(known, agent_text) | frozenset(proposed(known, agent_text))


_YES = re.compile(
    r"^(?:yes|yeah|yep|right|correct|exactly|agreed|sounds (?:good|right)|that's (?:right|it|correct)|that is (?:right|correct))\b"
)
_FINE = re.compile(r"\b(?:fine|good|right|correct|ok|okay|as i want|what i want(?:ed)?)\b")
_NO_VIEW = re.compile(
    r"\b(?:no (?:strong )?(?:preference|view|opinion)|you choose|your call|up to you|whatever you|don't mind|leave (?:it|that) to you|not fussed)\b"
)


def stated(items: Iterable[Item], user_text: str, agent_text: str = "") -> frozenset[str]:
    """Items that a user says in words: the option or value, a yes to the one proposal that names it, or approval naming the piece.

    What is left to the agent ('no preference'), asked, denied or merely hinted at is not stated.
    """
    known = tuple(items)
    found = set()
    offers = {i for i, polarity in proposed(known, agent_text).items() if polarity is Polarity.ACCEPTS} if agent_text else set()
    for sentence in sentences(user_text):
        if _NO_VIEW.search(sentence.norm):
            continue
        for item in known:
            if _polarity(item, sentence.norm) is Polarity.ACCEPTS and not sentence.norm.endswith("?"):
                found.add(item.id)
            elif item.id in offers and not _negated(sentence.norm, len(sentence.norm)):
                piece = " ".join(re.escape(word) for word in normalise(item.piece).split())
                names_piece = next(_hits((*item.topics, piece), sentence.norm), None)
                if _FINE.search(sentence.norm) and names_piece:
                    found.add(item.id)
        if _YES.search(sentence.norm) and len(offers) == 1:
            found |= offers
    return frozenset(found)


def open_topics_asked(topics: Iterable[OpenTopic], text: str) -> tuple[OpenTopic, ...]:
    """Which of the choices that a belief leaves open the text asks about."""
    return tuple(topic for topic in topics if asks_about(topic.topics, text))


def contains_term(terms: Iterable[str], text: str) -> str | None:
    """The first forbidden term that stands in the text as a word or phrase, or None."""
    norm = normalise(text)
    for term in terms:
        if re.search(rf"(?<!\w){re.escape(normalise(term))}(?!\w)", norm):
            return term
    return None


def contains_quote(quote: str, text: str) -> bool:
    """Whether a quote stands in a text verbatim, whitespace-normalised. An empty quote is never found."""
    wanted = " ".join(quote.split())
    return bool(wanted) and wanted in " ".join(text.split())
