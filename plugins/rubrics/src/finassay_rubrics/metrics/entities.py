"""Whose figures a question asks for."""

import re
from typing import Final

from finassay.api.research import Question
from finassay_rubrics.metrics.terms import STATEMENTS, YEAR, definitions, fold, names_in

_CAPITALS: Final = re.compile(r"(?:[A-Z0-9][\w.&'’-]*)(?:\s+(?:(?:of|and|&)\s+)?[A-Z][\w.&'’-]*)*")
_COMMON: Final = frozenset(
    [
        "what",
        "how",
        "please",
        "answer",
        "answers",
        "give",
        "assume",
        "according",
        "based",
        "basing",
        "by",
        "using",
        "if",
        "we",
        "is",
        "are",
        "was",
        "were",
        "did",
        "does",
        "do",
        "the",
        "a",
        "an",
        "in",
        "on",
        "for",
        "of",
        "and",
        "or",
        "at",
        "to",
        "from",
        "as",
        "it",
        "its",
        "us",
        "usd",
        "round",
        "rounded",
        "calculate",
        "compute",
        "show",
        "say",
        "define",
        "which",
        "when",
        "who",
        "respond",
        "provide",
        "base",
        "address",
        "define",
        "here",
        "only",
        "primarily",
        "you",
        "your",
        "i",
        "let",
        "state",
        "states",
        "fy",
        "question",
        "note",
        "assuming",
        "cagr",
        "yoy",
        "gaap",
        "ltm",
        "sec",
        "cfo",
        "cogs",
        "drawing",
        "considering",
        "report",
        "fiscal",
        "year",
    ]
)


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
    found: dict[str, None] = {}
    parts = [part for match in _CAPITALS.finditer("".join(masked)) for part in re.split(r"['’]s\b", match[0])]
    for part in parts:
        words = re.sub(r"['’.]+$", "", part).split()
        while words and words[0].lower() in _COMMON:
            words = words[1:]
        if words and not all(word.lower() in _COMMON or word.isdigit() for word in words) and any(c.isalpha() for c in "".join(words)):
            found.setdefault(" ".join(words))
    return tuple(found)
