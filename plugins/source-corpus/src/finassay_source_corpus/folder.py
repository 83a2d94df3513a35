"""The documents of a folder: which files they are, and which metadata belong to which."""

import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from attrs import evolve, frozen

from finassay.api.errors import UsageError
from finassay_source_corpus.metadata import NAMES, Entry, metadata_file, read_metadata
from finassay_source_corpus.reading import kind_of, stem_of

MAX_FILES: Final = 200_000
CACHE: Final = ".finassay-index"


@frozen
class Found:
    """A file that may be a document."""

    entry: Entry
    path: Path
    size: int
    changed: int
    """Time of the last change, in nanoseconds."""


@frozen
class Listing:
    """What a folder holds. `missing` are references whose file is not there."""

    found: tuple[Found, ...]
    missing: tuple[str, ...]
    metadata: Path | None


def list_folder(folder: Path) -> Listing:
    """Every document of a folder, by reference. Links that lead out of it are no part of it. Raises `InvalidFileError`, `UsageError`."""
    root = folder.resolve()
    path = metadata_file(root)
    entries = {} if path is None else read_metadata(path)
    files = {name: status for name, status in _files(root) if Path(name).name not in NAMES}
    owners = _owners(entries, files)
    found: dict[str, Found] = {}
    for name in sorted(files):
        entry = owners.get(name) or Entry(reference=name, title=stem_of(Path(name).name))
        if entry.reference in found:
            raise UsageError(
                f"{folder}: two files are {entry.reference!r}: {found[entry.reference].path.relative_to(root)} and {name}",
                hint="Name the right one as `file` in the metadata.",
            )
        status = files[name]
        found[entry.reference] = Found(evolve(entry, title=entry.title or entry.reference), root / name, status.st_size, status.st_mtime_ns)
    return Listing(tuple(found[reference] for reference in sorted(found)), tuple(sorted(set(entries) - set(found))), path)


def _owners(entries: Mapping[str, Entry], files: Mapping[str, os.stat_result]) -> dict[str, Entry]:
    """File to the metadata that name it: by `file`, by its path, or by its name without endings."""
    by_file = {entry.file: entry for entry in entries.values() if entry.file}
    owners: dict[str, Entry] = {}
    for name in files:
        stem = stem_of(Path(name).name)
        entry = by_file.get(name) or next((entries[key] for key in (name, stem_of(name), stem) if key in entries), None)
        if entry is not None and (not entry.file or entry.file == name):
            owners[name] = entry
    return owners


def _files(root: Path) -> Iterator[tuple[str, os.stat_result]]:
    count = 0
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(f for f in folders if not f.startswith("."))
        for name in sorted(names):
            path = Path(folder, name)
            if name.startswith(".") or not kind_of(name) or not path.resolve().is_relative_to(root):
                continue
            try:
                status = path.stat()
            except OSError:
                continue
            if not stat.S_ISREG(status.st_mode):
                continue
            count += 1
            if count > MAX_FILES:
                raise UsageError(f"{root}: more than {MAX_FILES} files")
            yield path.relative_to(root).as_posix(), status


def cache_folder(folder: Path) -> Path:
    """Where the folder's index lies: in it if it may be written, else in the user's cache."""
    root = folder.resolve()
    if root.stat().st_mode & 0o222 and os.access(root, os.W_OK):
        return root / CACHE
    import hashlib

    base = os.environ.get("XDG_CACHE_HOME", "")
    home = Path(base) if base and Path(base).is_absolute() else Path.home() / ".cache"
    return home / "finassay" / "source-corpus" / hashlib.sha256(str(root).encode("utf-8", "surrogateescape")).hexdigest()[:16]
