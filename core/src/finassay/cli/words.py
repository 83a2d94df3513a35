"""Words for a terminal: what agents, plugins and files wrote, with nothing left in it that would act on the display."""

import re
import unicodedata
from typing import Final

_ACTING: Final = frozenset(("Cc", "Cf", "Cs", "Co", "Zl", "Zp"))
"""Categories of characters that move the cursor, change the direction of text, are invisible or break lines."""
_BREAKS: Final = re.compile(r"[ \t]*[\r\n\v\f\x85\u2028\u2029]+[ \t]*")
LINE: Final = 600


def clean(text: str) -> str:
    """The text with line ends and tabs kept and every other acting character replaced by U+FFFD."""
    if text.isascii() and text.isprintable():
        return text
    return "".join("�" if c not in "\n\t" and unicodedata.category(c) in _ACTING else c for c in text)


def one_line(text: str, limit: int = LINE) -> str:
    """The text cleaned and on one line, line ends as spaces, at most `limit` characters."""
    cut = text[: 4 * limit].strip()
    joined = clean(_BREAKS.sub(" ", cut).replace("\t", " "))
    return joined if len(joined) <= limit and len(text) <= 4 * limit else joined[: limit - 1] + "…"


def count(number: int, noun: str) -> str:
    """`1 session`, `2 sessions`."""
    return f"{number:,} {noun}" + ("" if number == 1 else "s")
