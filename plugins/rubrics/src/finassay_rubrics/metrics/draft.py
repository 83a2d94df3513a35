"""What the offline families write for an obligation: one numeric criterion for each metric and year that they can ground."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from attrs import evolve, frozen

from finassay.api.research import Assignment, Derivation, Draft, DraftCriterion, DraftRoute, Period, Question
from finassay_rubrics.metrics.ask import AskError, understand
from finassay_rubrics.metrics.clauses import UnclearError, issuers, sentences_of, years_beside, years_in, years_of_spans
from finassay_rubrics.metrics.formula import FormulaError
from finassay_rubrics.metrics.ground import ORIGINAL, YEAR_END
from finassay_rubrics.metrics.principles import realized
from finassay_rubrics.metrics.table import Metric, table
from finassay_rubrics.metrics.terms import definitions, fold, names_in
from finassay_rubrics.metrics.when import DOWN, UP, asks_which_year, combined

Derive = Callable[[Question], Derivation]
MAX_CRITERIA: Final = 12
_EACH_YEAR: Final = re.compile(r"\beach (?:of the (?:\w+ ){0,2})?(?:fiscal )?years?\b|\beach of (?:them|these|those)\b")
"""An average that is to be shown with what it is taken over."""
_EACH: Final = re.compile(r"\beach\b|\bevery\b|\ball (?:the )?(?:years|periods)\b")


def draft(assignment: Assignment, derive: Derive) -> Draft:
    """Criteria of one obligation. What is no metric of primary statements gives one unresolved criterion with the reason."""
    query = str(assignment.context.get("query", ""))
    turn = _turns(assignment.what)
    besides = None if turn and names_in(fold(assignment.what)) else _asked_besides(assignment)
    if besides is not None:
        return besides
    metrics, reason = _metrics(assignment, query, turn)
    if not metrics:
        return Draft((_unresolved(assignment, reason),))
    said = sentences_of(
        query, [*_bindings(assignment.context, "metrics"), *_bindings(assignment.context, "deliverables")], assignment.bindings
    )
    turn = turn or any(_EITHER.search(one) for one in said)
    if (
        not turn
        and (more := next((m for one in said if (m := _MORE_THAN_LEVELS.search(one))), None))
        and _are_levels(metrics, assignment.what)
    ):
        return Draft((_unresolved(assignment, f"its sentence asks {more[0]!r}, which its figures alone do not answer"),))
    several = issuers(query, _bindings(assignment.context, "entities"), assignment.bindings)
    if len(several) > 1:
        return Draft(
            (_unresolved(assignment, f"names several issuers: {', '.join(several)[:300]}; this family answers for one at a time"),)
        )
    try:
        years = _years(assignment, query)
        if turn and len(years) == 1:
            years = [years[0] - 1, years[0]]
        periods = [((year,), "") for year in years] if turn else _periods(assignment.what, years, query) if years else []
    except UnclearError as error:
        return Draft((_unresolved(assignment, str(error)),))
    if not periods:
        return Draft((_unresolved(assignment, "names no fiscal year"),))
    return Draft(tuple(_of_metrics(assignment, metrics, periods, turn, derive)[:MAX_CRITERIA]))


_EITHER: Final = re.compile(
    r"\b(?:increas|ris|rose|grow|grew|improv|expand|went up|go up)\w* or (?:decreas|declin|fall|fell|shrink|shrank|worsen|contract|went down|down)\w*",
    re.IGNORECASE,
)
"""Asks for a direction beside the figures."""
_MORE_THAN_LEVELS: Final = re.compile(
    r"\bhow fast\b|\bwhat (?:percent(?:age)?|share|proportion|fraction|portion) of\b|\bdifference between\b|\bhow many times\b|\bcovered by\b|\bas an? multiple of\b",
    re.IGNORECASE,
)
"""Asks for a relation; a query from which only its parts were bound was not understood."""


def _are_levels(metrics: Sequence["_Subject"], what: str) -> bool:
    return all(one.metric is not None and one.metric.unit == "amount" for one in metrics) and not _MORE_THAN_LEVELS.search(what)


def _asked_besides(assignment: Assignment) -> Draft | None:
    """An obligation that is no metric: an artefact, which a program can look at, or an explanation, which rules cannot ground. None for a metric."""
    from finassay_rubrics.grading.forms import can_check

    own = set(assignment.bindings)
    spans = {kind: [one for one in _bindings(assignment.context, kind) if one.get("id") in own] for kind in ("metrics", "deliverables")}
    kinds = {str(one.get("type", "")) for one in spans["deliverables"]}
    if spans["metrics"] or not kinds & {"explain", "artefact"}:
        return None
    if "explain" in kinds:
        if asks_which_year(assignment.what):
            return Draft((_unresolved(assignment, _NO_YEAR),))
        return Draft((_unresolved(assignment, "asks for words; this family grounds only figures of primary statements"),))
    texts = [f"Puts the figures into {assignment.what}"]
    if not can_check(texts[0]):
        return Draft((_unresolved(assignment, f"no program here looks at {assignment.what!r}"),))
    constraints = [" ".join(str(one.get("span", "")).split()) for one in _bindings(assignment.context, "output_constraints")]
    texts += [text for said in constraints if can_check(text := f"Keeps to the form asked: {said}")]
    return Draft(
        tuple(
            DraftCriterion(
                f"{assignment.obligation}.{number}",
                text,
                "format",
                realized(assignment.principles, "", ("form",)),
                assignment.bindings,
                optional=number > 1,  # only the artefact itself was asked for: a form is looked at and earns nothing
            )
            for number, text in enumerate(texts, start=1)
        )
    )


_WORDS: Final = re.compile(
    r"\bwhy\b|\bexplain|\bexplanation|\breasons?\b|\bdrivers?\b|\bdrove\b|\beffects?\b|\bimpact|\bdiscuss|\bdescribe|\bcomment|\bcomparab|\btable\b|\bwhich line\b|"
    r"\bline (?:taken|used)\b|\brisks?\b|\boutlook\b|\bjudg|\bassess|\bverdict\b|\bwhether\b|\bdisclos|\bleft out\b|\bleaving out\b|\bexclud|\bwithout\b"
)
_REASONS: Final = re.compile(
    r"\bwhy\b|\bexplain|\bexplanation|\breasons?\b|\bdrivers?\b|\bdrove\b|\bcomment|\bdiscuss|\bverdict\b|\btable\b|\bjudg|\bassess"
)
_RELATED: Final = re.compile(
    r"\bshare of\b|\bas an? (?:share|%|percent|percentage|proportion) of\b|\brelative to\b|\bratio\b|\bdivided by\b|\bas a multiple of\b|\bpaid out\b|\bversus\b|\bagainst\b"
)


_NO_YEAR: Final = "asks which year had the most or the least, which no figure of a single year answers"
_MARGIN: Final = re.compile(r"(?:%|\bpercent(?:age)?) margin\b")
"""Behind the name of an amount it asks for its share of revenue."""
_TURN: Final = re.compile(
    rf"\bwhether\b[^.;?]*\b(?:{UP}|{DOWN}|chang(?:ed|es?))\b|\b(?:{UP})\b[^.;?]{{0,12}}\bor\b[^.;?]{{0,12}}\b(?:{DOWN})\b|\b(?:{DOWN})\b[^.;?]{{0,12}}\bor\b[^.;?]{{0,12}}\b(?:{UP})\b|"
    r"\bdirection\s+of\b|\bwhich\s+(?:way|direction)\b"
)
"""An obligation that asks which way a metric went: two figures answer it."""


def _turns(what: str) -> bool:
    """Whether an obligation asks which way something went, and not why."""
    folded = fold(what)
    return _TURN.search(folded) is not None and _REASONS.search(folded) is None


@frozen
class _Subject:
    """What criteria are about: a metric of the table, or a relation of two in words that `understand` reads again."""

    id: str
    name: str
    metric: Metric | None = None


def _subject(metric: Metric) -> _Subject:
    return _Subject(metric.id, metric.names[0], metric)


def _relation(assignment: Assignment) -> _Subject | None:
    """A relation of two metrics that an obligation asks for, `share of free cash flow paid out as dividends`; None for none that is understood."""
    try:
        ask = understand(Question("", f"States the {assignment.what}", entity="-", period=Period("FY2000")))
    except FormulaError:
        return None
    parts = re.split(r" ([-+/]) ", ask.what)
    if ask.metric != "own" or ask.mode not in ("", "mean", "change", "growth", "compound") or len(parts) != 3:
        return None
    one, sign, other = parts
    if sign == "/" and ask.kind == "times":
        return _Subject("", f"ratio of {one} to {other}")
    if sign == "/":
        return _Subject("", f"{one} as a percentage of {other}")
    return _Subject("", f"{'difference between' if sign == '-' else 'sum of'} {one} and {other}")


def _metrics(assignment: Assignment, query: str, turn: bool) -> tuple[list[_Subject], str]:
    """Metrics that the obligation names, or the query's one where it only says how to show it; with the reason where there are none."""
    what = fold(assignment.what)
    if asks_which_year(what):
        return [], _NO_YEAR
    if _WORDS.search(what) and not turn:
        return [], "asks for words, a layout or an effect, and this family only finds figures of primary statements"
    own = list(dict.fromkeys(name.id for name in names_in(definitions(what).rest)))
    if len(own) == 1 and _MARGIN.search(what) and table().metrics[own[0]].unit == "amount":
        relation = _relation(assignment)
        return ([relation], "") if relation else ([], f"asks for a margin of {own[0]} that is no metric of the table")
    relation = _relation(assignment) if len(own) > 1 else None
    if len(own) > 1 and (_RELATED.search(what) or relation is not None):
        reason = f"asks for a relation of {' and '.join(own[:2])} that is no metric of the table"
        return ([], reason) if relation is None else ([relation], "")
    mine = [b for b in _bindings(assignment.context, "metrics") if not assignment.bindings or b.get("id") in assignment.bindings]
    bound = list(dict.fromkeys(name.id for b in mine for name in names_in(fold(str(b.get("span", ""))))))
    if not own and assignment.bindings:
        own = bound
    if not own and (combined(what) or _EACH.search(what)):
        own = bound[:1]
    if not own and not bound and what.strip():
        own = [name.id for name in names_in(definitions(fold(query)).rest)][:1]
    return [_subject(table().metrics[id]) for id in own], "asks for no metric of primary statements, which is all that this family reads"


