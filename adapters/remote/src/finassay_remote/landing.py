"""Files that a server hands over, on their way into `deliver/`: names, sizes and digests are checked, links are not followed."""

import contextlib
import hashlib
import os
import secrets
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from attrs import define, field, frozen

from finassay.session.intake import FOLDER, displayed
from finassay_remote.protocol import MAX_DEPTH, MAX_FILE, MAX_FILES, MAX_PATH, MAX_TOTAL, SHA256

INCOMING: Final = ".incoming"
_DIRECTORY: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class RefusedFileError(Exception):
    """A file is not taken; the message says why and may be shown."""


@frozen
class FileOffer:
    """A file as the server announces it."""

    path: str
    size: int
    sha256: str


def safe_path(path: object) -> str:
    """A relative path below `deliver/`, as the core takes them. Raises `RefusedFileError`."""
    if not isinstance(path, str) or not path:
        raise RefusedFileError("it has no path")
    shown = displayed(path[:MAX_PATH])
    parts = path.split("/")
    if any(part in ("", ".", "..") for part in parts) or "\\" in path:
        raise RefusedFileError(f"{shown!r} is no relative path with '/'")
    if len(path) > MAX_PATH or len(parts) > MAX_DEPTH or any(len(part.encode("utf-8", "replace")) > 255 for part in parts):
        raise RefusedFileError(f"{shown!r} is longer than {MAX_PATH} characters or deeper than {MAX_DEPTH} folders")
    if shown != path:
        raise RefusedFileError(f"{shown!r} has control or undecodable characters")
    return path


def read_offer(event: dict[str, object]) -> FileOffer:
    """Raises `RefusedFileError`."""
    path, size, sha256 = safe_path(event.get("path")), event.get("size"), event.get("sha256")
    if not isinstance(size, int) or isinstance(size, bool) or size < 0:
        raise RefusedFileError(f"{path!r} has no size")
    if size > MAX_FILE:
        raise RefusedFileError(f"{path!r} is larger than {MAX_FILE:,} bytes")
    if not isinstance(sha256, str) or not SHA256.fullmatch(sha256):
        raise RefusedFileError(f"{path!r} has no SHA-256 in lower-case hexadecimal digits")
    return FileOffer(path, size, sha256)


@define
class Incoming:
    """A file that is being received."""

    offer: FileOffer
    _descriptor: int
    _got: int = 0
    _hash: "hashlib._Hash" = field(factory=hashlib.sha256)

    def write(self, data: bytes) -> None:
        """Raises `RefusedFileError` as soon as there is more than was announced."""
        self._got += len(data)
        if self._got > self.offer.size:
            raise RefusedFileError(f"{self.offer.path!r} is longer than the {self.offer.size:,} bytes that were announced")
        self._hash.update(data)
        view = memoryview(data)
        while view:
            view = view[os.write(self._descriptor, view) :]

    def check(self) -> None:
        """Raises `RefusedFileError` unless it is what was announced."""
        if self._got != self.offer.size:
            raise RefusedFileError(f"{self.offer.path!r} ended after {self._got:,} of {self.offer.size:,} bytes")
        if self._hash.hexdigest() != self.offer.sha256:
            raise RefusedFileError(f"{self.offer.path!r} is not the file whose digest was announced")


class Landing:
    """The way into one session's `deliver/`. What is not whole, or not what was announced, never lies there."""

    def __init__(self, workspace: Path) -> None:
        self._workspace = workspace
        self._sizes: dict[str, int] = {}

    @contextlib.contextmanager
    def receive(self, offer: FileOffer) -> Iterator[Incoming]:
        """Write the bytes within; at the end the file is put in its place. Raises `RefusedFileError`."""
        others = {path: size for path, size in self._sizes.items() if path != offer.path}
        if len(others) >= MAX_FILES:
            raise RefusedFileError(f"{offer.path!r} is one file too many; {MAX_FILES:,} may be delivered")
        if sum(others.values()) + offer.size > MAX_TOTAL:
            raise RefusedFileError(f"{offer.path!r} is too much: {MAX_TOTAL:,} bytes may be delivered")
        try:
            with self._folder(INCOMING) as waiting:
                yield from self._received(offer, waiting)
        except OSError as error:
            raise RefusedFileError(f"{offer.path!r} cannot be written: {error.strerror}") from error
        self._sizes[offer.path] = offer.size

    def _received(self, offer: FileOffer, waiting: int) -> Iterator[Incoming]:
        name = secrets.token_hex(8)
        descriptor = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644, dir_fd=waiting)
        try:
            incoming = Incoming(offer, descriptor)
            yield incoming
            incoming.check()
            *folders, last = offer.path.split("/")
            with self._folder(FOLDER, *folders) as target:
                os.replace(name, last, src_dir_fd=waiting, dst_dir_fd=target)
        finally:
            os.close(descriptor)
            with contextlib.suppress(FileNotFoundError):
                os.unlink(name, dir_fd=waiting)

    def remove(self, path: object) -> None:
        """Take a delivered file back. Raises `RefusedFileError`."""
        known = safe_path(path)
        *folders, last = known.split("/")
        try:
            with self._folder(FOLDER, *folders, make=False) as target:
                if not stat.S_ISDIR(os.lstat(last, dir_fd=target).st_mode):
                    os.unlink(last, dir_fd=target)
        except FileNotFoundError:
            pass
        except OSError as error:
            raise RefusedFileError(f"{known!r} cannot be removed: {error.strerror}") from error
        self._sizes.pop(known, None)

    @contextlib.contextmanager
    def _folder(self, *names: str, make: bool = True) -> Iterator[int]:
        """A folder below the workspace, made where it is missing; a link on the way is an `OSError`."""
        current = os.open(self._workspace, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            for name in names:
                if make:
                    with contextlib.suppress(FileExistsError):
                        os.mkdir(name, 0o755, dir_fd=current)
                deeper = os.open(name, _DIRECTORY, dir_fd=current)
                os.close(current)
                current = deeper
            yield current
        finally:
            os.close(current)
