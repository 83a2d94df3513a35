"""What lies in `memory.json` and in a snapshot, as it is read: strict, so that a file that was changed by hand says what is wrong with it."""

from typing import Any, Final, Literal

from attrs import asdict
from pydantic import BaseModel, ConfigDict, Field

from finassay_memory.notes import MAX_HISTORY, MAX_REVIEWED, MAX_SESSIONS, Change, Entry, Memory, Review, Snapshot

VERSION: Final = 1
_STRICT: Final = ConfigDict(extra="forbid", strict=True)
_NAME: Final = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,79}$"


class _Entry(BaseModel):
    model_config = _STRICT

    id: str = Field(pattern=_NAME)
    text: str = Field(min_length=1, max_length=20_000)
    dimension: str = Field(default="", max_length=40)
    by: str = Field(default="", max_length=300)
    seen: int = Field(default=1, ge=1)
    first: str = Field(default="", max_length=40)
    last: str = Field(default="", max_length=40)
    sessions: list[str] = Field(default_factory=list, max_length=MAX_SESSIONS)


class _Change(BaseModel):
    model_config = _STRICT

    op: Literal["add", "again", "replace", "remove"]
    id: str
    before: str = ""
    after: str = ""


class _Review(BaseModel):
    model_config = _STRICT

    when: str
    session: str
    by: str
    changes: list[_Change] = Field(default_factory=list)
    refused: list[str] = Field(default_factory=list)


class StoredMemory(BaseModel):
    """`memory.json`."""

    model_config = _STRICT

    kind: Literal["finassay-memory"]
    schema_version: Literal[1]
    entries: list[_Entry] = Field(max_length=10_000)
    history: list[_Review] = Field(default_factory=list, max_length=MAX_HISTORY)
    reviewed: list[str] = Field(default_factory=list, max_length=MAX_REVIEWED)

    def memory(self) -> Memory:
        """Raises `ValueError` where two entries have one id."""
        entries = tuple(Entry(**{**e.model_dump(), "sessions": tuple(e.sessions)}) for e in self.entries)
        if len({e.id for e in entries}) < len(entries):
            raise ValueError("two entries have one id")
        history = tuple(
            Review(r.when, r.session, r.by, tuple(Change(**c.model_dump()) for c in r.changes), tuple(r.refused)) for r in self.history
        )
        return Memory(entries, history, tuple(self.reviewed))


class StoredSnapshot(BaseModel):
    """`snapshots/DIGEST.json`."""

    model_config = _STRICT

    kind: Literal["finassay-memory-snapshot"]
    schema_version: Literal[1]
    notes: list[str]
    files: dict[str, str]

    def snapshot(self) -> Snapshot:
        return Snapshot(tuple(self.notes), dict(self.files))


def memory_json(memory: Memory) -> dict[str, Any]:
    return {"kind": "finassay-memory", "schema_version": VERSION, **asdict(memory)}


def snapshot_json(snapshot: Snapshot) -> dict[str, Any]:
    return {"kind": "finassay-memory-snapshot", "schema_version": VERSION, "notes": list(snapshot.notes), "files": dict(snapshot.files)}
