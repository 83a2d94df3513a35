"""Companies by every name: those whose figures are asked for, with their aliases and tickers, and others that an answer brings in beside them."""

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from attrs import frozen

from finassay_rubrics.grading.vocabulary import SYNONYMS, initials_of
from finassay_rubrics.grading.whose import metrics_in
from finassay_rubrics.metrics.terms import words

if TYPE_CHECKING:
    from finassay_rubrics.grading.answer import Answer

MAX_NAMES: Final = 400
"""Names with brackets of one answer that are looked at."""
_NAME: Final = r"[A-Z][\w&.'’-]*(?:\s+(?:(?:of|and|&|de|von|van)\s+)?[A-Z][\w&.'’-]*){0,4}"
_BRACKETED: Final = re.compile(rf"(?P<name>{_NAME}),?\s*\((?P<inside>[^()\n]{{2,60}})\)")
_TICKER: Final = re.compile(
    r"(?:(?:ticker|symbol|NYSE|NASDAQ|Nasdaq|LSE|TSX|XETRA|Euronext)\s*:?\s*)?(?P<ticker>[A-Z]{1,5}(?:\.[A-Z]{1,2})?)"
)
_ALIAS: Final = re.compile(
    rf"\b(?:formerly|previously|known as|trading as|doing business as|d/b/a|also called|now|renamed|brand|ticker|symbol|NYSE|NASDAQ|Nasdaq|LSE)\b\s*:?\s*(?P<alias>{_NAME})"
)
_RELATED: Final = re.compile(
    rf"(?P<one>{_NAME}),?\s+(?:(?:is|was|as)\s+)?(?:(?:the|a|an|its|main)\s+)?(?:[\w-]+\s+){0, 2}?(?:parent(?:\s+company)?|owner|operator|holding company|maker|subsidiary|brand|unit|part|successor)\s+(?:company\s+)?(?:of|to|behind)\s+(?P<two>{_NAME})"
    rf"|(?P<three>{_NAME})['’]s?\s+(?:parent|owner|holding company|subsidiary|brand|operator)(?:\s+company)?,?\s+(?P<four>{_NAME})"
)
_PEERS: Final = re.compile(rf"\b(?:peers?|competitors?|rivals?)\s+(?:such as\s+|like\s+|including\s+)?(?P<name>{_NAME})")
_LEGAL: Final = re.compile(r",?\s+(?:Inc|Corp|Corporation|Co|Company|Ltd|Limited|plc|PLC|AG|SE|SA|NV|LLC|Group|Holdings?)\b\.?")
_PLAIN: Final = """january february march april may june july august september october november december the a an of and inc corp corporation co company ltd limited
    plc ag se sa nv llc group holding holdings usd eur gbp chf jpy gaap ifrs put list rank name judge keep credit support q1 q2 q3 q4 report
"""
_NO_NAME: Final = frozenset(_PLAIN.split())
_SHORT: Final = """ttm ltm ytd yoy qoq usd eur gbp jpy gaap ifrs fy est unaudited m mm bn b k x bps bp pp pct n a na nm us uk eu i ii iii iv v cagr ni gm om nm sec note
    q1 q2 q3 q4 h1 h2 ebitda eps roa roe roic wacc dcf ceo cfo vs
"""
ACRONYMS: Final = frozenset(_SHORT.split())


@frozen
class Names:
    """Words by which companies are told apart in one answer, in small letters."""

    own: frozenset[str] = frozenset()
    """Of those that are asked about."""
    others: frozenset[str] = frozenset()
    """Of those that the answer introduces as others."""


def issuer_words(names: Iterable[str]) -> frozenset[str]:
    """Words of names that tell companies apart."""
    found = {re.sub(r"['’]s?$", "", w.lower()).strip(".") for name in names for w in re.findall(r"[\w&.'’-]+", name)}
    return frozenset(w for w in found if w not in _NO_NAME and w not in words("common") and not w.isdigit() and any(c.isalpha() for c in w))


