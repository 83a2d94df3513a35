"""Delivered bytes, stored once by content."""

import hashlib
import os
import secrets
from collections.abc import Callable
from pathlib import Path

from finassay.api.errors import InvalidFileError

CHUNK = 2**20


class BlobStore:
    """Content-addressed files under a folder, safe for several writers. Implements `finassay.api.delivery.Blobs`."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def path(self, sha256: str) -> Path:
        """The file that holds these bytes. Raises `KeyError` if they are not stored or the name is no hash."""
        if len(sha256) != 64 or not all(c in "0123456789abcdef" for c in sha256):
            raise KeyError(sha256)
        path = self._path(sha256)
        if not path.is_file():
            raise KeyError(sha256)
        return path

    def verify(self, sha256: str, name: str) -> None:
        """Raises `InvalidFileError` unless the bytes of the file delivered as `name` are stored and are what was delivered."""
        path = self._path(sha256)
        try:
            with open(path, "rb") as stream:
                if hashlib.file_digest(stream, "sha256").hexdigest() != sha256:
                    raise InvalidFileError(f"{path}: no longer holds what was delivered as {name!r}")
        except OSError as error:
            raise InvalidFileError(f"{path}: the bytes of {name!r} cannot be read: {error.strerror}") from None

    def add(self, descriptor: int, limit: int) -> tuple[str, int] | None:
        """Store what an open file holds; (hash, size), or None if it is longer than `limit` bytes. Synced before it is named.

        Bytes that are stored already are only read. A file that changes while it is copied is stored as it was copied.
        """
        seen = _digest(descriptor, limit)
        if seen is None or os.path.exists(f"{self.root}/{seen[0][:2]}/{seen[0]}"):
            return seen
        os.lseek(descriptor, 0, os.SEEK_SET)
        return self._copy(descriptor, limit)

    def _path(self, sha256: str) -> Path:
        return self.root / sha256[:2] / sha256

    def _copy(self, descriptor: int, limit: int) -> tuple[str, int] | None:
        self.root.mkdir(parents=True, exist_ok=True)
        scratch = self.root / f".{secrets.token_hex(8)}.tmp"
        try:
            with open(scratch, "xb") as stream:
                copied = _digest(descriptor, limit, stream.write)
                if copied is None:
                    return None
                stream.flush()
                os.fsync(stream.fileno())
            final = self._path(copied[0])
            final.parent.mkdir(exist_ok=True)
            os.chmod(scratch, 0o444)
            os.replace(scratch, final)
            return copied
        finally:
            scratch.unlink(missing_ok=True)


def _digest(descriptor: int, limit: int, write: Callable[[bytes], object] = lambda chunk: None) -> tuple[str, int] | None:
    """(SHA-256, size) of what an open file holds from here on, handing each chunk to `write`; None if it is longer than `limit`."""
    digest, size = hashlib.sha256(), 0
    while chunk := os.read(descriptor, CHUNK):
        size += len(chunk)
        if size > limit:
            return None
        digest.update(chunk)
        write(chunk)
    return digest.hexdigest(), size
