"""Numbers in running text and tables: value, precision, scale, unit and sign, as they stand there."""

import re
from bisect import bisect_left
from collections.abc import Iterator
from decimal import Decimal
from itertools import islice
from typing import Final, Literal

from attrs import frozen

UnitKind = Literal["amount", "percent", "points", "basis points", "times", "days", "months", "plain"]
"""`months` are lengths of time: a year counts twelve."""
MAX_TEXT: Final = 400_000
"""Characters of an answer that are looked at."""
MAX_DIGITS: Final = 40
"""Digits and points of one number; a longer one is none."""
MAX_NUMBERS: Final = 4_000
"""Numbers of an answer that are looked at: one that lists more answers nothing."""

SCALES: Final = {
    "thousand": 3, "thousands": 3, "k": 3,
    "million": 6, "millions": 6, "mn": 6, "mm": 6, "mio": 6, "mln": 6, "m": 6,
    "billion": 9, "billions": 9, "bn": 9, "mrd": 9, "bln": 9, "b": 9,
    "trillion": 12, "trillions": 12, "tn": 12,
    "lakh": 5, "lakhs": 5, "crore": 7, "crores": 7,
}  # fmt: skip
_UNITS: Final[tuple[tuple[str, UnitKind], ...]] = (
    (r"basis[\s-]points?|bps?\b", "basis points"),
    (r"percentage[\s-]points?|percent[\s-]points?|pp\b|ppts?\b|pts?\b|%[\s-]?points?", "points"),
    (r"%|percent\b|per\s?cent\b|pct\b", "percent"),
    (r"x\b|×(?!\s*[\d(])|times\b|[\s-]?fold\b", "times"),
    (r"days?\b", "days"),
)
_UNIT_PATTERNS: Final = tuple((re.compile(pattern, re.IGNORECASE), kind) for pattern, kind in _UNITS)
_LENGTHS: Final = re.compile(
    r"[\s-]?(?:(?P<years>years?|yrs?)|(?P<quarters>quarters?)|(?P<months>months?)|(?P<weeks>weeks?))\b", re.IGNORECASE
)
_MONTHS: Final = {"years": Decimal(12), "quarters": Decimal(3), "months": Decimal(1), "weeks": Decimal(12) / Decimal(52)}
_CENTS: Final = re.compile(r"\s?(?:(?:US |euro )?cents?\b|¢|pence\b)", re.IGNORECASE)
_NUMBER: Final = re.compile(
    r"""(?<![\w.,^])
    (?P<open>\()?\s?
    (?P<sign>[-−–+](?=\s?[\d.$€£¥₹(A-Z]))?\s?
    (?P<currency>(?:(?:US|A|AU|C|CA|HK|NZ|S|R|NT)?\$|(?:USD|EUR|GBP|CHF|JPY|CAD|AUD|NZD|HKD|SGD|SEK|NOK|DKK|INR|CNY|RMB|BRL|MXN|ZAR|KRW|PLN|TRY|Rs\.?)(?=[\s\d(])|[€£¥₹₩])\s?)?
    (?P<inner>[-−–(](?=\d))?
    (?P<digits>\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d{1,2}(?:,\d{2})+,\d{3}(?:\.\d+)?|\d+(?:\.\d+)?|\.\d+)
    (?P<close>\))?
    """,
    re.VERBOSE,
)
_SCALE: Final = re.compile(
    r"\s?-?(?P<word>thousands?|millions?|billions?|trillions?|lakhs?|crores?|mn|mio|mln|bn|bln|mrd|tn|mm|[kKmMbB])\b(?!\s?points)",
    re.IGNORECASE,
)
_SCALE_NOTE: Final = re.compile(
    r"\s?,?\s?\(?(?:USD |US\$ |\$ )?in (?:USD |US\$ |\$)?(?P<word>thousands|millions|billions)\b\)?", re.IGNORECASE
)
"""`1,577 (in millions)`."""
_AFTER_CURRENCY: Final = re.compile(
    r"\s?(?:\.\s)?(USD|US dollars?|dollars?|EUR|euros?|GBP|CHF|JPY|yen|CAD|AUD|SEK|NOK|DKK|INR|CNY|€|£)(?!\w)", re.IGNORECASE
)
_MONTH: Final = r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\.?"
_DATE: Final = re.compile(
    rf"\b{_MONTH}\s+\d{{1,2}}(?:st|nd|rd|th)?(?:\s{{0,3}},?\s{{0,3}}(?:19|20)\d\d)?\b|\b\d{{1,2}}(?:st|nd|rd|th)?\s+{_MONTH}(?:\s{{0,3}},?\s{{0,3}}(?:19|20)\d\d)?\b"
    rf"|\b{_MONTH}\s{{0,3}},?\s{{0,3}}(?:19|20)\d\d\b|\b(?:19|20)\d\d[-/]\d{{1,2}}[-/]\d{{1,2}}\b|\b\d{{1,2}}\.\d{{1,2}}\.(?:19|20)\d\d\b|\b\d{{1,2}}/\d{{1,2}}/(?:19|20)?\d\d\b",
    re.IGNORECASE,
)
_REFERENCE: Final = re.compile(
    r"\b(?:note|notes|page|pages|p\.|pp\.|item|items|section|table|figure|exhibit|chapter|step|part|line|footnote|level|topic|asc|ifrs|ias|form|no\.)"
    r"\s{0,3}\.?\s{0,3}\(?\d+(?:[.\-–]\d+)*\)?",
    re.IGNORECASE,
)
_COUNTED: Final = re.compile(
    r"\b\d+\s?[-–]?\s?(?:years?|yrs?|months?|weeks?|quarters?|decimals?|decimal places?|places?|digits?|significant|companies|segments)\b"
    r"|\b\d+(?:st|nd|rd|th)\b",
    re.IGNORECASE,
)
_LISTED: Final = re.compile(r"(?m)^[ \t]{0,20}(?:\(?\d{1,2}[.)]\)?)\s(?=\S)")
_NOT_A_NUMBER: Final = re.compile(r"[-–]?[A-Za-z_]|-\d|:\d\d\b|/\d{2,4}\b(?=\s*(?:fiscal|fy))", re.IGNORECASE)


