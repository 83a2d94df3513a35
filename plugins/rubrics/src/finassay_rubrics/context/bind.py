"""Bindings by rule: which spans of a query are entities, periods, metrics, assumptions, deliverables, constraints, conventions, populations.

Every binding is a verbatim span with offsets by code points; canonical forms stand beside it. A model may do better; this needs none.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, Final

from finassay.api.research import Question
from finassay_rubrics.context.cutoff import DOCUMENT_OF, phrases
from finassay_rubrics.metrics.conventions import stated
from finassay_rubrics.metrics.entities import entities as named_entities
from finassay_rubrics.metrics.relations import relations
from finassay_rubrics.metrics.subjects import WHICH_PART
from finassay_rubrics.metrics.table import table
from finassay_rubrics.metrics.terms import Name, definitions, fold, names_in, words
from finassay_rubrics.metrics.times import part_spans
from finassay_rubrics.validate.context_rules import ARRAYS, sentences

PREFIX: Final = {
    "entities": "ENT",
    "periods": "PER",
    "metrics": "MET",
    "assumptions": "ASS",
    "deliverables": "DEL",
    "output_constraints": "OUT",
    "convention_topics": "CON",
    "populations": "POP",
}
_YEAR: Final = r"(?:FY\s?'?\d{2,4}|fiscal(?:\s+years?)?\s+(?:19|20)\d\d|(?:19|20)\d\d)"
_PERIODS: Final = re.compile(
    rf"\bQ[1-4]\s*(?:of\s+)?{_YEAR}|\b{_YEAR}\s*(?:-|–|to|through|and)\s*{_YEAR}|(?:\byear[- ]end\s+)?\b{_YEAR}(?!-?\d)|\b(?:both|the two|the three|those|each) (?:fiscal )?(?:years?|year-ends?|quarters?|periods?)\b"
    r"|\bthe two year-ends\b",
    re.IGNORECASE,
)
_ASSUMPTIONS: Final = re.compile(
    r"\b(?:assum(?:e|es|ing)|counting|treating|excluding|including|leaving out|ignoring|holding|supposing|if we (?:leave|exclude|include|count)|when [\w\s-]{3,60} (?:is|are) (?:left out|excluded|included)"
    r"|(?:more|less|higher|lower|greater) than \d[\d.,]*\s?%?|at least \d[\d.,]*\s?%?|(?:is|are|here is) defined as)\b[^.;?!]*",
    re.IGNORECASE,
)
_CONSTRAINTS: Final = re.compile(
    r"\b(?:in|answer in|expressed in)\s+(?:units of\s+)?(?:USD|US\$|EUR|GBP)?\s?(?:percentage points|percents?|basis points|thousands|millions|billions|USD(?: (?:thousands|millions|billions))?)\b"
    r"|\b(?:ratios?|amounts?|figures?|percentages?|margins?)\s+to\s+\w+\s+decimal(?:\s+places?)?|\bround(?:ed)?\b[^.;?!]{0,40}?\bdecimal(?:\s+places?)?"
    r"|\busing only [^,.;?!]+|\b(?:in|within|no more than|at most|under)\s+\d+\s+(?:words|pages|sentences|paragraphs|bullets?)\b|\bone paragraph\b|\bfor (?:our|the|a) [\w\s-]{3,30}(?:committee|client|sheet|team|board|desk)\b",
    re.IGNORECASE,
)
_ARTEFACT: Final = re.compile(
    r"\b(?:one|a single|a|two)\s+(?:[\w-]+\s+)?(?:table|chart|figure|graph|spreadsheet|list|memo)\b", re.IGNORECASE
)
_VERB: Final = re.compile(
    r"(?<![\w-])(report|compute|calculate|compare|state|list|show|give|provide|estimate|forecast|rank|quantify|answer|determine|identify|tell|find)(?![\w-])",
    re.IGNORECASE,
)
_EXTREME: Final = (
    r"(?:high(?:est|er)|larg(?:est|er)|great(?:est|er)|bigg(?:est|er)|most|best|better|peak(?:ed)?|maximum|strong(?:est|er)|low(?:est|er)|small(?:est|er)|least|minimum"
    r"|weak(?:est|er)|worst|worse|bottom(?:ed)?|trough(?:ed)?)"
)
_WHICH_YEAR: Final = r"(?:which|what)\s+(?:of\s+(?:the|these|those)\s+)?(?:fiscal\s+|financial\s+)?years?\b"
_TELLING: Final = re.compile(
    rf"(?<![\w-])(?:{_WHICH_YEAR}|when\s+(?:was|were|did|is|has)\b|the\s+(?:fiscal\s+|financial\s+)?year\s+(?:in\s+which|with|when|that\s+had)\b)(?=[^.;?!]*\b{_EXTREME}\b)[^.;?!]*"
    r"|(?<![\w-])(?:explain|say|describe|discuss|assess|evaluate|judge|summari[sz]e|recommend|comment on|name|what (?:drove|caused|explains|makes|limits)|why)\b[^.;?!]*",
    re.IGNORECASE,
)
_WHICH_PART: Final = re.compile(WHICH_PART.pattern + r"[^.;?!]*", re.IGNORECASE)
_CHOOSES: Final = re.compile(r"which|what|when|the\s", re.IGNORECASE)
_ASKS_TOO: Final = re.compile(
    r",?\s+and\s+(?=(?P<tells>explain|say why|why|describe|discuss|assess|comment|what (?:drove|caused|explains))\b|(?:what|how|which|in which|by how|did|is|was|were|does)\b)",
    re.IGNORECASE,
)
"""Where a choice ends and something else is asked, if that names a metric."""
_MORE: Final = re.compile(
    r",?\s+(?:and|then)\s+(?:also\s+|then\s+)?(?:report|compute|calculate|compare|state|list|show|give|provide|present|put|rank|tabulate|support|answer)\b",
    re.IGNORECASE,
)
"""Where what is to be told ends, and something else is asked in the same sentence."""
_ASKS: Final = re.compile(
    r"(?<![\w-])(what (?:is|was|are|were)|what's|how much|how many|what|how|which|is|are|did|does|was|were)(?![\w-])", re.IGNORECASE
)
_POPULATIONS: Final = re.compile(
    r"\b(?:each|every|all)\s+(?:of the\s+)?(?:its\s+)?(?:reportable\s+)?(?:segments?|stores?|peers?|regions?|brands?|divisions?|subsidiaries|companies)\b|\bthe (?:two|three|four|five|ten) (?:largest|smallest|fastest)[^.;?!,]*",
    re.IGNORECASE,
)


def bind(query: str) -> dict[str, list[dict[str, Any]]]:
    """The eight arrays, each with its bindings in order; ids count within an array."""
    folded = fold(query)
    given = definitions(folded)
    found: dict[str, list[dict[str, Any]]] = {name: [] for name in ARRAYS}
    found["entities"] = [_at(query, *span, canonical=name) for name in _entities(query) for span in _places(query, name)]
    limits = [m.span() for m in (*_CONSTRAINTS.finditer(query), *_DEFINITIONS.finditer(query))]
    limits += [(one.start, one.end) for one in phrases(query)]  # a date of knowledge is no period
    limits += [m.span() for m in DOCUMENT_OF.finditer(query)]
    parts = [span for span in part_spans(query) if not _inside(*span, limits)]
    whole = [m.span() for m in _PERIODS.finditer(query) if not _inside(*m.span(), limits) and not _meets(*m.span(), parts)]
    found["periods"] = [_at(query, *span) for span in sorted((*parts, *whole))]
    conventions = [(one.start, one.end) for one in stated(given.rest) if one.kind != "scope"]
    besides = [*(m.span() for m in (*_ASSUMPTIONS.finditer(query), *_INPUTS.finditer(query))), *conventions]
    names = [n for n in names_in(given.rest) if not _inside(n.start, n.end, besides) and not _part_of_another(query, n.start, n.end)]
    related = {**_shares_of_it(query, names), **_relations(query, given.rest, names)}
    names = [n for n in names if not _names_relation(query, n, related)]
    behind = [m.span() for n in names if (m := _BEHIND.match(query, n.end))]
    names = [n for n in names if n.start in related or not _inside(n.start, n.end, behind)]
    found["metrics"] = [
        _at(query, n.start, n.end, canonical=n.id, **(related.get(n.start) or _asked(query, n.start, n.end))) for n in names
    ]
    supposed = [m.span() for m in _ASSUMPTIONS.finditer(query)]
    found["assumptions"] = [_at(query, *span) for span in sorted((*supposed, *(c for c in conventions if not _meets(*c, supposed))))]
    found["output_constraints"] = [_at(query, *m.span()) for m in _CONSTRAINTS.finditer(query)]
    found["populations"] = [_at(query, *m.span()) for m in _POPULATIONS.finditer(query)]
    found["deliverables"] = _asking_alone(query, sorted(_deliverables(query), key=lambda b: int(b["start"])), found, given.rest)
    defined = set(given.bodies)
    for n in names:
        topics = dict.fromkeys(route.topic for route in table().metrics[n.id].routes)
        if folded[n.start : n.end] not in defined:
            found["convention_topics"] += [_at(query, n.start, n.end, canonical=topic) for topic in topics]
    return {name: [{"id": f"{PREFIX[name]}{number}", **b} for number, b in enumerate(found[name], start=1)] for name in ARRAYS}


def _at(query: str, start: int, end: int, **more: str) -> dict[str, Any]:
    while end > start and query[end - 1].isspace():
        end -= 1
    return {"span": query[start:end], "start": start, "end": end, **more}


_INPUTS: Final = re.compile(
    r"\((?:using|taking|based on|calculated from|computed from)\b[^)]*\)|\busing (?!only\b)[^,.;:?!()]*", re.IGNORECASE
)
"""What a figure is to be computed from is not asked for itself."""
_CASH: Final = re.compile(r"\s+(?:flows?\b|from\b|dividends?\b|conversion\b|(?:used|paid|generated|provided)\b)", re.IGNORECASE)
_COMPOUND: Final = r"(?:cagr|compound(?:ed)? (?:(?:annual|average|yearly) )*(?:growth(?: rate)?|rate of growth))"
_MOVES: Final = r"(?:change|grow|increase|decrease|rise|decline|fall|drop)"
_RATE: Final = (
    r"(?:(?:annual|yearly|year[- ]over[- ]year|yoy) )?(?:rate of )?(?:growth|change|increase|decrease|rise|decline|fall)(?: rate)?"
)
_BEFORE: Final = re.compile(
    rf"(?:\b(?:\d{{1,2}}|two|three|four|five|ten)[- ]years? )?\b{_COMPOUND} (?:of|in|for)(?: (?:the|its|total))?(?: \w+['’]s)? $"
    rf"|\b(?:average |mean )?{_RATE} (?:of|in|for)(?: (?:the|its))?(?: \w+['’]s)? $"
    r"|(?:\b(?:\d{1,2}|two|three|four|five|ten)[- ]years? )?\b(?:average|mean)(?: of)?(?: annual| yearly)?(?: the| its)? $"
    r"|\b(?:by )?how much (?:did|has|have|was|were)(?: (?:the|its))?(?: \w+['’]s)? $",
    re.IGNORECASE,
)
_BEHIND: Final = re.compile(
    rf" {_COMPOUND}\b| (?:average |mean )?(?:(?:annual|yearly|year[- ]over[- ]year|yoy) )?(?:growth|change)(?: rate)?\b"
    rf"|(?: (?:was|were|is))? (?:the )?{_EXTREME}\b[^.;?!]{{0,20}}\b{_WHICH_YEAR}"
    r"|(?: \([^()]{0,80}\))? (?:%|percent(?:age)?) margin\b"
    r"| as an? (?:%|percent(?:age)?|share|proportion) of [^,.;:?!()]{1,60}?(?=$|[,.;:?!()]| for | in | of | over )",
    re.IGNORECASE,
)
_MOVED: Final = re.compile(rf" {_MOVES}(?:d|n)?\b", re.IGNORECASE)
"""Behind the name of what is asked for with `how much did`."""
_HOW_MUCH: Final = re.compile(r"\bhow much\b[^.;?!]*$", re.IGNORECASE)
_DEFINITIONS: Final = re.compile(r"\bdefined as\b[^.;?!]*|\bdefine [^.;?!]{1,80} as [^.;?!]*", re.IGNORECASE)
"""The years of a definition say what a year takes from others; they are not asked for."""


def _part_of_another(query: str, start: int, end: int) -> bool:
    """Whether `cash` is only the beginning of a statement's name or of another term: cash flow statement, cash from operations."""
    return query[start:end].casefold() == "cash" and (
        _CASH.match(query, end) is not None or query[:start].casefold().endswith("statement of ")
    )


