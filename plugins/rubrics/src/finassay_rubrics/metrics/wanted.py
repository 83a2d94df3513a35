"""Which quantity a question asks for: a metric of the table, a relation of two, or what the query defines itself."""

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from attrs import frozen

from finassay.api.research import Question
from finassay_rubrics.metrics.clear import refuse_other, refuse_part
from finassay_rubrics.metrics.formula import Line, Node, Number, Operation, Pick
from finassay_rubrics.metrics.relations import AGAINST, relation
from finassay_rubrics.metrics.table import Metric, table
from finassay_rubrics.metrics.terms import Definitions, Name, fold, formula_of, names_in
from finassay_rubrics.metrics.when import AskError, most

PERCENT: Final = re.compile(
    r"\bunits?\s+of\s+percents?\b|\bin\s+percent|\bas\s+an?\s+(?:%|percent)|\bpercentage\s+points?\b|\bin\s+%|%\s+(?:change|growth|increase|decrease|decline)|\bpercents\b|"
    r"\bpercent(?:age)?\s+(?:change|growth|increase|decrease|decline)\b|\b(?:by\s+)?(?:what|how\s+many)\s+(?:percent|percentage|%)"
)


@frozen
class Wanted:
    """A quantity: `kind` is that of `finassay_rubrics.metrics.table.UNITS`, or `words` for one of several names."""

    id: str
    what: str
    kind: str
    formula: Node


def wanted(question: Question, core: str, given: Definitions, year: int, percent: bool) -> Wanted:
    """Raises `AskError`, `FormulaError`."""
    if question.metric:
        named = _by_field(question, given, year)
        if named is not None:
            return named
    if among := _among(core, given, year):
        return among
    found = _asked(core, names_in(core))
    if not found:
        return _defined(given, core, year, percent)
    first = found[0]
    between = relation(core, *found) if len(found) == 2 else None
    for name in dict.fromkeys((first, *found)) if len(found) <= 2 else (first,):
        inside = between is not None and between.start < name.start
        refuse_part(question, core, name, before=not inside)
    if len(found) == 2 and (related := _related(core, found, given, year)):
        return related
    if len(found) > 1 and (sum_of := _written_out(core, found)):
        kind = "percent" if percent else "times" if "/" in sum_of or "divided" in sum_of else "amount"
        return Wanted("own", sum_of, kind, formula_of(sum_of, year, given))
    if len({name.id for name in found}) > 1:
        raise AskError(f"asks for more than one: {', '.join(dict.fromkeys(name.id for name in found))}")
    return _of_table(question, core, given, year, percent, found)


def _by_field(question: Question, given: Definitions, year: int) -> Wanted | None:
    """By the metric that the question names as such."""
    metric = table().metrics.get(question.metric)
    if metric is None and question.metric not in given.bodies:
        raise AskError(f"there is no metric {question.metric!r} in the table")
    own = _own(given, year, [question.metric, *(fold(name) for name in (metric.names if metric else ()))]) if given.bodies else None
    if own is not None:
        return Wanted(question.metric, question.metric, metric.unit if metric else "times", own)
    return None if metric is None else Wanted(metric.id, metric.names[0], metric.unit, metric.by(question.convention))


_COUNTED: Final = re.compile(r"\bhow\s+(?:many\s+(?:times|days)|often|long)\b")
_MARGIN: Final = re.compile(r"\s*(?:%|percent|percentage)?\s*margin\b")


_BARE_RATIO: Final = re.compile(r"^[^.?%]{0,40}\bratio\b[^%]*\b(?:two|2)\s+decimals?\b")
"""A percentage of the table that is asked for as a ratio to two decimals: 1.22, not 122 %."""


