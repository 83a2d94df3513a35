"""The folder in which a memory lies.

memory.json        what counts: entries, the last reviews with their edits, which sessions were reviewed
MEMORY.md          the same for people, written after it
files/             texts that a person puts there; sessions get them as they are
snapshots/         what sessions were told, by its digest, so that one that is resumed is told the same

Only reviews write it, one at a time, whole or not at all.
"""

import json
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from attrs import frozen

from finassay.api.amiss import first_amiss
from finassay.api.errors import InvalidFileError, UsageError
from finassay_memory.files import Collected, below, is_scratch, opened, read_file, sweep, write_file
from finassay_memory.notes import Bounds, Entry, Memory, Review, Snapshot, rendered

FILE: Final = "memory.json"
READABLE: Final = "MEMORY.md"
FILES: Final = "files"
SNAPSHOTS: Final = "snapshots"
LOCK: Final = ".lock"
MAX_BYTES: Final = 32 * 2**20
MAX_SNAPSHOTS: Final = 200
"""Snapshots that are kept, those that were told last."""
LOCK_SECONDS: Final = 60.0
_RUN: Final = "run.json"

Edited = Callable[[Memory], tuple[Iterable[Entry], Review]]
"""From the memory as it is now to its new entries, and the review that says what changed."""


def utc_now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


