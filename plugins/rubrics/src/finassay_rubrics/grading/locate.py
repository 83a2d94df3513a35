"""Which figure an answer gives as its answer: a table's cell, a concluding sentence, a bold or first line, or the only figure there is.

An answer mentions many numbers: operands of formulas, quoted filings, other periods, examples. Those are no answers, and the right number among
them earns nothing.
"""

import re
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Final, Literal

from attrs import Factory, frozen

from finassay_rubrics.grading.compare import can_be
from finassay_rubrics.grading.numbers import MAX_TEXT, Number, UnitKind, numbers

How = Literal["table", "conclusion", "sentence", "emphasis", "first line", "only figure"]
MAX_LINE: Final = 4_000
NEAR: Final = 80
"""Characters beside a figure that can make it an operand."""

_WORD: Final = re.compile(r"[A-Za-z][A-Za-z&'’/-]*|\d{4}")
STOP: Final = frozenset(
    [
        "a",
        "an",
        "the",
        "of",
        "for",
        "in",
        "on",
        "at",
        "by",
        "to",
        "from",
        "and",
        "or",
        "with",
        "is",
        "are",
        "was",
        "were",
        "be",
        "been",
        "as",
        "its",
        "it",
        "this",
        "that",
        "these",
        "those",
        "what",
        "which",
        "how",
        "much",
        "many",
        "did",
        "do",
        "does",
        "their",
        "his",
        "her",
        "our",
        "we",
        "you",
        "your",
        "total",
        "amount",
        "value",
        "figure",
        "number",
        "year",
        "years",
        "end",
        "ended",
        "fiscal",
        "fy",
        "usd",
        "dollars",
        "million",
        "millions",
        "billion",
        "billions",
        "percent",
        "percentage",
        "percents",
        "terms",
        "unit",
        "units",
        "round",
        "rounded",
        "one",
        "two",
        "three",
        "decimal",
        "decimals",
        "place",
        "places",
        "answer",
        "question",
        "response",
        "according",
        "based",
        "using",
        "primarily",
        "information",
        "shown",
        "within",
        "outlined",
        "clearly",
        "details",
        "only",
        "than",
        "then",
        "between",
        "please",
        "give",
        "calculate",
        "compute",
        "state",
        "states",
        "stated",
        "says",
        "gives",
    ]
)
_RESULT: Final = re.compile(
    r"\b(therefore|thus|hence|consequently|in conclusion|to conclude|in summary|overall|finally|so\b|accordingly|as a result|which (?:means|gives|yields)"
    r"|results? in|rounded|rounding|rounds to|final answer|answer(?: is|:)|we (?:get|obtain|find)|this (?:gives|yields|means)|(?:is|are) calculated (?:as|to be))",
    re.IGNORECASE,
)
_COPULA: Final = re.compile(
    r"\b(is|was|were|are|equals?|equal to|amount(?:s|ed)? to|total(?:s|ed|led|ing)?|came to|comes to|stood at|stands at|reported|had|has|of|approximately"
    r"|about|around|at|be)\b|[=≈:~]",
    re.IGNORECASE,
)
_OPERATOR: Final = re.compile(r"(?<=[\d%)\s])\s*(?:[*×÷+/]|\s[-−–]\s)\s*(?=[(\d$€£A-Z])")
_REFUSAL: Final = re.compile(
    r"\b(cannot|can't|can not|could not|couldn't|unable to|not able to|impossible to|not possible to|do(?:es)? not (?:have|provide|include|contain|mention|specify|disclose|give)"
    r"|don't have|doesn't (?:have|provide|include|contain|mention)|did(?: not|n't) (?:provide|include)|haven't provided|not (?:been )?(?:provided|available|included|given|specified|disclosed|mentioned|stated|listed)"
    r"|no (?:information|data|details|figures?|mention)|insufficient|i'm sorry|i am sorry|i apologi[sz]e|would need|you(?:'d| would) need|is needed|are needed|(?:is|are) missing|as an ai)\b",
    re.IGNORECASE,
)
_GUESS: Final = re.compile(
    r"\b(?:I(?:['’]d| would)? (?:guess|estimate)|(?:my|a|the) (?:best |rough |educated )*(?:guess|estimate) (?:is|would be|of)|best guess)\b",
    re.IGNORECASE,
)
"""Before a figure that an answer ventures though it has nothing to go by: it is its answer, right or wrong."""
_CONDITION: Final = re.compile(r"^\W*if\b[^.]*\b(?:would|should|could|can)\b", re.IGNORECASE)
"""What holds in a case that the answer leaves open."""
OPERATIONS: Final = frozenset({"average", "mean", "change", "growth", "difference", "median", "sum", "cagr"})
"""Stems of what is done with several figures: a sentence that does it tells more than one that gives the figures."""
_EXAMPLE: Final = re.compile(
    r"\b(for example|for instance|hypothetical|suppose|assum(?:e|ing) (?:that )?(?:the|we)|e\.g\.|let's say|placeholder|illustrat)",
    re.IGNORECASE,
)
_ASIDE: Final = re.compile(
    r"\b(?:compared (?:to|with)|up from|down from|versus|vs\.?|calculated (?:by|from|using|as)|computed (?:by|from|as)|obtained by|derived (?:from|by)|divid(?:ed|ing) by|multipl(?:ied|ying)"
    r"|by dividing|by adding|by subtracting|dividing|subtracting|adding|(?:which|that) is (?:the )?(?:sum|difference|ratio|quotient)|based on|given|using|because|since|out of|an? (?:increase|decrease|rise|fall|growth|decline) of)\b",
    re.IGNORECASE,
)


