"""Quotes from extracted pages: the raw slice is kept, a stated normal form is compared and digested.

Extraction leaves line-end hyphens (U+FFFE), soft hyphens, ligatures, non-breaking spaces and several kinds of dashes and quotation marks behind;
two extractions of one page agree in the normal form, hardly ever in the raw text.
"""

import hashlib
import re
import unicodedata
from typing import Final

_LINE_END_HYPHEN: Final = re.compile("[\ufffe\u00ad]\\s*\n?\\s*")
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
