"""The review without a model: what was weak, in the feedback's own words, counted over sessions."""

import re
from collections.abc import Iterable, Iterator
from typing import Final

from attrs import define, evolve, field, frozen

from finassay.api.learning import Finding, Lesson
from finassay.api.scorecard import TurnScore
from finassay_memory.notes import Bounds, Change, Entry, Memory, Review
from finassay_memory.plain import plain, refused

BY: Final = "rules"
_HIDDEN: Final = re.compile(r"\[(?:withheld|value)\]")
_MARK: Final = re.compile(r"[^A-Za-z0-9._-]+")


@frozen
class Found:
    """Something worth noting after one session; `id` is the same whenever it is found."""

    id: str
    text: str
    dimension: str = ""


def found_in(lesson: Lesson, weak: int) -> Iterator[Found]:
    """Failed vetoes with what passes them, dimensions at or below `weak`, what was right after a turn and lost later, and a bad end."""
    for finding in lesson.findings:
        if finding.failed:
            yield Found(
                f"{_mark(finding.dimension)}-veto",
                f"{finding.title} failed, which fails the whole session. {_advice(finding)}",
                finding.dimension,
            )
        elif finding.level is not None and finding.level <= weak:
            yield Found(f"{_mark(finding.dimension)}-weak", f"{finding.title}: {finding.level} of 4. {_advice(finding)}", finding.dimension)
    titles = {finding.dimension: finding.title for finding in lesson.findings}
    for dimension in _lost(lesson.by_turn):
        text = f"{titles.get(dimension, dimension)}: it was better after an earlier turn than at the end. Keep what was right when you change files."
        yield Found(f"{_mark(dimension)}-lost", text, dimension)
    if not lesson.accepted and lesson.end_reason != "satisfied":
        said = lesson.feedback.partition("\n")[0].partition(":")[2].strip()
        yield Found(f"end-{_mark(lesson.end_reason)}", f"A session ended as {said}")


def _mark(text: str) -> str:
    return _MARK.sub("-", text)[:40].strip("-") or "other"


def _advice(finding: Finding) -> str:
    """What the feedback says to do, else what it found; nothing where that is withheld, or not fit to be kept."""
    if finding.to_pass:
        return finding.to_pass
    reason = plain(finding.reason, 2_000)
    return "" if _HIDDEN.search(reason) or refused(reason) else reason


def _lost(by_turn: tuple[TurnScore, ...]) -> list[str]:
    """Dimensions that a program graded higher after an earlier turn than after the last."""
    if len(by_turn) < 2:
        return []
    last = by_turn[-1].levels
    return sorted(name for name, level in last.items() if any(turn.levels.get(name, 0) > level for turn in by_turn[:-1]))


@define
class _Edited:
    entries: dict[str, Entry]
    changes: list[Change] = field(factory=list)
    refused: list[str] = field(factory=list)


def learn(memory: Memory, lesson: Lesson, bounds: Bounds, weak: int, when: str) -> tuple[Iterable[Entry], Review]:
    """The entries after one more session. An entry of another author is never touched, and makes no room."""
    edited = _Edited({entry.id: entry for entry in memory.entries})
    for found in found_in(lesson, weak):
        text = plain(found.text, bounds.characters)
        old = edited.entries.get(found.id)
        if reason := refused(text):
            edited.refused.append(f"{found.id} holds {reason}")
        elif old is None:
            fresh = Entry(found.id, text, found.dimension, BY, 1, when, when, (lesson.session,))
            edited.entries[found.id] = fresh
            edited.changes.append(Change("add", found.id, "", text))
        elif old.by == BY:
            edited.entries[found.id] = evolve(old.again(lesson.session, when, text), dimension=found.dimension)
            edited.changes.append(Change("again", found.id, old.text if old.text != text else "", text))
    _make_room(edited, bounds)
    return edited.entries.values(), Review(when, lesson.session, BY, tuple(edited.changes), tuple(edited.refused))


def _make_room(edited: _Edited, bounds: Bounds) -> None:
    """Drop the rules' own entries that were seen least, and among those the ones not seen for longest, until all fit."""
    own = sorted((e for e in edited.entries.values() if e.by == BY), key=lambda e: (e.seen, e.last, e.id))
    for entry in own[: max(0, len(edited.entries) - bounds.entries)]:
        del edited.entries[entry.id]
        edited.changes.append(Change("remove", entry.id, entry.text))
