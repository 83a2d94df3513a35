"""The global reviewer that is a chat model: it looks at a whole rubric with the principles and the gates, and says what to mend."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Final

from attrs import frozen

from finassay.api.guidance import Guidance
from finassay.api.model import ChatModel
from finassay.api.verdict import Json
from finassay_rubrics.generate.looks import KINDS, Finding, Look
from finassay_rubrics.record.rubric import Criterion, Rubric
from finassay_rubrics.roles.fence import Fence
from finassay_rubrics.roles.proposing import Ask, as_text, closed, line, many, one_of, prompt, prompt_digest

ROLE: Final = "global-reviewer"
MAX_FINDINGS: Final = 40
MISSING: Final = ("missing", "missing principle")
"""Kinds that name an obligation; the others name a criterion."""
PAIRS: Final = ("redundancy", "double counting", "contradiction")
"""Kinds that are between criteria."""
_TEXT: Final = {"type": "string"}
SCHEMA: Final = closed(
    findings=many(closed(kind=one_of(KINDS), obligation=_TEXT, criterion=_TEXT, others=many(_TEXT), principle=_TEXT, reason=_TEXT))
)


@frozen
class ModelGlobalReviewer:
    """Implements `finassay_rubrics.generate.looks.GlobalReviewer`."""

    takes_models: ClassVar[bool] = True
    model: ChatModel
    guidance: Guidance

    @property
    def id(self) -> str:
        return self.model.id

    @property
    def family(self) -> str:
        return self.model.family

    @property
    def identity(self) -> Mapping[str, Json]:
        return {"id": self.model.id, "family": self.model.family, "prompt_sha256": prompt_digest(ROLE, SCHEMA, self._own)}

    @property
    def _own(self) -> str:
        return self.guidance.instructions.get(ROLE, "")

    def shown(self, rubric: Rubric) -> dict[str, Any]:
        return {
            "query": rubric.query,
            "cutoff": rubric.cutoff.isoformat(),
            "principles": [f"{p.id} {p.title}: {p.statement}" for p in self.guidance.principles],
            "conventions": {t.id: list(t.routes) for t in rubric.topics},
            "obligations": [
                {"id": o.id, "what": o.what, "criteria": [_shown(c) for c in rubric.criteria if c.obligation_id == o.id]}
                for o in rubric.obligations
            ],
        }

    def look(self, rubric: Rubric) -> Look:
        seen = self.shown(rubric)
        query, text = rubric.query, as_text({name: seen[name] for name in ("cutoff", "conventions", "obligations")})
        fence = Fence.around(query, text)
        system = "\n\n".join(filter(None, (prompt(ROLE), self._own, "Principles:\n" + "\n".join(seen["principles"]))))
        user = f"The query:\n\n{fence.block('query', query)}\n\nThe rubric:\n\n{fence.block('rubric', text)}"
        known = frozenset(p.id for p in self.guidance.principles)

        def looked_at(value: Mapping[str, Any]) -> tuple[tuple[Finding, ...], list[str]]:
            return _findings(value["findings"], rubric, known)

        found = Ask(system, user, SCHEMA, looked_at, ROLE, "whole rubric", "whole").put(self.model)
        failed = ""
        if found.value is None:
            failed = f"the global reviewer {self.id} gave nothing that holds in {len(found.returned)} tries: {found.last}"
        return Look(found.value or (), found.returned, failed)


def _shown(criterion: Criterion) -> dict[str, Any]:
    """A criterion with what is expected, without points: composition comes later."""
    return {
        "id": criterion.id,
        "text": criterion.text,
        "kind": criterion.kind,
        "status": criterion.status,
        "principles": list(criterion.principles),
        "gate": criterion.gate,
        "depends on": list(criterion.depends_on),
        "expected": [
            {
                "route": f"{r.topic}:{r.route_id}" if r.topic else "",
                "value": str(r.value),
                "unit": r.unit,
                "scale": r.scale,
                "period": r.period,
            }
            for r in criterion.expected
        ],
        **({"why unresolved": criterion.reason} if criterion.status == "unresolved" else {}),
    }


def _findings(said: Sequence[Mapping[str, Any]], rubric: Rubric, principles: frozenset[str]) -> tuple[tuple[Finding, ...], list[str]]:
    """Findings that name what there is, and what is wrong with the others."""
    found: dict[tuple[str, str, str], Finding] = {}
    problems: list[str] = []
    if len(said) > MAX_FINDINGS:
        problems.append(f"{len(said)} findings; the first {MAX_FINDINGS} are read: give the most important ones")
    for number, one in enumerate(said[:MAX_FINDINGS], start=1):
        problem = _problem(one, rubric, principles)
        if problem:
            problems.append(f"finding {number}: {problem}")
            continue
        finding = _finding(one, rubric)
        found.setdefault((finding.kind, finding.obligation, finding.criterion), finding)
    return tuple(found.values()), problems


def _problem(one: Mapping[str, Any], rubric: Rubric, principles: frozenset[str]) -> str:
    ids, obligations = {c.id for c in rubric.criteria}, {o.id for o in rubric.obligations}
    if not line(one["reason"]):
        return "gives no reason"
    if one["kind"] in MISSING:
        if one["obligation"] not in obligations:
            return f"there is no obligation {line(one['obligation'], 40)!r}"
        if one["kind"] == "missing principle" and one["principle"] not in principles:
            return f"there is no principle {line(one['principle'], 40)!r}"
        return ""
    unknown = [name for name in (one["criterion"], *one["others"]) if name not in ids]
    if unknown:
        return f"there is no criterion {line(unknown[0], 40)!r}"
    if one["kind"] in PAIRS and not set(one["others"]) - {one["criterion"]}:
        return f"{one['kind']} is between criteria: name the others"
    return ""


def _finding(one: Mapping[str, Any], rubric: Rubric) -> Finding:
    reason = line(one["reason"], 600)
    if one["kind"] == "missing":
        return Finding(one["kind"], one["obligation"], "", reason)
    if one["kind"] == "missing principle":
        return Finding(one["kind"], one["obligation"], "", f"{one['principle']}: {reason}")
    others = [name for name in dict.fromkeys(one["others"]) if name != one["criterion"]]
    beside = f" (with {', '.join(others)})" if others else ""
    return Finding(one["kind"], rubric.criterion(one["criterion"]).obligation_id, one["criterion"], f"{reason}{beside}")
