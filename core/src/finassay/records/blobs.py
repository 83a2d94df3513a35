"""Delivered bytes, stored once by content."""

import hashlib
import os
import secrets
from pathlib import Path

CHUNK = 2**20


class BlobStore:
    """Content-addressed files under a folder, safe for several writers. Implements `finassay.api.delivery.Blobs`."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def path(self, sha256: str) -> Path:
        """The file that holds these bytes. Raises `KeyError` if they are not stored or the name is no hash."""
        if len(sha256) != 64 or not all(c in "0123456789abcdef" for c in sha256):
            raise KeyError(sha256)
        path = self.root / sha256[:2] / sha256
        if not path.is_file():
            raise KeyError(sha256)
        return path

    def add(self, descriptor: int, limit: int) -> tuple[str, int] | None:
        """Store what an open file holds; (hash, size), or None if it is longer than `limit` bytes. Synced before it is named."""
        self.root.mkdir(parents=True, exist_ok=True)
        scratch = self.root / f".{secrets.token_hex(8)}.tmp"
        digest, size = hashlib.sha256(), 0
        try:
            with open(scratch, "xb") as stream:
                while chunk := os.read(descriptor, CHUNK):
                    size += len(chunk)
                    if size > limit:
                        return None
                    digest.update(chunk)
                    stream.write(chunk)
                final = self.root / digest.hexdigest()[:2] / digest.hexdigest()
                if final.exists():
                    return digest.hexdigest(), size
                stream.flush()
                os.fsync(stream.fileno())
            final.parent.mkdir(exist_ok=True)
            os.chmod(scratch, 0o444)
            os.replace(scratch, final)
            return digest.hexdigest(), size
        finally:
            scratch.unlink(missing_ok=True)