def _bindings(context: Mapping[str, Any], kind: str) -> list[Mapping[str, Any]]:
    found = context.get("bindings", {})
    several = found.get(kind, ()) if isinstance(found, Mapping) else ()
    return [one for one in several if isinstance(one, Mapping)] if isinstance(several, Sequence) else []


def _in_percent(context: Mapping[str, Any]) -> bool:
    """Whether the answer is wanted in percent, so that a change of an amount is its growth."""
    spans = " ; ".join(str(one.get("span", "")) for one in _bindings(context, "output_constraints"))
    return re.search(r"\bpercents?\b|%", spans, re.IGNORECASE) is not None


def _entity(context: Mapping[str, Any]) -> str:
    return next((str(one.get("span") or one.get("canonical") or "") for one in _bindings(context, "entities")), "")


def _years(assignment: Assignment, query: str) -> list[int]:
    """The years that the obligation names, those bound to it, those of its place in the query, else all. Raises `UnclearError`."""
    context, own = assignment.context, assignment.bindings
    if years := years_in(assignment.what):
        return years
    periods = _bindings(context, "periods")
    if mine := years_of_spans([one for one in periods if one.get("id") in own]):
        return mine
    placed = {kind: _bindings(context, kind) for kind in ("metrics", "deliverables", "periods")}
    return years_beside(query, placed, own) or years_of_spans(periods) or years_in(query)