@frozen
class Target:
    """What is looked for: the words of a metric, its acronyms, and the periods and entities that belong to it."""

    words: frozenset[str]
    acronyms: frozenset[str] = frozenset()
    periods: frozenset[str] = frozenset()
    """Years as four digits."""
    ignore: frozenset[str] = frozenset()
    """Words with digits that are names."""
    kind: UnitKind | None = None
    """What kind of quantity is asked for; None where that is open."""


@frozen
class Located:
    """The figures that an answer gives as its answer: more than one only if they stand for one value in several forms."""

    figures: tuple[Number, ...]
    how: How | None
    """None: the answer gives no figure."""
    quote: str = ""
    others: tuple[Number, ...] = Factory(tuple)
    """Another final figure for the same cell, if the answer contradicts itself."""


@frozen
class _Segment:
    start: int
    text: str
    line: int
    figures: tuple[Number, ...]

    @property
    def end(self) -> int:
        return self.start + len(self.text)


def words_of(text: str, ignore: Iterable[str] = ()) -> frozenset[str]:
    """Content words, lower case, without plural s, common words and years."""
    left_out = {w.lower() for w in ignore}
    found = set()
    for word in _WORD.findall(text):
        plain = word.lower().strip("'’-/").replace("’", "'").removesuffix("'s")
        if plain and plain not in STOP and plain not in left_out and not plain.isdigit():
            found.add(_stem(plain))
    return frozenset(found)


def _stem(word: str) -> str:
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word


def locate(answer: str, target: Target) -> Located:
    """The figure that an answer gives for a target. Nothing where it gives none: a refusal, an example, a quotation."""
    answer = answer[:MAX_TEXT]
    segments = _segments(answer, target)
    for find in (_stated, _only):
        found = find(segments, target, answer)
        if found is not None:
            return found
    return Located((), None)


# -- segments ---------------------------------------------------------------------------------------------------------


def _segments(answer: str, target: Target) -> list[_Segment]:
    """Sentences, each within a line, with the figures that can be results."""
    found, start = [], 0
    all_numbers = numbers(answer, target.ignore)
    places = [n.start for n in all_numbers]
    example_until = -1
    for index, line in enumerate(answer.splitlines(keepends=True)):
        if _EXAMPLE.search(line):
            example_until = index + 12  # an example's lines follow it
        if index > example_until or (_RESULT.search(line) and not _EXAMPLE.search(line) and example_until < 0):
            for offset, sentence in sentences_of(line[:MAX_LINE]):
                begin = start + offset
                own = all_numbers[bisect_left(places, begin) : bisect_left(places, begin + len(sentence))]
                results = [n for n in results_of(sentence, begin, own) if target.kind is None or can_be(n, target.kind)]
                found.append(_Segment(begin, sentence, index, tuple(results)))
        start += len(line)
    return found


