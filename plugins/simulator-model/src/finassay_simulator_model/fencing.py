"""What others wrote, put between marks that nothing inside can close."""

import re
import unicodedata

HEAD, TAIL = 16_000, 8_000
"""How much of one message is shown, in characters: its beginning and its end."""

_MARKS = re.compile(r"<{2,}|>{2,}")
_LOOKALIKES = str.maketrans(
    {"＜": "<", "＞": ">", "﹤": "<", "﹥": ">", "《": "<<", "》": ">>", "«": "<<", "»": ">>", "≪": "<<", "≫": ">>"}
)


def neutral(text: str) -> str:
    """Text without control and invisible characters, and without runs of angle brackets, which our marks are made of."""
    text = "".join(c for c in text.translate(_LOOKALIKES) if c in "\n\t" or unicodedata.category(c) not in ("Cc", "Cf", "Cs", "Co"))
    return _MARKS.sub(lambda found: " ".join(found[0]), text)


def fenced(name: str, text: str) -> str:
    """A text between marks that name it."""
    name = neutral(" ".join(name.split()))[:300]
    return f"<<<{name}>>>\n{neutral(text)}\n<<<end of {name}>>>"


def bounded(text: str, head: int = HEAD, tail: int = TAIL) -> str:
    """Beginning and end of a text that is longer than both together."""
    return text if len(text) <= head + tail else f"{text[:head]}\n[… {len(text) - head - tail:,} characters left out …]\n{text[-tail:]}"
