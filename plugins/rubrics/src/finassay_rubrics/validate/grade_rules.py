"""Rules on a graded answer: R19 and R20."""

from collections import defaultdict
from collections.abc import Mapping

from finassay.api.guidance import Violation
from finassay.api.verdict import Json


def spans(product: Mapping[str, Json]) -> tuple[Violation, ...]:
    """R19: a figure that meets a criterion names where the answer says it."""
    criteria = product.get("criteria")
    return tuple(
        Violation("R19", f"verdict {one.get('id')}", "is met and names no place in the answer")
        for one in (criteria if isinstance(criteria, list) else [])
        if isinstance(one, Mapping) and one.get("outcome") == "met" and one.get("value") and not one.get("span")
    )


def one_route(product: Mapping[str, Json]) -> tuple[Violation, ...]:
    """R20: what counts as met under one convention belongs to one route."""
    criteria, topics = product.get("criteria"), product.get("topics")
    taken: dict[str, set[str]] = defaultdict(set)
    for one in criteria if isinstance(criteria, list) else []:
        topic = topics.get(str(one.get("id"))) if isinstance(topics, Mapping) and isinstance(one, Mapping) else None
        if topic and one.get("outcome") == "met" and one.get("route") not in (None, "any"):
            taken[str(topic)].add(str(one["route"]))
    return tuple(
        Violation("R20", f"topic {topic}", f"counts on {' and '.join(sorted(routes))}")
        for topic, routes in taken.items()
        if len(routes) > 1
    )
