"""A query to its context: bindings, signature, obligations, cutoff, the bank's task if exactly one fits."""

import hashlib
import json
import re
from collections.abc import Mapping
from datetime import UTC, date, datetime
from typing import Any, Final

from finassay.api.errors import UsageError
from finassay_rubrics.bank.signature import signature_of
from finassay_rubrics.budget import MAX_OBLIGATIONS, Asked
from finassay_rubrics.context.bind import bind
from finassay_rubrics.context.cutoff import cutoff_of

MAX_QUERY: Final = 20_000
_FORECAST: Final = re.compile(
    r"\b(forecast|project(?:ed|ion)?|expect(?:ed|ation)? (?:to|for)|will be|next (?:year|quarter)|outlook|price target)\b", re.IGNORECASE
)


def contextualize(query: str, cutoff: date, *, today: date | None = None, bank: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The context of a query. Nothing is looked up. Raises `UsageError` for an empty query, a cutoff that does not hold, or nothing asked."""
    if not query.strip():
        raise UsageError("the query is empty", hint="Name a file with the query, or give it as an argument.")
    if len(query) > MAX_QUERY:
        raise UsageError(f"the query has {len(query):,} characters; at most {MAX_QUERY:,} are read")
    held = cutoff_of(query, cutoff, today or datetime.now(UTC).date())
    bindings = bind(query)
    asked = obligations(bindings)
    own = signature_of(query, bindings).text
    if not asked:
        raise UsageError("the query asks for nothing: no metric and no question was found", hint="A rubric needs something to be answered.")
    if len(asked) > MAX_OBLIGATIONS:
        raise UsageError(f"the query asks for {len(asked)} things; at most {MAX_OBLIGATIONS} fit into one rubric", hint="Split it.")
    return {
        "schema": "context/1",
        "query": query,
        "offsets": "code points, half-open, into query exactly as received",
        "signature": own,
        "bindings": bindings,
        "obligations": [{"id": a.id, "what": a.what, "spans": list(a.spans), "offset": a.offset} for a in asked],
        "forecast": bool(_FORECAST.search(query)),
        "cutoff": {
            "date": held.date.isoformat(),
            "inclusive": True,
            "written_by": "code",
            "phrase_in_query": held.phrase,
            **({"agrees": held.agrees} if held.agrees is not None else {}),
        },
        "bank": matched(own, bank),
        "retrieval_calls_before_this": 0,
    }


def context_digest(context: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(context, sort_keys=True, ensure_ascii=False, separators=(",", ":")).encode()).hexdigest()


def asked_of(context: Mapping[str, Any]) -> list[Asked]:
    """The obligations of a stored context."""
    return [Asked(str(o["id"]), str(o["what"]), tuple(o["spans"]), int(o["offset"])) for o in context["obligations"]]


def obligations(bindings: Mapping[str, list[dict[str, Any]]]) -> list[Asked]:
    """One deliverable and one metric each, or one thing to be explained or judged, or one artefact, in order of place.

    Periods and entities do not split; a metric that is named twice, or stands inside what is to be explained, is one.
    """
    telling = [b for b in bindings["deliverables"] if b["type"] == "explain"]
    found: list[tuple[int, str, list[str]]] = []
    seen: dict[str, list[str]] = {}
    for metric in bindings["metrics"]:
        if any(t["start"] <= metric["start"] < t["end"] for t in telling):
            continue
        if metric["canonical"] in seen:
            seen[metric["canonical"]].append(metric["id"])
            continue
        spans = [metric["id"]]
        seen[metric["canonical"]] = spans
        found.append((metric["start"], metric["span"], spans))
    found += [(t["start"], t["span"], [t["id"]]) for t in telling]
    found += [(b["start"], b["span"], [b["id"]]) for b in bindings["deliverables"] if b["type"] == "artefact"]
    if not found:
        found = [(b["start"], b["span"], [b["id"]]) for b in bindings["deliverables"] if b["type"] == "figure"]
    return [Asked(f"O{n}", what, tuple(spans), start) for n, (start, what, spans) in enumerate(sorted(found), start=1)]


def matched(own: str, bank: Mapping[str, Any] | None) -> dict[str, Any]:
    """The bank's task whose signature is the query's own, if it is the only one; else none, with the reason."""
    if bank is None:
        return {"match": None, "reason": "no bank was given; principles alone"}
    if "{other}" in own:
        return {
            "match": None,
            "reason": "part of the query is about nothing that the vocabulary names, so no fit is complete",
            "bank": bank.get("digest", ""),
        }
    candidates = [str(task["id"]) for task in bank.get("tasks", ()) if isinstance(task, Mapping) and task.get("signature") == own]
    if len(candidates) != 1:
        return {
            "match": None,
            "reason": f"{len(candidates)} tasks of the bank fit; a match is complete and unique",
            "bank": bank.get("digest", ""),
        }
    return {"match": candidates[0], "candidates": candidates, "unplaced": [], "bank": bank.get("digest", "")}
