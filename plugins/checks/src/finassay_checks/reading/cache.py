"""Contents of files already read, so that the score by turn does not parse a file again in every turn.

A file's bytes are named by their hash, and reading is a pure function of bytes, suffix and limits; what is kept is bounded by cells and characters.
"""

from collections import OrderedDict
from threading import Lock

from finassay_checks.reading.content import Content

MAX_WEIGHT = 20_000_000
MAX_ONE = 5_000_000
Key = tuple[str, ...]


class ContentCache:
    """The most recently used contents up to `MAX_WEIGHT` cells and characters together. Safe for several threads."""

    def __init__(self) -> None:
        self._kept: OrderedDict[Key, tuple[Content, int]] = OrderedDict()
        self._weight = 0
        self._lock = Lock()

    def get(self, key: Key) -> Content | None:
        with self._lock:
            found = self._kept.get(key)
            if found is None:
                return None
            self._kept.move_to_end(key)
            return found[0]

    def put(self, key: Key, content: Content) -> None:
        weight = sum(table.frame.size for table in content.tables) + len(content.prose) + len(content.code)
        if weight > MAX_ONE:
            return
        with self._lock:
            if key in self._kept:
                return
            self._kept[key] = (content, weight)
            self._weight += weight
            while self._weight > MAX_WEIGHT:
                _, (_, gone) = self._kept.popitem(last=False)
                self._weight -= gone


CONTENTS = ContentCache()
