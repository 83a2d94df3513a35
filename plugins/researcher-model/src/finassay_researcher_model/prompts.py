"""What a role is asked, in words. Of everything that others wrote it stands between marks."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from finassay.api.errors import FinassayError
from finassay.api.research import Assignment, Desk, Question
from finassay_researcher_model.drafting import arrays
from finassay_researcher_model.fence import block, flat
from finassay_researcher_model.toolbox import Toolbox
from finassay_rubrics.metrics.table import table

MAX_LINES: Final = 60
MAX_DRAFT: Final = 40_000
HEADS: Final = {
    "query": "THE QUERY",
    "cutoff": "CUTOFF: {cutoff}, inclusive. What was published later is not there.",
    "obligation": "YOUR OBLIGATION: {id}: {what}",
    "bindings": "BINDINGS: what the query names, verbatim. The obligation stands on {own}.",
    "metrics": "METRICS by id, for the field `metric`:",
    "conventions": "CONVENTIONS that are known for the metrics named (topic: route: meaning):",
    "accepted": "ACCEPTED ROUTES of the institution, its own first; no other route of these topics:",
    "bank": "CRITERIA that are usual for this kind of task; use what fits, with values where they are asked:",
    "principles": "PRINCIPLES, by id:",
    "guidance": "GUIDANCE",
    "returned": "YOUR LAST DRAFT CAME BACK, for these reasons. Mend what they are about, and hand in everything again:",
    "draft": "YOUR LAST DRAFT:",
    "documents": "ITS DOCUMENTS:",
    "question": "THE QUESTION",
    "definition": "AS THE QUERY DEFINES IT",
    "only": "ONLY these documents may be used, whatever else is there: {documents}",
    "fact": "{what}: {told}",
}


def words() -> list[str]:
    """The fixed words, for the digest."""
    return list(HEADS.values())


def _head(name: str, **values: Any) -> str:
    return HEADS[name].format(**values)


def _list(name: str, lines: Sequence[str]) -> list[str]:
    return [_head(name), *(f"- {flat(line, 800)}" for line in lines[:MAX_LINES]), ""] if lines else []


def writing(assignment: Assignment, tools: Toolbox) -> str:
    """The obligation, and everything that a writer may know."""
    parts = [_head("query"), block("query", str(assignment.context.get("query", ""))), ""]
    parts += [_head("cutoff", cutoff=tools.desk.cutoff), _head("obligation", id=assignment.obligation, what=flat(assignment.what, 600)), ""]
    bound = [_binding(name, one) for name, one in arrays(assignment)]
    if bound:
        parts += [_head("bindings", own=", ".join(assignment.bindings) or "all of them"), block("bindings", "\n".join(bound)), ""]
    parts += [_head("metrics"), ", ".join(table().metrics), ""]
    parts += _list("conventions", _known(assignment))
    parts += _list("accepted", [f"{topic}: {', '.join(routes)}" for topic, routes in assignment.conventions.items()])
    parts += _list("bank", assignment.criteria)
    parts += _list("principles", assignment.principles)
    if assignment.instructions.strip():
        parts += [_head("guidance"), assignment.instructions.strip()[:8_000], ""]
    parts += _list("returned", assignment.returned)
    if assignment.draft:
        parts += [_head("draft"), block("draft", json.dumps(_short(assignment.draft, tools), ensure_ascii=False, indent=1)[:MAX_DRAFT]), ""]
        if tools.items:
            parts += [_head("documents"), tools.listed(tuple(tools.items.values())), ""]
    return "\n".join(parts).strip()


def _binding(array: str, one: Mapping[str, Any]) -> str:
    canonical = f" ({one['canonical']})" if one.get("canonical") and one.get("canonical") != one.get("span") else ""
    return f"{one.get('id', '')} {array}: {flat(str(one.get('span', '')), 400)}{canonical}"


def _known(assignment: Assignment) -> list[str]:
    named = {str(one.get("canonical", "")) for name, one in arrays(assignment) if name == "metrics"}
    found = {
        f"{route.topic}: {route.route}: {route.convention}"
        for metric in table().metrics.values()
        if metric.id in named
        for route in metric.routes
    }
    return sorted(found)


def _short(draft: Mapping[str, Any], tools: Toolbox) -> list[dict[str, Any]]:
    """A stored draft as far as it is needed to mend it, its documents by handles."""
    return [_short_criterion(one, tools) for one in _items(draft.get("criteria"))]


def _short_criterion(one: Mapping[str, Any], tools: Toolbox) -> dict[str, Any]:
    kept = {
        name: one.get(name)
        for name in ("id", "text", "kind", "principles", "bindings", "must_pass", "depends_on", "reason")
        if one.get(name)
    }
    question = one.get("question")
    if isinstance(question, Mapping):
        kept |= {"question": question.get("text"), "metric": question.get("metric")}
    kept["routes"] = [_short_route(route, tools) for route in _items(one.get("routes"))]
    return kept


def _short_route(route: Mapping[str, Any], tools: Toolbox) -> dict[str, Any]:
    found = route.get("derivation")
    derivation = found if isinstance(found, Mapping) else {}
    script = derivation.get("script")
    quotes = [
        {"document": _handle(q, tools), "page": q.get("page"), "text": str(q.get("text", ""))[:600]}
        for q in _items(derivation.get("quotes"))
    ]
    inputs = [{n: i.get(n) for n in ("name", "shown", "quote", "scale")} for i in _items(derivation.get("inputs"))]
    for one in inputs:
        one["quote"] = one["quote"] + 1 if isinstance(one["quote"], int) else one["quote"]
    kept = {name: route.get(name) for name in ("topic", "route", "convention")}
    kept |= {name: derivation.get(name) for name in ("value", "unit", "reason") if derivation.get(name)}
    return {**kept, "quotes": quotes, "inputs": inputs, "code": script.get("code") if isinstance(script, Mapping) else ""}


def _handle(quote: Mapping[str, Any], tools: Toolbox) -> str:
    try:
        return tools.handle(tools.desk.open(str(quote.get("source", "")), str(quote.get("reference", ""))).item)
    except FinassayError as error:
        if error.retry:
            raise
        return ""


def _items(value: Any) -> list[Mapping[str, Any]]:
    return [one for one in value if isinstance(one, Mapping)] if isinstance(value, list | tuple) else []


def deriving(question: Question, desk: Desk) -> str:
    """The question, and nothing else."""
    facts = {
        "whose": question.entity,
        "period": question.period.asked if question.period else "",
        "end of the period": str(question.period.end or "") if question.period else "",
        "metric": _metric(question.metric),
        "convention": " ".join(filter(None, (question.convention, question.convention_text))),
        "unit": question.unit,
        "decimals": "" if question.decimals is None else str(question.decimals),
    }
    parts = [_head("question"), block("question", question.text), ""]
    if question.definition.strip():
        parts += [_head("definition"), block("definition", question.definition), ""]
    parts += [_head("fact", what=what, told=flat(told, 500)) for what, told in facts.items() if told.strip()]
    parts += [_head("cutoff", cutoff=desk.cutoff), ""]
    if question.documents:
        parts += [_head("only", documents=", ".join(flat(one) for one in question.documents[:MAX_LINES])), ""]
    if question.instructions.strip():
        parts += [_head("guidance"), question.instructions.strip()[:8_000]]
    return "\n".join(parts).strip()


def _metric(name: str) -> str:
    found = table().metrics.get(name)
    return f"{name} ({found.names[0]}, {found.unit.replace('_', ' ')})" if found is not None else name
