"""How much an agent may keep in its workspace. The kernel bounds the size of a file and not what lies in a folder, so that it is counted:
while the agent works, every few seconds, and when its turn is over."""

import contextlib
import errno
import os
import stat
import time
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Final

from attrs import define, field, frozen

LOOK_SECONDS: Final = 5.0
"""Between two counts; longer where a count takes long."""
SHARE: Final = 20
"""A session's counting takes at most one in so many seconds."""
DEEP: Final = 256
"""Folders in folders that are looked into. Deeper ones could be made without end, each path longer than the system takes."""

TOO_DEEP: Final = f"folders in the workspace lie more than {DEEP} deep, or deeper than a path can be long"


@frozen
class Room:
    """What a workspace may hold, the program's own home included."""

    entries: int = 200_000
    """Files and folders."""
    size: int = 16 * 2**30
    """Bytes on the disk; a file that has several names in it counts once."""


def excess(workspace: Path, room: Room, *, quiet: bool = False) -> str:
    """What a workspace holds too much of, in words; empty if nothing. No link is followed.

    `quiet` says that nothing runs in it: folders that its agent locked are then unlocked and counted too. What cannot be counted while
    programs run is left for then.
    """
    try:
        return _excess(os.fspath(workspace), room, quiet)
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:
            return TOO_DEEP
        raise


def _excess(workspace: str, room: Room, quiet: bool) -> str:
    seen = allocated = 0
    linked: set[int] = set()
    pending = [(workspace, 0)]
    while pending:
        folder, depth = pending.pop()
        with _listed(folder, quiet) as entries:
            for entry in entries:
                seen += 1
                if seen > room.entries:
                    return f"more than {room.entries:,} files and folders in the workspace"
                status = _status(entry)
                if status is None:
                    continue
                if stat.S_ISDIR(status.st_mode):
                    if depth + 1 >= DEEP:
                        return TOO_DEEP
                    pending.append((entry.path, depth + 1))
                elif status.st_nlink > 1:
                    if status.st_ino in linked:
                        continue
                    linked.add(status.st_ino)
                allocated += status.st_blocks * 512
                if allocated > room.size:
                    return f"more than {room.size / 2**30:,.3g} GiB in the workspace"
    return ""


def _status(entry: "os.DirEntry[str]") -> os.stat_result | None:
    try:
        return entry.stat(follow_symlinks=False)
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:
            raise
        return None  # gone since


def _listed(folder: str, quiet: bool) -> "AbstractContextManager[Iterable[os.DirEntry[str]]]":
    try:
        return os.scandir(folder)
    except PermissionError:
        with contextlib.suppress(OSError):
            if quiet:
                os.chmod(folder, stat.S_IRWXU)
                return os.scandir(folder)
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:
            raise
    return contextlib.nullcontext(())


@define
class Lookout:
    """Counts a workspace from time to time while an agent's turn runs."""

    look: Callable[[], str]
    every: float = LOOK_SECONDS
    _took: float = field(init=False, default=0.0)

    def pause(self, left: float) -> float:
        """Seconds to wait before the next count; all that are left where it would outlast them."""
        pause = max(self.every, SHARE * self._took)
        return pause if pause + 2 * self._took < left else left

    def excess(self) -> str:
        started = time.monotonic()
        found = self.look()
        self._took = time.monotonic() - started
        return found
