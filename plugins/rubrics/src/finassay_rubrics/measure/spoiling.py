"""Answers spoilt on purpose: what is made wrong must lose points, what is only put differently must not."""

import re
from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Final

from attrs import frozen

from finassay_rubrics.grading.cells import cell_of
from finassay_rubrics.grading.grade import Grader
from finassay_rubrics.grading.numbers import numbers
from finassay_rubrics.grading.score import Result, topic_of
from finassay_rubrics.record.rubric import Criterion, Rubric

HARMFUL: Final = ("wrong period", "stale value", "wrong unit", "factor of ten", "sign", "mixed routes", "entity")
HARMLESS: Final = ("reordered", "paraphrased")
_UNITS: Final = (
    (r"\s?(?:million|mn|m)\b", " billion"),
    (r"\s?(?:billion|bn)\b", " million"),
    (r"\s?thousand\b", " million"),
    (r"\s?(?:percentage points?|pp)\b", " basis points"),
    (r"\s?(?:basis points?|bps?)\b", " percentage points"),
    (r"\s?(?:%|percent\b)", "x"),
    (r"\s?(?:x\b|times\b)", "%"),
    (r"\s?days?\b", " months"),
)
"""A unit behind a figure, and another that makes it wrong."""
_SCALE: Final = re.compile(r"(?:thousand|million|billion)(?=s?\b)", re.IGNORECASE)
_SYNONYMS: Final = (
    (r"\bwas\b", "came to"),
    (r"\brose\b", "increased"),
    (r"\bfell\b", "declined"),
    (r"\bapproximately\b", "about"),
    (r"\bbecause\b", "since"),
    (r"\bHowever\b", "Yet"),
)


@frozen
class Spoilt:
    """One changed answer and what it lost."""

    how: str
    changed: str
    """Criteria whose figures were touched."""
    before: Decimal
    after: Decimal

    @property
    def as_wanted(self) -> bool:
        """Lost points where it must, kept them where it must."""
        return self.after < self.before if self.how in HARMFUL else self.after == self.before


@frozen
class _Figure:
    criterion: Criterion
    span: tuple[int, int]
    text: str
    year: str
    words: frozenset[str]


def spoil(rubric: Rubric, text: str) -> list[Spoilt]:
    """Every way in which this answer can be changed by program. An answer whose score is undefined gives none."""
    grader = Grader(rubric)
    score = grader.grade(text).score
    if score.points is None:
        return []
    figures = _figures(rubric, score.results, text)
    out = []
    for how, changed, other in (
        *_swapped(figures, text),
        *_single(figures, text),
        *_units(figures, text),
        *_mixed([f for f in figures if topic_of(f.criterion) not in score.mixed], text, score.routes),
        *_entities(figures, rubric, text),
        *_harmless(text),
    ):
        if other == text:
            continue
        after = grader.grade(other).score.points
        if after is not None:
            out.append(Spoilt(how, changed, score.points, after))
    return out


def _figures(rubric: Rubric, results: Sequence[Result], text: str) -> list[_Figure]:
    found = []
    for result in results:
        criterion, span = rubric.criterion(result.criterion), result.found.span
        if criterion.kind != "numeric" or result.found.outcome != "met" or span is None or not criterion.points:
            continue
        cell = cell_of(criterion.text, criterion.period or criterion.expected[0].period)
        found.append(_Figure(criterion, span, text[span[0] : span[1]], cell.years[0] if cell.years else "", cell.words))
    return found


def _put(text: str, *changes: tuple[tuple[int, int], str]) -> str:
    for (start, end), new in sorted(changes, reverse=True):
        text = text[:start] + new + text[end:]
    return text


def _swapped(figures: Sequence[_Figure], text: str) -> Iterator[tuple[str, str, str]]:
    """Two years of one metric exchanged; the older figure in place of the newer."""
    for one in figures:
        for two in figures:
            if one.year and two.year and one.year > two.year and one.words == two.words and one.text != two.text and one.span != two.span:
                both = f"{one.criterion.id}, {two.criterion.id}"
                yield "wrong period", both, _put(text, (one.span, two.text), (two.span, one.text))
                yield "stale value", one.criterion.id, _put(text, (one.span, two.text))


