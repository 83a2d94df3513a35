"""A query to its context: bindings, signature, obligations, cutoff, the bank's task if exactly one fits."""

import hashlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any, Final

from finassay.api.errors import UsageError
from finassay.api.guidance import Rule, Stage
from finassay_rubrics.bank.asking import Bindings
from finassay_rubrics.bank.vocabulary import vocabulary
from finassay_rubrics.budget import MAX_OBLIGATIONS, Asked
from finassay_rubrics.context.cutoff import Cutoff, cutoff_of
from finassay_rubrics.context.reading import Contextualizer, Reading, RuleContextualizer
from finassay_rubrics.validate.rules import RULES, violations

MAX_QUERY: Final = 20_000
STAGES: Final[tuple[Stage, ...]] = ("signature", "context")
"""Stages whose rules a context is held to."""
FIGURES: Final = frozenset(
    ("report", "compute", "compute_change", "compute_growth", "compute_average", "compute_share", "count", "table", "chart")
)
"""Kinds of deliverables that are answered by figures alone."""
MAX_BYTES: Final = 64 * 2**20
_FORECAST: Final = re.compile(
    r"\b(forecast|project(?:ed|ion)?|expect(?:ed|ation)? (?:to|for)|will be|next (?:year|quarter)|outlook|price target)\b", re.IGNORECASE
)


def contextualize(
    query: str,
    cutoff: date,
    *,
    today: date | None = None,
    bank: Mapping[str, Any] | None = None,
    contextualizer: Contextualizer | None = None,
    rules: Sequence[Rule] = RULES,
) -> dict[str, Any]:
    """The context of a query, read by rule or by a `contextualizer` whose readings are held to `rules`. Nothing is looked up.

    Raises `UsageError` for an empty query, a cutoff that does not hold, or nothing asked; and what a contextualizer raises.
    """
    if not query.strip():
        raise UsageError("the query is empty", hint="Name a file with the query, or give it as an argument.")
    if len(query) > MAX_QUERY:
        raise UsageError(f"the query has {len(query):,} characters; at most {MAX_QUERY:,} are read")
    if not _is_text(query):
        raise UsageError("the query is no text in UTF-8")
    held = cutoff_of(query, cutoff, today or datetime.now(UTC).date())

    def wrong(reading: Reading) -> list[str]:
        made = _context(query, reading, held, bank)
        found = [v for stage in STAGES for v in violations(made, stage, rules)]
        return [f"rule {v.rule}: {v.place}: {v.reason}" for v in found if v.place != "rule"]  # a broken rule is not the reader's fault

    reading = (contextualizer or RuleContextualizer()).read(query, wrong)
    if not reading.obligations:
        raise UsageError("the query asks for nothing: no metric and no question was found", hint="A rubric needs something to be answered.")
    if len(reading.obligations) > MAX_OBLIGATIONS:
        count = len(reading.obligations)
        raise UsageError(f"the query asks for {count} things; at most {MAX_OBLIGATIONS} fit into one rubric", hint="Split it.")
    return _context(query, reading, held, bank)


def _is_text(query: str) -> bool:
    try:
        query.encode("utf-8")
    except UnicodeEncodeError:  # half of a character, or bytes of an argument that are none
        return False
    return True


def _context(query: str, reading: Reading, held: Cutoff, bank: Mapping[str, Any] | None) -> dict[str, Any]:
    """What stands in `context.json`. The cutoff is written here, by code, whoever read the query."""
    return {
        "schema": "context/1",
        "query": query,
        "offsets": "code points, half-open, into query exactly as received",
        "signature": reading.signature,
        "bindings": reading.bindings,
        "obligations": [{"id": a.id, "what": a.what, "spans": list(a.spans), "offset": a.offset} for a in reading.obligations],
        "forecast": bool(_FORECAST.search(query)),
        "cutoff": {
            "date": held.date.isoformat(),
            "inclusive": True,
            "written_by": "code",
            "phrase_in_query": held.phrase,
            **({"agrees": held.agrees} if held.agrees is not None else {}),
        },
        "bank": matched(reading.signature, bank, reading.bindings),
        "retrieval_calls_before_this": 0,
        **({"contextualizer": dict(reading.by)} if reading.by else {}),
    }


def context_digest(context: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(context, sort_keys=True, ensure_ascii=False, separators=(",", ":")).encode()).hexdigest()


