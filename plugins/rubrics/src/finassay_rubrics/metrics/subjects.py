"""What the criteria of an obligation are about: metrics of the table, a relation of two, or nothing that statements show."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from attrs import frozen

from finassay.api.research import Assignment, Question
from finassay_rubrics.metrics.clauses import placed
from finassay_rubrics.metrics.clear import refuse_other, refuse_part
from finassay_rubrics.metrics.formula import Operation
from finassay_rubrics.metrics.issuers import issuers
from finassay_rubrics.metrics.relations import Relation, relations
from finassay_rubrics.metrics.table import Metric, table
from finassay_rubrics.metrics.terms import STATEMENTS, Name, bare, definitions, fold, names_in
from finassay_rubrics.metrics.when import AskError, combined

_WORDS: Final = re.compile(
    r"\bwhy\b|\bexplain|\bexplanation|\breasons?\b|\bdrivers?\b|\bdrove\b|\beffects?\b|\bimpact|\bdiscuss|\bdescribe|\bcomment|\bcomparab|\btable\b|\bwhich line\b|"
    r"\bline (?:taken|used)\b|\brisks?\b|\boutlook\b|\bjudg|\bassess|\bverdict\b|\bwhether\b|\bdisclos|\bleft out\b|\bleaving out\b|\bexclud|\bwithout\b"
)
_RELATED: Final = re.compile(
    r"\bshare of\b|\bas an? (?:share|%|percent|percentage|proportion) of\b|\brelative to\b|\bratio\b|\bdivided by\b|\bas a multiple of\b|\bpaid out\b|\bversus\b|\bagainst\b|\bper\b|\bcover"
)
_MARGIN: Final = re.compile(r"(?:%|\bpercent(?:age)?) margin\b")
"""Behind the name of an amount it asks for its share of revenue."""
_PARTS: Final = r"(?:segments?|divisions?|business(?:es)?(?:\s+(?:units?|lines?|areas?))?|geograph(?:y|ies)|regions?|countr(?:y|ies)|markets?|product\s+(?:lines?|categor\w+|groups?)|products?|brands?|categor(?:y|ies)|channels?|subsidiar\w+|stores?|customers?|units?)"
WHICH_PART: Final = re.compile(
    rf"\b(?:which|what)\s+(?:of\s+(?:the|its|their|these|those)\s+)?(?:[\w&'’-]+\s+){{0,3}}?(?P<part>{_PARTS})\b(?!\s+(?:margin|revenue|sales|income))",
    re.IGNORECASE,
)
_BY_PART: Final = re.compile(
    rf"^[^.;?!,]{{0,40}}?\b(?:by|per|for\s+each|across|of\s+each|in\s+each)\s+(?:of\s+)?(?:its\s+|the\s+)?(?:[\w-]+\s+){{0,2}}?(?P<part>{_PARTS})\b"
)
_OF_PART: Final = re.compile(rf"^\s+(?:of|in|for|at|from|within)\s+(?:its\s+|the\s+)(?:[\w&,'’/-]+\s+){{1,6}}?(?P<part>{_PARTS})\b")
_RELATES: Final = re.compile(
    r"^(?:,?\s+(?:relative\s+to|divided\s+by|in\s+relation\s+to|scaled\s+by|as\s+an?\s+(?:multiple|ratio|share|%|percent|percentage|proportion|fraction)\s+(?:of|to)"
    r"|per)\s+|\s*/\s*|\s+over\s+(?=(?:average|adjusted|gross|tangible|invested)\b))(?P<rest>(?!year\b|annum\b|quarter\b|fiscal\b|fy)[^,.;:?!]{1,40})"
)
"""A relation to what no name of the table stands for."""
_RELATES_BEFORE: Final = re.compile(
    r"(?P<rest>\b[\w&-]+(?:\s+[\w&-]+)?)[\s-]+(?:to|over|per|/)[\s-]+(?:total\s+|net\s+|its\s+)*$|\b(?P<share>(?:share|percentage|percent|%|proportion|fraction|portion)\s+of)\s+(?:[\w.&’'-]+\s+){0,3}$"
)
_WITHOUT: Final = re.compile(
    r"\b(?:exclud\w+|ignoring|leaving out|stripping out|adding back|net of|before (?:special|one-?off|restructuring)|adjusting|adjusted) ",
    re.IGNORECASE,
)


@frozen
class Subject:
    """A metric of the table, or a relation of two in words that `understand` reads again."""

    id: str
    name: str
    metric: Metric | None = None

    @property
    def is_amount(self) -> bool:
        return self.metric is not None and self.metric.unit == "amount"


def bindings_of(context: Mapping[str, Any], kind: str) -> list[Mapping[str, Any]]:
    """One array of a context's bindings."""
    found = context.get("bindings", {})
    several = found.get(kind, ()) if isinstance(found, Mapping) else ()
    return [one for one in several if isinstance(one, Mapping)] if isinstance(several, Sequence) else []


def part_asked(what: str) -> str:
    """The kind of part of a company that is asked for, `segment`; empty where none is."""
    found = WHICH_PART.search(fold(what))
    return found["part"] if found else ""


