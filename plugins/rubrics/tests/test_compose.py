"""Composition by rule: bounded, grounded, and none where there is nobody to give to."""

from decimal import Decimal

import pytest

from finassay_rubrics.budget import Asked, freeze, move_violations, moved
from finassay_rubrics.generate.compose import composed
from finassay_rubrics.record.rubric import BoundInput, Criterion, Evidence, Route


def obligations(count):
    return freeze([Asked(f"O{n}", f"thing {n}", ("MET1",), n) for n in range(1, count + 1)])


def figure(obligation, inputs):
    bound = tuple(BoundInput(name=f"x{n}", value=Decimal(n), shown=str(n), quote_sha256="") for n in range(inputs))
    route = Route(value=Decimal(1), evidence=(Evidence(kind="script", inputs=bound),))
    return Criterion(id=f"{obligation}.1", obligation_id=obligation, text="States it", kind="numeric", expected=(route,))


def form(obligation):
    return Criterion(id=f"{obligation}.1", obligation_id=obligation, text="One table", kind="format", status="not_applicable")


def open_one(obligation):
    return Criterion(id=f"{obligation}.1", obligation_id=obligation, text="Says why", kind="text", status="unresolved")


def test_form_gives_to_what_takes_most_work():
    moves = composed(obligations(4), [figure("O1", 1), figure("O2", 2), figure("O3", 6), form("O4")])
    assert [(m.source, m.target, m.points, m.ground) for m in moves] == [
        ("O4", "O3", Decimal("6.25"), "formality"),
        ("O4", "O2", Decimal("6.25"), "formality"),
    ]
    assert sum(o.points for o in moved(obligations(4), moves)) == 100


@pytest.mark.parametrize(
    "criteria",
    [
        [],
        [form("O1"), form("O2")],
        [figure("O1", 1), form("O2")],  # copied figures take no work
        [open_one("O1"), form("O2")],  # what cannot be graded gets nothing
        [figure("O1", 4), figure("O2", 4)],
    ],
)
def test_where_there_is_nobody_to_give_or_to_take_nothing_moves(criteria):
    assert composed(obligations(2), criteria) == ()


@pytest.mark.parametrize("forms", range(1, 20))
def test_however_much_is_form_the_bounds_hold(forms):
    asked = obligations(20)
    criteria = [form(f"O{n}") if n <= forms else figure(f"O{n}", 3) for n in range(1, 21)]
    moves = composed(asked, criteria)
    assert moves
    assert not move_violations(asked, moves)