@frozen
class Number:
    """A number where it stands."""

    start: int
    end: int
    text: str
    value: Decimal
    """With its sign, without its scale word."""
    decimals: int
    """Shown after the point; 0 where there is none."""
    scale: Decimal | None
    """What its own scale word says: 1,000,000 for million; None where there is none."""
    kind: UnitKind
    currency: str = ""
    bracketed: bool = False
    """In round brackets of its own: negative in a table, mostly not in a sentence."""

    @property
    def units(self) -> Decimal:
        """The value with its own scale."""
        return self.value * (self.scale or 1)


def numbers(text: str, ignore: frozenset[str] = frozenset(), *, lengths: bool = False) -> list[Number]:
    """The numbers of a text that can be figures, in order.

    Years, dates, list marks, ordinals, references to notes and pages, and words of `ignore` that hold digits (a company called 3M) are none;
    nor are lengths of time (`25 months`), unless they are asked for.
    """
    text = text[:MAX_TEXT]
    taken = sorted(_taken(text, ignore, lengths))
    starts = [start for start, _ in taken]
    free = (n for n in _numbers(text, lengths) if not _within(n, taken, starts))
    return list(islice(free, MAX_NUMBERS))


def _within(number: Number, taken: list[tuple[int, int]], starts: list[int]) -> bool:
    """Whether a number touches one of the sorted spans; spans are short, so that a few before it are enough."""
    at = bisect_left(starts, number.end)
    return any(end > number.start for _, end in taken[max(0, at - 4) : at])


def _taken(text: str, ignore: frozenset[str], lengths: bool) -> list[tuple[int, int]]:
    spans = [m.span() for pattern in (_DATE, _REFERENCE, _LISTED) for m in pattern.finditer(text)]
    spans += [m.span() for m in _COUNTED.finditer(text) if not (lengths and _LENGTHS.search(m[0]))]
    for word in ignore:
        if any(c.isdigit() for c in word):
            spans += [m.span() for m in re.finditer(rf"(?<!\w){re.escape(word)}(?!\w)", text, re.IGNORECASE)]
    return spans


