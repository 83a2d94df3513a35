"""Temporary folders of the harness, which do not stay behind for ever where it is killed before it can remove them.

Whoever makes one holds a lock on a file in it until it is closed; the kernel lets go of the lock when the process dies, however it dies.
The next process that makes a folder first removes those on which nobody holds the lock. One whose lock is held, or that has none, is never
touched, and nor is one of another user.
"""

import contextlib
import fcntl
import os
import stat
import tempfile
import threading
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Final, Self

from finassay.records.files import remove_tree

PREFIX: Final = "finassay-"
ALIVE: Final = ".alive"
"""The file in a folder that is locked as long as its owner lives."""
MAX_SWEPT: Final = 500
"""Folders that one process looks at: what is left over is the next one's."""

_swept: set[str] = set()
_lock = threading.Lock()


class Scratch:
    """A private temporary folder `finassay-KIND-…`; close it, or use it as a context manager."""

    def __init__(self, kind: str) -> None:
        """Raises `OSError` where no folder can be made."""
        parent = tempfile.gettempdir()
        _sweep_once(parent)
        self.path = Path(tempfile.mkdtemp(prefix=f"{PREFIX}{kind}-", dir=parent))
        held = _hold(self.path)
        self._let_go = weakref.finalize(self, os.close, held) if held is not None else None

    def close(self) -> None:
        """Remove it with all that lies in it, as far as the system allows. Harmless when repeated."""
        with contextlib.suppress(OSError):
            remove_tree(self.path)
        if self._let_go is not None:
            self._let_go()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def _hold(folder: Path) -> int | None:
    """Lock the file of a new folder before it has its name, so that it is never seen unlocked; None where the file system knows no locks."""
    early, name = folder / f"{ALIVE}.new", folder / ALIVE
    descriptor = os.open(early, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.rename(early, name)
    except OSError:
        os.close(descriptor)
        early.unlink(missing_ok=True)
        return None
    return descriptor


def _sweep_once(parent: str) -> None:
    """Sweep when a process makes its first folder there, however many threads begin at once."""
    with _lock:
        if parent in _swept:
            return
        _swept.add(parent)
        sweep(Path(parent))


def sweep(parent: Path) -> list[Path]:
    """Remove what killed processes of this user left in a folder; what was removed."""
    return [folder for folder in _ours(parent) if _removed(folder)]


def _ours(parent: Path) -> Iterator[Path]:
    seen = 0
    with contextlib.suppress(OSError), os.scandir(parent) as entries:
        for entry in entries:
            if entry.name.startswith(PREFIX) and seen < MAX_SWEPT:
                with contextlib.suppress(OSError):
                    status = entry.stat(follow_symlinks=False)
                    if stat.S_ISDIR(status.st_mode) and status.st_uid == os.getuid():
                        seen += 1
                        yield Path(entry.path)


def _removed(folder: Path) -> bool:
    try:
        descriptor = os.open(folder / ALIVE, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:  # none of these folders, or one that is just being made, or removed
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        remove_tree(folder)
    except OSError:  # its owner lives, or another process removes it already
        return False
    finally:
        os.close(descriptor)
    return True
