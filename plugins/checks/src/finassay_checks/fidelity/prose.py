"""Prose files as they appeared, turn by turn."""

from finassay.api.delivery import Package
from finassay_checks.reading.limits import Unreadable
from finassay_checks.reading.text import decode, plain, read_bytes

_PROSE = (".md", ".markdown", ".txt", ".rst", ".html", ".htm")
MAX_FILES = 40
MAX_BYTES = 2 * 2**20


def new_prose(package: Package) -> dict[int, list[tuple[str, str]]]:
    """Delivered prose with bytes that no earlier turn had, as turn to [(path, text)]; bounded, unreadable files left out."""
    seen: set[str] = set()
    found: dict[int, list[tuple[str, str]]] = {}
    for delivery in package.deliveries:
        fresh = [file for file in delivery.files if file.path.lower().endswith(_PROSE) and file.sha256 not in seen]
        seen |= {file.sha256 for file in delivery.files}
        for file in fresh[:MAX_FILES]:
            try:
                found.setdefault(delivery.turn, []).append((file.path, plain(decode(read_bytes(package.path(file), MAX_BYTES)))))
            except (Unreadable, KeyError):
                continue
    return found
