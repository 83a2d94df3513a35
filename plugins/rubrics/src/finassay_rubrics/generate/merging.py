"""Cells in which two routes of a convention accept the same answer: nobody can tell the routes apart there, so they are one."""

from collections.abc import Sequence
from decimal import Decimal

from finassay_rubrics.record.rubric import ANY, Criterion, Route, Topic
from finassay_rubrics.validate.rubric_rules import accepted_by_both


def merged(criterion: Criterion) -> Criterion:
    """The criterion with routes that can be told apart. A route that a former one's answers satisfy is dropped and its topic noted; a cell
    of which one route is left depends on no convention."""
    kept: list[Route] = []
    topics: list[str] = []
    for route in criterion.expected:
        rival = next((one for one in kept if one.topic == route.topic and _same(one, route)), None)
        if rival is None:
            kept.append(route)
        else:
            topics.append(f"{route.topic}:{route.route_id}")
    if not topics:
        return criterion
    lone = len(kept) == 1
    expected = tuple(r.model_copy(update={"route_id": ANY, "topic": None}) for r in kept) if lone else tuple(kept)
    note = f"{', '.join(topics)} cannot be told from it here"
    return criterion.model_copy(
        update={
            "expected": expected,
            "merged_routes": tuple(topics),
            "discriminating": not lone and criterion.discriminating,
            "notes": "; ".join(filter(None, (criterion.notes, note))),
        }
    )


def _same(first: Route, second: Route) -> bool:
    if first.topic is None:
        return False
    if isinstance(first.value, Decimal) and isinstance(second.value, Decimal):
        return accepted_by_both(first, second) is not None
    return str(first.value).strip().lower() == str(second.value).strip().lower()


def topics_of(criteria: Sequence[Criterion]) -> tuple[Topic, ...]:
    """The conventions that are left to choose, with their routes in order; one whose cells were all merged is none."""
    routes: dict[str, dict[str, None]] = {}
    for criterion in criteria:
        for route in criterion.expected:
            if route.topic and route.route_id != ANY:
                routes.setdefault(route.topic, {})[route.route_id] = None
    return tuple(Topic(id=name, routes=tuple(found)) for name, found in routes.items())
