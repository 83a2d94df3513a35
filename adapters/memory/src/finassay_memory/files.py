"""Files in and out of folders, one component of a path after the other, so that no link is ever followed."""

import contextlib
import os
import re
import secrets
import stat
import unicodedata
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from attrs import define, field

from finassay_memory.notes import Bounds

MAX_DEPTH: Final = 6
MAX_LISTED: Final = 2_000
"""Entries of one folder that are looked at."""
MAX_SKIPPED: Final = 20
_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
_DELIVERY: Final = "deliver"
_SCRATCH: Final = re.compile(r"\..{1,80}\.[0-9a-f]{8}\.tmp")


def read_file(name: str, folder: int, limit: int) -> bytes:
    """A regular file's bytes. Raises `OSError`, `ValueError` where it is something else or larger."""
    descriptor = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=folder)
    with os.fdopen(descriptor, "rb") as stream:
        status = os.fstat(stream.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise ValueError("is no regular file")
        data = stream.read(limit + 1)
        if len(data) > limit:
            raise ValueError(f"is larger than {limit:,} bytes")
        return data


def write_file(name: str, folder: int, data: bytes, mode: int = 0o600) -> None:
    """Write a file whole or not at all; a link of that name is replaced, not followed. Raises `OSError`."""
    scratch = f".{name[:80]}.{secrets.token_hex(4)}.tmp"
    try:
        descriptor = os.open(scratch, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, mode, dir_fd=folder)
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(scratch, name, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(scratch, dir_fd=folder)
        raise


def is_scratch(name: str) -> bool:
    """Whether a file is one that `write_file` had begun, here or in another program, perhaps one that was killed."""
    return _SCRATCH.fullmatch(name) is not None


def sweep(folder: int) -> None:
    """Take away what a killed program had begun to write. To be called by the only one who writes."""
    for name in filter(is_scratch, os.listdir(folder)):
        with contextlib.suppress(OSError):
            os.unlink(name, dir_fd=folder)


@contextlib.contextmanager
def opened(path: Path) -> Iterator[int]:
    """A descriptor of a folder. Raises `OSError`, also for a link."""
    descriptor = os.open(path, _FOLDER)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def below(name: str, folder: int, *, make: bool = False) -> Iterator[int]:
    """A descriptor of a folder in a folder. Raises `OSError`, also for a link."""
    if make:
        with contextlib.suppress(FileExistsError):
            os.mkdir(name, 0o700, dir_fd=folder)
    descriptor = os.open(name, _FOLDER, dir_fd=folder)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


# -- what an agent is given -------------------------------------------------------------------------------------------


@define
class Collected:
    """Text files of a memory, within its bounds, and why others were left out."""

    bounds: Bounds
    files: dict[str, str] = field(factory=dict)
    skipped: dict[str, str] = field(factory=dict)
    _bytes: int = 0

    def tree(self, name: str, folder: int) -> None:
        """Take in the folder of that name, if there is one."""
        try:
            with below(name, folder) as root:
                self._walk(root, (), 0)
        except FileNotFoundError:
            return
        except OSError as error:
            self._skip(name, f"is a link or cannot be opened: {error.strerror}")

    def _walk(self, folder: int, parts: tuple[str, ...], depth: int) -> None:
        listed = sorted(os.listdir(folder))
        if len(listed) > MAX_LISTED:
            self._skip("/".join(parts) or ".", f"holds more than {MAX_LISTED:,} entries")
        for name in listed[:MAX_LISTED]:
            path = "/".join((*parts, name))
            if len(self.files) >= self.bounds.files:
                self._skip(path, f"is beyond the limit of {self.bounds.files} files")
                return
            if problem := _name_problem(name, parts):
                self._skip(path, problem)
                continue
            try:
                self._take(name, folder, parts, depth)
            except (OSError, ValueError) as error:
                self._skip(path, (error.strerror or type(error).__name__) if isinstance(error, OSError) else str(error))

    def _take(self, name: str, folder: int, parts: tuple[str, ...], depth: int) -> None:
        status = os.stat(name, dir_fd=folder, follow_symlinks=False)
        if stat.S_ISDIR(status.st_mode):
            if depth + 1 >= MAX_DEPTH:
                raise ValueError(f"lies deeper than {MAX_DEPTH} folders")
            with below(name, folder) as inner:
                self._walk(inner, (*parts, name), depth + 1)
            return
        if stat.S_ISLNK(status.st_mode) or status.st_nlink > 1:
            raise ValueError("is a link")
        text = _text(read_file(name, folder, self.bounds.bytes - self._bytes))
        self.files["/".join((*parts, name))] = text
        self._bytes += len(text.encode())

    def _skip(self, path: str, why: str) -> None:
        if len(self.skipped) < MAX_SKIPPED:
            self.skipped["".join(c if c.isprintable() else "�" for c in path)[:200]] = why


def _name_problem(name: str, parts: tuple[str, ...]) -> str:
    if name.startswith("."):
        return "is hidden"
    if not parts and name == _DELIVERY:
        return "a delivery is no memory"
    if len(name) > 120 or not name.isprintable() or any(unicodedata.category(c) == "Cs" for c in name):
        return "has a name that cannot be written anywhere"
    return ""


def _text(data: bytes) -> str:
    """Raises `ValueError` for what is no text."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        raise ValueError("is no text") from None
    if any(c not in "\n\r\t" and unicodedata.category(c) == "Cc" for c in text):
        raise ValueError("is no text")
    return text


def place(workspace: Path, name: str, files: Mapping[str, str]) -> None:
    """Make the folder `name` of a workspace anew with these files, readable and not writable. The workspace is the agent's: nothing there is trusted,
    and what has that name already keeps its place under another, hidden one.

    Raises `OSError`.
    """
    with contextlib.closing(_Descriptor(os.open(workspace, os.O_RDONLY | os.O_DIRECTORY))) as root:
        with contextlib.suppress(FileNotFoundError):  # put aside as it is: a tree that an agent made may be too deep to be taken away
            os.rename(name, f".{name}-{secrets.token_hex(4)}", src_dir_fd=root.number, dst_dir_fd=root.number)
        os.mkdir(name, 0o755, dir_fd=root.number)
        with below(name, root.number) as folder:
            for path, text in files.items():
                _place(path.split("/"), text.encode(), folder)


@define
class _Descriptor:
    number: int

    def close(self) -> None:
        os.close(self.number)


def _place(parts: list[str], data: bytes, folder: int) -> None:
    if len(parts) > 1:
        with contextlib.suppress(FileExistsError):
            os.mkdir(parts[0], 0o755, dir_fd=folder)
        with below(parts[0], folder) as inner:
            _place(parts[1:], data, inner)
        return
    descriptor = os.open(parts[0], os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o444, dir_fd=folder)
    with os.fdopen(descriptor, "wb") as stream:
        stream.write(data)
