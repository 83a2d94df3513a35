"""Hostile text as a page may show it: bounded, escaped, and with what would act on a display made visible."""

import unicodedata
from typing import Final

from markupsafe import Markup, escape

_KEPT: Final = frozenset("\n\t")


def bounded(text: str, limit: int) -> str:
    """At most `limit` characters, with a note of how many are left out."""
    return text if len(text) <= limit else f"{text[:limit]}\n… {len(text) - limit:,} more characters"


def _acts(character: str) -> bool:
    """Control, formatting (text direction, zero width), surrogate and private characters, and separators that break lines."""
    return character not in _KEPT and unicodedata.category(character) in ("Cc", "Cf", "Cs", "Co", "Zl", "Zp")


def _picture(character: str) -> str:
    code = ord(character)
    if code < 0x20:
        return chr(0x2400 + code)
    return "␡" if code == 0x7F else f"U+{code:04X}"


def visible(text: str, limit: int = 20_000) -> Markup:
    """The text as HTML. Line ends and tabs are kept; each other acting character becomes a marked picture or code point."""
    parts: list[Markup] = []
    plain: list[str] = []
    for character in bounded(text, limit).replace("\r\n", "\n"):
        if _acts(character):
            parts += [escape("".join(plain)), Markup('<span class="ctl">{}</span>').format(_picture(character))]
            plain.clear()
        else:
            plain.append(character)
    return Markup("").join([*parts, escape("".join(plain))])


def visible_line(text: str, limit: int = 300) -> str:
    """The same as plain text on one line, for names and attributes."""
    shown = text[:limit] + ("…" if len(text) > limit else "")
    return "".join(_picture(c) if _acts(c) or c in _KEPT else c for c in shown)
