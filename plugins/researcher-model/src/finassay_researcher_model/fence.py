"""What others wrote, put between marks that it cannot imitate: a mark holds a digest of the text, which the text cannot hold itself."""

import hashlib
import re
import unicodedata
from typing import Final

from finassay_rubrics.record.quotes import joined

OPEN, CLOSE = "⟦", "⟧"
MAX_NAME: Final = 200
_TEMPLATE: Final = re.compile(r"<\||\|>")
_UNSEEN: Final = frozenset(["Cc", "Cf", "Co", "Cs", "Cn"])


def shown(text: str) -> str:
    """A text as a model sees it: without marks, chat templates and what nobody sees; words that a line's end cut in two are whole."""
    plain = joined(text).replace(OPEN, "[").replace(CLOSE, "]")
    plain = "".join(c if c in "\n\t" or unicodedata.category(c) not in _UNSEEN else "\ufffd" for c in plain)
    return _TEMPLATE.sub(lambda found: found[0].replace("|", "¦"), plain)


def flat(text: str, limit: int = MAX_NAME) -> str:
    """On one line, bounded."""
    return shown(" ".join(text.split()))[:limit]


def block(name: str, text: str) -> str:
    """A text between its marks."""
    token = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:10]
    return f"{OPEN}{token} {flat(name)}{CLOSE}\n{shown(text)}\n{OPEN}{token} end{CLOSE}"