def _asked(query: str, start: int, end: int) -> dict[str, str]:
    """A metric with the words that combine its years, where they stand beside it: `3 year average of`, `change in`, `CAGR`."""
    before, behind = _BEFORE.search(query[max(0, start - 80) : start]), _BEHIND.match(query, end)
    if behind is None and before is not None and _HOW_MUCH.search(before[0]):
        behind = _MOVED.match(query, end)
        before = before if behind else None
    if before is None and behind is None:
        return {}
    return {"asked": (before[0] if before else "") + query[start:end] + (behind[0] if behind else "")}


def _relations(query: str, rest: str, names: Sequence[Name]) -> dict[int, dict[str, str]]:
    """What is asked of two metrics together, by the starts of both: `ratio of inventories to revenue`. `rest` is the folded query."""
    found: dict[int, dict[str, str]] = {}
    for one in relations(rest, names):
        before = _BEFORE.search(query[max(0, one.start - 80) : one.start])
        text = (before[0] if before else "") + query[one.start : one.end]
        about = {"asked": text, "relation": f"{one.top.id} {one.sign} {one.bottom.id}"}
        found |= {name.start: about for name in (one.top, one.bottom)}
    return found


def _names_relation(query: str, name: Name, related: Mapping[int, dict[str, str]]) -> bool:
    """Whether a name in brackets only calls the relation before it something: `operating income + depreciation from the statement (EBITDA)`."""
    if query[name.start - 1 : name.start] != "(" or query[name.end : name.end + 1] != ")":
        return False
    return any(start < name.start and not re.search(r"[.;?!()]", query[start : name.start - 1]) for start in related)