def _of_table(question: Question, core: str, given: Definitions, year: int, percent: bool, found: Sequence[Name]) -> Wanted:
    first = found[0]
    if _COUNTED.search(core) and table().metrics[first.id].unit == "amount":
        counts = list({n.id: n for n in names_in(core) if table().metrics[n.id].unit in ("times", "days")}.values())
        if len(counts) != 1:
            raise AskError(f"asks how often or how long, and {core[first.start : first.end]!r} is an amount")
        first = counts[0]
    metric = table().metrics[first.id]
    if len(found) == 1:
        refuse_other(question, core, first)
    formula = _own_or(given, core, first, year, question.convention)
    if metric.unit == "amount" and _MARGIN.match(core[max(name.end for name in found) :]):
        return Wanted("own", f"{metric.names[0]} / revenue", "percent", Operation("/", formula, Line("revenue")))
    if given.bodies and metric.unit == "percent" and formula != metric.by(question.convention):
        formula = share_of(formula)
    kind = "percent" if metric.unit == "times" and percent else metric.unit
    if metric.unit == "percent" and not percent and _BARE_RATIO.search(core[first.start :]):
        kind = "times"
    return Wanted(metric.id, metric.names[0], kind, formula)


def share_of(node: Node) -> Node:
    """A percentage's own definition without its factor 100, which the script adds."""
    match node:
        case Operation("*", Number(value), right) if value == 100:
            return right
        case Operation("*", left, Number(value)) if value == 100:
            return left
    return node


def _asked(core: str, found: list[Name]) -> list[Name]:
    """The names in the sentence that asks, or in all of the text."""
    for match in re.finditer(r"[^.?!]*\?", core):
        inside = [name for name in found if match.start() <= name.start < match.end()]
        if inside:
            return inside
    return found


# -- relations of two -------------------------------------------------------------------------------------------------


def _related(core: str, found: Sequence[Name], given: Definitions, year: int) -> Wanted | None:
    """`X as a percent of Y`, `X to Y ratio`, `what share of Y was X`, their difference and sum; None where the words between say nothing of it."""
    one, other = found
    if AGAINST.fullmatch(core[one.end : other.start]):
        return _quotient(core, one, other, given, year, "percent" if PERCENT.search(core) else "times")
    asked = relation(core, one, other, percent=bool(PERCENT.search(core)))
    if asked is None:
        return None
    if asked.sign == "/":
        return _quotient(core, asked.top, asked.bottom, given, year, "percent" if asked.percent else "times")
    parts = [_own_or(given, core, name, year) for name in found]
    names = [table().metrics[name.id].names[0] for name in found]
    kinds = {table().metrics[name.id].unit for name in found}
    if len(kinds) != 1:
        return None
    kind = "points" if kinds == {"percent"} else kinds.pop()
    return Wanted("own", f"{names[0]} {asked.sign} {names[1]}", kind, Operation(asked.sign, parts[0], parts[1]))


def _quotient(core: str, top: Name, bottom: Name, given: Definitions, year: int, kind: str) -> Wanted:
    what = " / ".join(table().metrics[name.id].names[0] for name in (top, bottom))
    if any(table().metrics[name.id].unit != "amount" for name in (top, bottom)):
        raise AskError(f"asks for a relation of {what}, which are not both amounts")
    return Wanted("own", what, kind, Operation("/", _own_or(given, core, top, year), _own_or(given, core, bottom, year)))


# -- one of several ---------------------------------------------------------------------------------------------------

_FLOWS: Final = re.compile(r"\boperat(?:ions|ing)\b[^.?]{0,30}\binvest(?:ing|ments?)\b[^.?]{0,30}\bfinancing\b(?:\s+activities)?")
_CHOICE: Final = re.compile(r"\b(?:among|which\s+of|what\s+of|of)\b|\bwhich\b[^.?]*\bor\b|\bwhich\s+(?:was|is|were)\b")
_EXTREME: Final = re.compile(r"\b(?:highest|largest|greatest|biggest|most|least|lowest|smallest|higher|larger|greater|lower|smaller)\b")


