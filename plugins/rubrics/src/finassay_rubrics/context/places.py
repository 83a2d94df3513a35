"""Where a span stands in a query. Offsets are by code points, half-open, into the query as it was received.

A span is found as it is written; runs of white space may differ. Where its words stand several times, the places that are not inside a longer
word come first, and if there are such, they are all.
"""

import re
from collections.abc import Collection

from attrs import frozen

Place = tuple[int, int]


@frozen
class Wanted:
    """A span that somebody names, and which of its occurrences is meant: counted from 1; 0 is not said."""

    text: str
    occurrence: int = 0


class NoPlaceError(Exception):
    """Why a span has no place."""


def occurrences(query: str, text: str) -> list[Place]:
    """Every place of a span, from left to right."""
    words = text.split()
    if not words:
        return []
    pattern = re.compile(r"\s+".join(map(re.escape, words)))
    found: list[Place] = []
    at = 0
    while match := pattern.search(query, at):
        found.append(match.span())
        at = match.start() + 1
    return [place for place in found if _stands_alone(query, place)] or found


def _stands_alone(query: str, place: Place) -> bool:
    start, end = place
    inside_left = start > 0 and query[start - 1].isalnum() and query[start].isalnum()
    inside_right = end < len(query) and query[end].isalnum() and query[end - 1].isalnum()
    return not inside_left and not inside_right


def placed(query: str, wanted: Wanted, taken: Collection[Place] = (), after: int = 0) -> Place:
    """The place of a span: the occurrence that was named; else the only one; else the first that is not `taken` and not before `after`.

    Raises `NoPlaceError` in words for whoever named the span.
    """
    found = occurrences(query, wanted.text)
    if not found:
        near = occurrences(query.casefold(), wanted.text.casefold()) if len(query.casefold()) == len(query) else []
        hint = f"; the query writes {query[near[0][0] : near[0][1]]!r}" if near else ""
        raise NoPlaceError(f"{wanted.text[:80]!r} does not stand in the query{hint}")
    if wanted.occurrence:
        if wanted.occurrence > len(found):
            raise NoPlaceError(f"{wanted.text[:80]!r} stands {len(found)} times in the query, not {wanted.occurrence}")
        return found[wanted.occurrence - 1]
    free = [place for place in found if place not in taken and place[0] >= after]
    if not free:
        why = f"stands {len(found)} times in the query, and each is bound" if not after else "does not stand after the words before it"
        raise NoPlaceError(f"{wanted.text[:80]!r} {why}")
    return free[0]
