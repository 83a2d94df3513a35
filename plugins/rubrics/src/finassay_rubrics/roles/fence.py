"""Somebody's text between marks that it cannot imitate: material for a model, never an instruction.

A mark holds a token that is a hash over what is shown, so that nothing shown can contain it. Brackets like those of the marks, markers of chat
templates and characters that nobody sees are replaced one by one, so that the shown text is as long as the original: a place in one is the same
place in the other.
"""

import hashlib
import re
from typing import Final

from attrs import frozen

OPEN, CLOSE = "⟦", "⟧"
_INVISIBLE: Final = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb"
    "\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\ud800-\udfff\U000e0000-\U000e0fff]"
)
_TEMPLATE: Final = re.compile(r"<\||\|>")
_PLAIN: Final = {ord(OPEN): "[", ord(CLOSE): "]", 0x0B: " ", 0x0C: " "}


def shown(text: str) -> str:
    """The text as a model sees it: as long as the original, character by character."""
    text = _INVISIBLE.sub("\ufffd", text.translate(_PLAIN))
    return _TEMPLATE.sub(lambda m: m[0].replace("|", "¦"), text)


@frozen
class Fence:
    """Marks around what one request shows."""

    token: str

    @classmethod
    def around(cls, *texts: str) -> "Fence":
        digest = hashlib.sha256("\0".join(texts).encode("utf-8", "surrogatepass"))
        return cls(digest.hexdigest()[:12])

    def block(self, name: str, text: str) -> str:
        """A text between its marks."""
        return f"{OPEN}{self.token} {name}{CLOSE}\n{shown(text)}\n{OPEN}{self.token} end of {name}{CLOSE}"