def aliases_in(text: str, own: frozenset[str]) -> frozenset[str]:
    """Words of other names that a text gives to the same company: `Alphabet (GOOGL, Google)`, `Google, a subsidiary of Alphabet`."""
    found: set[str] = set()
    for number, match in enumerate(_BRACKETED.finditer(text)):
        if number >= MAX_NAMES:
            break
        name, inside = issuer_words([match["name"]]), match["inside"]
        if name & own:
            found |= _alias_of(match["name"], inside)
        elif issuer_words([inside]) & own and metrics_in(match["name"]) == frozenset():
            found |= name
    for number, match in enumerate(_RELATED.finditer(text)):
        pair = (match["one"], match["two"]) if match["one"] else (match["three"], match["four"])
        one, two = issuer_words(pair[:1]), issuer_words(pair[1:])
        if number < MAX_NAMES and bool(one & own) != bool(two & own):
            found |= one | two
    return frozenset(found - own)


def _alias_of(name: str, inside: str) -> frozenset[str]:
    """Words of names in the brackets after a name: tickers, and what stands in capital letters."""
    if re.search(r"\d", inside):
        return frozenset()
    parts = [p.strip(" \"'“”") for p in re.split(r"[,;/]|\bor\b", inside)]
    named = [m["alias"] for p in parts if (m := _ALIAS.search(p))]
    named += [p for p in parts if re.fullmatch(rf"(?:{_NAME})", p) or _TICKER.fullmatch(p)]
    named += [m["ticker"] for p in parts if (m := _TICKER.fullmatch(p))]
    return issuer_words(named) - ACRONYMS - _EXCHANGES


_EXCHANGES: Final = frozenset(["nyse", "nasdaq", "lse", "tsx", "xetra", "euronext", "ticker", "symbol"])


def others_in(text: str, own: frozenset[str], known: frozenset[str]) -> frozenset[str]:
    """Words of companies that a text introduces with a ticker, or as peers, and that are not asked about. `known` are all words of the rubric."""
    found: set[str] = set()
    for number, match in enumerate(_BRACKETED.finditer(text)):
        if number >= MAX_NAMES:
            break
        ticker = _TICKER.fullmatch(match["inside"].strip())
        if ticker and len(ticker["ticker"]) > 1 and _is_ticker(match["name"], ticker["ticker"], own):
            found |= issuer_words([match["name"], ticker["ticker"]])
    for number, match in enumerate(_PEERS.finditer(text)):
        if number < MAX_NAMES:
            found |= issuer_words([match["name"]])
    return frozenset(w for w in found if w not in own and w not in known and w not in ACRONYMS and not metrics_in(w))


def _is_ticker(name: str, ticker: str, own: frozenset[str]) -> bool:
    short = ticker.lower()
    if short in ACRONYMS or short in SYNONYMS or metrics_in(name) or issuer_words([name]) & own:
        return False
    initials = {"".join(w[0] for w in re.findall(r"[A-Za-z]+", name)).lower(), *initials_of(name)}
    return short not in initials or bool(_LEGAL.search(name))


def names_of(answer: "Answer", own: frozenset[str], known: frozenset[str]) -> Names:
    """The companies of an answer, found once."""
    key = ("names", own, known)
    kept: list[Names] = answer.kept.get(key, [])
    if not kept:
        text = answer.text[:60_000]
        mine = own | aliases_in(text, own) if own else own
        kept = answer.kept[key] = [Names(mine, others_in(text, mine, known) if own else frozenset())]
    return kept[0]


def said_last(text: str, names: Names) -> str:
    """Which company a text names last: `own`, `other`, or neither."""
    last = ""
    for match in re.finditer(r"[A-Za-z][\w&’'-]*", text):
        word = re.sub(r"['’]s?$", "", match[0].lower())
        if word in names.own and match[0][:1].isupper():
            last = "own"
        elif word in names.others and match[0][:1].isupper():
            last = "other"
    return last
