"""Composition: points moved between obligations after research, by rule, few and each for a ground. It sees criteria without their values."""

from collections.abc import Sequence
from decimal import Decimal
from typing import Final

from finassay_rubrics.budget import MAX_MOVED, MAX_TIMES, MIN_POINTS, bears_points, cents_of, move_violations, points
from finassay_rubrics.record.rubric import Criterion, Move, Obligation

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
