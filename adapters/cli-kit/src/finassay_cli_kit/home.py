"""Files in a session's home. That folder is the agent's to write, so no link there is ever followed and nothing there is trusted."""

import contextlib
import os
import secrets
import shutil
import stat
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Final

from finassay.api.errors import AgentError

HOME: Final = ".home"
"""The program's HOME, in the workspace."""
MAX_READ: Final = 64 * 2**20


@contextlib.contextmanager
def opened_folder(workspace: Path, parts: tuple[str, ...], *, replace: bool = False, make: bool = True) -> Iterator[int]:
    """A descriptor of a folder below the workspace, made where it is missing if `make`. `replace` takes away what is no real folder.

    Raises `OSError` where something else is in the way.
    """
    opened: list[int] = []
    try:
        opened.append(os.open(workspace, os.O_RDONLY | os.O_DIRECTORY))
        for part in parts:
            if replace:
                _make_room(part, opened[-1])
            if make:
                with contextlib.suppress(FileExistsError):
                    os.mkdir(part, 0o700, dir_fd=opened[-1])
            opened.append(os.open(part, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=opened[-1]))
        yield opened[-1]
    finally:
        for descriptor in opened:
            os.close(descriptor)


def _make_room(name: str, folder: int) -> None:
    with contextlib.suppress(FileNotFoundError):
        if not stat.S_ISDIR(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
            os.unlink(name, dir_fd=folder)


def read_home(workspace: Path, path: str, offset: int = 0, limit: int = MAX_READ) -> bytes:
    """What a program wrote into a file of its home, from `offset` on, at most `limit` bytes; nothing where that is no file of its own."""
    plain = PurePosixPath(path)
    if plain.is_absolute() or ".." in plain.parts or not plain.name or "\0" in path:
        return b""
    *parts, name = plain.parts
    with contextlib.suppress(OSError), opened_folder(workspace, (HOME, *parts), make=False) as folder:
        descriptor = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=folder)
        with os.fdopen(descriptor, "rb") as file:
            status = os.fstat(descriptor)
            if stat.S_ISREG(status.st_mode) and status.st_nlink == 1:
                file.seek(offset)
                return file.read(limit)
    return b""


class HomeFiles:
    """What the kit puts into a session's home before a turn: configuration, logins. Taken away again when it is not wanted any more."""

    def __init__(self, workspace: Path) -> None:
        self._workspace = workspace
        self._written: set[str] = set()

    def write(self, files: Mapping[str, bytes], once: Mapping[str, bytes]) -> None:
        """Make the files anew, those of `once` only where there is none yet; remove what an earlier call wrote and this one does not name.

        Raises `AgentError` if the home cannot be written, `ValueError` for a path that leads out of it.
        """
        for stale in self._written - {*files, *once}:
            self._at(stale, _remove)
        self._written = {*files, *once}
        for path, data in files.items():
            self._at(path, partial(_write, data))
        for path, data in once.items():
            self._at(path, partial(_write_once, data))

    def clear(self) -> None:
        """Take everything away that was written. Harmless when repeated, and where it cannot be done."""
        with contextlib.suppress(AgentError):
            self.write({}, {})

    def _at(self, path: str, act: Callable[[str, int], None]) -> None:
        parts = PurePosixPath(path).parts
        if not parts or ".." in parts or PurePosixPath(path).is_absolute():
            raise ValueError(f"{path!r} is no path in the home")
        try:
            with opened_folder(self._workspace, (HOME, *parts[:-1]), replace=True) as folder:
                act(parts[-1], folder)
        except OSError as error:
            raise AgentError(f"{path} cannot be written in the program's home: {error.strerror}") from error


def _is_file(name: str, folder: int) -> bool:
    try:
        status = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return stat.S_ISREG(status.st_mode) and status.st_nlink == 1


def _remove(name: str, folder: int) -> None:
    try:
        os.unlink(name, dir_fd=folder)
    except FileNotFoundError:
        return
    except (IsADirectoryError, PermissionError):
        try:
            shutil.rmtree(name, dir_fd=folder)
        except (OSError, RecursionError):  # locked, or too deep: then it only has to be out of the way
            os.rename(name, f".left-{secrets.token_hex(6)}", src_dir_fd=folder, dst_dir_fd=folder)


def _write_once(data: bytes, name: str, folder: int) -> None:
    if not _is_file(name, folder):
        _write(data, name, folder)


def _write(data: bytes, name: str, folder: int) -> None:
    _remove(name, folder)
    descriptor = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600, dir_fd=folder)
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)
