"""Bytes to text: encodings, and what may be shown of hostile text."""

import codecs
import re
import unicodedata
from pathlib import Path

from finassay_checks.reading.limits import Unreadable

_BOMS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_ESCAPES = re.compile(r"\x1b(?:\[[0-?]{0,32}[ -/]{0,8}[@-~]|\][^\x07\x1b]{0,256}(?:\x07|\x1b\\)?|.)?")
_SHOWN = 300


def shown(text: str, limit: int = _SHOWN) -> str:
    """Hostile text on one line as it may be shown: terminal escapes and control characters removed, at most `limit` characters."""
    cut = _ESCAPES.sub("", text[: 4 * limit])
    clean = "".join(" " if c in "\r\n\t" else "" if unicodedata.category(c) in ("Cc", "Cf", "Cs", "Co") else c for c in cut)
    clean = " ".join(clean.split())
    return clean if len(clean) <= limit else clean[: limit - 1] + "…"


def plain(text: str) -> str:
    """Text of a document without terminal escapes and control characters; line ends and tabs stay, `\\r\\n` becomes `\\n`."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    if text.isascii() and text.replace("\n", "").replace("\t", "").isprintable():
        return text
    text = _ESCAPES.sub("", text)
    return "".join(c for c in text if c in "\n\t" or unicodedata.category(c) not in ("Cc", "Cs", "Co"))


def encoding_of(head: bytes) -> str:
    """The encoding that the first bytes show: a byte-order mark, UTF-16 without one, else UTF-8."""
    for mark, name in _BOMS:
        if head.startswith(mark):
            return name
    sample = head[:4096]
    if len(sample) >= 8 and b"\0" in sample:
        even, odd = sample[0::2].count(0), sample[1::2].count(0)
        if odd > 0.3 * len(sample) / 2 and even < 0.1 * len(sample) / 2:
            return "utf-16-le"
        if even > 0.3 * len(sample) / 2 and odd < 0.1 * len(sample) / 2:
            return "utf-16-be"
    return "utf-8"


def decode(data: bytes) -> str:
    """Bytes as text: by byte-order mark, as UTF-8, else as Windows-1252. Raises `Unreadable` for binary data."""
    encoding = encoding_of(data)
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError:
        text = data.decode("cp1252", errors="replace")
    return _without_nul(text)


def _without_nul(text: str) -> str:
    """Stray NUL characters are left out; a text with many of them is none."""
    count = text.count("\0")
    if count > max(8, 0.001 * len(text)):
        raise Unreadable("is binary, not text")
    return text.replace("\0", "") if count else text


def read_bytes(path: Path, limit: int) -> bytes:
    """All bytes of a file. Raises `Unreadable` if it is longer than `limit` or cannot be read."""
    try:
        size = path.stat().st_size
        if size > limit:
            raise Unreadable(f"is larger than {limit:,} bytes ({size:,})", "too-large")
        return path.read_bytes()
    except OSError as error:
        raise Unreadable(f"cannot be read: {error.strerror}") from None
