"""Points: 100 of them, split by code before any research, moved afterwards only within bounds and for a stated reason.

Everything is counted in cents (hundredths of a point), so that sums are exact.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any, Final

from attrs import frozen

from finassay.api.guidance import Violation
from finassay_rubrics.record.rubric import Criterion, Move, Obligation

CENTS: Final = 10_000
MAX_OBLIGATIONS: Final = 20
MAX_MOVED: Final = Decimal(30)
"""Points that composition may move in all."""
MIN_POINTS: Final = Decimal(2)
"""What every obligation keeps."""
MAX_TIMES: Final = 3
"""How many times its frozen points an obligation may come to."""
MAX_OUT: Final = 2
"""Moves out of one obligation."""


@frozen
class Asked:
    """An obligation before it has points: what is asked, and the bindings that it stands on with the offsets of their first spans."""

    id: str
    what: str
    spans: tuple[str, ...]
    offset: int
    """Of its first span in the query, in code points."""


def split(cents: int, offsets: Sequence[int]) -> list[int]:
    """Equal parts of `cents`, one for each offset; what remains goes one cent each to the first in order of offset, then of place.

    Raises `ValueError` for no parts.
    """
    if not offsets:
        raise ValueError("nothing to split points over")
    share, rest = divmod(cents, len(offsets))
    first = set(sorted(range(len(offsets)), key=lambda i: (offsets[i], i))[:rest])
    return [share + (i in first) for i in range(len(offsets))]


def freeze(asked: Sequence[Asked]) -> tuple[Obligation, ...]:
    """100 points split equally over what is asked. Raises `ValueError` unless there are 1 to 20."""
    if not 1 <= len(asked) <= MAX_OBLIGATIONS:
        raise ValueError(f"{len(asked)} obligations; expected 1 to {MAX_OBLIGATIONS}")
    cents = split(CENTS, [one.offset for one in asked])
    return tuple(
        Obligation(id=one.id, what=one.what, spans=one.spans, frozen=points(c), points=points(c))
        for one, c in zip(asked, cents, strict=True)
    )


def points(cents: int) -> Decimal:
    return Decimal(cents).scaleb(-2)


def cents_of(value: Decimal) -> int:
    """Raises `ValueError` for a fraction of a cent."""
    cents = value * 100
    if cents != cents.to_integral_value():
        raise ValueError(f"{value} is no whole number of cents")
    return int(cents)


def budget_digest(query: str, context_digest: str, obligations: Sequence[Obligation]) -> str:
    """What is digested before the first tool call: the query, its context and the frozen split."""
    frozen = [{"id": o.id, "what": o.what, "spans": list(o.spans), "points": f"{o.frozen:f}"} for o in obligations]
    data = {"query": query, "context": context_digest, "obligations": frozen}
    return hashlib.sha256(json.dumps(data, sort_keys=True, ensure_ascii=False, separators=(",", ":")).encode()).hexdigest()


def move_violations(obligations: Sequence[Obligation], moves: Sequence[Move]) -> tuple[Violation, ...]:
    """What is wrong with a composition: unknown obligations, no ground, too much moved, an obligation too small or too large."""
    found = [v for number, move in enumerate(moves) for v in _one_move(number, move, {o.id for o in obligations})]
    moved = sum((m.points for m in moves), Decimal(0))
    if moved > MAX_MOVED:
        found.append(Violation("R07", "moves", f"{moved} points are moved; at most {MAX_MOVED} may be"))
    for one in obligations:
        out = [m for m in moves if m.source == one.id]
        final = one.frozen - sum((m.points for m in out), Decimal(0)) + sum((m.points for m in moves if m.target == one.id), Decimal(0))
        if len(out) > MAX_OUT:
            found.append(Violation("R07", f"obligation {one.id}", f"{len(out)} moves out of it; at most {MAX_OUT} may be"))
        if out and final < MIN_POINTS:
            found.append(Violation("R07", f"obligation {one.id}", f"{final} points are left; it keeps at least {MIN_POINTS}"))
        if final > MAX_TIMES * one.frozen:
            found.append(Violation("R07", f"obligation {one.id}", f"comes to {final}, more than {MAX_TIMES} times its frozen {one.frozen}"))
    return tuple(found)


def _one_move(number: int, move: Move, known: set[str]) -> list[Violation]:
    place = f"move {number + 1}"
    found = [Violation("R07", place, f"there is no obligation {name!r}") for name in (move.source, move.target) if name not in known]
    if move.source == move.target:
        found.append(Violation("R07", place, "moves points from an obligation to itself"))
    if move.points * 100 != (move.points * 100).to_integral_value():
        found.append(Violation("R07", place, f"{move.points} is no whole number of cents"))
    if not move.reason.strip():
        found.append(Violation("R07", place, "gives no reason"))
    if not move.ground:
        found.append(Violation("R07", place, "names no ground: parts, difficulty, formality, overlap or unresolved"))
    return found


def moved(obligations: Sequence[Obligation], moves: Sequence[Move]) -> tuple[Obligation, ...]:
    """The obligations with their final points: the frozen ones and what was moved."""
    change: dict[str, Decimal] = {}
    for move in moves:
        change[move.source] = change.get(move.source, Decimal(0)) - move.points
        change[move.target] = change.get(move.target, Decimal(0)) + move.points
    return tuple(o.model_copy(update={"points": o.frozen + change.get(o.id, Decimal(0))}) for o in obligations)


def shared_out(
    obligations: Sequence[Obligation], criteria: Sequence[Criterion], shares: Mapping[str, Decimal] | None = None
) -> tuple[tuple[Obligation, ...], tuple[Criterion, ...]]:
    """Criteria with the points of their obligation: equal parts over those that are grounded, positive and not optional.

    Remaining cents go one each in order of place. `shares` may state other points for criteria; they must sum to their obligation's.
    An obligation in which nothing can be graded is marked so, and its points stand on no criterion. Raises `ValueError` for wrong shares.
    """
    given: dict[str, Decimal] = {}
    for one in obligations:
        bearing = [c for c in criteria if c.obligation_id == one.id and bears_points(c)]
        if not bearing:
            continue
        stated = {c.id: shares[c.id] for c in bearing if shares and c.id in shares}
        if stated:
            if len(stated) < len(bearing) or sum(stated.values()) != one.points:
                raise ValueError(f"the shares stated in obligation {one.id} do not sum to its {one.points}")
            given.update(stated)
        else:
            parts = split(cents_of(one.points), [0] * len(bearing))
            given.update({c.id: points(part) for c, part in zip(bearing, parts, strict=True)})
    graded = {c.obligation_id for c in criteria if c.id in given}
    return (
        tuple(o.model_copy(update={"graded": o.id in graded}) for o in obligations),
        tuple(c.model_copy(update={"points": given.get(c.id, Decimal(0))}) for c in criteria),
    )


def bears_points(criterion: Criterion) -> bool:
    """Whether a criterion can earn anything: prohibited, optional and unresolved ones cannot."""
    return (
        criterion.kind != "prohibited" and criterion.polarity == "positive" and not criterion.optional and criterion.status != "unresolved"
    )


def frozen_record(query: str, context_digest: str, obligations: Sequence[Obligation]) -> dict[str, Any]:
    """What `budget.json` holds."""
    return {
        "schema": "budget/1",
        "query_sha256": hashlib.sha256(query.encode()).hexdigest(),
        "context_sha256": context_digest,
        "rule": "10,000 cents divided by the number of obligations; the remaining cents go one each in order of first offset in the query",
        "obligations": [{"id": o.id, "what": o.what, "spans": list(o.spans), "points": f"{o.frozen:f}"} for o in obligations],
        "sum": f"{sum((o.frozen for o in obligations), Decimal(0)):f}",
        "digest": budget_digest(query, context_digest, obligations),
    }
