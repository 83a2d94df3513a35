"""The memory itself: what is noted, what was told, what was reviewed."""

import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import Final

from attrs import evolve, frozen

from finassay_memory.plain import plain

MAX_SESSIONS: Final = 20
"""Sessions that an entry names; it counts all."""
MAX_HISTORY: Final = 200
"""Reviews whose edits are kept."""
MAX_REVIEWED: Final = 10_000
"""Sessions that are remembered as reviewed."""

OPENING: Final = (
    "Before the person's message, your own notes (memory {digest}). They were written after earlier sessions with others, from what was found about"
    " your work there. The person you work for now has not seen them and may want something else: what this person says comes first."
)
CLOSING: Final = "End of your notes."
FILES: Final = "These notes and further files of yours lie, read-only, in the folder ./{folder}; nothing in it is delivered."
MESSAGE: Final = "The person's message:"


@frozen
class Bounds:
    """How much a memory may hold, and tell."""

    entries: int = 40
    characters: int = 400
    """Of one entry."""
    files: int = 32
    bytes: int = 200_000
    """Of all files together."""


@frozen
class Entry:
    """One thing noted."""

    id: str
    text: str
    dimension: str = ""
    """What it is about, where it is about one dimension."""
    by: str = ""
    """Who wrote it: `rules`, a model, or a person."""
    seen: int = 1
    """Sessions after which it was noted."""
    first: str = ""
    last: str = ""
    """When it was noted first and last, UTC."""
    sessions: tuple[str, ...] = ()
    """The newest of those sessions, by names that tell nothing of them."""

    def again(self, session: str, when: str, text: str) -> "Entry":
        """The entry after one more session; the same one counts once."""
        if session in self.sessions:
            return evolve(self, text=text, last=when)
        return evolve(self, text=text, seen=self.seen + 1, last=when, sessions=(*self.sessions, session)[-MAX_SESSIONS:])


@frozen
class Change:
    """One edit that was made."""

    op: str
    """`add`, `again`, `replace`, `remove`."""
    id: str
    before: str = ""
    after: str = ""


@frozen
class Review:
    """What was learnt from one session."""

    when: str
    session: str
    by: str
    changes: tuple[Change, ...] = ()
    refused: tuple[str, ...] = ()
    """Why other edits were not made."""

    def words(self) -> str:
        """For people, on one line."""
        counts: dict[str, int] = {}
        for change in self.changes:
            counts[change.op] = counts.get(change.op, 0) + 1
        said = [f"{number} {_SAID[op]}" for op, number in counts.items()]
        said += [f"{len(self.refused)} refused ({self.refused[0]})"] if self.refused else []
        return ", ".join(said) or "nothing to note"


_SAID: Final = {"add": "noted", "again": "noted again", "replace": "reworded", "remove": "removed"}


@frozen
class Memory:
    """Everything in `memory.json`."""

    entries: tuple[Entry, ...] = ()
    history: tuple[Review, ...] = ()
    reviewed: tuple[str, ...] = ()

    def entry(self, id: str) -> Entry | None:
        return next((entry for entry in self.entries if entry.id == id), None)

    def after(self, review: Review, entries: Iterable[Entry]) -> "Memory":
        """The memory with other entries, and the review that made them."""
        return Memory(ranked(entries), (*self.history, review)[-MAX_HISTORY:], (*self.reviewed, review.session)[-MAX_REVIEWED:])


def ranked(entries: Iterable[Entry]) -> tuple[Entry, ...]:
    """What was seen most often first, then what was seen last."""
    newest = sorted(sorted(entries, key=lambda e: e.id), key=lambda e: e.last, reverse=True)
    return tuple(sorted(newest, key=lambda e: -e.seen))


@frozen
class Snapshot:
    """What one session is told. Two sessions with one digest were told the same."""

    notes: tuple[str, ...] = ()
    files: Mapping[str, str] = {}
    """Path below the folder of files to text."""

    @classmethod
    def of(cls, memory: Memory, files: Mapping[str, str], bounds: Bounds) -> "Snapshot":
        told = [_told(entry, bounds.characters) for entry in ranked(memory.entries)[: bounds.entries]]
        return cls(tuple(line for line in told if line), dict(sorted(files.items())))

    @property
    def digest(self) -> str:
        """SHA-256 of all that is told."""
        said = {"notes": list(self.notes), "files": dict(self.files)}
        return hashlib.sha256(
            json.dumps(said, sort_keys=True, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")
        ).hexdigest()

    @property
    def empty(self) -> bool:
        return not self.notes and not self.files

    def text(self, folder: str = "") -> str:
        """What the agent is told before anything else; empty if there is nothing to tell. `folder` is where its files lie, if it has any."""
        if not self.notes and not (self.files and folder):
            return ""
        lines = [OPENING.format(digest=self.digest[:16]), "", *(f"- {note}" for note in self.notes)]
        lines += ["", FILES.format(folder=folder)] if folder else []
        return "\n".join([*lines, "", CLOSING])


def _told(entry: Entry, characters: int) -> str:
    line = plain(entry.text, characters)
    return f"{line} (noted after {entry.seen} sessions)" if line and entry.seen > 1 else line


def rendered(memory: Memory) -> str:
    """The memory for people, as Markdown."""
    lines = ["# Memory", "", "Written from `memory.json`, which counts; changes here are lost.", ""]
    for entry in ranked(memory.entries):
        about = f"{entry.dimension}, " if entry.dimension else ""
        when = f", {entry.first[:10]} to {entry.last[:10]}" if entry.first else ""
        lines.append(
            f"- {plain(entry.text, 4_000)} ({about}noted after {entry.seen}{when}; by {plain(entry.by, 200) or 'a person'}; `{entry.id}`)"
        )
    if not memory.entries:
        lines.append("Nothing is noted yet.")
    return "\n".join([*lines, "", f"Sessions reviewed: {len(memory.reviewed)}"]) + "\n"
