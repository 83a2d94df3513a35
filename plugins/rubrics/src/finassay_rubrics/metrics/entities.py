"""Whose figures a question asks for."""

import re
from typing import Final

from finassay.api.research import Question
from finassay_rubrics.metrics.terms import STATEMENTS, YEAR, definitions, fold, names_in, words

_CAPITALS: Final = re.compile(r"(?:[A-Z0-9][\w.&'’-]*)(?:\s+(?:(?:of|and|&)\s+)?[A-Z][\w.&'’-]*)*")


_COUNTED: Final = re.compile(r"\d+(?:-?(?:[Yy](?:ears?|r)|[KkQq]|m|bn|mm)s?)?")
"""A number with what it counts, or a form; with a capital M it is a name."""
_PLACE: Final = re.compile(r"\b(?:in|within|across|by|from|outside)\s+(?:the\s+)?$")
"""What stands after such a word is more often a place or a part than the company."""


def entities(question: Question) -> tuple[str, ...]:
    """Whose figures are asked for: the question's entity, else capitalised names in its text that are no metric and no common word."""
    if question.entity:
        return (question.entity,)
    text = question.text
    folded = definitions(fold(text)).rest
    masked = list(text)
    taken = [(name.start, name.end) for name in names_in(folded)]
    taken += [m.span() for pattern in (STATEMENTS, YEAR, re.compile(r"\([a-z&%]+\)")) for m in pattern.finditer(folded)]
    taken += [(place, place + 1) for place, c in enumerate(folded) if c == " " and text[place] not in " \u00a0"]
    for start, end in taken:
        masked[start:end] = "§" * (end - start)
    found: dict[str, bool] = {}
    common = words("common")
    plain = "".join(masked)
    parts = [(match.start(), part) for match in _CAPITALS.finditer(plain) for part in re.split(r"['’]s\b", match[0])]
    for start, part in parts:
        said = re.sub(r"['’.]+$", "", part).split()
        while said and said[0].lower() in common:
            said = said[1:]
        named = any(word.lower() not in common and not _COUNTED.fullmatch(word) for word in said)
        if named and any(c.isalpha() for c in "".join(said)):
            found.setdefault(" ".join(said), _PLACE.search(text[:start]) is not None)
    return tuple(sorted(found, key=lambda name: found[name]))