_END: Final = re.compile(
    r"(?<!\bi\.e)(?<!\be\.g)(?<!\bvs)(?<!\bapprox)(?<!\bca)(?<!\bresp)(?<=[a-z%)\]\"*\d])[.!?;](?:\s+(?=[A-Z(\"*$\d])|\s*$)"
)


def sentences_of(line: str) -> Iterable[tuple[int, str]]:
    """(offset, text) of each sentence of a line."""
    begin = 0
    for match in _END.finditer(line):
        yield begin, line[begin : match.end()]
        begin = match.end()
    if line[begin:].strip():
        yield begin, line[begin:]


def results_of(sentence: str, begin: int, figures: Sequence[Number]) -> list[Number]:
    """Figures that are no operands: of a formula only what follows its last sign of equality, if that is a single figure or a form of it."""
    if not figures:
        return []
    parts = [m.end() for m in _NEXT_EQUATION.finditer(sentence)]
    if parts and "=" in sentence[: parts[0]]:
        found: list[Number] = []
        for start, end in pairwise([0, *parts, len(sentence)]):
            own = [n for n in figures if start <= n.start - begin < end]
            found += results_of(sentence[start:end], begin + start, own)
        return found
    equal = max((m.start() for m in re.finditer(r"[=≈]", sentence)), default=-1)
    if equal < 0:
        return [n for n in figures if not _is_operand(sentence, n.start - begin, n.end - begin)]
    tail = sentence[equal + 1 :]
    after = [n for n in figures if n.start - begin > equal]
    if after and not _has_operator(tail, after, begin + equal + 1):
        return after
    return []


_NEXT_EQUATION: Final = re.compile(r"[,;]\s+(?=[^=,;]*[A-Za-z][^=,;]*=)")
"""Where one of several equations of a sentence ends: `a = 4 / 2 = 2, b = 3`."""


def _has_operator(tail: str, figures: Sequence[Number], offset: int) -> bool:
    first_end = figures[0].end - offset
    if _FACTOR.search(tail[: figures[0].start - offset].rstrip()) or re.search(
        r"[*×÷+/^]\s*\(?\$?\s*$|\d\s*\)?\s*[-−–]\s*$|\)\s*[*×÷+/^-]", tail[: figures[0].start - offset]
    ):
        return True
    return bool(_OPERATOR.match(tail, max(0, first_end))) or bool(re.match(r"\s*[*×÷+/^]|\s+[-−–]\s+[\d$(]", tail[first_end:]))


def _is_operand(sentence: str, start: int, end: int) -> bool:
    lead = sentence[max(0, start - NEAR) : start]
    before, after = lead.rstrip(), sentence[end : end + NEAR].lstrip()
    before, after = before.removesuffix("**"), after.removeprefix("**")  # bold, not a product
    if sentence[max(0, start - 1) : start] == "+" and (start < 2 or sentence[start - 2] in " \t(:|~≈=>"):
        before = ""  # a sign
    if re.match(r"[*_](?![\w($€£*])", sentence[end : end + 2]):
        after = ""  # emphasis
    if re.search(r"(?:^|[\s:(])[*_]$", lead):
        before = ""
    if _RATE.match(after) and not sentence[end : end + 1].isspace():
        after = ""  # a unit: `¥130/$`, `$3.09/gal`
    return before[-1:] in ("*", "×", "÷", "+", "/") or after[:1] in ("*", "×", "÷", "+", "/") or bool(_FACTOR.search(before))


_FACTOR: Final = re.compile(r"(?:[)\d%]\s*[xX]|\b(?:multipl(?:y|ied|ying)|divid(?:e|ed|ing))\b(?:\s+[\w'’]+){0,3}\s+by)$")
"""Before a figure that something is multiplied with or divided by: `(a / b) x 100`, `multiply it by 100`."""


_RATE: Final = re.compile(r"/(?:[$€£¥](?!\s?\d)|[A-Za-z]{1,12}\b(?!\s*[/=]))")


