"""Delivered text between marks that it cannot imitate.

A mark holds a token that is a hash over everything delivered, so that nothing delivered can contain it. Besides, the marks' brackets, the
markers of chat templates and characters that nobody sees are replaced inside, one character by one: a quote of the shown text leads back
to the delivered one by its position.
"""

import hashlib
import re
from collections.abc import Iterable
from typing import Final

from attrs import field, frozen

OPEN, CLOSE = "⟦", "⟧"
_UNSEEN = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb"
)
_INVISIBLE: Final = re.compile(f"[{_UNSEEN}\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\U000e0000-\U000e0fff]")
_TEMPLATE: Final = re.compile(r"<\||\|>")
_PLAIN: Final = {ord(OPEN): "[", ord(CLOSE): "]", 0x0B: " ", 0x0C: " "}
"""Marks, and the vertical tab and form feed, which are spaces to whoever takes spaces together."""
MAX_NAME: Final = 200


def shown(text: str) -> str:
    """The text as a model sees it; as long as the original, character by character."""
    text = text.translate(_PLAIN)
    text = _INVISIBLE.sub("\ufffd", text)
    return _TEMPLATE.sub(lambda m: m[0].replace("|", "¦"), text)


def flat(text: str) -> str:
    return " ".join(text.split())


@frozen
class Fence:
    """Marks of one delivery."""

    token: str

    @classmethod
    def around(cls, texts: Iterable[str]) -> "Fence":
        digest = hashlib.sha256()
        for text in texts:
            digest.update(f"{len(text)}\0{text}".encode("utf-8", "surrogatepass"))
        return cls(digest.hexdigest()[:12])

    def block(self, kind: str, name: str, text: str, note: str = "") -> str:
        """A text between its marks. The name may be hostile, too."""
        label = flat(shown(name))[:MAX_NAME]
        head = f"{OPEN}{self.token} {kind} {label}{f' ({note})' if note else ''}{CLOSE}"
        return f"{head}\n{shown(text)}\n{OPEN}{self.token} end{CLOSE}"


@frozen
class Originals:
    """Leads from what a model copied to what was delivered."""

    texts: tuple[str, ...]
    """Delivered texts."""
    _flat: tuple[tuple[str, str], ...] = field(init=False, repr=False)

    def __attrs_post_init__(self) -> None:
        # As shown text is as long as the original, so is each when whitespace is taken together; only those that differ are kept.
        pairs = tuple((flat(text), flat(shown(text))) for text in self.texts)
        object.__setattr__(self, "_flat", tuple((a, b) for a, b in pairs if a != b and len(a) == len(b)))

    def restored(self, quote: str) -> str:
        """The delivered text behind a quote of the shown one; any other quote as it is."""
        wanted = flat(quote)
        for original, seen in self._flat:
            at = seen.find(wanted) if wanted else -1
            if at >= 0:
                return original[at : at + len(wanted)]
        return quote