_SHARE_OF_IT: Final = re.compile(
    r"\b(?:share|percentage|percent|%|proportion|portion|fraction) of (?:it|this|that|them|these|which) (?:(?:was|were|is|are|that|went) )*"
    r"(?P<how>(?:[a-z]+ed|paid|spent|going|used|put) )?(?:out )?(?:(?:as|on|in|to|into|for|by) )?(?:(?:the|its) )?$",
    re.IGNORECASE,
)


def _shares_of_it(query: str, names: Sequence[Name]) -> dict[int, dict[str, str]]:
    """What is asked as a share of the metric before it, `free cash flow and the share of it paid out as dividends`, by its start."""
    found: dict[int, dict[str, str]] = {}
    for whole, part in pairwise(names):
        share = _SHARE_OF_IT.search(query, whole.end, part.start)
        if share is not None and not re.search(r"[.;?!]", query[whole.end : share.start()]):
            asked = f"share of {query[whole.start : whole.end]} {share['how'] or 'paid '}as {query[part.start : part.end]}"
            found[part.start] = {"asked": " ".join(asked.split()), "relation": f"{part.id} / {whole.id}"}
    return found


def _inside(start: int, end: int, spans: list[tuple[int, int]]) -> bool:
    return any(a <= start and end <= b for a, b in spans)