def _numbers(text: str, lengths: bool) -> Iterator[Number]:
    for match in _NUMBER.finditer(text):
        number = _number(text, match, lengths)
        if number is not None:
            yield number


def _number(text: str, match: re.Match[str], lengths: bool) -> Number | None:
    digits, end = match["digits"], match.end("digits")
    if len(digits) > MAX_DIGITS:
        return None
    bracketed = match["close"] is not None and (match["open"] is not None or match["inner"] == "(")
    after = match.end() if bracketed else end
    currency = (match["currency"] or "").strip()
    scale, after_scale = _scale(text, after, digits, currency)
    kind, after_unit = _unit(text, after_scale)
    if named := _AFTER_CURRENCY.match(text, after_unit):
        currency, after_unit = currency or named[1].upper(), named.end()
    if kind == "plain" and not currency and scale is None and (cents := _CENTS.match(text, after_unit)):
        kind, scale, after_unit = "amount", Decimal("0.01"), cents.end()
    if lengths and kind == "plain" and not currency and scale is None and (length := _LENGTHS.match(text, after_unit)):
        kind, scale, after_unit = "months", _MONTHS[length.lastgroup or "months"], length.end()
    if kind == "plain" and scale is None and after == end and _NOT_A_NUMBER.match(text, end):
        return None
    if kind == "plain" and scale is None and not currency and _is_year(digits):
        return None
    dash = match["sign"] is not None and match["sign"] in "-−–" and not _is_range(text, match.start("sign"))
    negative = dash or (match["inner"] or "+") in "-−–"
    if bracketed and kind == "plain" and text[after_unit : after_unit + 1] == "%":
        kind, after_unit = "percent", after_unit + 1
    value = Decimal(digits.replace(",", ""))
    shown = digits.partition(".")[2]
    signs = ("sign",) if dash else ()
    start = match.start("open") if bracketed and match["open"] else _first(match, *signs, "currency", "inner", "digits")
    return Number(
        start=start,
        end=after_unit,
        text=text[start:after_unit],
        value=-value if negative else value,
        decimals=len(shown),
        scale=scale,
        kind="amount" if kind == "plain" and currency else kind,
        currency=currency,
        bracketed=bracketed,
    )


def _is_range(text: str, at: int) -> bool:
    """Whether a dash stands between two figures: 5%-6%, 3 - 4. After a space and right before its figure it is a sign: FY2015 -3.1%."""
    if text[at - 1 : at].isspace() and not text[at + 1 : at + 2].isspace():
        return False
    before = text[:at].rstrip()[-1:]
    return before.isdigit() or before in ("%", ")")


def _first(match: re.Match[str], *groups: str) -> int:
    return min(match.start(group) for group in groups if match[group] is not None)


def _scale(text: str, at: int, digits: str, currency: str) -> tuple[Decimal | None, int]:
    if note := _SCALE_NOTE.match(text, at):
        return Decimal(10) ** SCALES[note["word"].lower()], note.end()
    found = _SCALE.match(text, at)
    if found is None:
        return None, at
    word = found["word"]
    if len(word) == 1 and not (currency or "," in digits or "." in digits or len(digits) >= 3):
        return None, at  # 3M is a name
    if word.lower() not in SCALES:
        return None, at
    return Decimal(10) ** SCALES[word.lower()], found.end()


def _unit(text: str, at: int) -> tuple[UnitKind, int]:
    space = at + (text[at : at + 1] in (" ", "\u00a0", "-"))
    for place in (at, space):
        for pattern, kind in _UNIT_PATTERNS:
            if found := pattern.match(text, place):
                return kind, found.end()
    return "plain", at


def _is_year(digits: str) -> bool:
    return len(digits) == 4 and digits.isdigit() and 1950 <= int(digits) <= 2079
