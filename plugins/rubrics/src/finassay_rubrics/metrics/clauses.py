"""Which periods and which issuers a query gives to one of its metrics: those of its clause, else of its sentence, else of the query.

Where several are left, none is: a figure of another year, or of another company, is no answer.
"""

import re
from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any, Final

from attrs import frozen

from finassay_rubrics.metrics.formula import FormulaError
from finassay_rubrics.metrics.terms import YEAR, fold, year_of
from finassay_rubrics.metrics.when import is_part

Binding = Mapping[str, Any]
MAX_SPAN: Final = 10
"""Years between the ends of a range."""
_BREAK: Final = re.compile(r"[,;:]|\b(?:and|then|but|while|plus|as well as|along with)\b", re.IGNORECASE)
_SENTENCE: Final = re.compile(r"[.?!;](?:\s+|$)")
_LISTED: Final = re.compile(r"\(\s*(?:[A-Z]{2,8}\s*:\s*)?$|\b(?:NYSE|NASDAQ|AMEX)\s*:\s*$")
"""What stands before a ticker."""
_WHERE: Final = re.compile(r"\b(?:in|within|outside)\s+(?:the\s+)?$")
"""What stands before a place or a currency more often than before a company."""
_COUNTED: Final = re.compile(r"[qh]\d|\d+(?:\.\d+)?(?:st|nd|rd|th|x|bn)")
"""A part of a year, or a number with what it counts."""
_FORM: Final = frozenset(
    [
        "the",
        "inc",
        "incorporated",
        "corp",
        "corporation",
        "co",
        "company",
        "companies",
        "ltd",
        "limited",
        "plc",
        "group",
        "holding",
        "holdings",
        "sa",
        "ag",
        "nv",
        "se",
        "llc",
        "lp",
    ]
)
"""Words of a company's name that may be left out."""


class UnclearError(FormulaError):
    """What belongs to a metric cannot be told; the message says why."""


@frozen
class _Mark:
    """A binding at its place: something that is asked, or a period with its years."""

    start: int
    years: tuple[int, ...] = ()


def years_in(text: str) -> list[int]:
    """The years named, in order; those between them too for a range."""
    folded = fold(text)
    found = sorted({year_of(match) for match in YEAR.finditer(folded)})
    span = re.search(r"\d\s*(?:-|to|through)\s*(?:fy\s*|fiscal\s*)?\d", folded)
    return list(range(found[0], found[-1] + 1)) if span and len(found) == 2 and found[-1] - found[0] <= MAX_SPAN else found


def years_of_spans(periods: Sequence[Binding]) -> list[int]:
    """The years of several periods together. Raises `UnclearError` for a part of a year."""
    spans = [str(one.get("span", "")) for one in periods]
    if any(is_part(span) for span in spans):
        raise UnclearError("asks for a part of a year; only annual statements are read")
    return sorted({year for span in spans for year in years_in(span)})


def years_beside(query: str, bindings: Mapping[str, Sequence[Binding]], own: Sequence[str]) -> list[int]:
    """The years of what an obligation stands on; nothing where places are not told. Raises `UnclearError` where several sets are left."""
    asked = [*bindings.get("metrics", ()), *bindings.get("deliverables", ())]
    dated = years_meant([one for one in bindings.get("periods", ()) if _placed(one)])
    periods = [one for one, years in dated if years]
    mine = [one["start"] for one in asked if _placed(one) and one.get("id") in own]
    if not periods or not mine:
        return []
    marks = [_Mark(one["start"]) for one in asked if _placed(one)]
    marks += [_Mark(one["start"], years) for one, years in dated if years]
    clauses = _clauses(query, sorted(marks, key=lambda one: (one.start, one.years)))
    within = [marks for _, start, end, marks in clauses if any(start <= place < end for place in mine)]
    sentences = {number for number, start, end, _ in clauses if any(start <= place < end for place in mine)}
    around = [marks for number, _, _, marks in clauses if number in sentences]
    for level in (within, around, [marks for *_, marks in clauses]):
        found = {years for marks in level if (years := _of_clause(marks))}
        if len(found) > 1:
            raise UnclearError("stands in a query with several periods, and which of them belongs to it cannot be told")
        if found:
            left = found.pop()
            years_of_spans([one for one in periods if set(years_in(str(one["span"]))) <= set(left)])
            return list(left)
    return []


_BACK: Final = re.compile(
    r"\b(?:(both)|(?:the |these |those )?(two|three|four|five)|(?:each|all) (?:of )?(?:the|these|those)|those|these)\b"
)
_COUNTS: Final = {"both": 2, "two": 2, "three": 3, "four": 4, "five": 5}


