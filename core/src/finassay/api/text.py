"""Text as the phrase matcher reads it: normalised, cut into sentences, with the sentences that ask marked."""

import re
import unicodedata
from functools import lru_cache

from attrs import frozen

MAX_TEXT = 200_000
MAX_SENTENCE = 2_000


@frozen
class Sentence:
    text: str
    """Verbatim."""
    norm: str
    start: int
    question: bool
    """It asks or offers: a question, a request, or a point of a list that was announced as one."""


# -- normalised text --------------------------------------------------------------------------------------------------

_SMALL_WORDS = (
    *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve", "thirteen", "fourteen"),
    *("fifteen", "sixteen", "seventeen", "eighteen", "nineteen"),
)
_UNITS = {word: value for value, word in enumerate(_SMALL_WORDS)}
_TENS_WORDS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_TENS = {word: 10 * value for value, word in enumerate(_TENS_WORDS, start=2)}
_TENS_UNITS = re.compile(rf"\b({'|'.join(_TENS)})(?:[\s-]+({'|'.join(w for w, v in _UNITS.items() if 1 <= v <= 9)}))?\b")
_SMALL = re.compile(rf"\b({'|'.join(w for w, v in _UNITS.items() if v != 1)})\b")
_ONE = re.compile(r"\b(?:one|a single)(?=[\s-]+(?:per ?cent|percentage|basis|bps?\b))")
_LARGE = re.compile(r"\b(one|a|\d+)[\s-]+(hundred|thousand)\b")
_FRACTIONS = {
    "half a percent": "0.5%",
    "half a percentage point": "0.5%",
    "a half": "50%",
    "one half": "50%",
    "a third of": "33.3333% of",
    "one third of": "33.3333% of",
    "a quarter of": "25% of",
    "one quarter of": "25% of",
    "a fifth": "20%",
    "one fifth": "20%",
    "a tenth": "10%",
    "one tenth": "10%",
    "a twentieth": "5%",
}
_FRACTION = re.compile(rf"\b({'|'.join(sorted(_FRACTIONS, key=len, reverse=True))})\b")
_NUMBER_WORD = re.compile(
    "|".join((*_SMALL_WORDS, *_TENS_WORDS, "half", "third", "quarter", "fifth", "tenth", "twentieth", "single", "hundred", "thousand"))
)
_DIGIT = re.compile(r"\d")
_CHARACTERS = str.maketrans(
    {
        "‘": "'", "’": "'", "ʼ": "'", "“": '"', "”": '"', "–": "-", "—": "-", "−": "-", "‑": "-", "‐": "-", "×": "x",
        "→": "->", " ": " ", "*": " ", "`": " ", "_": " ", "•": " ",
    }
)  # fmt: skip


_REMEMBERED = 2_000
"""Shorter texts are remembered: phrases, and messages that every rule looks at again."""


def normalise(text: str) -> str:
    """Lower case, plain quotes and dashes, Markdown emphasis removed, number words as digits, `%` and `bp` as units.

    `A fifth` gives `20%`, `Fifteen bps` gives `15bp`, `two thousand basis points` gives `2000bp`. `One` stays a word unless a unit follows.
    """
    return _remembered(text) if len(text) <= _REMEMBERED else _normalised(text)


def _normalised(text: str) -> str:
    text = unicodedata.normalize("NFKC", text).translate(_CHARACTERS).casefold()
    if _NUMBER_WORD.search(text):
        text = _numbers_as_digits(text)
    if _DIGIT.search(text):
        text = re.sub(r"(?<=\d),(?=\d{3}\b)", "", text)
        text = re.sub(r"(?<=\d),(?=\d{1,2}\s*(?:%|per ?cent|pct))", ".", text)
        text = re.sub(r"(?<=\d)[\s-]*(?:per ?cent(?:age[\s-]points?)?|pct|pp|percentage[\s-]points?|%)(?!\w)", "%", text)
        text = re.sub(r"(?<=\d)[\s-]*(?:basis[\s-]points?|bips|bps?)\b", "bp", text)
    return " ".join(text.split())


