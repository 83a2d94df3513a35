"""A criterion of one question: derived once for each convention and vintage, and what it says where nothing can be derived."""

from collections.abc import Callable, Mapping, Sequence

from attrs import evolve

from finassay.api.research import Assignment, Derivation, DraftCriterion, DraftRoute, Question
from finassay_rubrics.metrics.ground import ORIGINAL, YEAR_END
from finassay_rubrics.metrics.principles import realized
from finassay_rubrics.metrics.subjects import Subject, bindings_of
from finassay_rubrics.metrics.table import Metric

Derive = Callable[[Question], Derivation]


def criterion(assignment: Assignment, question: Question, subject: Subject, derive: Derive, number: int) -> DraftCriterion:
    """The criterion of a question, with a route for each convention that can be grounded; unresolved with the reason where none can."""
    metric = subject.metric
    first = derive(question)
    routes = [DraftRoute("any", "", "", first)] if first.value is not None else []
    if first.value is not None and metric is not None and metric.routes and not question.definition:
        routes = _accepted(_routes(metric, question, first, derive), assignment.conventions)
    if first.value is not None and len(routes) == 1 and routes[0].route == "any":
        routes = _vintage(question, first, derive) or routes
    if first.value is None and not question.parts:
        routes = _by_year_end(question, derive)
    return DraftCriterion(
        id=f"{assignment.obligation}.{number}",
        text=question.text,
        kind="categorical" if isinstance(first.value, str) else "numeric",
        principles=realized(assignment.principles, question.text, _about(routes)),
        bindings=used(assignment),
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


def used(assignment: Assignment) -> tuple[str, ...]:
    """The bindings that a criterion answers to: those of its obligation where they are told, else whose, what and when."""
    if assignment.bindings:
        return assignment.bindings
    kinds = ("entities", "metrics", "periods")
    return tuple(str(one["id"]) for kind in kinds for one in bindings_of(assignment.context, kind) if one.get("id"))


def unresolved(assignment: Assignment, reason: str) -> DraftCriterion:
    """The one criterion of an obligation that cannot be grounded."""
    principles = realized(assignment.principles, assignment.what, ("words",))
    return DraftCriterion(f"{assignment.obligation}.1", assignment.what, "text", principles, used(assignment), reason=reason)
