"""Whether a sentence gives the figure of another company than the one whose figures are asked for."""

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from finassay_rubrics.grading.headings import above
from finassay_rubrics.grading.names import ACRONYMS, names_of, said_last
from finassay_rubrics.grading.vocabulary import SYNONYMS
from finassay_rubrics.grading.whose import metrics_in
from finassay_rubrics.metrics.terms import words

if TYPE_CHECKING:
    from finassay_rubrics.grading.answer import Answer, Sentence
    from finassay_rubrics.grading.cells import Cell

_NAME: Final = r"[A-Z][\w&-]*[a-z][\w&-]*(?:\s+(?:(?:of|and|&)\s+)?[A-Z][\w&.-]*){0,4}"
_FORM: Final = re.compile(r",?\s+(?:Inc|Corp|Corporation|Co|Company|Ltd|Limited|plc|PLC|AG|SE|SA|NV|LLC|Group)\.?(?=\W|$)")
_OWNS: Final = re.compile(rf"(?<![\w&-])({_NAME})(?:['’]s|(?<=s)['’])\s")
_ABOUT: Final = re.compile(rf"(?:^|[.;:,(]\s*)(?:For|At|for|at)\s+({_NAME},?(?:\s+(?:Inc|Corp|Ltd|Co)\.?)?),\s")
_ACTS: Final = re.compile(
    rf"(?:^|[.;:]\s*|\b(?:while|whereas|but|and)\s+)({_NAME}(?:,\s+Inc\.?)?)\s+"
    r"(?:reported|posted|earned|recorded|generated|booked|achieved|had|made|recogni[sz]ed|disclosed|announced)\b"
)
_SHORT: Final = re.compile(r"(?<![\w&-])([A-Z]{2,5})['’]s\s")
_LEAD: Final = 300
_COMMON: Final = """
january february march april may june july august september october november december management company companies today yesterday year quarter period
group firm issuer business segment analysts analyst investors investor it they we he she this that these those there both all each other others
shareholders stockholders owner owners parent subsidiary moody fitch note table total north south east west america europe asia china international
wall street standard poor last first second third fourth next prior previous current full however meanwhile revenue sales income profit earnings cash
"""
_NO_COMPANY: Final = frozenset(_COMMON.split())
"""Are no company's name, though they may begin with a capital letter and own or report a figure."""


def of_other_company(one: "Sentence", start: int, end: int, cell: "Cell", answer: "Answer") -> bool:
    """Whether the figure at these places of a sentence is said of a company that nobody asked about: by name, by ticker, or under its heading."""
    names = names_of(answer, cell.asked, cell.known)
    last = said_last(one.text[max(0, start - _LEAD) : start], names)
    if last != "own":
        behind = _BEHIND.match(one.text[end : end + 60])
        if last == "other" or (behind and said_last(behind["name"], names) == "other"):
            return True
        if another_company(one.text, start, cell.known | names.own if cell.known else cell.known, answer.text):
            return True
    return not last and bool(names.others) and above(answer, one.start, (names.own, names.others)) == 1


_BEHIND: Final = re.compile(r"^[\s)*]*(?:\(|(?:for|at|of|by|in)\s)\s*(?P<name>[A-Z][\w&.’'-]*(?:\s+[A-Z][\w&.’'-]*){0,3})")


def another_company(text: str, start: int, known: frozenset[str], answer: str) -> bool:
    """Whether the last company that is named before a figure is none of the rubric. `known` are all words of the rubric; empty asks for nothing.

    A name that the answer introduces as another name of the same, `(formerly …)`, is none.
    """
    if not known:
        return False
    before = text[max(0, start - _LEAD) : start]
    found = [(m.start(1), m[1]) for pattern in (_OWNS, _ABOUT, _ACTS) for m in pattern.finditer(before)]
    strange = [(at, name) for at, name in found if _is_company(name, known)]
    strange += [(m.start(1), m[1]) for m in _SHORT.finditer(before) if is_short_name(m[1], known)]
    if not strange:
        return False
    at, name = max(strange)
    after = {w.lower() for w in re.findall(r"[\w&-]+", before[at + len(name) :]) if w[:1].isupper()}
    if after & known - words("common") - _NO_COMPANY:
        return False  # the asked one is named after it
    first = re.escape(name.split()[0])
    return not re.search(
        rf"(?:\(|\b(?:formerly|previously|known as|trading as|now|renamed|parent of|owner of)\s+(?:\w+\s+)?){first}", answer
    )


def is_short_name(name: str, known: frozenset[str]) -> bool:
    """Whether capitals that own something can be a ticker: no metric's and no unit's acronym."""
    short = name.lower()
    if any(_in_order(short, word) for word in known):
        return False  # NKE for Nike
    return short not in known and short not in ACRONYMS and short not in SYNONYMS and not metrics_in(name)


def _in_order(short: str, word: str) -> bool:
    """Whether the letters of a short name stand in this order in a word, from its first on."""
    letters = iter(word)
    return word[:1] == short[:1] and all(letter in letters for letter in short)


def _is_company(name: str, known: frozenset[str]) -> bool:
    said = [w.lower().strip(".,") for w in _FORM.sub("", name).split()]
    while said and (said[0] in words("common") or said[0] in _NO_COMPANY):
        said = said[1:]
    telling = [w for w in said if w not in _NO_COMPANY and w not in words("common")]
    if not telling or any(w in known or w.removesuffix("s") in known for w in telling) or metrics_in(name):
        return False
    joined = "".join(w for w in known if w.isalpha())
    return not all(w in joined for w in telling)


def words_known(texts: Iterable[str]) -> frozenset[str]:
    """All words of a rubric's texts, lower case, without possessive endings."""
    return frozenset(re.sub(r"['’]s?$", "", w.lower()) for text in texts for w in re.findall(r"[\w&'’-]+", text))
