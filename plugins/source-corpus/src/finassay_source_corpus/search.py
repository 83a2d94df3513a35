"""Searching pages: a query's words as FTS5 takes them, BM25, and the passage of a page that shows most of them."""

import re
import sqlite3
import unicodedata
from collections.abc import Sequence
from datetime import date
from typing import Final

from attrs import frozen

MAX_WORDS: Final = 40
EXTRACT: Final = 900
"""Characters of a passage."""
HEAD_WEIGHT: Final = 1.0
BODY_WEIGHT: Final = 1.0
_STOP = (
    "a an and are as at be by did do does for from had has have how in is it its me of on or our per s that the their them there these this those to was we"
    " were what when where which who why will with you your"
)
STOP: Final = frozenset(_STOP.split())
_JOINTS: Final = re.compile("[\ufffe\u00ad]\\s*|(?<=\\w)[\u2010\u2011]\\s*\\n")
_CONTROL: Final = re.compile("[\x00\ud800-\udfff]")


def indexed(text: str) -> str:
    """Text as it is indexed: words joined over line ends, compatible letters folded."""
    text = text.replace("\0", " ")
    if text.isascii():
        return text
    if any(joint in text for joint in "\ufffe\u00ad\u2010\u2011"):
        text = _JOINTS.sub("", text)
    text = unicodedata.normalize("NFKC", text)
    try:
        text.encode()
    except UnicodeEncodeError:  # half of a pair of surrogates
        return _CONTROL.sub(" ", text)
    return text


def words_of(query: str) -> list[str]:
    """The words that a query is searched by, each once; small words only where there are no others."""
    words = list(dict.fromkeys(re.findall(r"[\w&]+(?:[.,'’/-][\w&]+)*", indexed(query[:4000]).casefold())))
    return ([word for word in words if word not in STOP] or words)[:MAX_WORDS]


def match_of(words: Sequence[str]) -> str:
    """A MATCH expression; every word is quoted, so that nothing in it is an operator."""
    return " OR ".join('"' + word.replace('"', "") + '"' for word in words)


@frozen
class Hit:
    """A page that was found. The higher the score, the better."""

    document: int
    number: int | None
    text: bytes
    score: float


def hits(connection: sqlite3.Connection, query: str, cutoff: date, limit: int) -> list[Hit]:
    """The best pages of documents that were there on the day, in a fixed order."""
    words = words_of(query)
    if not words or limit < 1:
        return []
    best = connection.execute(
        f"SELECT p.id, bm25(found, {HEAD_WEIGHT}, {BODY_WEIGHT}) AS score FROM found JOIN pages p ON p.id = found.rowid JOIN documents d ON d.id = p.document"
        " WHERE found MATCH ? AND d.available IS NOT NULL AND d.available <= ? ORDER BY score, d.reference, p.id LIMIT ?",
        (match_of(words), cutoff.isoformat(), limit),
    ).fetchall()
    rows = (connection.execute("SELECT document, number, text FROM pages WHERE id = ?", (id,)).fetchone() for id, _ in best)
    return [Hit(document, number, text, -score) for (document, number, text), (_, score) in zip(rows, best, strict=True)]


def unseen(connection: sqlite3.Connection, query: str) -> list[str]:
    """References of the documents that have a page with all the query's words and are undated, or whose date cannot be."""
    words = words_of(query)
    if not words:
        return []
    rows = connection.execute(
        "SELECT DISTINCT d.reference FROM found JOIN pages p ON p.id = found.rowid JOIN documents d ON d.id = p.document"
        " WHERE found MATCH ? AND d.available IS NULL ORDER BY d.reference",
        (match_of(words).replace(" OR ", " AND "),),
    )
    return [reference for (reference,) in rows]


def extract(text: str, query: str) -> str:
    """The exact slice of a page, at most `EXTRACT` characters, that shows the most of a query's words, the rarer the better."""
    if len(text) <= EXTRACT:
        return text
    folded = "".join(c.lower() if len(c.lower()) == 1 else c for c in text)
    places: list[tuple[int, str, float]] = []
    for word in words_of(query):
        starts = [match.start() for match in re.finditer(re.escape(word), folded)][:500]
        places += [(start, word, 1 / len(starts)) for start in starts]
    if not places:
        return text[:EXTRACT]
    places.sort()
    best, where, begin = -1.0, 0, 0
    inside: dict[str, list[float]] = {}
    for start, word, weight in places:
        inside.setdefault(word, []).append(weight)
        while start - places[begin][0] > EXTRACT * 3 // 4:
            inside[places[begin][1]].pop()
            begin += 1
        score = sum(1 + weights[-1] for weights in inside.values() if weights)
        if score > best + 1e-9:
            best, where = score, places[begin][0]
    first = max(0, min(where - EXTRACT // 8, len(text) - EXTRACT))
    line = text.rfind("\n", max(0, first - 80), where) + 1
    first = line if line and line <= where else first
    return text[first : first + EXTRACT]