def _meets(start: int, end: int, spans: list[tuple[int, int]]) -> bool:
    return any(start < b and a < end for a, b in spans)


def _entities(query: str) -> tuple[str, ...]:
    """Capitalised names, without dates and the verbs that sentences begin with."""
    found = dict.fromkeys(part for name in named_entities(Question(id="query", text=query)) for part in _apart(name))
    return tuple(
        name
        for name in found
        if not _DATE.fullmatch(name) and not (_VERB.fullmatch(name) or _TELLING.fullmatch(name) or _PUT.fullmatch(name))
    )


_ONE_FIRM: Final = re.compile(r"(\w+) and \1|.* and (?:company|co|sons?|daughters|brothers|bros|partners|associates)\b.*", re.IGNORECASE)
"""One company with `and` in its name."""


def _apart(name: str) -> list[str]:
    """The companies of `Costco and Walmart`; a company that writes `&` is one."""
    return [name] if _ONE_FIRM.fullmatch(name) else re.split(r"\s+and\s+", name)


_DATE: Final = re.compile(
    r"(?:\d{1,2}\s+)?(?:january|february|march|april|may|june|july|august|september|october|november|december)(?:\s+\d{1,2})?(?:,?\s+\d{4})?",
    re.IGNORECASE,
)
_PUT: Final = re.compile(
    r"put|use|take|draw|rely|base|work|leave|make|treat|ignore|exclude|do|add|include|note|please|support|keep|write|also|then|if|for|we|using|based",
    re.IGNORECASE,
)