def _among(core: str, given: Definitions, year: int) -> Wanted | None:
    """The largest or smallest of several amounts that a question names; None for another question."""
    asked = next((m[0] for m in re.finditer(r"[^.?!]*\?", core) if _EXTREME.search(m[0])), core if "?" not in core else "")
    if (
        not asked
        or not _EXTREME.search(asked)
        or not _CHOICE.search(asked)
        or re.search(r"\b(?:which|what)\s+(?:fiscal\s+)?years?\b|\bfiscal\s+years\s+fy", asked)
    ):
        return None
    if _FLOWS.search(asked) and re.search(r"\bcash\b", asked):
        labels, parts = ("operating activities", "investing activities", "financing activities"), tuple(map(Line, ("cfo", "cfi", "cff")))
        return Wanted("own", "cash flow by activity", "words", Pick(labels, parts, most(asked)))
    found = list({name.id: name for name in names_in(asked)}.values())
    if len(found) < 2:
        return None
    metrics = [table().metrics[name.id] for name in found]
    if len({metric.unit for metric in metrics}) > 1 or any(not _listed(asked[a.end : b.start]) for a, b in pairwise(found)):
        return None
    comparative = re.search(r"\b(?:higher|larger|greater|lower|smaller)\b", asked)
    high = not comparative[0].startswith(("lower", "smaller")) if comparative else most(asked)
    values = tuple(_own_or(given, asked, name, year) for name in found)
    return Wanted("own", "the largest" if high else "the smallest", "words", Pick(tuple(m.names[0] for m in metrics), values, high))


def _listed(between: str) -> bool:
    return re.fullmatch(r"\s*,?\s*(?:and|or|,)?\s*(?:the\s+|its\s+)?", between) is not None


# -- what the query defines itself ------------------------------------------------------------------------------------

_JOINED: Final = re.compile(r"\s*(?:\+|-|/|\*|plus|minus|less|divided\s+by|multiplied\s+by)\s*(?:total\s+|unadjusted\s+)?")


def _written_out(core: str, found: Sequence[Name]) -> str:
    """The arithmetic that a question spells out between names, `operating income + depreciation`; empty where something else stands between."""
    between = [core[one.end : other.start] for one, other in pairwise(found)]
    return re.sub(r"\s+", " ", core[found[0].start : found[-1].end]) if all(_JOINED.fullmatch(text) for text in between) else ""


def _own(given: Definitions, year: int, names: Sequence[str]) -> Node | None:
    for name in names:
        plain = re.sub(r"[\s-]+", " ", re.sub(r"[(),]", "", name)).strip()
        if plain in given.bodies:
            return formula_of(given.bodies[plain], year, given)
    return None


def _own_or(given: Definitions, core: str, name: Name, year: int, convention: str = "") -> Node:
    """The query's own formula of a metric, else the table's. A part that the query defines (EBITDA of an EBITDA margin) goes in as defined."""
    metric: Metric = table().metrics[name.id]
    own = _own(given, year, [core[name.start : name.end], *(fold(n) for n in metric.names)])
    if own is not None:
        return own
    for body_name in given.bodies:
        if metric.unit == "percent" and any(fold(n) in (f"{body_name} margin", f"{body_name} % margin") for n in metric.names):
            return Operation("/", formula_of(given.bodies[body_name], year, given), Line("revenue"))
    return metric.by(convention)


def _defined(given: Definitions, core: str, year: int, percent: bool) -> Wanted:
    """A quantity that only the query knows."""
    asked = [name for name in given.bodies if re.search(rf"\b{re.escape(name)}\b", re.sub(r"[\s-]+", " ", core))]
    if len(asked) != 1 and len(given.bodies) != 1:
        raise AskError("names no metric or line of the table")
    name = asked[0] if asked else next(iter(given.bodies))
    formula = formula_of(given.bodies[name], year, given)
    if PERCENT.search(core):
        return Wanted("own", name, "percent", share_of(formula))
    return Wanted("own", name, "amount" if re.search(r"\b(?:usd|dollars?|\$)", core) else "times", formula)
