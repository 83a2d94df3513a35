"""What a question asks for: metric, years, way of combining them, unit, decimals, and whose."""

import re
from collections.abc import Sequence
from decimal import Decimal
from itertools import pairwise
from typing import Final

from attrs import evolve, frozen

from finassay.api.research import Question
from finassay_rubrics.metrics.entities import entities
from finassay_rubrics.metrics.formula import FormulaError, Growth, Line, Mean, Node, Number, Operation, shifted
from finassay_rubrics.metrics.table import DECIMALS, UNITS, table
from finassay_rubrics.metrics.terms import STATEMENTS, YEAR, Definitions, Name, definitions, fold, formula_of, names_in, year_of

MAX_YEARS: Final = 12


@frozen
class Ask:
    """A question understood. `formula` is over lines by offset from `year`."""

    metric: str
    """Id in the table; `own` for what the query defines itself."""
    what: str
    """In words, for a reader."""
    kind: str
    """As in `UNITS`, or `points` for a difference of percentages."""
    formula: Node
    year: int
    """The latest fiscal year asked for."""
    years: tuple[int, ...]
    label: str
    """The period as asked, `FY2015 - FY2017`."""
    mode: str = ""
    """`mean`, `change`, `growth`, `compound` or empty for one year."""
    decimals: int | None = None
    scale: Decimal | None = None
    """One million where the answer is asked in millions."""
    entities: tuple[str, ...] = ()
    """Whose figures, best guess first."""

    @property
    def unit(self) -> str:
        return "percentage points" if self.kind == "points" else UNITS[self.kind]

    @property
    def times(self) -> str:
        """The factor that a script puts before the formula."""
        return "100" if self.kind in ("percent", "points") else ""

    @property
    def shown(self) -> int:
        """Decimals of an answer: asked for, or usual for the kind."""
        return self.decimals if self.decimals is not None else DECIMALS.get(self.kind, 1)


class AskError(FormulaError):
    """A question cannot be understood well enough to be answered by rule; the message says what is missing."""


def understand(question: Question) -> Ask:
    """What a question asks for, from its fields first and its text where they are empty. Raises `AskError`, `FormulaError`."""
    folded = fold(question.text)
    given = definitions(folded)
    if question.definition:
        body = fold(question.definition)
        more = definitions(body)
        named = dict(more.bodies) if more.bodies else {question.metric or "own": body}
        given = Definitions({**given.bodies, **named}, given.rest)
    core = _core(given.rest)
    _refuse_qualified(core)
    years = _years(core, question)
    mode = _mode(core, years)
    span = _spanned(core, years, mode)
    percent = question.unit.startswith("percent") or bool(_PERCENT.search(given.rest))
    wanted = _wanted(question, core, given, span[-1], percent)
    ask = _combined(wanted, span, mode, percent or bool(re.search(r"\bgrowth\b|\bgrew\b", core)))
    label = question.period.asked if question.period and question.period.asked else _label(span)
    return evolve(ask, label=label, decimals=_decimals(given.rest, question), scale=_scale(question), entities=entities(question))


def _core(rest: str) -> str:
    """The text without names of statements and what stands in brackets, as long as before."""
    blank = STATEMENTS.sub(lambda m: " " * len(m[0]), rest)
    return re.sub(r"\([^()]*\)", lambda m: " " * len(m[0]) if not re.search(r"\bfy|\d{4}", m[0]) else m[0], blank)


# -- years ------------------------------------------------------------------------------------------------------------

_PART: Final = re.compile(
    r"\bq[1-4]\b|\bquarter(?:ly|s)?\b|\b[hH][12]\b|\bhalf[- ]year\b|\b(?:three|six|nine|twelve|trailing)[- ]months?\b|\bltm\b|\bttm\b"
)


def _years(core: str, question: Question) -> list[int]:
    text = fold(question.period.asked) if question.period and question.period.asked else ""
    if _PART.search(text or core):
        raise AskError("asks for a part of a year; only annual statements are read")
    years = sorted({year_of(match) for match in YEAR.finditer(text)} or {year_of(match) for match in YEAR.finditer(core)})
    if not years and question.period and question.period.end:
        years = [question.period.end.year]
    if not years:
        raise AskError("names no fiscal year")
    if years[-1] - years[0] > MAX_YEARS:
        raise AskError(f"spans {years[-1] - years[0]} years; at most {MAX_YEARS} are read")
    return years