def _places(query: str, name: str) -> Iterator[tuple[int, int]]:
    """Where a name stands, in any case, without what is added to it elsewhere."""
    for match in re.finditer(rf"(?<!\w){re.escape(name)}(?!\w)", query):
        yield match.span()


_GOES_ON: Final = re.compile(
    r"\b(?:compar\w*|versus|vs|than|higher|lower|larger|smaller|better|worse|more|less|difference|differ\w*|rank\w*|it|its|they|their|them|both|this|that|these|those|same|calculation"
    r"|rose|rise|fell|fall|increas\w*|decreas\w*|declin\w*|chang\w*|which|figures?|answers?|sources?|pages?|cit(?:e|es|ed|ations?)|formats?|units?|decimals?|round\w*|order)\b",
    re.IGNORECASE,
)
"""What goes on about something that was asked before."""


def _asking_alone(
    query: str, deliverables: list[dict[str, Any]], found: dict[str, list[dict[str, Any]]], rest: str
) -> list[dict[str, Any]]:
    """The deliverables; one that asks a figure of a company in a sentence that names no metric has its words as `asked`."""
    plain = words("common") | words("before") | words("after") | words("follows")
    others = [b["start"] for b in (*found["metrics"], *(d for d in deliverables if d["type"] != "figure"))] + [
        n.start for n in names_in(rest)
    ]
    taken = [(b["start"], b["end"]) for kind in ("entities", "periods", "output_constraints", "assumptions") for b in found[kind]]
    for one in deliverables:
        start, end, text = next((s for s in sentences(query) if s[0] <= one["start"] < s[1]), (0, 0, ""))
        if one["type"] != "figure" or any(start <= place < end for place in others) or _GOES_ON.search(text):
            continue
        if not any(start <= b["start"] < end for b in found["entities"]):
            continue
        left = [m for m in re.finditer(r"[a-z][a-z-]{2,}", fold(text)) if not _inside(start + m.start(), start + m.end(), taken)]
        if any(m[0] not in plain and m.start() + start >= one["end"] for m in left):
            one["asked"] = query[one["start"] : end].strip(" .?!\n")
    return deliverables


def _first(query: str, at: int) -> re.Match[str] | None:
    """The first thing from a place on that is to be told in words."""
    found = [m for m in (_TELLING.search(query, at), _WHICH_PART.search(query, at)) if m is not None]
    return min(found, key=lambda m: m.start(), default=None)


def _deliverables(query: str) -> Iterator[dict[str, Any]]:
    taken: list[tuple[int, int]] = []
    at = 0
    while match := _first(query, at):
        start, end = match.span()
        more = _MORE.search(query, start + 1, end)
        if _CHOOSES.match(query, start):
            asked = (m for m in _ASKS_TOO.finditer(query, start + 1, end) if m["tells"] or names_in(fold(query[m.end() : end])))
            more = min((one for one in (more, next(asked, None)) if one is not None), key=lambda m: m.start(), default=None)
        if more is not None:
            end = more.start()
        at = end
        while end > start and query[end - 1] in " ,":
            end -= 1
        taken.append((start, end))
        yield _at(query, start, end, type="explain")
    for match in _ARTEFACT.finditer(query):
        taken.append(match.span())
        yield _at(query, *match.span(), type="artefact")
    for start, end, text in sentences(query):
        if any(s < end and start < e for s, e in taken) and not _VERB.search(text):
            continue
        verb = next((m for m in _VERB.finditer(text) if not _inside(start + m.start(), start + m.end(), taken)), None)
        asks = _ASKS.search(text) if text.rstrip().endswith("?") else None
        first = verb if verb is not None and (asks is None or verb.start() < asks.start()) else asks
        if first is not None and not _inside(start + first.start(), start + first.end(), taken):
            yield _at(query, start + first.start(), start + first.end(), type="figure")