_remembered = lru_cache(maxsize=4096)(_normalised)


def _numbers_as_digits(text: str) -> str:
    text = _FRACTION.sub(lambda m: _FRACTIONS[m[1]], text)
    text = _TENS_UNITS.sub(lambda m: str(_TENS[m[1]] + (_UNITS[m[2]] if m[2] else 0)), text)
    text = _SMALL.sub(lambda m: str(_UNITS[m[1]]), text)
    text = _ONE.sub("1", text)
    return _LARGE.sub(lambda m: str((int(m[1]) if m[1].isdecimal() else 1) * (100 if m[2] == "hundred" else 1000)), text)


# -- sentences --------------------------------------------------------------------------------------------------------

_BREAK = re.compile(r"(?<=[.!?;])[\"')\]*_]*\s+|\n+|\s+\|\s+(?=\|)|(?<=\?)")
_ABBREVIATION = re.compile(r"(?:^|[\s(])(?:e\.g|i\.e|vs|approx|ca|incl|excl|resp|cf|avg|fig)\.$", re.IGNORECASE)
_BLOCK_START = re.compile(r"\s*(?:[-*+•–|#>]|\(?\d{1,2}[.)]\s|\(?[a-z][.)]\s|```|~~~|$)")
_LIST_ITEM = re.compile(r"\s*(?:\*\*)?(?:[-*+•–—]\s|\(?\d{1,2}[.)]\s|\(?[a-zA-Z][.)]\s|\|)")
_WRAPPED = 60
"""A prose line of at least this length that ends without punctuation goes on in the next one."""

_QUESTION_WORD = (
    r"(?:what|which|how|when|where|whether|why|who) (?:is|are|was|do|does|did|should|shall|would|will|can|could|may|must|about|much|many"
    r"|often|far|long|large|big|deep|tight|wide|frequently|exactly|kind|sort|type|level|value|threshold|percentage|factors?|signals?|of"
    r"|(?:i|we) (?:should|need|must))\b"
)
_INFORM = r"(?:also )?(?:tell|say|specify|confirm|clarify|share|give|advise|describe|provide|state|choose|pick|indicate|explain|outline)\b"
_REQUEST = re.compile(
    "|".join(
        (
            r"\?",
            rf"^(?:[\d.()\-\s\"]*)(?:and |or |so |also )?{_QUESTION_WORD}",
            r"^(?:[\d.()\-\s\"]*)(?:do (?:you|we|i)|does (?:it|that|this|the)|(?:would|could|can|will) you)\b",
            r"^(?:[\d.()\-\s\"]*)(?:should|shall|may|can) (?:i|we)\b",
            r"^(?:[\d.()\-\s\"]*)(?:(?:is|are) (?:there|you)|any (?:view|preference|thoughts?|other|particular|specific))\b",
            r"^(?:[\d.()\-\s\"]*)(?:please |kindly )?(?:clarify|confirm|specify|advise|choose|pick|decide|describe)\b",
            rf"\bplease {_INFORM}",
            rf"\bcan you {_INFORM}",
            r"\b(?:let me know|tell me|could you|would you (?:like|prefer|want|rather)|do you (?:want|have|prefer|wish|use|need))\b",
            r"\b(?:i|we)(?: would| will|'d|'ll)? (?:still |also |just )?(?:like|love|want|need|have) to"
            r" (?:know|understand|ask|hear|clarify|confirm|check)\b",
            r"\b(?:need your|(?:i'd|i would) (?:like|appreciate|welcome) your|it would help to know)\b",
            r"\b(?:wondering|unsure|not sure|unclear|curious|wonder) (?:whether|if|how|what|which|about)\b",
            r"\b(?:i'm|i am) (?:not sure|unsure|unclear|curious)\b",
            r"\bconfirm (?:whether|if|that|the|your)\b",
            r"\byour (?:view|preference|thoughts?|preferred|choice|call|input|guidance|decision) (?:on|for|about|regarding)\b",
            r", (?:and )?(?:what|how|which)\b(?! (?:is|are|was|were|has|have|had|i|we|gives?|makes?|means?)\b)",
        )
    )
)
_ANNOUNCES_QUESTIONS = re.compile(
    r"\b(?:questions?|clarif\w*|please|from you|unclear|not (?:yet )?specified|unspecified|still missing"
    r"|(?:i|we)(?:'ll| will| would|'d)? (?:still |also |just |only |first )?(?:need|require|have to know|am missing|am unsure)"
    r"|open (?:points|issues|items|choices)|your (?:input|preferences?|view|decisions?|choices?|answers?|guidance)"
    r"|to (?:confirm|clarify|decide|settle|know))\b"
)