def _label(years: Sequence[int]) -> str:
    return f"FY{years[0]}" if len(years) == 1 else f"FY{years[0]} - FY{years[-1]}"


_COMPOUND: Final = re.compile(r"\bcagr\b|\bcompound(?:ed)?\s+annual\s+(?:growth|rate)")
_MEAN: Final = re.compile(
    r"\b(?:\d+|two|three|four|five|six|seven|eight|nine|ten)[- ]years?\s+(?:average|mean)\b|\b(?:average|mean)\b[^.?]{0,80}\b(?:over|across|between|from|during|for)\b"
    r"|\baveraged?\s+over\b|\bmean\s+of\b"
)
_CHANGE: Final = re.compile(
    r"\bchange\s+in\b|\bchanged?\b|\byear[- ]over[- ]year\b|\byoy\b|\bgrowth\b|\bgrew\b|\bincreased?\b|\bdecreased?\b|\bdeclined?\b|\bfell\b"
)


def _mode(core: str, years: Sequence[int]) -> str:
    if _COMPOUND.search(core):
        return "compound"
    if len(years) > 1 and _MEAN.search(core):
        return "mean"
    if _CHANGE.search(core) and len(years) <= 2:
        return "change"
    if len(years) > 1:
        raise AskError("asks for several years without a mean, a change or a growth rate of them")
    return ""


def _spanned(core: str, years: list[int], mode: str) -> tuple[int, ...]:
    if mode == "change" and len(years) == 1:
        return (years[0] - 1, years[0])
    if mode == "compound":
        if len(years) == 1:
            steps = re.search(r"\b(\d+|two|three|four|five|ten)[- ]year", core)
            words = {"two": 2, "three": 3, "four": 4, "five": 5, "ten": 10}
            count = words.get(steps[1]) or int(steps[1]) if steps else 0
            if not 1 < count <= MAX_YEARS:
                raise AskError("asks for a compound rate without its first year")
            return (years[0] - count, years[0])
        return (years[0], years[-1])
    if mode == "mean" and len(years) == 2:
        return tuple(range(years[0], years[-1] + 1))
    return tuple(years)


# -- metric -----------------------------------------------------------------------------------------------------------


@frozen
class _Wanted:
    id: str
    what: str
    kind: str
    formula: Node


_SHARE: Final = re.compile(r"\s*(?:as\s+an?\s+(?:%|percent|percentage|share|proportion)\s+of|/)\s*(?:total\s+)?")
_MARGIN: Final = re.compile(r"\s*(?:%|percent|percentage)?\s*margin\b")


def _wanted(question: Question, core: str, given: Definitions, year: int, percent: bool) -> _Wanted:
    if question.metric:
        metric = table().metrics.get(question.metric)
        if metric is None and question.metric not in given.bodies:
            raise AskError(f"there is no metric {question.metric!r} in the table")
        own = _own(given, year, [question.metric, *(fold(name) for name in (metric.names if metric else ()))]) if given.bodies else None
        if own is not None:
            return _Wanted(question.metric, question.metric, metric.unit if metric else "times", own)
        if metric is not None:
            return _Wanted(metric.id, metric.names[0], metric.unit, metric.by(question.convention))
    found = _asked(core, names_in(core))
    if not found:
        return _defined(given, core, year, percent)
    first = found[0]
    _refuse_part(question, core, first)
    if len(found) == 2 and _SHARE.fullmatch(core[first.end : found[1].start]):
        top, bottom = table().metrics[first.id], table().metrics[found[1].id]
        return _Wanted(
            "own", f"{top.names[0]} / {bottom.names[0]}", "percent", Operation("/", _own_or(given, core, first, year), bottom.formula)
        )
    if len(found) > 1 and (sum_of := _written_out(core, found)):
        kind = "percent" if percent else "times" if "/" in sum_of or "divided" in sum_of else "amount"
        return _Wanted("own", sum_of, kind, formula_of(sum_of, year, given))
    if len({name.id for name in found}) > 1:
        raise AskError(f"asks for more than one: {', '.join(dict.fromkeys(name.id for name in found))}")
    metric = table().metrics[first.id]
    formula = _own_or(given, core, first, year, question.convention)
    if metric.unit == "amount" and _MARGIN.match(core[max(name.end for name in found) :]):
        return _Wanted("own", f"{metric.names[0]} / revenue", "percent", Operation("/", formula, Line("revenue")))
    if given.bodies and metric.unit == "percent" and formula != metric.by(question.convention):
        formula = _share_of(formula)
    kind = "percent" if metric.unit == "times" and percent else metric.unit
    return _Wanted(metric.id, metric.names[0], kind, formula)


