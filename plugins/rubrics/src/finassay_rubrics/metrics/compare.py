"""What a query wants of several issuers' figures together: which is higher, by how much, their sum or mean."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from attrs import frozen

from finassay.api.research import Period, Question
from finassay_rubrics.metrics.clauses import Binding, placed, sentence_places
from finassay_rubrics.metrics.issuers import named

HIGH: Final = r"higher|highest|greater|greatest|larger|largest|bigger|biggest|more|most|better|best|stronger|strongest|top|fastest|faster|leads?|exceed\w*|outperform\w*|ahead"
LOW: Final = r"lower|lowest|smaller|smallest|less|least|fewer|fewest|worse|worst|weaker|weakest|slowest|slower|behind"
_CHOICE: Final = re.compile(rf"\b(?:{HIGH}|{LOW})\b", re.IGNORECASE)
_LOW: Final = re.compile(rf"\b(?:{LOW})\b", re.IGNORECASE)
_HIGH: Final = re.compile(rf"\b(?:{HIGH})\b", re.IGNORECASE)
_WHICH: Final = re.compile(
    r"\b(?:which|who|whose|or|than|what company|(?:the|one) (?:company|issuer|firm|one|retailer|of the \w+) (?:with|that|which))\b",
    re.IGNORECASE,
)
_COMPARE: Final = re.compile(
    r"\b(?:compar(?:e|es|ed|ing|ison)|contrast\w*|versus|vs|against|side by side|benchmark\w*|stack up)\b", re.IGNORECASE
)
_RANK: Final = re.compile(r"\b(?:rank(?:s|ed|ing)?|order(?:ed)? (?:by|from)|sort(?:ed)?)\b", re.IGNORECASE)
_DIFFERENCE: Final = re.compile(
    rf"\b(?:difference|differs?|gap|spread|by how (?:much|many)|how much (?:{HIGH}|{LOW})|how many (?:percentage |basis )?points|how far apart|margin by which)\b",
    re.IGNORECASE,
)
_SUM: Final = re.compile(r"\b(?:combined|in aggregate|aggregate|together|taken together|sum of|in total|jointly)\b", re.IGNORECASE)
_MEAN: Final = re.compile(r"\b(?:average|mean)\b", re.IGNORECASE)
_RATIO: Final = re.compile(
    rf"\bhow many times\b[^.;?!]*\b(?:{HIGH}|{LOW}|large|big|that of|as (?:large|big|high|much))\b|\bas a multiple of\b", re.IGNORECASE
)
FASTER: Final = re.compile(
    r"\b(?:grew|grow|grown|growing|rose|rise|risen|increas\w+|expand\w+|improv\w+|gain\w*)\b[^.;?!]{0,30}\b(?P<more>faster|fastest|more|most|quicker|less|least|slower|slowest)\b"
    r"|\b(?P<before>faster|fastest|slower|slowest|higher|highest|lower|lowest|strongest|stronger|weakest|weaker) (?:\w+ ){0,3}growth\b",
    re.IGNORECASE,
)
"""Asks whose figures moved most."""
_LEADS: Final = re.compile(r"\W*(?:please\s+)?(?:compare|contrast|rank|benchmark)\b", re.IGNORECASE)
_ASKS: Final = re.compile(r"\b(?:report|state|compute|calculate|give|list|show|provide|what|how)\b", re.IGNORECASE)
_LISTED: Final = re.compile(r"\s*(?:,|and|or|as well as|,\s*and|&|/)?\s*(?:the |its |their |total |net |of )*", re.IGNORECASE)


@frozen
class Figure:
    """A figure of one issuer, as a criterion asks for it."""

    id: str
    issuer: str
    name: str
    """What it is, without whose and when: `gross margin`, `growth of revenue`."""
    when: str
    """`in FY2019`, `from FY2018 to FY2019`."""
    question: Question


def said_of(query: str, bindings: Mapping[str, Sequence[Binding]], own: Sequence[str]) -> str:
    """The words in which an obligation's metric is asked: up to the metrics before and behind that stand apart from it, with the sentences
    after it that name no metric; without what is to be explained."""
    masked = list(query)
    for one in bindings.get("deliverables", ()):
        if placed(one) and one.get("type") == "explain":
            masked[one["start"] : one["end"]] = " " * (one["end"] - one["start"])
    for start, end, _ in named(query, bindings.get("entities", ())):
        if start >= 0:
            masked[start:end] = "§" * (end - start)  # one called Best asks for no best
    text = "".join(masked)
    metrics = sorted(
        (one["start"], int(one.get("end") or one["start"]), one.get("id") in own) for one in bindings.get("metrics", ()) if placed(one)
    )
    found = []
    open_ = False
    for start, end in sentence_places(query):
        inside = [one for one in metrics if start <= one[0] < end]
        if any(one[2] for one in inside):
            found.append(_clause(text, start, end, inside))
            open_ = True
        elif inside and open_:
            found.append(re.split(r",\s+(?:and|but)\b|\band\b(?=[^,]*$)", text[start : inside[0][0]])[0])  # what still goes on about it
            open_ = False
        elif open_:
            found.append(text[start:end])
    return " ".join(found)


def _clause(text: str, start: int, end: int, metrics: Sequence[tuple[int, int, bool]]) -> str:
    groups: list[list[tuple[int, int, bool]]] = []
    for one in metrics:
        if groups and _LISTED.fullmatch(text[groups[-1][-1][1] : one[0]]):
            groups[-1].append(one)
        else:
            groups.append([one])
    found = []
    for number, group in enumerate(groups):
        if any(own for *_, own in group):
            a = groups[number - 1][-1][1] if number else start
            b = groups[number + 1][0][0] if number + 1 < len(groups) else end
            leads = _LEADS.match(text[start:end])
            found.append((f"{leads[0]} " if leads and number and not _ASKS.search(text[a : group[0][0]]) else "") + text[a:b])
    return " ".join(found)


def wanted_of(said: str, count: int) -> list[str]:
    """What is wanted of `count` issuers' figures: values of `Question.combine`, in the order in which criteria stand."""
    found: list[str] = []
    if _RANK.search(said):
        found += ["highest", "lowest"] if count > 2 else ["highest"]
    elif _CHOICE.search(said) and (_WHICH.search(said) or _COMPARE.search(said)):
        found.append("lowest" if _LOW.search(said) and not _HIGH.search(said) else "highest")
    elif _COMPARE.search(said):
        found.append("highest")
    if count == 2 and _RATIO.search(said):
        return ["ratio"]
    if count == 2 and _DIFFERENCE.search(said):
        found.append("difference")
    if _SUM.search(said):
        found.append("sum")
    return found


