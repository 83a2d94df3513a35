"""Numbers as documents show them: where one stands in a quote, its sign and precision."""

import re
from decimal import Decimal
from typing import Final

from attrs import frozen

SCALES: Final = {"units": Decimal(1), "thousands": Decimal(1_000), "millions": Decimal(1_000_000), "billions": Decimal(1_000_000_000)}
SAID: Final = {
    "thousands": re.compile(r"thousand|(?<!\d)000['’]?s?\b|\$\s?k\b", re.IGNORECASE),
    "millions": re.compile(r"million|\bmn\b|\bmm\b|\$\s?m\b|[\d.]\s?m\b", re.IGNORECASE),
    "billions": re.compile(r"billion|\bbn\b|\$\s?b\b|[\d.]\s?b\b", re.IGNORECASE),
}
"""How a document says its scale."""
IN_SCALE: Final = re.compile(r"\bin\s+(?:[a-z$€£.]+\s+){0,3}?(thousands|millions|billions)\b", re.IGNORECASE)
"""A heading that gives the scale of a whole table."""
_NUMBER: Final = re.compile(r"\d[\d,]*(?:\.\d+)?|\.\d+")
_NIL: Final = re.compile(r"[-–—]")


@frozen
class Figure:
    """A number that a quote shows."""

    text: str
    """As it stands there, without sign and currency."""
    value: Decimal
    """With its sign, without its scale."""
    step: Decimal
    """One unit of its last digit."""


def figure_in(quote: str, shown: str) -> Figure | str:
    """The number `shown` where a quote holds it, or why it does not. The quote decides the sign: brackets, or a minus before it."""
    match = _NUMBER.search(shown)
    if match is None:
        nil = _NIL.fullmatch(shown.strip().lstrip("$€£ "))
        if nil and re.search(rf"(?:^|[\s$€£]){nil[0]}(?=\s|$)", quote):
            return Figure(nil[0], Decimal(0), Decimal(1))
        return f"{shown[:40]!r} is no number that stands there"
    core = match[0].rstrip(",")
    places = [m for m in re.finditer(re.escape(core), quote) if _whole(quote, m.start(), m.end())]
    if not places:
        return f"{shown[:40]!r} does not stand in the quote"
    signs = {_negative(quote, m.start(), m.end()) for m in places}
    negative = signs.pop() if len(signs) == 1 else bool(re.search(r"^\s*[-−–(]", shown))
    digits = core.replace(",", "")
    decimals = len(digits.partition(".")[2])
    value = Decimal(digits)
    return Figure(core, -value if negative else value, Decimal(1).scaleb(-decimals))


def _whole(text: str, start: int, end: int) -> bool:
    """Whether a match is a whole number, not a part of a longer one."""
    before, after = text[max(start - 2, 0) : start], text[end : end + 2]
    cut = re.search(r"\d[.,]?$|(?:^|\D)[.]$" if text[start].isdigit() else r"\d$", before)
    return not cut and not re.match(r"\d|[.,]\d", after)


def _negative(text: str, start: int, end: int) -> bool:
    before, after = text[:start].rstrip(" $€£\u00a0"), text[end : end + 4].lstrip(" %\u00a0")
    if before.endswith("(") and after.startswith(")"):
        return True
    return bool(re.search(r"(?:^|[\s(|:=$€£])[-−–]$", before)) and not re.search(r"\d\s?[-−–]$", before)
