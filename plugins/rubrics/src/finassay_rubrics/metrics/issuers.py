"""Which issuers a query gives to one of its metrics, and to each of them its times.

`revenue of A and net income of B` asks one of each; `revenue and net income of A and B` asks both of both.
"""

import re
from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Final

from attrs import frozen

from finassay_rubrics.metrics.clauses import Binding, UnclearError, placed, sentence_places
from finassay_rubrics.metrics.terms import fold
from finassay_rubrics.metrics.times import Time, times_in

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
_NO_ISSUER: Final = re.compile(
    r"[QH][1-4]\W?(?:FY)?\W?\d*|\d+(?:st|nd|rd|th)(?:\s\w+)?|M&A|R&D|SG&A|FX|AGM|EPS|USA?|USD|EUR|GBP|(?:Adjusted |Non[- ]?)*GAAP|IFRS|EBITDAR?|ESG|IPO|CEO|CFO|SEC"
    r"|10-?[KQ]|8-?K|20-?F|Format\b.*|X+(?:\.X+)?%?",
    re.IGNORECASE,
)
"""Words in capitals of which a query is full and that are no company: quarters, days, currencies, standards, forms."""


_AGAINST: Final = re.compile(r"\b(?:than|versus|vs|against|with|to|and|or)\b", re.IGNORECASE)
_RESPECTIVELY: Final = re.compile(r"\brespectively\b|\bin that order\b", re.IGNORECASE)
_PRONOUN: Final = re.compile(r"\b(?:its|it|the company(?:['’]s)?|the issuer(?:['’]s)?)\b", re.IGNORECASE)


@frozen
class Case:
    """An issuer with the times that are asked of it; an empty name where the query names none."""

    issuer: str
    times: tuple[Time, ...]


@frozen
class _Mark:
    start: int
    what: str
    """`issuer`, `own`, `other` (another metric) or `time`."""
    value: str | Time = ""
    end: int = 0


def named(query: str, entities: Sequence[Binding]) -> list[tuple[int, int, str]]:
    """(start, end, name) of every mention of a company, without tickers and places; a shorter form has the name of the longer one."""
    mentions: list[tuple[int, int, frozenset[str]]] = []
    names: dict[frozenset[str], str] = {}
    for one in entities:
        before = query[: one["start"]] if placed(one) else ""
        name = " ".join(str(one.get("canonical") or one.get("span") or "").split())
        key = frozenset(word for word in re.findall(r"[\w&]+", re.sub(r"'s\b", "", fold(name))) if word not in _FORM)
        if (
            key
            and not _NO_ISSUER.fullmatch(name)
            and not all(_COUNTED.fullmatch(word) for word in key)
            and not _LISTED.search(before)
            and not _WHERE.search(before)
        ):
            names.setdefault(key, name)
            start = one["start"] if placed(one) else -1
            mentions.append((start, int(one.get("end") or start), key))
    longest = {key: max((other for other in names if key <= other), key=len) for key in names}
    return [(start, end, names[longest[key]]) for start, end, key in mentions]


def issuers(query: str, entities: Sequence[Binding]) -> list[str]:
    """The companies that a query names, each once."""
    return list(dict.fromkeys(name for _, _, name in named(query, entities)))


def cases(query: str, bindings: Mapping[str, Sequence[Binding]], own: Sequence[str], times: Sequence[Time]) -> list[Case]:
    """The issuers of what an obligation stands on, each with its times. Raises `UnclearError` where it cannot be told.

    `times` are those of the obligation as a whole; an issuer that has times of its own beside it keeps only those.
    """
    entities = bindings.get("entities", ())
    told = named(query, [one for one in entities if one.get("id") in own]) or named(query, entities)
    every = list(dict.fromkeys(name for _, _, name in told))
    if len(every) < 2 or any(start < 0 for start, _, _ in told):
        return [Case(name, tuple(times)) for name in every] or [Case("", tuple(times))]
    marks = _marks(query, bindings, own, told)
    if not any(one.what == "own" for one in marks):
        return [Case(name, tuple(times)) for name in every]
    mine = _of_sentence(query, marks, every)
    return _with_times(query, marks, mine, tuple(times))


def times_in_turn(query: str, bindings: Mapping[str, Sequence[Binding]], own: Sequence[str]) -> list[Time]:
    """The times of the sentences in which only this obligation is asked, where issuers and times stand in turn; else none."""
    told = named(query, bindings.get("entities", ()))
    marks = _marks(query, bindings, own, told)
    places = [place for place in sentence_places(query) if any(one.what == "own" and place[0] <= one.start < place[1] for one in marks)]
    inside = [one for start, end in places for one in marks if start <= one.start < end]
    runs = [what for what, _ in groupby(one.what for one in inside if one.what in ("issuer", "time"))]
    if any(one.what == "other" for one in inside) or runs.count("issuer") < 2 or runs.count("issuer") != runs.count("time"):
        return []
    return sorted({one.value for one in inside if isinstance(one.value, Time)})


