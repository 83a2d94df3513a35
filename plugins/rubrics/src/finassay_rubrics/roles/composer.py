"""The composer that is a chat model: it proposes moves of points, `finassay_rubrics.budget` says which may stand."""

from collections.abc import Mapping, Sequence
from decimal import Decimal, InvalidOperation
from typing import Any, Final, get_args

from attrs import frozen

from finassay.api.guidance import Guidance
from finassay.api.model import ChatModel
from finassay.api.verdict import Json
from finassay_rubrics.budget import MAX_MOVED, MAX_OUT, MAX_TIMES, MIN_POINTS, bears_points, move_violations
from finassay_rubrics.generate.compose import Composition, Ground
from finassay_rubrics.record.rubric import Criterion, Move, Obligation
from finassay_rubrics.roles.fence import Fence
from finassay_rubrics.roles.proposing import Ask, as_text, closed, line, many, one_of, prompt, prompt_digest

ROLE: Final = "composer"
BOUNDS: Final = (
    f"At most {MAX_MOVED} points are moved in all, at most {MAX_OUT} moves go out of one obligation, an obligation that gives keeps at least"
    f" {MIN_POINTS}, and none comes to more than {MAX_TIMES} times its frozen points."
)
_TEXT: Final = {"type": "string"}
SCHEMA: Final = closed(
    moves=many(closed(**{"from": _TEXT, "to": _TEXT, "points": {"type": "number"}, "ground": one_of(get_args(Ground)), "reason": _TEXT}))
)


@frozen
class ModelComposer:
    """Implements `finassay_rubrics.generate.compose.Composer`. It sees criteria, without what is expected."""

    model: ChatModel
    guidance: Guidance

    @property
    def id(self) -> str:
        return self.model.id

    @property
    def identity(self) -> Mapping[str, Json]:
        return {"id": self.model.id, "family": self.model.family, "prompt_sha256": prompt_digest(ROLE, SCHEMA, self._own, BOUNDS)}

    @property
    def _own(self) -> str:
        return self.guidance.instructions.get(ROLE, "")

    def shown(self, obligations: Sequence[Obligation], criteria: Sequence[Criterion]) -> dict[str, Any]:
        return {"obligations": [_shown(o, [c for c in criteria if c.obligation_id == o.id]) for o in obligations]}

    def compose(self, obligations: Sequence[Obligation], criteria: Sequence[Criterion]) -> Composition:
        text = as_text(self.shown(obligations, criteria))
        user = f"The obligations:\n\n{Fence.around(text).block('rubric', text)}"
        system = "\n\n".join(filter(None, (prompt(ROLE), BOUNDS, self._own)))

        def looked_at(value: Mapping[str, Any]) -> tuple[tuple[Move, ...] | None, list[str]]:
            moves, problems = _moves(value["moves"], obligations, criteria)
            return (None, problems) if problems else (moves, [])

        found = Ask(system, user, SCHEMA, looked_at, ROLE, "points", "composition").put(self.model)
        failed = "" if found.held else f"{self.id} proposed nothing that holds in {len(found.returned)} tries: {found.last}"
        return Composition(found.value or (), found.returned, failed)


def _shown(obligation: Obligation, criteria: Sequence[Criterion]) -> dict[str, Any]:
    return {
        "id": obligation.id,
        "what": obligation.what,
        "points": f"{obligation.frozen:f}",
        "can be graded": any(bears_points(c) for c in criteria),
        "criteria": [_criterion(c) for c in criteria],
    }


def _criterion(criterion: Criterion) -> dict[str, Any]:
    """A criterion without its values: what it asks, and how much it takes."""
    inputs = max((len(e.inputs) for r in criterion.expected for e in r.evidence), default=0)
    return {
        "id": criterion.id,
        "text": criterion.text,
        "kind": criterion.kind,
        "status": criterion.status,
        "must pass": criterion.gate == "must_pass",
        "routes": len(criterion.expected),
        "inputs": inputs,
        "depends on": list(criterion.depends_on),
    }


def _moves(
    said: Sequence[Mapping[str, Any]], obligations: Sequence[Obligation], criteria: Sequence[Criterion]
) -> tuple[tuple[Move, ...], list[str]]:
    """The moves, and what is wrong with them: form first, then the bounds."""
    graded = {c.obligation_id for c in criteria if bears_points(c)}
    moves: list[Move] = []
    problems: list[str] = []
    for number, one in enumerate(said[: 2 * len(obligations) * MAX_OUT], start=1):
        share, reason = _points(one["points"]), line(one["reason"])
        if share is None or share <= 0:
            problems.append(f"move {number}: {str(one['points'])[:40]} is no number of points above 0")
        elif not reason:
            problems.append(f"move {number}: gives no reason")
        elif one["to"] not in graded and any(o.id == one["to"] for o in obligations):
            problems.append(f"move {number}: nothing in {one['to']} can be graded, so it takes no points")
        else:
            source, target = line(one["from"], 40), line(one["to"], 40)
            moves.append(Move.model_validate({"from": source, "to": target, "points": share, "ground": one["ground"], "reason": reason}))
    problems += [f"{v.place}: {v.reason}" for v in move_violations(obligations, moves)]
    return tuple(moves), problems


def _points(value: Any) -> Decimal | None:
    try:
        number = Decimal(str(value))
    except InvalidOperation:
        return None
    return number if number.is_finite() and abs(number) <= 100 else None
