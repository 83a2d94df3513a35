"""The queue's entries: everything that a person needs to decide an item, and how to say it."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from finassay_rubrics.generate.decisions import ENDING, WHOLE, Waiting
from finassay_rubrics.generate.work import Work
from finassay_rubrics.record.rubric import Obligation

MAX_TRIED: Final = 60
NAME: Final = "YOUR NAME"


def entry(work: Work, waiting: Waiting, obligations: Sequence[Obligation]) -> dict[str, Any]:
    """`queue/ITEM.json`: the item, why it waits, the query, what was tried, the candidates with their evidence, and how to decide."""
    owner = next((o for o in obligations if o.id in (waiting.item, _owner(waiting))), None)
    about: dict[str, Any] = {"query": str(work.context["query"]), "cutoff": str(work.context["cutoff"]["date"])}
    if owner is not None:
        about |= {"obligation": owner.what, "obligation_id": owner.id, "points": f"{owner.points:f}"}
    about |= {name: value for name, value in waiting.about.items() if name not in about}
    if owner is not None:
        about["tried"] = _tried(work, owner.id, waiting.item)
        about["drafts"] = f"drafts/{owner.id}/"
    return {"item": waiting.item, "why": list(waiting.why), **about, "decide": how(waiting.item, about)}


def _owner(waiting: Waiting) -> str:
    return next((str(c["obligation_id"]) for c in waiting.about.get("criteria", ()) if "obligation_id" in c), "")


def _tried(work: Work, obligation: str, item: str) -> list[dict[str, Any]]:
    """What came back, once each, of the whole obligation or of the criterion that waits; in order."""
    lines = [e for e in work.folder.lines("violations.jsonl") if e.get("obligation") == obligation]
    if item != obligation:
        lines = [e for e in lines if e.get("place") in ("", item)]
    told = [{name: e.get(name, "") for name in ("try", "rule", "place", "reason")} for e in lines]
    return [one for n, one in enumerate(told) if one not in told[:n]][:MAX_TRIED]


def how(item: str, about: Mapping[str, Any]) -> dict[str, Any]:
    """Where a decision goes, and one of each kind that this item may have, as its file would hold it."""
    file = f"queue/{item}{ENDING}"
    if item == WHOLE:
        return {"file": file, "examples": [{"decision": "accept", "by": NAME, "reason": "known, and none of it matters here"}]}
    criteria = [c for c in about.get("criteria", ()) if isinstance(c, dict)]
    routes = [r for c in criteria for r in c.get("expected", ())]
    examples: list[dict[str, Any]] = [{"decision": "accept", "by": NAME, "reason": "looked up"}] if routes or not criteria else []
    return {
        "file": file,
        "examples": [*examples, *_values(criteria, routes), {"decision": "drop", "by": NAME, "reason": "not what is asked"}],
    }


def _values(criteria: Sequence[Mapping[str, Any]], routes: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """A quoted and a computed value, in the unit and from the document of a candidate where there is one."""
    route: Mapping[str, Any] = routes[0] if routes else {}
    looks = [e for c in criteria for r in c.get("review", ()) for e in r.get("evidence", ())]
    evidence: Mapping[str, Any] = next((e for e in (*route.get("evidence", ()), *looks) if e.get("document")), {})
    document, quote = evidence.get("document") or "DOCUMENT", str(evidence.get("quote") or "the words as they stand there")[:120]
    where = {"document": document, **({"page": evidence["page"]} if evidence.get("page") else {})}
    if not routes and any(c.get("kind") not in ("numeric", "date") for c in criteria):
        worded = {"decision": "value", "by": NAME, "value": "what an answer must say", **where, "quote": quote}
        return [worded]
    period = {} if route.get("period") or any(c.get("period") for c in criteria) else {"period": "FY2023"}
    unit, scale = route.get("unit") or "USD", route.get("scale") or ""
    amount = {"unit": unit, **({"scale": scale} if scale else {}), **period}
    taken = {"shown": "283.1", "scale": "millions", **where, "quote": "the words that hold 283.1"}
    inputs = [{"name": "part", **taken}, {"name": "total", **taken, "shown": "2,248.3", "quote": "the words that hold 2,248.3"}]
    return [
        {"decision": "value", "by": NAME, "value": route.get("value", 283.1), **amount, **where, "quote": quote},
        {"decision": "value", "by": NAME, "unit": "percent", **period, "formula": "part / total * 100", "inputs": inputs},
    ]


__all__ = ["entry", "how"]
