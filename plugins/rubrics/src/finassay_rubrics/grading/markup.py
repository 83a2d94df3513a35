"""HTML in an answer as plain text of the same length: rows of tables are lines with bars, tags are blank, so that every place stays.

Nothing is parsed into a tree: an answer may break off anywhere, and what follows must still be read.
"""

import re
from typing import Final

MAX_SPAN: Final = 20
"""Columns of one cell that are counted."""
_TAG: Final = re.compile(
    r"<(?P<close>/)?(?P<name>table|thead|tbody|tfoot|caption|tr|t[dh]|p|div|br|hr|h[1-6]|ul|ol|li|dl|dt|dd|b|i|u|em|strong|span|sub|sup|small|code|pre"
    r"|a|section|article|header|footer|blockquote|html|head|body|title|meta|style|script|colgroup|col|font|mark)\b(?P<more>[^<>]{0,500})>"
    r"|<!--.{0,2000}?-->|&(?P<entity>nbsp|amp|lt|gt|quot|apos|euro|pound|yen|cent|minus|ndash|mdash|percnt|dollar|times|rsquo|#160|#36|#37|#8211|#8722|#8364|#39);",
    re.IGNORECASE | re.DOTALL,
)
_HINT: Final = re.compile(
    r"</?(?:table|tr|t[dh]|p|div|br|h[1-6]|li|ul|ol|b|strong|em|span)\b[^<>]{0,500}>|&(?:nbsp|amp|#160|euro|pound);", re.IGNORECASE
)
_ENTITIES: Final = {
    "nbsp": " ", "#160": " ", "amp": "&", "lt": "<", "gt": ">", "quot": '"', "apos": "'", "#39": "'", "rsquo": "’", "euro": "€", "#8364": "€", "pound": "£",
    "yen": "¥", "cent": "¢", "minus": "-", "#8722": "-", "ndash": "-", "#8211": "-", "mdash": "-", "percnt": "%", "#37": "%", "dollar": "$", "#36": "$",
    "times": "×",
}  # fmt: skip
_BEFORE: Final = "$€£¥-"
"""Stand right before a figure, and so at the end of their place."""
_INLINE: Final = frozenset(["b", "i", "u", "em", "strong", "span", "sub", "sup", "small", "code", "a", "font", "mark"])
_COLSPAN: Final = re.compile(r"colspan\s*=\s*[\"']?(\d{1,2})", re.IGNORECASE)
_BREAKS: Final = str.maketrans({"\n": " ", "\r": " ", "|": "/"})


def without_markup(text: str) -> str:
    """The text without HTML, as long as it was."""
    if not _HINT.search(text):
        return text
    parts: list[str] = []
    at, in_row, in_table = 0, False, 0
    for match in _TAG.finditer(text):
        between, name, closing = text[at : match.start()], (match["name"] or "").lower(), bool(match["close"])
        if in_row or (in_table and not between.strip()):
            between = between.translate(_BREAKS)
        parts.append(between)
        if name == "table":
            in_table = max(0, in_table + (-1 if closing else 1))
        in_row = (in_row or name == "tr") and not (closing and name in ("tr", "table"))
        parts.append(_instead(match, name, closing=closing, quiet=in_row or bool(in_table)))
        at = match.end()
    return "".join([*parts, text[at:]])


def _instead(match: re.Match[str], name: str, *, closing: bool, quiet: bool) -> str:
    """What stands for a tag. `quiet`: within a table only a row begins a line."""
    length = len(match[0])
    if match["entity"]:
        sign = _ENTITIES[match["entity"].lower()]
        return sign.rjust(length) if sign in _BEFORE else sign.ljust(length)
    if name in ("td", "th") and not closing:
        span = _COLSPAN.search(match["more"])
        bars = min(int(span[1]), MAX_SPAN, length) if span else 1
        return ("|" * max(1, bars)).rjust(length)
    if quiet and name != "table" and (name != "tr" or closing):
        return " " * length
    return " " * length if name in _INLINE or not name else "\n".ljust(length)
