"""Quotes from extracted pages: the raw slice is kept, a stated normal form is compared and digested.

Extraction leaves line-end hyphens (U+FFFE), soft hyphens, ligatures, non-breaking spaces and several kinds of dashes and quotation marks behind;
two extractions of one page agree in the normal form, hardly ever in the raw text.
"""

import hashlib
import re
import unicodedata
from functools import lru_cache
from typing import Final

_LINE_END_HYPHEN: Final = re.compile("[\ufffe\u00ad]\\s*\n?\\s*")
_UNSEEN: Final = frozenset(["Cc", "Cf", "Co", "Cs", "Cn"])
"""Categories of characters that nobody sees, and that whoever copies a passage leaves out."""
_LOST: Final = "\ufffd"
_LEADER: Final = re.compile(r"(?:[.·]\s?){3,}|…")
_DASHES: Final = str.maketrans(dict.fromkeys("‐‑‒–—―−﹣－", "-"))
_QUOTES: Final = str.maketrans({**dict.fromkeys("‘’‚‛′", "'"), **dict.fromkeys("“”„‟″", '"')})


def normal_form(text: str) -> str:
    """NFKC; line-end and soft hyphens removed; dashes and quotation marks folded; whitespace collapsed."""
    joined = _LINE_END_HYPHEN.sub("", text)
    folded = unicodedata.normalize("NFKC", joined).translate(_DASHES).translate(_QUOTES)
    return " ".join(folded.split())


def quote_digest(quote: str) -> str:
    """SHA-256 of the normal form."""
    return hashlib.sha256(normal_form(quote).encode("utf-8", "surrogatepass")).hexdigest()


def found_on(page: str, quote: str) -> str:
    """How a quote stands on a page: `exact`, `after normalisation`, or empty if it does not, or says nothing."""
    if not quote.strip():
        return ""
    if quote in page:
        return "exact"
    return "after normalisation" if normal_form(quote) in normal_form(page) else ""


def joined(text: str) -> str:
    """The text with words whole that a line's end had cut in two, as it may be shown to be copied from."""
    return _LINE_END_HYPHEN.sub("", text)


def located(page: str, quote: str) -> tuple[int, int] | None:
    """The slice of a page, in code points, that says what a quote says; None where there is none, or the quote says nothing.

    Compared as in the normal form; besides, characters that nobody sees and dotted leaders do not count. The first place is taken at which no
    number is cut in two.
    """
    flat, places = _flat(page)
    wanted, _ = _flat(quote)
    at = flat.find(wanted) if wanted else -1
    while at >= 0:
        end = at + len(wanted)
        if not (_within_number(flat, at) or _within_number(flat, end)):
            return places[at], places[end - 1] + 1
        at = flat.find(wanted, at + 1)
    return None


def _within_number(text: str, at: int) -> bool:
    """Whether a cut before the character `at` goes through a number."""
    around = text[max(at - 2, 0) : at], text[at : at + 2]
    if not all(around):
        return False
    before, after = around
    whole = before[-1].isdigit() and after[0].isdigit()
    return (
        whole or bool(re.fullmatch(r"\d[.,]", before) and after[0].isdigit()) or (before[-1].isdigit() and bool(re.match(r"[.,]\d", after)))
    )


@lru_cache(maxsize=64)
def _flat(text: str) -> tuple[str, tuple[int, ...]]:
    """The characters that are compared, and the place of each in the text."""
    found: list[str] = []
    places: list[int] = []
    left_out = {place for match in _LINE_END_HYPHEN.finditer(text) for place in range(*match.span())}
    blank = {place for match in _LEADER.finditer(text) for place in range(*match.span())}
    space = False
    for place, character in enumerate(text):
        if place in blank or character.isspace():
            space = space or place not in left_out
            continue
        if place in left_out or character == _LOST or unicodedata.category(character) in _UNSEEN:
            continue
        for one in unicodedata.normalize("NFKD", character).translate(_DASHES).translate(_QUOTES):
            if one.isspace():
                space = True
                continue
            if space and found:
                found.append(" ")
                places.append(place)
            space = False
            found.append(one)
            places.append(place)
    return "".join(found), tuple(places)