_FROM: Final = re.compile(r"\bfrom\b|\bbetween\b|\bover\b|\d\s*(?:-|to|through)\s*(?:fy\s*|fiscal\s*(?:year\s*)?)?\d")
"""What makes years the two ends of one change, not years of a change each."""
_YOY: Final = re.compile(r"\byear[- ]over[- ]year\b|\byoy\b")


def _periods(what: str, years: Sequence[int], query: str = "") -> list[tuple[tuple[int, ...], str]]:
    """The years of each criterion, and what combines several: as `combined`. Raises `UnclearError` where years are lacking."""
    kind, each = combined(what), _EACH.search(fold(what)) is not None
    if kind in ("change", "growth") and (len(years) == 1 or each or (len(years) > 2 and _YOY.search(fold(what)))):
        later = years if len(years) == 1 or each else years[1:]
        return [((year - 1, year), kind) for year in later]
    listed = kind in ("change", "growth") and len(years) > 2 and not _FROM.search(fold(query))
    if kind == "unclear" or listed or (len(years) == 1 and kind in ("CAGR", "yearly", "average")):
        raise UnclearError("asks for a mean or a rate over several years, and which they are cannot be told")
    if len(years) == 1 or not kind or (each and kind == "average"):
        return [((year,), "") for year in years]
    single = [((year,), "") for year in years] if kind == "average" and _EACH_YEAR.search(fold(query)) else []
    return [*single, ((years[0], years[-1]), kind)]