def _breaks(text: str) -> list[tuple[int, int]]:
    """(end of a sentence, start of the next one), in order."""
    found = []
    for m in _BREAK.finditer(text):
        before = text[max(0, m.start() - 12) : m.start()]
        if text[m.start() : m.end()].find("\n") < 0 and _ABBREVIATION.search(before):
            continue
        if text[m.start() : m.end()] == "\n" and _goes_on(text, m.start(), m.end()):
            continue
        found.append((m.start(), m.end()))
    return found


def _goes_on(text: str, end: int, following: int) -> bool:
    """Whether a line break only wraps a long line of prose."""
    line = text[text.rfind("\n", 0, end) + 1 : end]
    if len(line) < _WRAPPED or line.rstrip()[-1:] in ".!?;:|" or line.lstrip()[:1] in "#|":
        return False
    rest = text[following : following + 200].split("\n", 1)[0]
    return not _BLOCK_START.match(rest)


class _Lists:
    """Whether the line at hand stands in a list or table that was announced as questions."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._end = -1
        self._announced = False
        self._asks = False

    def asks(self, offset: int) -> bool:
        """Whether what stands at `offset` is a point of an asking list. Offsets must not go back."""
        if offset > self._end:
            first = self._text.rfind("\n", 0, offset) + 1
            last = self._text.find("\n", offset)
            self._end = last if last >= 0 else len(self._text)
            self._asks = self._take(self._text[first : min(self._end, first + MAX_SENTENCE)])
        return self._asks

    def _take(self, line: str) -> bool:
        bare = line.strip().rstrip("*_ ")
        if _LIST_ITEM.match(line):
            if bare.startswith("|") and not self._announced:
                self._announced = bool(re.search(r"\bquestions?\b", line, re.IGNORECASE))
            return self._announced
        if self._announced and bare.endswith(":") and len(bare) < _WRAPPED:
            return True
        announces = bare.endswith((":", "?")) or bare.startswith("#")
        if line[:1] in " \t" and not announces:
            return self._announced
        norm = normalise(bare)
        self._announced = announces and bool(_REQUEST.search(norm) or _ANNOUNCES_QUESTIONS.search(norm))
        return False


@lru_cache(maxsize=512)
def sentences(text: str) -> tuple[Sentence, ...]:
    """The sentences of a text; table rows, list items and headings count as sentences of their own, wrapped lines are joined."""
    found = []
    text = text[:MAX_TEXT]
    start, lists = 0, _Lists(text)
    for end, following in [*_breaks(text), (len(text), len(text))]:
        piece = text[start:end].strip()
        if piece:
            offset = text.index(piece, start)
            listed = lists.asks(offset)
            for shift in range(0, len(piece), MAX_SENTENCE):
                part = piece[shift : shift + MAX_SENTENCE]
                norm = normalise(part)
                found.append(Sentence(part, norm, offset + shift, listed or bool(_REQUEST.search(norm))))
        start = following
    return tuple(found)
