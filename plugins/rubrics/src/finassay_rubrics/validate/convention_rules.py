"""R22: a convention that the query states is followed by the evidence, whoever understood it.

Nothing of how a writer or reviewer reads a query is used: what is stated is found in the query's words, and looked for among the quotes and inputs.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Final

from attrs import frozen
from pydantic import ValidationError

from finassay.api.guidance import Violation
from finassay.api.verdict import Json
from finassay_rubrics.metrics.table import table
from finassay_rubrics.metrics.terms import fold, names_in
from finassay_rubrics.record.rubric import Criterion, Route, Rubric

_VERB: Final = r"(?:count|treat|consider|regard|classif|includ)(?:y|e|s|ing|ed|ying|ied)*"
_AS: Final = re.compile(
    rf"\b{_VERB}\s+([^.;:?!]{{3,70}}?)\s+(?:as|in|within|among)\s+(?:the\s+|total\s+|part\s+of\s+)*(cash|debt|borrowings)\b"
)
_OUT: Final = re.compile(
    r"\b(?:excluding|leaving out|not counting)\s+([^.;:?!,()]{3,60}?)(?=\s+(?:in|for|at|over|during|from|is|was)\b|[.;:?!,()]|$)"
)
_AVERAGE: Final = re.compile(r"\b(?:using|on|based on|use|with)\s+(?:the\s+)?average\s+(?:balances?|balance sheet)\b")
_END: Final = re.compile(
    r"\b(?:using|on|based on|use|with)\s+(?:the\s+)?(?:year-end|year end|ending|closing)\s+(?:balances?|balance sheet)\b"
)
_SENTENCE: Final = re.compile(r"[^.;?!]+")
_WHOLES: Final = {"cash": ("cash",), "debt": ("long_term_debt", "short_term_debt"), "borrowings": ("long_term_debt", "short_term_debt")}
_HOLDS: Final = {
    "total_assets": ("goodwill", "intangibles", "inventory", "cash", "receivables", "short_term_investments"),
    "current_assets": ("inventory", "cash", "receivables", "short_term_investments"),
    "equity": ("goodwill", "intangibles"),
    "equity_total": ("goodwill", "intangibles"),
}
_YEAR: Final = re.compile(r"(?:19|20)\d\d")


@frozen
class _Taken:
    """What a route's value rests on."""

    lines: frozenset[str]
    """Ids of lines of the table: as inputs name them, else by the names of metrics in what was quoted."""
    years: Mapping[str, frozenset[str]]
    """Of each line of a balance sheet the years of its inputs."""
    text: str
    """Everything quoted, folded."""


def conventions(product: Mapping[str, Json]) -> tuple[Violation, ...]:
    """R22: what the query counts in, leaves out, or takes at year end or as a mean is among what a figure was computed from, or is not."""
    try:
        rubric = Rubric.model_validate(product)
    except ValidationError:
        return ()
    folded = fold(rubric.query)
    return tuple(
        Violation("R22", f"criterion {criterion.id}", f"route {route.route_id}: {told}")
        for criterion in rubric.criteria
        if criterion.kind == "numeric" and criterion.status == "grounded"
        for route in criterion.expected
        for told in _broken(folded, criterion, _taken(route))
    )


def _broken(query: str, criterion: Criterion, taken: _Taken) -> Iterator[str]:
    for sentence in _SENTENCE.finditer(query):
        text = sentence[0]
        if not _is_about(text, criterion):
            continue
        for match in _AS.finditer(text):
            if taken.lines.intersection(_WHOLES[match[2]]) and not _has(match[1], taken):
                yield f"the query counts {match[1]!r} as {match[2]}, and the value takes {match[2]} without it"
        for match in _OUT.finditer(text):
            ids = _ids(match[1])
            wholes = [whole for whole in taken.lines if ids.intersection(_HOLDS.get(whole, ()))]
            if wholes and not _has(match[1], taken):
                yield f"the query leaves out {match[1]!r}, and the value takes {wholes[0]} with it"
        yield from _times(text, taken)


def _times(text: str, taken: _Taken) -> Iterator[str]:
    single = [line for line, years in taken.years.items() if len(years) == 1]
    if _AVERAGE.search(text) and single:
        yield f"the query wants average balances, and the value takes {single[0]} of one year end"
    if _END.search(text) and taken.years and not single and _is_ratio(taken):
        yield f"the query wants year-end balances, and the value takes {next(iter(taken.years))} of several year ends"


def _is_ratio(taken: _Taken) -> bool:
    """Whether figures of a year go with balances: of balances alone several years are a change or a mean that was asked for."""
    return any(line in table().lines and table().lines[line].statement != "balance" for line in taken.lines)


def _is_about(sentence: str, criterion: Criterion) -> bool:
    """Whether a sentence names the criterion's metric, or none at all besides those of its conventions."""
    rest = sentence
    for pattern in (_AS, _OUT, _AVERAGE, _END):
        rest = pattern.sub(" ", rest)
    names = {name.id for name in names_in(rest)}
    own = {criterion.metric} if criterion.metric else {name.id for name in names_in(fold(criterion.text))}
    return not names or bool(names & own)


def _ids(what: str) -> frozenset[str]:
    return frozenset(name.id for name in names_in(what))


def _has(what: str, taken: _Taken) -> bool:
    """Whether all that words name is among what was taken: by line, or in the words of a quote."""
    ids = _ids(what)
    if ids and ids <= taken.lines:
        return True
    words = [word for word in re.findall(r"[a-z-]{4,}", what) if word not in ("total", "their", "other", "from", "with")]
    return bool(words) and all(word.rstrip("s") in taken.text for word in words)


def _taken(route: Route) -> _Taken:
    lines: set[str] = set()
    years: dict[str, set[str]] = {}
    texts = [fold(e.quote) for e in route.evidence if e.quote]
    for one in (one for e in route.evidence for one in e.inputs):
        if one.line in table().lines:
            lines.add(one.line)
            if table().lines[one.line].statement == "balance":
                years.setdefault(one.line, set()).update(_YEAR.findall(f"{one.period} {one.name}")[:1])
    if not lines:
        lines = {name.id for text in texts for name in names_in(text)}
    return _Taken(frozenset(lines), {line: frozenset(own) for line, own in years.items()}, " ".join(texts))
