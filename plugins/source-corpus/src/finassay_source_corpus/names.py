"""Documents by the words that people use for them: a company's name in its own spellings, a form, a year, words of the title."""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from datetime import date
from difflib import SequenceMatcher
from functools import lru_cache
from typing import Final

from attrs import frozen

LEGAL: Final = frozenset(
    (
        "inc", "incorporated", "corp", "corporation", "co", "company", "companies", "plc", "ltd", "limited", "llc", "lp", "llp", "sa", "ag", "nv", "se",
        "spa", "ab", "asa", "kgaa", "gmbh", "the", "group", "holding", "holdings", "de", "and", "com",
    )
)  # fmt: skip
_OTHER = (
    "a an of for in on by to from its their s what is was were are annual quarterly report reports filing filings form results release year fiscal"
    " fy document documents statement statements and or the with as at"
)
OTHER: Final = frozenset(_OTHER.split())
FORM: Final = re.compile(r"\b(10|8|20|40|6)[\s-]?([kqf])(?:[\s/-]?(a)\b)?|\b(earnings|def\s?14a|s-?1|prospectus)\b", re.IGNORECASE)
PERIOD: Final = re.compile(r"\b(?:fy\s?'?|q([1-4])\s?'?)?((?:19|20)\d\d)(?:\s?q([1-4]))?\b|\bfy\s?'?(\d\d)\b|\bq([1-4])\b", re.IGNORECASE)
FUZZY: Final = 0.86


@frozen
class Named:
    """What a document can be found by."""

    reference: str
    names: tuple[str, ...]
    """The publisher's names."""
    title: str
    form: str
    period: str
    published: date


@frozen
class Asked:
    """A query taken apart."""

    words: tuple[str, ...]
    forms: frozenset[str]
    years: frozenset[str]
    quarters: frozenset[str]


def words_of(text: str) -> tuple[str, ...]:
    """Words in lower case without accents, possessives and punctuation; `&` is nothing, `AT&T` one word."""
    plain = "".join(c for c in unicodedata.normalize("NFKD", text[:2000]) if not unicodedata.combining(c)).casefold()
    plain = re.sub(r"(?<=\w)['’]s\b|['’.]|(?<=\w)&(?=\w)", "", plain)
    return tuple(re.findall(r"[^\W_]+", plain))


def asked(query: str) -> Asked:
    """A query's forms, years and quarters, and the other words."""
    text = " ".join(query.split())[:1000].replace("_", " ")
    forms = frozenset(form_of(match[0]) for match in FORM.finditer(text))
    rest = FORM.sub(" ", text)
    years = frozenset(m[2] or f"20{m[4]}" for m in PERIOD.finditer(rest) if m[2] or m[4])
    quarters = frozenset(f"q{q}" for m in PERIOD.finditer(rest) for q in (m[1], m[3], m[5]) if q)
    return Asked(words_of(PERIOD.sub(" ", rest)), forms, years, quarters)


def form_of(text: str) -> str:
    """A form's name in one spelling: `10-K`, `10 k` and `10k` are `10k`."""
    return re.sub(r"[\s/-]", "", text).casefold()


@lru_cache(maxsize=50_000)
def key_of(name: str) -> str:
    """A name as one word without its legal form."""
    words = words_of(name)
    kept = [word for word in words if word not in LEGAL] or list(words)
    return "".join(kept)


@lru_cache(maxsize=50_000)
def _first_word(name: str) -> str:
    return next((word for word in words_of(name) if word not in LEGAL), "")


def fit(words: Sequence[str], names: Iterable[str]) -> float:
    """How well a query's words name a publisher: 1 its name in any spelling, less a beginning of it, less what is nearly it; 0 not at all."""
    names = tuple(names)
    kept = [word for word in words if word not in LEGAL] or list(words)
    runs = ["".join(kept[i:j]) for i in range(len(kept)) for j in range(i + 1, min(len(kept), i + 6) + 1)]
    spans = {run: j - i for i in range(len(kept)) for j in range(i + 1, min(len(kept), i + 6) + 1) if (run := "".join(kept[i:j]))}
    best = 0.0
    for name in names:
        key = key_of(name)
        if not key:
            continue
        if key in spans:
            return 1.0
        for run in runs:
            if run in OTHER or len(run) < 3:
                continue
            if key.startswith(run) and (run == _first_word(name) or spans[run] > 1 or len(run) >= max(5, 0.6 * len(key))):
                best = max(best, 0.5 + 0.4 * len(run) / len(key))
            elif len(key) >= 6 and abs(len(run) - len(key)) <= 3 and _nearly(run, key):
                best = max(best, 0.45)
    return best


def _nearly(one: str, other: str) -> bool:
    """Whether two words are spelt almost alike; the cheap bounds are tried first."""
    match = SequenceMatcher(None, one, other)
    return match.real_quick_ratio() >= FUZZY and match.quick_ratio() >= FUZZY and match.ratio() >= FUZZY


def chosen(query: str, documents: Sequence[Named]) -> list[Named]:
    """The documents that a query names, newest first; of those of one publisher the ones that fit its form and period, if any does."""
    ask = asked(query)
    of_publisher = {names: fit(ask.words, names) for names in {d.names for d in documents}}
    exact = max(of_publisher.values(), default=0) == 1.0
    sure = {names for names, score in of_publisher.items() if score >= (0.7 if exact else 0.5)} or {
        n for n, s in of_publisher.items() if s > 0
    }
    if sure:
        kept = [d for names in sure for d in _closest(ask, [d for d in documents if d.names == names])]
    else:
        kept = _by_title(ask, documents)
    return sorted(kept, key=lambda d: (-d.published.toordinal(), d.reference))


def _closest(ask: Asked, documents: Sequence[Named]) -> list[Named]:
    """Those that fit most of the form, year and quarter that are asked."""
    scored = [(_extra(ask, d), d) for d in documents]
    best = max((score for score, _ in scored), default=0)
    return [d for score, d in scored if score == best]


def _extra(ask: Asked, document: Named) -> int:
    period, title = document.period.casefold(), asked(f"{document.title} {document.reference}")
    years = {*re.findall(r"(?:19|20)\d\d", period)} or title.years
    quarters = {f"q{q}" for q in re.findall(r"q([1-4])", period)} or title.quarters
    forms = {form_of(document.form)} if document.form else title.forms
    return bool(ask.forms & forms) + bool(ask.years & years) + bool(ask.quarters & quarters)


def _by_title(ask: Asked, documents: Sequence[Named]) -> list[Named]:
    """Those whose title has the most of the query's words, at least half; a query of form and period alone takes what fits all of them."""
    wanted = [word for word in dict.fromkeys(ask.words) if word not in OTHER]
    asks = bool(ask.forms) + bool(ask.years) + bool(ask.quarters)
    if not wanted:
        return [d for d in documents if asks and _extra(ask, d) == asks]
    scored = [(sum(word in words_of(f"{d.title} {d.reference}") for word in wanted), d) for d in documents]
    best = max((score for score, _ in scored), default=0)
    return _closest(ask, [d for score, d in scored if score == best]) if best and 2 * best >= len(wanted) else []
