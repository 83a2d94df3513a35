"""Meaning by stated rules: whether an answer names something, which way it says a figure went. A model does better; this needs none."""

import re
from collections.abc import Sequence
from typing import Final

from finassay_rubrics.grading.answer import Answer
from finassay_rubrics.grading.cells import Cell
from finassay_rubrics.grading.vocabulary import spread
from finassay_rubrics.grading.locate import words_of

DOWN: Final = re.compile(
    r"\b(fell|fall\w*|drop\w*|declin\w*|decreas\w*|slip\w*|eas(?:ed|es|ing)|lower\w*|less|down|shr[aiu]nk\w*|contract\w*|reduc\w*|worsen\w*|deteriorat\w*|smaller|weaken\w*)\b",
    re.IGNORECASE,
)
UP: Final = re.compile(
    r"\b(rose|ris(?:e|es|en|ing)|increas\w*|grew|grow\w*|higher|up|climb\w*|expand\w*|improv\w*|gain(?:ed|s)|larger|strengthen\w*|widen\w*)\b",
    re.IGNORECASE,
)
FLAT: Final = re.compile(
    r"\b(flat|unchanged|stable|steady|constant|same|no change|little changed|nothing|(?:do|does|did) not (?:matter|change))\b",
    re.IGNORECASE,
)
NOT: Final = re.compile(r"\b(?:not|no|never|without|neither|nor|hardly|n't)\b|n't\b", re.IGNORECASE)
GENERIC: Final = frozenset(
    [
        "other",
        "charge",
        "asset",
        "item",
        "certain",
        "related",
        "associated",
        "impact",
        "effect",
        "primarily",
        "company",
        "fiscal",
        "year",
        "result",
        "amount",
        "additional",
    ]
)
ENOUGH: Final = 0.5
"""Share of the distinctive words that must be said."""


def direction(text: str) -> str | None:
    """`up`, `down`, `flat`, by the first word of direction; None without one."""
    found = [(m.start(), name) for name, pattern in (("down", DOWN), ("up", UP), ("flat", FLAT)) if (m := pattern.search(text))]
    return min(found)[1] if found else None


def expected_direction(value: str) -> str | None:
    """The direction that an expected word stands for: `declined`, `lower`, `higher`."""
    return direction(value)


def said_direction(answer: Answer, cell: Cell) -> tuple[str | None, str]:
    """Which way an answer says that a metric went, and in which words: the sentence that speaks most of it and tells a direction."""
    wanted = spread(cell.words)
    best: tuple[float, str | None, str] = (0.0, None, "")
    for one in answer.sentences:
        if not direction(one.text):
            continue
        for clause in re.split(r"[;]|,\s+(?:and|but|while)\s+", one.text):
            told = direction(clause)
            shared = len(spread(words_of(clause, cell.entities)) & wanted)
            if told and shared > best[0]:
                best = (shared, told, clause.strip())
    return best[1], best[2]


def names(answer: Answer, value: str, siblings: Sequence[str], entities: frozenset[str]) -> tuple[float, str]:
    """How much of what distinguishes `value` an answer says in one sentence, from 0 to 1, and that sentence.

    Words that sibling criteria share do not distinguish, nor do words that say little.
    """
    own = words_of(value, entities) - GENERIC
    shared = {word for text in siblings for word in words_of(text, entities)}
    distinctive = own - shared or own
    if not distinctive:
        return 0.0, ""
    best = (0.0, "")
    proper = _proper(value)
    for one in answer.sentences:
        said = _parts(one.words - entities)
        share = sum(1 for word in distinctive if _said(word, said, alike=word not in proper)) / len(distinctive)
        if share > best[0]:
            best = (share, one.text.strip())
    return best


def _parts(words: frozenset[str]) -> frozenset[str]:
    return words | {part for word in words for part in re.split(r"[-/]", word) if len(part) > 2}


def _proper(value: str) -> frozenset[str]:
    """Words that are names: capitalised within the text, or all of a text that is capitalised throughout."""
    words = re.findall(r"[A-Za-z][\w’'/-]*", value)
    capital = [w for w in words if w[0].isupper()]
    return words_of(" ".join(capital if len(capital) == len(words) else [w for w in words[1:] if w[0].isupper()]))


def negated(text: str) -> bool:
    """Whether a text denies: `not covered`, `no`."""
    return bool(NOT.search(text))


def _said(word: str, said: frozenset[str], *, alike: bool = True) -> bool:
    """The word itself, or one that begins alike: partial and partly, impairment and impaired. Names must be said as they are."""
    if word in said:
        return True
    parts = [p for p in re.split(r"[-/]", word) if len(p) > 2]
    if len(parts) > 1 and all(p in said for p in parts):
        return True
    return alike and any(len(word) >= 5 and len(other) >= 5 and other[:5] == word[:5] for other in said)
