"""Compiling the phrase matcher's patterns (`finassay.api.matching` describes the language), and finding them fast.

Most patterns cannot stand in most sentences. What a match must contain is read off the pattern once, so that a plain search for a few
letters decides in the usual case and the expression runs only where it may find something.
"""

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache

from attrs import frozen

NUMBER = r"(?<![\w.])(?P<sign>[-+]?)(?P<value>\d+(?:\.\d+)?|\.\d+)(?P<unit>%|bp)?"
_WORD = r"[\w%]++(?:['.][\w%]++)*+"
_GAP = rf"(?:[^\w%]++{_WORD}){{0,6}}?[^\w%]++"
_GAP_WITHOUT_NUMBERS = rf"(?:[^\w%]++(?!\d){_WORD}){{0,6}}?[^\w%]++"
_PARTS = re.compile(r"( ~ |\{number\}!?| \?| )")


@frozen
class Phrase:
    """A compiled pattern. `needles`: each match holds at least one of these strings; empty where that cannot be told."""

    expression: re.Pattern[str]
    needles: tuple[str, ...]
    bare: bool
    """Takes a number without a unit: `{number}!`."""

    def may_stand_in(self, norm: str) -> bool:
        return not self.needles or any(needle in norm for needle in self.needles)


@lru_cache(maxsize=16_384)
def phrase(pattern: str) -> Phrase:
    """Compile a pattern. Raises `re.error` if it is none."""
    gap = _GAP_WITHOUT_NUMBERS if "{number}" in pattern else _GAP
    replaced = {" ~ ": gap, "{number}": NUMBER, "{number}!": NUMBER, " ?": r"[\s\-/]*", " ": r"[\s\-/(]+"}
    source = "".join(replaced.get(part, part) for part in _PARTS.split(pattern))
    return Phrase(re.compile(rf"(?<!\w)(?:{source})(?!\w)"), needles(pattern), "{number}!" in pattern)


def hits(patterns: Iterable[str], norm: str) -> Iterator[tuple[Phrase, re.Match[str]]]:
    """All places in a normalised text where one of the patterns stands, pattern by pattern."""
    for pattern in patterns:
        known = phrase(pattern)
        if known.may_stand_in(norm):
            for hit in known.expression.finditer(norm):
                yield known, hit


def found(patterns: Iterable[str], norm: str) -> bool:
    """Whether one of the patterns stands in a normalised text."""
    return next(hits(patterns, norm), None) is not None


# -- what a match must contain ----------------------------------------------------------------------------------------

_OPTIONAL = re.compile(r"[?*]|\{0?,")
_QUANTIFIER = re.compile(r"(?:[?*+]|\{\d*,?\d*\})[?+]?")
_PLAIN = re.compile(r"[a-z0-9&%]")


def needles(pattern: str) -> tuple[str, ...]:
    """Strings of which every match of the pattern contains one; empty if none of at least two letters can be told."""
    alternatives = _alternatives(pattern)
    sets = [_of_sequence(alternative) for alternative in alternatives]
    return tuple(dict.fromkeys(n for one in sets for n in one)) if all(sets) else ()


def _of_sequence(source: str) -> tuple[str, ...]:
    """The best candidate among the runs of letters and the groups of a pattern without `|` at its top."""
    candidates: list[tuple[str, ...]] = []
    run, at = "", 0
    while at < len(source):
        end = _atom_end(source, at)
        atom = source[at:end]
        quantifier = _QUANTIFIER.match(source, end)
        optional = _OPTIONAL.match(source, end) is not None
        plain = _PLAIN.fullmatch(atom) is not None
        if plain and not optional:
            run += atom
        if not plain or quantifier:
            candidates.append((run,))
            run = ""
        if atom.startswith("(?:") and not optional:
            candidates.append(needles(atom[3:-1]))
        at = quantifier.end() if quantifier else end
    candidates.append((run,))
    usable = [c for c in candidates if c and min(map(len, c)) >= 2]
    return max(usable, key=lambda c: (min(map(len, c)), -len(c)), default=())


def _alternatives(source: str) -> list[str]:
    parts, first, at = [], 0, 0
    while at < len(source):
        if source[at] == "|":
            parts.append(source[first:at])
            first = at + 1
        at = _atom_end(source, at)
    return [*parts, source[first:]]


def _atom_end(source: str, at: int) -> int:
    """The end of the group, class, escape, number mark or character that starts at `at`."""
    if source.startswith("{number}", at):
        return at + len("{number}") + source.startswith("!", at + len("{number}"))
    if source[at] == "\\":
        return at + 2
    if source[at] == "[":
        return source.index("]", at + 2) + 1
    if source[at] == "(":
        at += 1
        while source[at] != ")":
            at = _atom_end(source, at)
    return at + 1
