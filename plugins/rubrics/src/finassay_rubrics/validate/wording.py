"""How a criterion may be worded: one claim, one test, nothing that two readers would read differently."""

import re
from typing import Final

VAGUE: Final = re.compile(
    r"\b(adequate(?:ly)?|appropriate(?:ly)?|good|well|clear(?:ly)?|thorough(?:ly)?|reasonabl[ey]|significant(?:ly)?|sufficient(?:ly)?|properly|meaningful(?:ly)?"
    r"|insightful|comprehensive(?:ly)?|relevant|robust|high[- ]quality|correctly explains|as needed|etc)\b",
    re.IGNORECASE,
)
DOUBLE: Final = re.compile(r"\band/or\b|;|\b(?:as well as|along with|in addition to|both .+ and)\b", re.IGNORECASE)
_VERBS: Final = (
    "states|says|names|gives|shows|computes|calculates|reports|explains|identifies|compares|describes|provides|mentions|lists|puts|uses|cites|notes"
    "|discloses|derives|quantifies|attributes|concludes|takes|labels|defines|applies|keeps"
)
TWO_VERBS: Final = re.compile(rf"\b(?:{_VERBS})\b.*\b(?:and|or|then)\s+(?:{_VERBS})\b", re.IGNORECASE)
LIST: Final = re.compile(r",[^,]+,\s*(?:and|or)\b")
MAX_TEXT: Final = 400


def wording_problem(text: str) -> str:
    """What is wrong with a criterion's text; empty if nothing is."""
    if not text.strip():
        return "says nothing"
    if len(text) > MAX_TEXT:
        return f"is longer than {MAX_TEXT} characters"
    if vague := VAGUE.search(text):
        return f"is vague: {vague[0]!r}"
    if double := (DOUBLE.search(text) or TWO_VERBS.search(text) or LIST.search(text)):
        return f"tests more than one thing: {double[0][:80]!r}"
    return ""


COMMON: Final = frozenset(["the", "of", "a", "in", "states", "says", "and", "to", "for"])
"""Words that every criterion has."""


def words_in(text: str) -> frozenset[str]:
    """A text's words, apart from those that every criterion has."""
    return frozenset(re.findall(r"[a-z0-9]+", text.lower())) - COMMON


def shared(some: frozenset[str], others: frozenset[str]) -> float:
    """Share of words that two texts have in common, from 0 to 1."""
    return len(some & others) / len(some | others) if some or others else 1.0


def similarity(first: str, second: str) -> float:
    """The same for texts."""
    return shared(words_in(first), words_in(second))