def _of_metrics(
    assignment: Assignment, metrics: Sequence[_Subject], periods: Sequence[tuple[tuple[int, ...], str]], turn: bool, derive: Derive
) -> list[DraftCriterion]:
    """A criterion for each metric and period; where it is asked which way a metric went, one for that as well, which rests on them."""
    query, entity = str(assignment.context.get("query", "")), _entity(assignment.context)
    criteria: list[DraftCriterion] = []
    for metric in metrics:
        figures: list[DraftCriterion] = []
        for asked, how in periods:
            if how == "change" and metric.metric is not None and metric.metric.unit == "amount" and _in_percent(assignment.context):
                how = "growth"
            question = _question(assignment, query, metric, asked, how, entity)
            figures.append(_criterion(assignment, question, metric, derive, len(criteria) + len(figures) + 1))
        criteria += figures
        if turn:
            question = _question(assignment, query, metric, (periods[0][0][0], periods[-1][0][-1]), "direction", entity)
            made = _criterion(assignment, question, metric, derive, len(criteria) + 1)
            criteria.append(evolve(made, kind="categorical", must_pass=False, depends_on=tuple(one.id for one in figures if one.routes)))
    return criteria


def _question(assignment: Assignment, query: str, subject: _Subject, years: tuple[int, ...], how: str, entity: str) -> Question:
    label = f"FY{years[0]}" if len(years) == 1 else f"FY{years[0]} - FY{years[-1]}"
    name, metric = subject.name, subject.metric
    texts = {
        "": f"States the {name} of {label}",
        "average": f"States the {len(range(years[0], years[-1] + 1))} year average {name} over {label}",
        "change": f"States the change in {name} from FY{years[0]} to FY{years[-1]}",
        "growth": f"States the growth of {name} from FY{years[0]} to FY{years[-1]}, in units of percents",
        "yearly": f"States the average annual growth of {name} from FY{years[0]} to FY{years[-1]}, in units of percents",
        "CAGR": f"States the CAGR of {name} from FY{years[0]} to FY{years[-1]}",
        "direction": f"Says whether the {name} increased or declined from FY{years[0]} to FY{years[-1]}",
    }
    names = {fold(n) for n in metric.names} if metric else set()
    body = next((text for defined, text in definitions(fold(query)).bodies.items() if defined in names), "")
    return Question(
        id=f"{assignment.obligation}.{subject.id or 'relation'}.{'-'.join(map(str, years))}{'.direction' if how == 'direction' else ''}",
        text=texts[how],
        metric=subject.id,
        definition=body,
        entity=entity,
        period=Period(label),
        decimals=_decimals(query, subject),
    )


def _decimals(query: str, subject: _Subject) -> int | None:
    try:
        return understand(Question("", query, subject.id or "revenue", period=Period("FY2000"))).decimals
    except (AskError, FormulaError):
        return None