def _share_of(node: Node) -> Node:
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


_JOINED: Final = re.compile(r"\s*(?:\+|-|/|\*|plus|minus|less|divided\s+by|multiplied\s+by)\s*(?:total\s+|unadjusted\s+)?")


def _written_out(core: str, found: Sequence[Name]) -> str:
    """The arithmetic that a question spells out between names, `operating income + depreciation`; empty where something else stands between."""
    between = [core[one.end : other.start] for one, other in pairwise(found)]
    return re.sub(r"\s+", " ", core[found[0].start : found[-1].end]) if all(_JOINED.fullmatch(text) for text in between) else ""


_QUALIFIED: Final = re.compile(
    r"\b(?:adjusted|non-?gaap|organic|constant[- ]currency|pro[- ]?forma|core|comparable|same[- ]store|segments?|divisions?|geograph\w*|regions?|regional|subsidiar\w+|"
    r"guidance|guided|forecast\w*|projected|expected|estimated|consensus|per\s+(?:store|employee|unit|customer))\b"
)
_BEFORE: Final = frozenset(
    [
        "a",
        "amount",
        "an",
        "and",
        "annual",
        "any",
        "are",
        "as",
        "asked",
        "at",
        "average",
        "averaged",
        "between",
        "by",
        "calculate",
        "change",
        "changes",
        "company",
        "company's",
        "compound",
        "compute",
        "consolidated",
        "corporate",
        "cumulative",
        "decline",
        "decrease",
        "did",
        "each",
        "ending",
        "find",
        "for",
        "from",
        "full",
        "gaap",
        "give",
        "growth",
        "had",
        "has",
        "have",
        "how",
        "in",
        "increase",
        "is",
        "issuer",
        "its",
        "level",
        "margin",
        "mean",
        "much",
        "net",
        "of",
        "on",
        "or",
        "our",
        "over",
        "overall",
        "overall",
        "ratio",
        "report",
        "reported",
        "show",
        "stated",
        "states",
        "that",
        "the",
        "their",
        "this",
        "to",
        "total",
        "unadjusted",
        "value",
        "was",
        "were",
        "what",
        "which",
        "whole",
        "with",
        "year",
        "years",
        "year's",
    ]
)


def _refuse_qualified(core: str) -> None:
    """Refuse what statements do not show under that name: adjusted figures, parts of a company, forecasts."""
    found = _QUALIFIED.search(core)
    if found:
        raise AskError(f"asks for something {found[0]!r}, which primary statements do not show")


def _refuse_part(question: Question, core: str, name: Name) -> None:
    """Refuse a line with an unknown word before it: `subscription revenue` is not revenue."""
    before = re.search(r"(\S+)\s*$", core[: name.start])
    if before is None:
        return
    word = before[1].strip("'\"(),.:;%-")
    original = question.text[before.start(1) : before.end(1)]
    known = (
        not word
        or word in _BEFORE
        or word.endswith("'s")
        or any(c.isdigit() for c in word)
        or not word[-1].isalpha()
        or before[1][-1] in ":;,.'"
    )
    if known or (original[:1].isupper() and word in " ".join(entities(question)[:1]).lower().split()):
        return
    raise AskError(f"asks for {word!r} {core[name.start : name.end]}, which may be only a part of the line")


