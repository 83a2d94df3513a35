"""Composition: points moved between obligations after research, few and each for a ground. It sees criteria without their values.

`finassay_rubrics.budget` holds whoever composes to its bounds; here is the composer that needs no model.
"""

from collections.abc import Sequence
from decimal import Decimal
from typing import Any, ClassVar, Final, Literal, Protocol

from attrs import frozen

from finassay_rubrics.budget import MAX_MOVED, MAX_TIMES, MIN_POINTS, bears_points, cents_of, move_violations, points
from finassay_rubrics.record.rubric import Criterion, Move, Obligation

Ground = Literal["parts", "difficulty", "formality", "overlap", "unresolved"]
"""What a move may be made for."""


@frozen
class Composition:
    """Moves that keep the bounds, and how they came about."""

    moves: tuple[Move, ...]
    returned: tuple[tuple[str, ...], ...] = ()
    """What was wrong with proposals, a tuple for each that was sent back."""
    failed: str = ""
    """Why the frozen points stand, where no proposal held."""

    def data(self) -> dict[str, Any]:
        moves = [m.model_dump(mode="json", by_alias=True) for m in self.moves]
        return {"moves": moves, "returned": [list(one) for one in self.returned], "failed": self.failed}

    @classmethod
    def from_data(cls, data: dict[str, Any]) -> "Composition":
        """Raises `ValueError`, `KeyError`, `TypeError`."""
        moves = tuple(Move.model_validate(one) for one in data["moves"])
        return cls(moves, tuple(tuple(map(str, one)) for one in data["returned"]), str(data["failed"]))


class Composer(Protocol):
    """Moves points."""

    @property
    def id(self) -> str: ...

    def shown(self, obligations: Sequence[Obligation], criteria: Sequence[Criterion]) -> dict[str, Any]:
        """What it would be shown, as JSON data: the same is composed once."""
        ...

    def compose(self, obligations: Sequence[Obligation], criteria: Sequence[Criterion]) -> Composition:
        """Raises `ProviderError`, `BudgetError` where a model is asked."""
        ...


@frozen
class RuleComposer:
    """By rule, offline: see `composed`."""

    id: ClassVar[str] = "rules"

    def shown(self, obligations: Sequence[Obligation], criteria: Sequence[Criterion]) -> dict[str, Any]:
        return {}

    def compose(self, obligations: Sequence[Obligation], criteria: Sequence[Criterion]) -> Composition:
        return Composition(composed(obligations, criteria))


KEPT: Final = Decimal("0.5")
"""Share of its frozen points that an obligation of form alone keeps."""


def composed(obligations: Sequence[Obligation], criteria: Sequence[Criterion]) -> tuple[Move, ...]:
    """Half of what a mere form was given goes to what has to be computed or explained, at most two moves out of each obligation.

    What cannot be graded gets nothing. No move leaves the bounds of `finassay_rubrics.budget`; where there is nobody to give to, none is made.
    """
    bearing = {o.id: [c for c in criteria if c.obligation_id == o.id and bears_points(c)] for o in obligations}
    givers = [o for o in obligations if bearing[o.id] and all(c.kind == "format" for c in bearing[o.id])]
    takers = [o for o in obligations if any(_worked(c) for c in bearing[o.id])]
    takers.sort(key=lambda o: (-max(_worked(c) for c in bearing[o.id]), obligations.index(o)))
    moves: list[Move] = []
    left = cents_of(MAX_MOVED)
    for giver in givers:
        free = min(cents_of(giver.frozen) - max(cents_of(MIN_POINTS), int(cents_of(giver.frozen) * KEPT)), left)
        parts = [free - free // 2, free // 2] if len(takers) > 1 else [free]
        for taker, part in zip(takers, parts, strict=False):
            gained = sum((m.points for m in moves if m.target == taker.id), Decimal(0))
            part = min(part, cents_of((MAX_TIMES - 1) * taker.frozen - gained))
            if part > 0:
                reason = f"{giver.what!r} is form, which a program checks; {taker.what!r} takes work"
                moves.append(_move(giver.id, taker.id, points(part), reason[:400]))
                left -= part
    return tuple(moves) if not move_violations(obligations, moves) else ()


def _move(giver: str, taker: str, share: Decimal, reason: str) -> Move:
    return Move.model_validate({"from": giver, "to": taker, "points": share, "ground": "formality", "reason": reason})


def _worked(criterion: Criterion) -> int:
    """How much it takes to meet a criterion: numbers that a figure is computed from; a claim in words counts as two. 0 for what is copied."""
    if criterion.kind in ("format", "prohibited") or criterion.status != "grounded":
        return 0
    if criterion.kind != "numeric":
        return 2
    inputs = max((len(e.inputs) for r in criterion.expected for e in r.evidence), default=0)
    return inputs if inputs > 1 else 0