# -- ways to find the answer -----------------------------------------------------------------------------------------


def _overlap(segment: str, target: Target) -> float:
    """Share of the target's words that a segment holds; 1 for an acronym of it."""
    if any(re.search(rf"(?<!\w){re.escape(a)}(?!\w)", segment) for a in target.acronyms):
        return 1.0
    if not target.words:
        return 0.0
    return len(words_of(segment) & target.words) / len(target.words)


def _pick(segment: _Segment, target: Target) -> tuple[Number, ...]:
    """The figure that a segment states, with other forms of it that follow in brackets or after `or`."""
    text = segment.text
    aside = _ASIDE.search(text)
    figures = list(segment.figures)
    if aside:
        kept = [n for n in figures if n.start - segment.start < aside.start()]
        figures = kept or figures
    if not figures:
        return ()
    copulas = [m.end() for m in _COPULA.finditer(text)]
    stating = [n for n in figures if any(c <= n.start - segment.start for c in copulas)] or figures
    equal = max((m.start() for m in re.finditer(r"[=≈]", text)), default=-1)
    first = next((n for n in stating if n.start - segment.start > equal), stating[0])
    return (first, *_forms(text, segment.start, first, figures))


_OR: Final = re.compile(
    r"^[\s,(]*(?:or|i\.?e\.?,?|which is|equivalent(?:ly)?(?: to)?|that is,?|=|≈|\(|rounded to|when rounded to|approximately|about)[\s,(]*(?:about |approximately |roughly |equivalent to )?$",
    re.IGNORECASE,
)


def _forms(text: str, begin: int, first: Number, figures: Sequence[Number]) -> list[Number]:
    forms, last = [], first
    for number in figures:
        if number.start < last.end:
            continue
        if _OR.match(text[last.end - begin : number.start - begin]):
            forms.append(number)
            last = number
        else:
            break
    return forms


def _stated(segments: Sequence[_Segment], target: Target, answer: str) -> Located | None:
    """The segment that speaks most like an answer: it names the metric, draws a conclusion, stands in bold, and stands late."""
    telling = [s for s in segments if s.figures]
    best: tuple[float, _Segment] | None = None
    for place, segment in enumerate(telling):
        weight = _weight(segment, target, (place + 1) / len(telling))
        if weight >= LEAST and (best is None or weight >= best[0]):
            best = (weight, segment)
    return _located(best[1], target, _how(best[1])) if best else None


LEAST: Final = 1.15
"""What a segment must weigh to be taken for the answer: naming the metric in full and stating a figure is enough, standing last is not."""


def _weight(segment: _Segment, target: Target, place: float) -> float:
    """`place` is from 0 to 1, late is more."""
    if _REFUSAL.search(segment.text) or _CONDITION.search(segment.text):
        return 0.0
    operates = 0.3 * bool(words_of(segment.text) & target.words & OPERATIONS)
    named = min(1.0, _overlap(segment.text, target) / 0.6)
    concludes = bool(_RESULT.search(segment.text))
    states = bool(_COPULA.search(segment.text))
    bold = "**" in segment.text or "boxed" in segment.text
    return 1.0 * named + operates + 0.7 * concludes + 0.25 * states + 0.5 * bold + 0.5 * place


def _how(segment: _Segment) -> How:
    return "conclusion" if _RESULT.search(segment.text) else "emphasis" if "**" in segment.text else "sentence"


def _only(segments: Sequence[_Segment], target: Target, answer: str) -> Located | None:
    """The first line's figure of a short answer, or the only figure that there is."""
    if _REFUSAL.search(answer):
        guessed = [s for s in segments if s.figures and _GUESS.search(s.text)]
        return _located(guessed[-1], target, "only figure") if guessed else None
    stated = [s for s in segments if s.figures]
    if stated and stated[0] is segments[0] and len(answer) < 400:
        return _located(stated[0], target, "first line")
    figures = [n for s in stated for n in s.figures]
    if len({n.units for n in figures}) == 1:
        return _located(stated[0], target, "only figure")
    return None


def _located(segment: _Segment, target: Target, how: How) -> Located:
    return Located(_pick(segment, target), how, segment.text.strip()[:500])
