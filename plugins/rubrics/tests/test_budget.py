"""Points are exact: split to the cent, moved within bounds, shared out inside obligations."""

import json
import os
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from finassay_rubrics.budget import CENTS, Asked, budget_digest, freeze, move_violations, moved, points, shared_out, split
from finassay_rubrics.record.reading import read_rubric
from finassay_rubrics.record.rubric import Criterion, Move

SHARED = Path(os.environ.get("FINASSAY_SHARED", Path(__file__).parents[4] / "shared"))
WORKED = sorted(p.parent for p in (SHARED / "cases" / "rubrics").glob("*/rubric.json"))
needs_cases = pytest.mark.skipif(not WORKED, reason="no worked rubrics: the shared folder is not beside the checkout (set FINASSAY_SHARED)")


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])  # a busy machine is no fault of the split
@given(st.lists(st.integers(0, 2_000), min_size=1, max_size=20))
def test_a_split_is_whole_and_even(offsets):
    parts = split(CENTS, offsets)
    assert sum(parts) == CENTS
    assert max(parts) - min(parts) <= 1
    richer = [offset for offset, part in zip(offsets, parts, strict=True) if part > min(parts)]
    if richer:
        assert max(richer) <= min([o for o, p in zip(offsets, parts, strict=True) if p == min(parts)], default=max(richer))


def asked(number):
    return [Asked(f"O{i}", f"part {i}", (f"MET{i}",), 100 - i) for i in range(number)]


def test_nothing_asked_and_too_much_asked_are_refused():
    for number in (0, 21):
        with pytest.raises(ValueError, match="expected 1 to 20"):
            freeze(asked(number))


@needs_cases
def test_the_worked_budgets_come_out():
    for folder in WORKED:
        budget = json.loads((folder / "budget.json").read_text())
        context = json.loads((folder / "context.json").read_text())
        starts = {b["id"]: b["start"] for array in context["bindings"].values() for b in array}
        wanted = [Asked(o["id"], o["what"], tuple(o["spans"]), min(starts[s] for s in o["spans"])) for o in budget["obligations"]]
        assert [f"{o.frozen:f}" for o in freeze(wanted)] == [f"{Decimal(o['points']):f}" for o in budget["obligations"]]


@needs_cases
def test_the_worked_compositions_come_out():
    for folder in WORKED:
        rubric = read_rubric(folder)
        start = tuple(o.model_copy(update={"points": o.frozen}) for o in rubric.obligations)
        assert [o.points for o in moved(start, rubric.moves)] == [o.points for o in rubric.obligations]
        grounds = [m.model_copy(update={"ground": "parts"}) for m in rubric.moves]
        assert move_violations(start, grounds) == ()
        assert shared_out(rubric.obligations, rubric.criteria)[1] == rubric.criteria


def move(source, target, amount, ground="parts"):
    return Move(**{"from": source, "to": target, "points": Decimal(amount), "ground": ground, "reason": "why"})


@pytest.mark.parametrize(
    ("moves", "said"),
    [
        ([move("O0", "O9", 1)], "no obligation 'O9'"),
        ([move("O0", "O0", 1)], "to itself"),
        ([move("O0", "O1", "0.005")], "no whole number of cents"),
        ([move("O0", "O1", 1, "")], "names no ground"),
        ([move("O0", "O1", 9)], "keeps at least 2"),
        ([move(f"O{i}", "O9x"[:2], 4) for i in range(8)], "at most 30 may be"),
        ([move("O0", "O1", 1)] * 3, "3 moves out of it"),
        ([move(f"O{i}", "O9", 7) for i in range(4)], "more than 3 times"),
    ],
)
def test_compositions_out_of_bounds_are_told(moves, said):
    start = freeze(asked(10))
    if "O9" in said:
        start = freeze(asked(9))
    assert said in "; ".join(v.reason for v in move_violations(start, moves))


def criterion(id, status="grounded", kind="numeric", optional=False):
    return Criterion(id=id, obligation_id="O0", text="t", kind=kind, status=status, optional=optional)


def test_the_points_of_what_cannot_be_resolved_go_to_its_siblings():
    (one,), shared = shared_out(freeze(asked(1)), [criterion("a"), criterion("b", "unresolved"), criterion("c"), criterion("d")])
    assert [c.points for c in shared] == [Decimal("33.34"), 0, Decimal("33.33"), Decimal("33.33")]
    assert one.graded
    (one,), shared = shared_out(
        freeze(asked(1)), [criterion("a", "unresolved"), criterion("b", kind="prohibited"), criterion("c", optional=True)]
    )
    assert not one.graded
    assert not sum(c.points for c in shared)


def test_shares_with_a_reason_must_fit():
    start = freeze(asked(1))
    shared = shared_out(start, [criterion("a"), criterion("b")], {"a": Decimal(70), "b": Decimal(30)})[1]
    assert [c.points for c in shared] == [70, 30]
    with pytest.raises(ValueError, match="do not sum"):
        shared_out(start, [criterion("a"), criterion("b")], {"a": Decimal(70), "b": Decimal(31)})


def test_the_digest_stands_on_query_context_and_split():
    start = freeze(asked(3))
    digests = {
        budget_digest("q", "c", start),
        budget_digest("q2", "c", start),
        budget_digest("q", "c2", start),
        budget_digest("q", "c", start[:2]),
    }
    assert len(digests) == 4
    assert points(1_112) == Decimal("11.12")