@frozen
class MemoryFolder:
    """One memory on disk."""

    path: Path
    bounds: Bounds

    @classmethod
    def at(cls, given: str, bounds: Bounds) -> "MemoryFolder":
        """The folder, which need not be there yet. Raises `UsageError` where no memory may lie, `InvalidFileError` for one that cannot be read."""
        try:
            path = Path(given).expanduser().resolve()
        except (OSError, RuntimeError, ValueError) as error:  # links in a ring, nobody's home, a character that no path has
            raise UsageError(f"memory {given!r} is no path: {error}") from None
        for folder in (path, *path.parents):
            if _is_run(folder):
                raise UsageError(f"memory {given!r} lies in the run {folder}", hint="A memory outlives runs: choose a folder beside them.")
        there = next((folder for folder in (path, *path.parents) if os.path.lexists(folder)), path)
        if not there.is_dir():
            raise UsageError(f"memory {given!r} is no folder, or lies in none", hint="Name a folder; it is made if it is not there.")
        if not os.access(there, os.R_OK | os.W_OK | os.X_OK):
            raise UsageError(f"memory {given!r} cannot be read and written")
        if path in (Path(path.anchor), Path.home().resolve()):
            raise UsageError(f"memory {given!r} is no folder of its own", hint="Name a folder for the memory alone.")
        found = cls(path, bounds)
        names = {p.name for p in path.iterdir()} if path.is_dir() else set()  # one look: another review may write meanwhile
        if FILE not in names:
            strange = sorted(name for name in names - {READABLE, FILES, SNAPSHOTS, LOCK} if not is_scratch(name))
            if strange:
                raise UsageError(f"memory {given!r} holds {strange[0]!r} and no {FILE}", hint="Name a folder for the memory alone.")
        found.read()
        return found

    def read(self) -> Memory:
        """What is remembered; nothing where nothing was. Raises `InvalidFileError`."""
        from finassay_memory.stored import StoredMemory

        data = self._json((FILE,))
        if data is None:
            return Memory()
        try:
            return StoredMemory.model_validate_json(data).memory()
        except ValueError as error:  # pydantic's errors too
            raise InvalidFileError(f"{self.path / FILE}: {_first(error, StoredMemory)}", hint=_HINT) from None

    # -- what sessions are told ---------------------------------------------------------------------------------------

    def take(self) -> tuple[Snapshot, dict[str, str]]:
        """A snapshot of now, kept, and which files were left out and why. Raises `InvalidFileError`, `OSError`."""
        from finassay_memory.stored import snapshot_json

        collected = Collected(self.bounds)
        memory = self.read()
        if self.path.is_dir():
            with opened(self.path) as folder:
                collected.tree(FILES, folder)
        snapshot = Snapshot.of(memory, collected.files, self.bounds)
        with self._made() as folder, below(SNAPSHOTS, folder, make=True) as kept:
            name = f"{snapshot.digest}.json"
            write_file(name, kept, _dumped(snapshot_json(snapshot)))  # anew, so that it is the newest
            self._prune(kept)
        return snapshot, collected.skipped

    def told(self, digest: str) -> Snapshot:
        """What a session was told that began with this digest. Raises `InvalidFileError` if it is not known any more."""
        from finassay_memory.stored import StoredSnapshot

        name = f"{digest}.json" if len(digest) == 64 and digest.isalnum() else "none"
        data = self._json((SNAPSHOTS, name))
        if data is None:
            raise InvalidFileError(
                f"{self.path / SNAPSHOTS / name}: not found; expected what the session was told when it began", hint=_GONE
            )
        try:
            snapshot = StoredSnapshot.model_validate_json(data).snapshot()
        except ValueError as error:
            raise InvalidFileError(f"{self.path / SNAPSHOTS / name}: {_first(error, StoredSnapshot)}", hint=_GONE) from None
        if snapshot.digest != digest:
            raise InvalidFileError(f"{self.path / SNAPSHOTS / name}: was changed since it was written", hint=_GONE)
        return snapshot

    # -- what reviews write -------------------------------------------------------------------------------------------

    def update(self, session: str, edit: Edited) -> Review | None:
        """Edit the memory once for a session; None if that was done already. Memory and mark are one write.

        Raises `InvalidFileError`, `OSError`, `UsageError` if another program writes for long.
        """
        from finassay_memory.stored import memory_json

        with self._made() as folder, self._locked():
            memory = self.read()
            if session in memory.reviewed:
                return None
            entries, review = edit(memory)
            after = memory.after(review, entries)
            sweep(folder)
            write_file(FILE, folder, _dumped(memory_json(after)))
            write_file(READABLE, folder, rendered(after).encode())
            return review

    @contextmanager
    def _locked(self) -> Iterator[None]:
        from filelock import FileLock, Timeout

        lock = FileLock(self.path / LOCK, timeout=LOCK_SECONDS)
        try:
            lock.acquire()
        except Timeout:
            raise UsageError(f"{self.path}: another program has been writing this memory for {LOCK_SECONDS:.0f} s") from None
        try:
            yield
        finally:
            lock.release()

    @contextmanager
    def _made(self) -> Iterator[int]:
        self.path.mkdir(parents=True, exist_ok=True, mode=0o700)
        with opened(self.path) as folder:
            yield folder

    def _json(self, parts: tuple[str, ...]) -> bytes | None:
        """A file's bytes; None if it is not there. Raises `InvalidFileError`, also where it is a link."""
        try:
            with opened(self.path.joinpath(*parts[:-1])) as folder:
                return read_file(parts[-1], folder, MAX_BYTES)
        except FileNotFoundError:
            return None
        except (OSError, ValueError) as error:
            reason = f"is a link or cannot be read: {error.strerror}" if isinstance(error, OSError) else str(error)
            raise InvalidFileError(f"{self.path.joinpath(*parts)}: {reason}", hint=_HINT) from None

    def _prune(self, kept: int) -> None:
        names = [name for name in os.listdir(kept) if name.endswith(".json")]
        if len(names) <= MAX_SNAPSHOTS:
            return
        ages = []
        for name in names:
            try:
                ages.append((os.stat(name, dir_fd=kept, follow_symlinks=False).st_mtime_ns, name))
            except FileNotFoundError:  # another program was faster
                continue
        for _, name in sorted(ages)[:-MAX_SNAPSHOTS]:
            try:
                os.unlink(name, dir_fd=kept)
            except FileNotFoundError:
                continue


_HINT: Final = "Mend it, or begin a memory in another folder."
_GONE: Final = "The session is held again, with the memory as it is now."


def _dumped(value: Any) -> bytes:
    return (json.dumps(value, indent=1, ensure_ascii=False) + "\n").encode("utf-8", "replace")


def _first(error: ValueError, model: Any) -> str:
    """What is wrong, in a line; pydantic is imported only where a memory is read."""
    return (first_amiss(error, model).line() if hasattr(error, "errors") else str(error))[:300]


def _is_run(folder: Path) -> bool:
    try:
        with open(folder / _RUN, "rb") as stream:
            return b"finassay-run" in stream.read(4_096)
    except OSError:
        return False
