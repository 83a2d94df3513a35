"""Taking delivery: what lies in `deliver/` after a turn is copied, by content, without trusting any of it."""

import contextlib
import os
import secrets
import shutil
import stat
import unicodedata
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from attrs import frozen

from finassay.api.delivery import DeliveredFile, Delivery, Rejected
from finassay.records.blobs import BlobStore
from finassay.records.files import remove_tree

FOLDER = "deliver"


@frozen
class IntakeLimits:
    """Bounds of one delivery. What exceeds them is not delivered, and says so."""

    files: int = 5_000
    entries: int = 20_000
    depth: int = 12
    file_bytes: int = 1 * 2**30
    total_bytes: int = 4 * 2**30


def displayed(name: str) -> str:
    """A path as it may be shown: control, formatting and undecodable characters replaced, at most 300 characters."""
    clean = "".join("�" if unicodedata.category(c) in ("Cc", "Cf", "Cs", "Co") else c for c in name)
    return clean if len(clean) <= 300 else clean[:297] + "…"


def take_delivery(workspace: Path, turn: int, blobs: BlobStore, limits: IntakeLimits = IntakeLimits()) -> Delivery:
    """The tree in `deliver/`: regular files are stored, everything else is listed with the reason why it was not taken.

    A workspace that its agent locked is unlocked first: what an agent does to its own folders is no failure of the harness.
    """
    _unlock(workspace)
    return take_tree(workspace / FOLDER, turn, blobs, limits)


def take_tree(root: Path, turn: int, blobs: BlobStore, limits: IntakeLimits = IntakeLimits()) -> Delivery:
    """The same for the tree in any folder."""
    files: list[DeliveredFile] = []
    rejected: list[Rejected] = []
    total = 0
    if not _is_folder(root):
        return Delivery(turn, (), (Rejected(FOLDER, "is a link or no folder"),) if os.path.lexists(root) else ())
    for relative, problem in islice(_walk(root, limits), limits.entries):
        if problem:
            rejected.append(Rejected(displayed(relative), problem))
            continue
        if len(files) >= limits.files:
            rejected.append(Rejected(FOLDER, f"more than {limits.files:,} files; the rest was not taken"))
            break
        taken = take_file(root, relative, blobs, min(limits.file_bytes, limits.total_bytes - total))
        if isinstance(taken, str):
            rejected.append(Rejected(displayed(relative), taken))
        else:
            files.append(taken)
            total += taken.size
    return Delivery(turn, tuple(files), tuple(rejected[:1000]))


def _walk(root: Path, limits: IntakeLimits) -> Iterator[tuple[str, str]]:
    """(relative path, problem) of every entry, in sorted order, never following a link."""
    pending: list[tuple[str, int]] = [("", 0)]
    while pending:
        folder, depth = pending.pop()
        try:
            with os.scandir(root / folder) as entries:
                listed = list(islice(entries, limits.entries + 1))
        except OSError as error:
            yield folder, f"cannot be listed: {error.strerror}"
            continue
        if len(listed) > limits.entries:
            yield folder or FOLDER, f"holds more than {limits.entries:,} entries; the rest was not looked at"
            listed = listed[: limits.entries]
        for entry in sorted(listed, key=lambda e: e.name):
            relative = f"{folder}/{entry.name}" if folder else entry.name
            if entry.is_symlink():
                yield relative, "is a link"
            elif entry.is_dir(follow_symlinks=False):
                if depth + 1 >= limits.depth:
                    yield relative, f"lies deeper than {limits.depth} folders"
                else:
                    pending.append((relative, depth + 1))
            elif not entry.is_file(follow_symlinks=False):
                yield relative, "is no regular file"
            elif displayed(entry.name) != entry.name:
                yield relative, "has control or undecodable characters in its name"
            else:
                yield relative, ""


def take_file(root: Path, relative: str, blobs: BlobStore, limit: int) -> DeliveredFile | str:
    """The stored file, or why it was not taken."""
    try:
        descriptor = _open_beneath(root, relative)
    except OSError as error:
        return f"cannot be opened: {error.strerror}"
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            return "is no regular file"
        if status.st_size > limit:
            return f"is larger than {limit:,} bytes"
        stored = blobs.add(descriptor, limit)
    except OSError as error:
        return f"cannot be read: {error.strerror}"
    finally:
        os.close(descriptor)
    if stored is None:
        return f"is larger than {limit:,} bytes"
    return DeliveredFile(relative, *stored)


def _open_beneath(root: Path, relative: str) -> int:
    """Open a file below `root` component by component, so that a folder swapped for a link meanwhile leads nowhere."""
    current = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    *folders, name = relative.split("/")
    try:
        for folder in folders:
            deeper = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=current)
            os.close(current)
            current = deeper
        return os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=current)
    finally:
        os.close(current)


def prepare_delivery(workspace: Path) -> None:
    """A real folder at `deliver/`; what an agent put there instead of one is taken away."""
    _unlock(workspace)
    root = workspace / FOLDER
    if os.path.lexists(root) and not _is_folder(root):
        root.unlink()
    root.mkdir(parents=True, exist_ok=True)


def restore_delivery(workspace: Path, delivery: Delivery, blobs: BlobStore) -> None:
    """Put `deliver/` back to a recorded tree, so that a resumed session starts from its last finished turn.

    Everything is made anew: in what its agent left there, a link under a folder that cannot be emptied would lead the copies out.
    """
    root = workspace / FOLDER
    _unlock(workspace)
    if _is_folder(root):
        _remove(root)
    elif os.path.lexists(root):
        root.unlink()
    root.mkdir(parents=True)
    for file in delivery.files:
        target = root / file.path
        target.parent.mkdir(parents=True, exist_ok=True)
        with open(blobs.path(file.sha256), "rb") as source, open(target, "xb") as copy:
            shutil.copyfileobj(source, copy, 2**20)


def _is_folder(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink()


def _unlock(folder: Path) -> None:
    """Let its owner read, write and enter it; nothing where it is no folder of ours."""
    with contextlib.suppress(OSError):
        if _is_folder(folder) and folder.stat().st_mode & stat.S_IRWXU != stat.S_IRWXU:
            folder.chmod(0o700)


def _remove(folder: Path) -> None:
    """Remove a tree; one that cannot be removed is moved out of the way."""
    with contextlib.suppress(OSError):
        remove_tree(folder)
    if os.path.lexists(folder):
        folder.rename(folder.with_name(f".left-{secrets.token_hex(6)}"))