def _single(figures: Sequence[_Figure], text: str) -> Iterator[tuple[str, str, str]]:
    for one in figures:
        found = numbers(one.text)
        if len(found) != 1 or not found[0].value:
            continue
        digits = re.search(r"\d[\d,]*(?:\.\d+)?", one.text)
        if digits is None:
            continue
        tenfold = f"{Decimal(digits[0].replace(',', '')) * 10:,f}"
        yield "factor of ten", one.criterion.id, _put(text, (one.span, one.text.replace(digits[0], tenfold, 1)))
        size = any("size" in r.sign_rule for r in one.criterion.expected)
        if size:
            continue
        if found[0].value > 0:
            yield "sign", one.criterion.id, _put(text, (one.span, one.text.replace(digits[0], f"-{digits[0]}", 1)))
        else:
            yield "sign", one.criterion.id, _put(text, (one.span, re.sub(r"[-−–()]", "", one.text)))


def _units(figures: Sequence[_Figure], text: str) -> Iterator[tuple[str, str, str]]:
    """Another unit behind a figure, in front of which it stands by itself."""
    for one in figures:
        digits = re.search(r"\d[\d,]*(?:\.\d+)?\)?", one.text)
        at = one.span[0] + digits.end() if digits else one.span[1]
        for pattern, other in _UNITS:
            if found := re.compile(pattern).match(text, at):
                yield "wrong unit", one.criterion.id, text[:at] + other + text[found.end() :]
                break
    amounts = [one.criterion.id for one in figures if any(route.scale for route in one.criterion.expected)]
    scales = sorted({match[0].lower() for match in _SCALE.finditer(text)})
    if amounts and len(scales) == 1:  # the scale of a table or of all amounts, said once or throughout
        other = "thousand" if scales[0] != "thousand" else "billion"
        yield "wrong unit", ", ".join(amounts[:5]), _SCALE.sub(other, text)


def _mixed(figures: Sequence[_Figure], text: str, routes: object) -> Iterator[tuple[str, str, str]]:
    """One figure by another convention than the others of its topic."""
    chosen = routes if isinstance(routes, dict) else {}
    for one in figures:
        topic = topic_of(one.criterion)
        if topic is None or sum(topic_of(f.criterion) == topic for f in figures) < 2:
            continue
        digits = re.search(r"\d[\d,]*(?:\.\d+)?", one.text)
        for route in one.criterion.expected:
            if digits is None or route.route_id == chosen.get(topic) or not isinstance(route.value, Decimal):
                continue
            places = len(digits[0].partition(".")[2])
            other = f"{abs(route.value):,.{places}f}"
            if other != digits[0]:
                yield "mixed routes", one.criterion.id, _put(text, (one.span, one.text.replace(digits[0], other, 1)))


def _entities(figures: Sequence[_Figure], rubric: Rubric, text: str) -> Iterator[tuple[str, str, str]]:
    """The names of two entities exchanged throughout, where a figure of one of them was right."""
    names = sorted({c.entity for c in rubric.criteria if c.entity and c.entity in text})
    if len(names) >= 2 and any(one.criterion.entity in names[:2] for one in figures):
        first, second = names[:2]
        pattern = re.compile(f"{re.escape(first)}|{re.escape(second)}")
        yield "entity", f"{first}, {second}", pattern.sub(lambda m: second if m[0] == first else first, text)


def _harmless(text: str) -> Iterator[tuple[str, str, str]]:
    blocks = re.split(r"\n\s*\n", text.strip())
    if len(blocks) > 1:
        yield "reordered", "", "\n\n".join(reversed(blocks))
    other = text
    for pattern, word in _SYNONYMS:
        other = re.sub(pattern, word, other)
    yield "paraphrased", "", other
