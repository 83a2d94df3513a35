"""What a plain question asks for and what its key expects: a figure to be found in an answer, and a figure to compare it with.

Questions with a key of one figure (`What is the FY2018 capex of X (in USD millions)?`, `$1577.00`) need no rubric. Of the question counts the
sentence that asks; instructions about rounding, sources and roles name no metric.
"""

import re
from decimal import Decimal
from typing import Final

from attrs import evolve, frozen

from finassay_rubrics.grading.compare import Expected
from finassay_rubrics.grading.locate import Target, words_of
from finassay_rubrics.grading.numbers import UnitKind, numbers
from finassay_rubrics.record.rubric import Tolerance

_ASKS: Final = re.compile(r"\b(?:what|how (?:much|many))\b", re.IGNORECASE)
_NO_QUESTION: Final = re.compile(r"\bwhat (?:was|is) asked\b", re.IGNORECASE)
_SENTENCE: Final = re.compile(r"(?<=[.?:])\s+(?=[A-Z]|what\b|how\b)")
_BEFORE: Final = re.compile(r"^.*?\b(?:what|how (?:much|many))\b", re.IGNORECASE | re.DOTALL)
_BRACKETS: Final = re.compile(r"\([^()]*\)")
_FORM: Final = re.compile(r"answer|unit|usd|round|as a %|using", re.IGNORECASE)
_ACRONYM: Final = re.compile(r"(?<![\w&])([A-Z][A-Z&]{1,6})(?:['’]s)?(?![\w&])")
_NO_METRIC: Final = frozenset({"USD", "EUR", "GBP", "FY", "US", "USA", "UK", "GAAP", "IFRS", "SEC", "CEO", "CFO"})
_YEAR: Final = re.compile(r"(?<!\d)(?:19|20)\d\d(?!\d)")
_LEGAL: Final = frozenset({"inc", "corporation", "corp", "company", "co", "plc", "ltd", "group"})
_FILLERS: Final = frozenset({"according", "define", "available"})
_UNIT: Final = r"(?:%|percent|x|times|days|(?:USD |EUR |\$)?(?:thousands?|millions?|billions?|mn|bn|[mbk]))"
_KEY: Final = re.compile(
    rf"^(?:USD|EUR|GBP|US\$|[$€£])?\s*\(?\s*[-−–]?\s*(?:[$€£])?\s*\d[\d,]*(?:\.\d+)?\s*\)?\s*(?:{_UNIT})?\s*(?:USD|EUR|GBP)?\.?$",
    re.IGNORECASE,
)
_SCALE: Final = re.compile(
    r"(?:\b(?:usd|us dollars?|dollars?|eur|gbp)|[$€£])\s*(?:in\s+)?(thousand|million|billion)s?\b|\bin (thousand|million|billion)s\b", re.I
)
_POWERS: Final = {"thousand": 3, "million": 6, "billion": 9}


@frozen
class Keyed:
    """A question with a key of one figure, ready for answers."""

    target: Target
    expected: Expected


def keyed(question: str, key: str, entity: str = "") -> Keyed | None:
    """The target and the expected figure; None where the key is no single figure (words, a list, a range, a date)."""
    expected = expected_of_key(key, question)
    if expected is None:
        return None
    kind = expected.kind if expected.value else None  # nothing is nothing in every unit
    return Keyed(evolve(target_of(question, entity), kind=kind), expected)


def target_of(question: str, entity: str = "") -> Target:
    """The words, acronyms and years of the metric that a question asks for; `entity` (its name) does not belong to the metric."""
    asked = _asking(question)
    names = {word.lower() for word in re.findall(r"\w+", entity)} | _LEGAL
    acronyms = {a for a in _ACRONYM.findall(asked) if a not in _NO_METRIC and a.lower() not in names}
    words = words_of(_ACRONYM.sub(" ", asked), names) - _FILLERS
    return Target(words, frozenset(acronyms), frozenset(_YEAR.findall(asked)), frozenset(entity.split()))


def _asking(question: str) -> str:
    """The part of the question that names what is asked, without directions on form; all of it where nothing asks."""
    asking = [s for s in _SENTENCE.split(question) if _ASKS.search(s)]
    asking = [s for s in asking if not _NO_QUESTION.search(s)] or asking
    sentence = _BEFORE.sub("", asking[-1]) if asking else question
    return _BRACKETS.sub(lambda m: " " if _FORM.search(m[0]) else m[0], sentence)


def expected_of_key(key: str, question: str) -> Expected | None:
    """The key's figure; its trailing zeros say nothing of its precision, its scale is the question's where it names none."""
    text = key.strip()
    if not _KEY.match(text):
        return None
    found = numbers(text)
    if len(found) != 1:
        return None
    number = found[0]
    value = _plain(-abs(number.value) if number.bracketed else number.value)
    in_money = number.kind == "plain" and bool(_SCALE.search(question))
    kind: UnitKind = "amount" if in_money else "times" if number.kind == "plain" else number.kind
    scale = (number.scale or scale_asked(question)) if kind == "amount" else Decimal(1)
    step = min(0, int(value.as_tuple().exponent))
    tolerance = Tolerance(rule="stated precision", abs=Decimal(5).scaleb(step - 1))
    return Expected(value, kind, scale, tolerance, None)


def _plain(value: Decimal) -> Decimal:
    return value.to_integral_value() if value == value.to_integral_value() else value.normalize()


def scale_asked(question: str) -> Decimal:
    """The scale in which a question wants amounts: 1,000,000 for `in USD millions`; 1 where it says none."""
    found = _SCALE.search(question)
    return Decimal(10) ** _POWERS[(found[1] or found[2]).lower()] if found else Decimal(1)


_PLACES: Final = re.compile(r"\b(\d|zero|one|two|three|four|five|six)\s+(?:decimals?\b|decimal\s+(?:place|point|digit)s?)", re.IGNORECASE)
_COUNTS: Final = {"zero": 0, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6}


def decimals_asked(question: str) -> int | None:
    """To how many decimals a question wants its figures; None where it says nothing, or several things."""
    told = {_COUNTS.get(m[1].lower(), int(m[1]) if m[1].isdigit() else 0) for m in _PLACES.finditer(question)}
    return told.pop() if len(told) == 1 else None
