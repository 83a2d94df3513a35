"""How a query is read: what a contextualizer is, what it gives, and the one that works by rule."""

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Protocol

from attrs import Factory, frozen

from finassay.api.verdict import Json
from finassay_rubrics.bank.signature import signature_of
from finassay_rubrics.budget import Asked
from finassay_rubrics.context.bind import bind
from finassay_rubrics.metrics.when import combined


@frozen
class Reading:
    """A query taken apart."""

    signature: str
    bindings: dict[str, list[dict[str, Any]]]
    """The eight arrays."""
    obligations: tuple[Asked, ...]
    by: Mapping[str, Json] = Factory(dict)
    """Who read it, and what was sent back on the way; empty for rules."""


Wrong = Callable[[Reading], list[str]]
"""What the rules on contexts have against a reading, in words."""


class Contextualizer(Protocol):
    """Takes queries apart, before anything is looked up."""

    @property
    def id(self) -> str: ...

    @property
    def identity(self) -> Mapping[str, Json]:
        """What its readings rest on: a model with its family, the digest of its prompt."""
        ...

    def read(self, query: str, wrong: Wrong) -> Reading:
        """Raises `UsageError` where nothing holds; `ProviderError`, `BudgetError` where a model is asked."""
        ...


@frozen
class RuleContextualizer:
    """By rule, offline."""

    id: ClassVar[str] = "rules"

    @property
    def identity(self) -> Mapping[str, Json]:
        return {}

    def read(self, query: str, wrong: Wrong) -> Reading:
        bindings = bind(query)
        return Reading(signature_of(query, bindings).text, bindings, tuple(obligations(bindings)))


def obligations(bindings: Mapping[str, list[dict[str, Any]]]) -> list[Asked]:
    """One deliverable and one metric each, or one thing to be explained or judged, or one artefact, in order of place.

    Periods and entities do not split; a metric that is named twice, or stands inside what is to be explained, is one. A metric and its growth,
    or its growth and its CAGR, are two. What is asked of a company by a sentence in which no metric is known is one too: it must not be lost.
    """
    telling = [b for b in bindings["deliverables"] if b["type"] == "explain"]
    found: list[tuple[int, str, list[str]]] = []
    seen: dict[tuple[str, str], list[str]] = {}
    for metric in bindings["metrics"]:
        if any(t["start"] <= metric["start"] < t["end"] for t in telling):
            continue
        about = str(metric.get("relation") or metric["canonical"])
        key = (about, combined(metric.get("asked", "")))
        held = seen.get(key) or (None if key[1] else next((ids for (other, _), ids in seen.items() if other == about), None))
        if held is not None:
            held.append(metric["id"])
            continue
        spans = seen[key] = [metric["id"]]
        found.append((metric["start"], metric.get("asked") or metric["span"], spans))
    found += [(t["start"], t["span"], [t["id"]]) for t in telling]
    found += [(b["start"], b["span"], [b["id"]]) for b in bindings["deliverables"] if b["type"] == "artefact"]
    found += [(b["start"], b["asked"], [b["id"]]) for b in bindings["deliverables"] if b["type"] == "figure" and b.get("asked")]
    if not found:
        found = [(b["start"], b["span"], [b["id"]]) for b in bindings["deliverables"] if b["type"] == "figure"]
    return [Asked(f"O{n}", what, tuple(spans), start) for n, (start, what, spans) in enumerate(sorted(found), start=1)]