def _own(given: Definitions, year: int, names: Sequence[str]) -> Node | None:
    for name in names:
        plain = re.sub(r"[\s-]+", " ", re.sub(r"[(),]", "", name)).strip()
        if plain in given.bodies:
            return formula_of(given.bodies[plain], year, given)
    return None


def _own_or(given: Definitions, core: str, name: Name, year: int, convention: str = "") -> Node:
    """The query's own formula of a metric, else the table's. A part that the query defines (EBITDA of an EBITDA margin) goes in as defined."""
    metric = table().metrics[name.id]
    own = _own(given, year, [core[name.start : name.end], *(fold(n) for n in metric.names)])
    if own is not None:
        return own
    for body_name in given.bodies:
        if metric.unit == "percent" and any(fold(n) in (f"{body_name} margin", f"{body_name} % margin") for n in metric.names):
            return Operation("/", formula_of(given.bodies[body_name], year, given), Line("revenue"))
    return metric.by(convention)


def _defined(given: Definitions, core: str, year: int, percent: bool) -> _Wanted:
    """A quantity that only the query knows."""
    asked = [name for name in given.bodies if re.search(rf"\b{re.escape(name)}\b", re.sub(r"[\s-]+", " ", core))]
    if len(asked) == 1 or len(given.bodies) == 1:
        name = asked[0] if asked else next(iter(given.bodies))
        kind = "percent" if _PERCENT.search(core) else "amount" if re.search(r"\b(?:usd|dollars?|\$)", core) else "times"
        return _Wanted(
            "own",
            name,
            kind,
            _share_of(formula_of(given.bodies[name], year, given)) if kind == "percent" else formula_of(given.bodies[name], year, given),
        )
    raise AskError("names no metric or line of the table")


def _combined(wanted: _Wanted, years: tuple[int, ...], mode: str, percent: bool) -> Ask:
    """The formula over all years asked, by offset from the last."""
    base = years[-1]
    at = {year: shifted(wanted.formula, year - base) for year in years}
    ask = Ask(wanted.id, wanted.what, wanted.kind, wanted.formula, base, years, "", mode)
    if mode == "mean":
        return evolve(ask, formula=Mean(tuple(at[year] for year in years)))
    if mode == "compound":
        return evolve(ask, kind="percent", formula=Growth(at[years[0]], at[base], base - years[0]))
    if mode == "change" and wanted.kind == "percent":
        return evolve(ask, kind="points", formula=Operation("-", at[base], at[years[0]]))
    if mode == "change" and percent:
        return evolve(ask, kind="percent", mode="growth", formula=Growth(at[years[0]], at[base], 1))
    if mode == "change":
        return evolve(ask, formula=Operation("-", at[base], at[years[0]]))
    return ask


# -- unit and decimals -------------------------------------------------------------------------------------------

_PERCENT: Final = re.compile(
    r"\bunits?\s+of\s+percents?\b|\bin\s+percent|\bas\s+a\s+(?:%|percent)|\bpercentage\s+points?\b|\bin\s+%|%\s+change|\bpercents\b|\bpercentage\s+change\b"
)
_PLACES: Final = re.compile(r"\b(\d|zero|one|two|three|four|five|six)\s+(?:decimals?\b|decimal\s+(?:place|point|digit)s?)")
_COUNTS: Final = {"zero": 0, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6}


def _decimals(text: str, question: Question) -> int | None:
    if question.decimals is not None:
        return question.decimals
    match = _PLACES.search(text)
    if match:
        return _COUNTS.get(match[1], int(match[1]) if match[1].isdigit() else 0)
    return 0 if re.search(r"\bnearest\s+(?:whole|integer|million|percent\b)", text) else None


def _scale(question: Question) -> Decimal | None:
    text = fold(question.unit) + " " + fold(question.text)
    match = re.search(r"(?:usd|us\$|\$|dollars?)\s+(?:in\s+)?(thousand|million|billion)s?\b|\bin\s+(thousand|million|billion)s\b", text)
    powers = {"thousand": 3, "million": 6, "billion": 9}
    return Decimal(10) ** powers[match[1] or match[2]] if match else None