def _marks(query: str, bindings: Mapping[str, Sequence[Binding]], own: Sequence[str], told: Sequence[tuple[int, int, str]]) -> list[_Mark]:
    marks = [_Mark(start, "issuer", name, end) for start, end, name in told]
    marks += [
        _Mark(one["start"], "own" if one.get("id") in own else "other", end=int(one.get("end") or 0))
        for kind in ("metrics", "deliverables")
        for one in bindings.get(kind, ())
        if placed(one) and (kind == "metrics" or one.get("id") in own)
    ]
    for one in bindings.get("periods", ()):
        if placed(one):
            said = str(one["span"])
            times = sorted(
                times_in(said), key=lambda time: said.find(str(time.year)) % 1000
            )  # as they stand; what is between two ends last
            marks += [_Mark(one["start"], "time", time, int(one.get("end") or 0)) for time in times]
    return sorted(marks, key=lambda one: one.start)


def _of_sentence(query: str, marks: Sequence[_Mark], every: Sequence[str]) -> list[str]:
    """The issuers of the sentence in which the obligation is asked, or of the one before; else all."""
    places = sentence_places(query)
    mine = [place for place in places if any(one.what == "own" and place[0] <= one.start < place[1] for one in marks)]
    found: list[str] = []
    for start, end in mine:
        inside = [one for one in marks if start <= one.start < end and one.what != "time"]
        if any(one.what == "issuer" for one in inside):
            found += _paired(query, inside)
            continue
        before = [[str(one.value) for one in marks if one.what == "issuer" and a <= one.start < b] for a, b in places if b <= start]
        last = next((names for names in reversed(before) if names), [])
        found += last if last and (len(set(last)) > 1 or _PRONOUN.search(query[start:end])) else every
    return list(dict.fromkeys(found)) or list(every)


def _paired(query: str, marks: Sequence[_Mark]) -> list[str]:
    """The issuers of the obligation's metric in one sentence, by the order in which issuers and metrics stand."""
    runs = [(is_issuer, list(group)) for is_issuer, group in groupby(marks, key=lambda one: one.what == "issuer")]
    who = [number for number, (is_issuer, _) in enumerate(runs) if is_issuer]
    what = [number for number, (is_issuer, _) in enumerate(runs) if not is_issuer]
    if len(what) == 1 or len({str(one.value) for number in who for one in runs[number][1]}) == 1 or len(who) == 1:
        return [str(one.value) for number in who for one in runs[number][1]]
    found: list[str] = []
    for number in what:
        group = runs[number][1]
        if not any(one.what == "own" for one in group):
            continue
        if runs[0][0]:
            near = [number - 1]
            if number + 1 == len(runs) - 1 and _AGAINST.search(query[group[-1].end : runs[number + 1][1][0].start]):
                near.append(number + 1)
            elif number + 1 == len(runs) - 1:
                raise UnclearError("stands among several issuers, and which of them it belongs to cannot be told")
        elif number + 1 < len(runs):
            near = [number + 1]
        else:
            raise UnclearError("stands among several issuers, and which of them it belongs to cannot be told")
        found += [str(one.value) for place in near for one in runs[place][1]]
    return found


def _with_times(query: str, marks: Sequence[_Mark], mine: Sequence[str], times: tuple[Time, ...]) -> list[Case]:
    """Each issuer with its times: its own where issuers and times stand in turn, else all."""
    places = sentence_places(query)
    inside = [
        one
        for start, end in places
        if any(one.what == "own" and start <= one.start < end for one in marks)
        for one in marks
        if start <= one.start < end and ((one.what == "issuer" and one.value in mine) or (one.what == "time" and one.value in times))
    ]
    runs = [(what, list(group)) for what, group in groupby(inside, key=lambda one: one.what)]
    who = [group for what, group in runs if what == "issuer"]
    when = [group for what, group in runs if what == "time"]
    named_ones = list(dict.fromkeys(str(one.value) for group in who for one in group))
    dates = [one.value for group in when for one in group]
    if _RESPECTIVELY.search(query) and len(named_ones) == len(dates) > 1:
        return [Case(name, (time,)) for name, time in zip(named_ones, dates, strict=True) if isinstance(time, Time)]
    if len(who) < 2 or len(when) < 2:
        return [Case(name, times) for name in mine]
    if len(who) != len(when):
        raise UnclearError("stands among several issuers and periods, and which belong together cannot be told")
    found: dict[str, tuple[Time, ...]] = {}
    for some, dated in zip(who, when, strict=True):
        for one in some:
            own = {time for mark in dated if isinstance(time := mark.value, Time)}
            found[str(one.value)] = tuple(sorted({*found.get(str(one.value), ()), *own}))
    return [Case(name, found.get(name, times)) for name in mine]


__all__ = ["Case", "cases", "issuers", "named"]
