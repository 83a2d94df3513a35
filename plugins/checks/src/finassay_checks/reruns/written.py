"""What a run wrote, read like a delivery."""

import hashlib
from collections.abc import Mapping
from pathlib import Path

from attrs import Factory, frozen

from finassay.api.conversation import Conversation, Message
from finassay.api.delivery import DeliveredFile, Delivery, Package


@frozen
class _PathBlobs:
    """Files by the hash of their bytes, where they lie."""

    paths: Mapping[str, Path] = Factory(dict)

    def path(self, sha256: str) -> Path:
        return self.paths[sha256]


def written_package(package: Package, files: Mapping[str, Path], message: Message | None = None) -> Package:
    """A package of one delivery that holds the files of a run, under the same task. Contents are cached by hash, hence real hashes."""
    hashes = {name: hashlib.sha256(path.read_bytes()).hexdigest() for name, path in files.items()}
    blobs = _PathBlobs({hashes[name]: path for name, path in files.items()})
    delivered = tuple(DeliveredFile(name, hashes[name], path.stat().st_size) for name, path in files.items())
    said = Conversation((message,) if message is not None else ())
    return Package(task=package.task, conversation=said, deliveries=(Delivery(1, delivered),), blobs=blobs)
