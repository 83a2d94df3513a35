"""Texts that may be kept: one plain line each, without links, markup, or words that are meant for a program or a grader."""

import re
import unicodedata
from typing import Final

_SPACES: Final = re.compile(r"\s+")
_LEADING: Final = re.compile(r"^(?:[-*+•>#|]+\s*|\d{1,2}[.)]\s+)+")
_LONG: Final = 60
"""Characters of one word from which on it is no word: a key, a path, an encoded text."""

_REFUSED: Final = (
    (
        "a link",
        re.compile(r"\w+://|\bwww\.|\b(?:data|javascript|mailto|file):\S|\]\(|\b[\w-]+\.(?:com|net|org|io|dev|app|ai|co|xyz|info)\b", re.I),
    ),
    ("markup", re.compile(r"</?[a-z!?]|<\||\|>|```|~~~|\[/?inst\]|<{3}|>{3}|\{\{|\}\}|&(?:#\d+|[a-z]+);", re.I)),
    ("a mark of who speaks", re.compile(r"(?:^|[.!?]\s)(?:system|assistant|user|developer|human|tool)\s*:", re.I)),
    (
        "words against other instructions",
        re.compile(
            r"\b(?:ignore|disregard|forget|override|bypass)\b(?:\s+\w+){0,3}?\s+(?:previous|prior|above|earlier|preceding|system|safety)\s+"
            r"(?:instructions?|rules?|prompts?|messages?|brief(?:ing)?|text)\b"
            r"|\b(?:ignore|disregard|forget|override|bypass)\s+(?:(?:all|any|of|your|these|those|other)\s+){0,3}(?:instructions|guardrails|briefing)\b"
            r"|\b(?:system|hidden) prompt\b|\byou are now\b|\bnew instructions\b|\bjailbreak",
            re.I,
        ),
    ),
    (
        "words to whoever grades",
        re.compile(
            r"\b(?:judge|grader|evaluator|scorer|harness|finassay)s?\s*[:,]?\s*(?:(?:must|should|shall|please|to)\s+)?"
            r"(?:give|award|ignore|rate|mark|score|grade|run|execute|delete)\b|\b(?:dear|(?:note|message|memo) to)\s+(?:the\s+)?(?:judge|grader|evaluator|harness)\b"
            r"|\b(?:give|award|grade|score|rate)\s+(?:this|me|us|it)\b.{0,30}\b(?:full|highest|maximum|perfect|top|[45]|10)\b",
            re.I,
        ),
    ),
    ("a word that is too long", re.compile(rf"\S{{{_LONG},}}")),
)


def plain(text: str, limit: int) -> str:
    """One line without control, invisible and private characters and without marks of a list; at most `limit` characters."""
    kept = (" " if c.isspace() else "" if unicodedata.category(c)[0] == "C" else c for c in text[: 8 * limit])
    line = _LEADING.sub("", _SPACES.sub(" ", "".join(kept)).strip())
    return line if len(line) <= limit else line[: limit - 1].rstrip() + "…"


def refused(text: str) -> str:
    """What a text holds that is not kept; empty if it may be kept. Looked for as it is read, whatever characters it is written in."""
    read = unicodedata.normalize("NFKC", text)
    return next((what for what, pattern in _REFUSED if pattern.search(read)), "")