def context_for(
    folder: Path, query: str, cutoff: date, bank: Mapping[str, Any] | None, contextualizer: Contextualizer | None, rules: Sequence[Rule]
) -> dict[str, Any]:
    """The context of a rubric that is made in `folder`: one that goes on keeps its own, since a model might read the query differently today.

    Raises as `contextualize`. That the kept one was not changed meanwhile is seen by its digest when the folder is claimed.
    """
    kept = _kept(folder / "context.json", query, cutoff, bank, contextualizer) if contextualizer else None
    return kept or contextualize(query, cutoff, bank=bank, contextualizer=contextualizer, rules=rules)


def _kept(path: Path, query: str, cutoff: date, bank: Mapping[str, Any] | None, contextualizer: Contextualizer) -> dict[str, Any] | None:
    """The context that stands there, if the same was asked of the same reader."""
    try:
        found = json.loads(path.read_text("utf-8")) if path.stat().st_size <= MAX_BYTES else None
    except (OSError, ValueError, RecursionError):
        return None
    if not isinstance(found, dict):
        return None
    by, own, old = found.get("contextualizer"), found.get("cutoff"), found.get("bank")
    same_reader = isinstance(by, Mapping) and all(by.get(name) == value for name, value in contextualizer.identity.items())
    same_day = isinstance(own, Mapping) and own.get("date") == cutoff.isoformat()
    same_bank = isinstance(old, Mapping) and old.get("bank", "") == (bank or {}).get("digest", "")
    return found if same_reader and same_day and same_bank and found.get("query") == query else None


def asked_of(context: Mapping[str, Any]) -> list[Asked]:
    """The obligations of a stored context."""
    return [Asked(str(o["id"]), str(o["what"]), tuple(o["spans"]), int(o["offset"])) for o in context["obligations"]]


def matched(own: str, bank: Mapping[str, Any] | None, bindings: Bindings | None = None) -> dict[str, Any]:
    """The bank's task whose signature is the query's own, if it is the only one and has a place for each of the bindings; else none, and why."""
    if bank is None:
        return {"match": None, "reason": "no bank was given; principles alone"}
    digest = bank.get("digest", "")
    if "{other}" in own:
        reason = "part of the query is about nothing that the vocabulary names, so no fit is complete"
        return {"match": None, "reason": reason, "bank": digest}
    fitting = [task for task in bank.get("tasks", ()) if isinstance(task, Mapping) and task.get("signature") == own]
    if len(fitting) != 1:
        built = bank.get("built")
        other = isinstance(built, Mapping) and built.get("vocabulary") != vocabulary().digest
        more = "; it was built with another vocabulary of signatures, so build it again" if other else ""
        return {"match": None, "reason": f"{len(fitting)} tasks of the bank fit; a match is complete and unique{more}", "bank": digest}
    unplaced = _unplaced(own, fitting[0], bindings or {})
    if unplaced:
        reason = f"task {fitting[0]['id']} has no place for {', '.join(unplaced[:5])}; a match is complete and unique"
        return {"match": None, "reason": reason, "unplaced": unplaced, "bank": digest}
    id = str(fitting[0]["id"])
    return {"match": id, "candidates": [id], "unplaced": [], "bank": digest}


def _unplaced(signature: str, task: Mapping[str, Any], bindings: Bindings) -> list[str]:
    """Ids of bindings that a task of this signature says nothing about."""
    metrics, kinds = task.get("metrics") or (), set(task.get("deliverables") or ())
    holds: dict[str, Callable[[Mapping[str, Any]], bool]] = {
        "metrics": lambda b: b.get("canonical") in metrics or str(b.get("canonical", "")).startswith("other"),
        "deliverables": lambda b: _placed(b, kinds),
        "populations": lambda b: "population" in signature,
        "assumptions": lambda b: "stated assumption" in signature or "own definition" in signature,
        "output_constraints": lambda b: "with a stated" in signature,
        "entities": lambda b: "no named issuer" not in signature,
        "periods": lambda b: "no stated period" not in signature or b["span"].lower().startswith(("both", "each", "those", "the ")),
    }
    return [str(b["id"]) for array, fits in holds.items() for b in bindings.get(array, ()) if not fits(b)]


def _placed(deliverable: Mapping[str, Any], kinds: set[str]) -> bool:
    """Whether one of a task's kinds answers to a deliverable: an explanation is no figure, a table is no list."""
    if deliverable.get("type") == "explain":
        return bool(kinds - FIGURES)
    if deliverable.get("type") == "artefact":
        told = str(deliverable["span"]).lower()
        wanted = (
            {"table", "list_items"}
            if re.search(r"table|spreadsheet|list", told)
            else {"chart"}
            if re.search("chart|graph", told)
            else kinds
        )
        return bool(kinds & wanted)
    return True