def subjects(assignment: Assignment, query: str, turn: bool) -> tuple[list[Subject], str]:
    """Metrics that the obligation names, or the query's one where it only says how to show it; with the reason where there are none."""
    what = fold(assignment.what)
    if _WORDS.search(what) and not turn:
        return [], "asks for words, a layout or an effect, and this family only finds figures of primary statements"
    plain = bare(definitions(what).rest)
    found = names_in(plain)
    own = list(dict.fromkeys(name.id for name in found))
    if len(own) == 1 and _MARGIN.search(what) and table().metrics[own[0]].unit == "amount":
        return [Subject("", f"{table().metrics[own[0]].names[0]} as a percentage of revenue")], ""
    if len(own) > 1:
        related = relations(plain, found) if len(found) == 2 else []
        if related:
            start = query.find(assignment.what)
            if start >= 0 and (reason := _related_to(definitions(fold(query)).rest, start, start + len(assignment.what))):
                return [], reason
            return _related(related[0])
        if _RELATED.search(what):
            return (
                [],
                f"asks for a relation of {' and '.join(_name(id) for id in own[:2])} whose words were not understood; write it as `ratio of X to Y`",
            )
    mine = [b for b in bindings_of(assignment.context, "metrics") if not assignment.bindings or b.get("id") in assignment.bindings]
    bound = list(dict.fromkeys(name.id for b in mine for name in names_in(fold(str(b.get("span", ""))))))
    if not own and assignment.bindings:
        own = bound
    if not own and (combined(what) or re.search(r"\beach\b|\bevery\b|\ball (?:the )?(?:years|periods)\b", what)):
        own = bound[:1]
    alone = any(one.get("asked") for one in bindings_of(assignment.context, "deliverables") if one.get("id") in assignment.bindings)
    if not own and not bound and what.strip() and not alone:
        own = [name.id for name in names_in(definitions(fold(query)).rest)][:1]
    whole, reasons = _not_whole(assignment, query, mine) if len(own) == 1 else (1, [])
    if reasons:
        return [Subject(id, _name(id), table().metrics[id]) for id in own] if whole else [], reasons[0]
    return [Subject(id, _name(id), table().metrics[id]) for id in own], "" if own else (
        "names no metric of the table and no line of the primary statements; define it in the query, as `X is defined as A divided by B`"
    )


def _name(id: str) -> str:
    return table().metrics[id].names[0]


def _related(asked: Relation) -> tuple[list[Subject], str]:
    """A relation as a metric of the table, where it is one; else in words."""
    top, bottom = (table().metrics[name.id] for name in (asked.top, asked.bottom))
    if asked.sign == "/":
        formula = Operation("/", top.formula, bottom.formula)
        for metric in table().metrics.values():
            if metric.formula == formula and not metric.routes and metric.unit == ("percent" if asked.percent else "times"):
                return [Subject(metric.id, metric.names[0], metric)], ""
        if top.unit != "amount" or bottom.unit != "amount":
            return [], f"relates {_name(top.id)} ({top.unit}) to {_name(bottom.id)} ({bottom.unit}), and only amounts are put in a ratio"
    elif top.unit != bottom.unit:
        return [], f"takes {_name(top.id)} ({top.unit}) and {_name(bottom.id)} ({bottom.unit}) together, which have no unit in common"
    return [Subject("", asked.words)], ""


def _not_whole(assignment: Assignment, query: str, mine: Sequence[Mapping[str, Any]]) -> tuple[int, list[str]]:
    """How many of the places where the query names a line ask for the whole of it, and why the others do not."""
    core = STATEMENTS.sub(lambda m: " " * len(m[0]), definitions(fold(query)).rest)
    whose = " ".join(issuers(query, bindings_of(assignment.context, "entities")))
    question = Question("", query, entity=whose or "-")
    names = [next((n for n in names_in(core) if n.start == one["start"]), None) for one in mine if placed(one)]
    told = [_part(question, core, name) for name in names if name is not None]
    return sum(not one for one in told), [one for one in told if one]


def _part(question: Question, core: str, name: Name) -> str:
    """Why the figure of a line would not answer what is asked where it is named; empty if it would."""
    after, said = core[name.end :], core[name.start : name.end]
    if reason := _related_to(core, name.start, name.end):
        return reason
    if without := _WITHOUT.match(after.lstrip(" ,(")):
        return f"asks for {said} {without[0].strip()!r} something, which the line of the statement does not show"
    try:
        refuse_part(question, core, name)
        refuse_other(question, core, name)
    except AskError as error:
        return str(error)
    return ""


def _related_to(core: str, start: int, end: int) -> str:
    """Why what stands between two places is asked of a part of the company, or in relation to something that is not known; empty if it is not."""
    before, after, said = core[max(0, start - 60) : start], core[end:], core[start:end]
    if part := (_BY_PART.match(after) or _OF_PART.match(after)):
        return f"asks for {said} of a {part['part']}, and primary statements show the whole company only"
    if told := _RELATES.match(after):
        return f"relates {said!r} to {re.split(r' (?:for|in|at|during|over) ', told['rest'].strip())[0]!r}, and only two metrics or lines of the table are put in relation here"
    if told := _RELATES_BEFORE.search(before):
        return f"relates {(told['rest'] or told['share'])!r} to {said!r}, of which only the last is a line or metric of the table"
    return ""


__all__ = ["Subject", "bindings_of", "part_asked", "subjects"]