def _criterion(assignment: Assignment, question: Question, subject: _Subject, derive: Derive, number: int) -> DraftCriterion:
    metric = subject.metric
    first = derive(question)
    routes = [DraftRoute("any", "", "", first)] if first.value is not None else []
    if first.value is not None and metric is not None and metric.routes and not question.definition:
        routes = _accepted(_routes(metric, question, first, derive), assignment.conventions)
    if first.value is not None and len(routes) == 1 and routes[0].route == "any":
        routes = _vintage(question, first, derive) or routes
    if first.value is None:
        routes = _by_year_end(question, derive)
    return DraftCriterion(
        id=f"{assignment.obligation}.{number}",
        text=question.text,
        kind="numeric",
        principles=realized(assignment.principles, question.text, _about(routes)),
        bindings=_used(assignment),
        routes=tuple(routes),
        question=question,
        must_pass=number == 1 and bool(routes),
        reason="" if routes else first.reason or "no convention that the guidance accepts could be grounded",
    )


def _about(routes: Sequence[DraftRoute]) -> list[str]:
    """What a numeric criterion is about, for the principles that it realizes."""
    topics = {route.topic for route in routes if route.topic}
    computed = any(route.derivation.script is not None and len(route.derivation.inputs) > 1 for route in routes)
    found = {"vintage": "vintage" in topics, "calendar": "fiscal_label" in topics, "computed": computed}
    return ["figure", *(name for name, is_so in found.items() if is_so), *(["convention"] if topics - {"vintage", "fiscal_label"} else [])]


def _routes(metric: Metric, question: Question, first: Derivation, derive: Derive) -> list[DraftRoute]:
    """The metric's conventions: the first is what was derived, others where they can be grounded and give another value."""
    found = [DraftRoute(metric.routes[0].route, metric.routes[0].topic, metric.routes[0].convention, first)]
    for route in metric.routes[1:]:
        other = derive(evolve(question, convention=f"{route.topic}:{route.route}"))
        if other.value is not None and all(other.value != one.derivation.value for one in found):
            found.append(DraftRoute(route.route, route.topic, route.convention, other))
    return found if len(found) > 1 else [DraftRoute("any", "", "", first)]


def _accepted(routes: list[DraftRoute], conventions: Mapping[str, Sequence[str]]) -> list[DraftRoute]:
    """The routes that an institution accepts, its own first. One that is left alone is no choice any more; none means that its own cannot be grounded."""
    order = conventions.get(routes[0].topic)
    if order is None:
        return routes
    kept = sorted((r for r in routes if r.route in order), key=lambda r: list(order).index(r.route))
    return kept if len(kept) > 1 else [DraftRoute("any", "", r.convention, r.derivation) for r in kept]


def _vintage(question: Question, first: Derivation, derive: Derive) -> list[DraftRoute]:
    """The value as restated and as first reported, where a later filing restates it; else nothing."""
    original = derive(evolve(question, convention=ORIGINAL))
    if original.value is None or original.value == first.value:
        return []
    return [
        DraftRoute("latest", "vintage", "as the latest annual report by the cutoff shows it", first),
        DraftRoute("original", "vintage", "as reported in the annual report of that year", original),
    ]


def _by_year_end(question: Question, derive: Derive) -> list[DraftRoute]:
    """The value of the year that ended in the asked one, where the issuer gives that label to no year that is reported."""
    other = derive(evolve(question, convention=YEAR_END))
    if other.value is None:
        return []
    said = other.period.end.isoformat() if other.period and other.period.end else "in that year"
    return [DraftRoute("year-end", "fiscal_label", f"the fiscal year that ended {said}, named by the calendar year of its end", other)]


def _used(assignment: Assignment) -> tuple[str, ...]:
    """The bindings that a criterion answers to: those of its obligation where they are told, else whose, what and when."""
    if assignment.bindings:
        return assignment.bindings
    kinds = ("entities", "metrics", "periods")
    return tuple(str(one["id"]) for kind in kinds for one in _bindings(assignment.context, kind) if one.get("id"))


def _unresolved(assignment: Assignment, reason: str) -> DraftCriterion:
    principles = realized(assignment.principles, assignment.what, ("words",))
    return DraftCriterion(f"{assignment.obligation}.1", assignment.what, "text", principles, _used(assignment), reason=reason)