def years_meant(periods: Sequence[Binding]) -> list[tuple[Binding, tuple[int, ...]]]:
    """Each placed period with its years; `both years` and `the two year-ends` mean those that were named before, if they are as many."""
    found: list[tuple[Binding, tuple[int, ...]]] = []
    before: set[int] = set()
    for one in sorted(periods, key=lambda period: int(period["start"])):
        span = str(one.get("span", ""))
        years = tuple(years_in(span))
        back = None if years else _BACK.match(fold(span))
        if back is not None:
            wanted = _COUNTS.get(back[1] or back[2] or "", len(before))
            years = tuple(sorted(before)) if before and wanted == len(before) else ()
        before |= set(years)
        found.append((one, years))
    return found


def sentences_of(query: str, asked: Sequence[Binding], own: Sequence[str]) -> list[str]:
    """The sentences in which what an obligation stands on is asked."""
    places = [one["start"] for one in asked if _placed(one) and one.get("id") in own]
    found, start = [], 0
    for end in [*(m.end() for m in _SENTENCE.finditer(query)), len(query)]:
        if any(start <= place < end for place in places):
            found.append(query[start:end])
        start = end
    return found


def _placed(binding: Binding) -> bool:
    return isinstance(binding.get("start"), int)


def _clauses(query: str, marks: Sequence[_Mark]) -> list[tuple[int, int, int, list[_Mark]]]:
    """(number of its sentence, start, end, marks) of each clause: a sentence is cut where both sides ask for something of a time of their own."""
    found = []
    start = 0
    ends = [*(m.end() for m in _SENTENCE.finditer(query)), len(query)]
    for number, end in enumerate(ends):
        cuts = [start]
        for match in _BREAK.finditer(query, start, end):
            left = [one for one in marks if cuts[-1] <= one.start < match.start()]
            right = [one for one in marks if match.end() <= one.start < end]
            if _is_whole(left) and _is_whole(right) and not right[0].years:
                cuts.append(match.end())
        for a, b in zip(cuts, [*cuts[1:], end], strict=True):
            found.append((number, a, b, [one for one in marks if a <= one.start < b]))
        start = end
    return found


def _is_whole(marks: Sequence[_Mark]) -> bool:
    return any(one.years for one in marks) and any(not one.years for one in marks)


def _of_clause(marks: Sequence[_Mark]) -> tuple[int, ...]:
    """The years of a clause. Raises `UnclearError` where periods and what is asked stand in turn: one period each, perhaps."""
    runs = [(bool(dated), list(group)) for dated, group in groupby(marks, key=lambda one: bool(one.years))]
    times = {tuple(sorted({year for one in group for year in one.years})) for dated, group in runs if dated}
    if len(times) > 1 and sum(not dated for dated, _ in runs) > 1:
        raise UnclearError("stands beside other things of other periods, and which period belongs to it cannot be told")
    return tuple(sorted({year for years in times for year in years}))


_NO_ISSUER: Final = re.compile(
    r"[QH][1-4]\W?(?:FY)?\W?\d*|\d+(?:st|nd|rd|th)(?:\s\w+)?|M&A|R&D|SG&A|FX|AGM|EPS|USA?|USD|EUR|GBP|(?:Adjusted |Non[- ]?)*GAAP|IFRS|EBITDAR?|ESG|IPO|CEO|CFO|SEC"
    r"|10-?[KQ]|8-?K|20-?F|Format\b.*|X+(?:\.X+)?%?",
    re.IGNORECASE,
)
"""Words in capitals of which a query is full and that are no company: quarters, days, currencies, standards, forms."""


def issuers(query: str, entities: Sequence[Binding], own: Sequence[str]) -> list[str]:
    """The companies that are asked about, each once: without tickers, places, and shorter forms of the same name."""
    told = [one for one in entities if one.get("id") in own] or list(entities)
    found: dict[frozenset[str], str] = {}
    for one in told:
        before = query[: one["start"]] if _placed(one) else ""
        name = " ".join(str(one.get("canonical") or one.get("span") or "").split())
        key = frozenset(word for word in re.findall(r"[\w&]+", re.sub(r"'s\b", "", fold(name))) if word not in _FORM)
        if (
            key
            and not _NO_ISSUER.fullmatch(name)
            and not all(_COUNTED.fullmatch(word) for word in key)
            and not _LISTED.search(before)
            and not _WHERE.search(before)
        ):
            found.setdefault(key, name)
    return [name for key, name in found.items() if not any(key < other for other in found)]