def wants_mean(said: str) -> bool:
    """Whether a mean is asked for: over issuers, where there is one period."""
    return _MEAN.search(said) is not None


def together(id: str, combine: str, figures: Sequence[Figure], subject: Any, decimals: int | None) -> Question:
    """The question that compares figures of several issuers, or combines them."""
    same = len({one.when for one in figures}) == 1
    names = [one.issuer if same else f"{one.issuer} {one.when}" for one in figures]
    listed = f"{', '.join(names[:-1])} {'or' if not same else 'and'} {names[-1]}"
    name, when = figures[0].name, f" {figures[0].when}" if same else ""
    two = len(figures) == 2
    texts = {
        "highest": f"Says which of {listed} had the {'higher' if two else 'highest'} {name}{when}",
        "lowest": f"Names the issuer with the {'lower' if two else 'lowest'} {name}{when} among {listed}",
        "difference": f"States by how much the {name}{when} differs between {' and '.join(names)}",
        "sum": f"States the sum of the {name}{when} over {listed}",
        "mean": f"States the mean of the {name}{when} over {listed}",
        "ratio": f"States how many times the {name} of {names[0]} is that of {names[-1]}{when}",
    }
    labels = list(dict.fromkeys(one.question.period.asked for one in figures if one.question.period))
    return Question(
        id=id,
        text=texts[combine],
        metric=subject.id,
        period=Period(", ".join(labels)),
        decimals=decimals,
        parts=tuple(one.question for one in figures),
        combine=combine,  # type: ignore[arg-type]
    )
