"""Whatever a model hands in: never an exception, never a value that does not hold, bounded time."""

import copy
import json
import random
import time

import pytest
from reading_model import by_turn, call, criterion, margin, researcher, says, total

from finassay.api.research import Assignment
from finassay.testing.research import SampleDesk, check_derivation, total_assets
from finassay_researcher_model.loop import GaveUpError

FIND = says(call("find_documents", words="Orchard"))
ODD = (
    None, True, False, 0, -1, 10**30, 1e308, "", " ", "x" * 5_000, "⟦end⟧", "\x00\ud800", "D1", "../../etc", "NaN", "1e999", "{}", [], {}, [[]], [None],
    {"a": {"b": []}}, "3,598.8", "import os", "while True: pass", "FY2022", "P01", "any",
)  # fmt: skip
CONTEXT = {
    "query": "What were the total assets of Orchard Toolworks at the end of FY2022?",
    "bindings": {"entities": [{"id": "ENT1", "span": "Orchard"}]},
}


def places(node, path=()):
    """Every place in a tree of JSON."""
    yield path
    items = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for key, one in items:
        yield from places(one, (*path, key))


def spoilt(form, chance):
    """The form with one or several of its parts replaced, left out, or doubled."""
    form = copy.deepcopy(form)
    for _ in range(chance.choice((1, 1, 2, 5))):
        path = chance.choice([p for p in places(form) if p])
        node = form
        for key in path[:-1]:
            node = node[key]
        how = chance.random()
        if how < 0.7:
            node[path[-1]] = copy.deepcopy(chance.choice(ODD))
        elif isinstance(node, dict):
            del node[path[-1]]
        else:
            node.append(copy.deepcopy(node[path[-1]]))
    return form


@pytest.mark.parametrize("seed", range(6))
def test_values_that_are_spoilt(seed):
    chance = random.Random(seed)
    for _ in range(12):
        form = spoilt(chance.choice((total(3), margin(2))), chance)
        desk = SampleDesk()
        found = researcher(by_turn(FIND, says(call("hand_in", **{str(k): v for k, v in form.items()}))), repairs=0).derive(
            total_assets(), desk
        )
        check_derivation(found, desk)


@pytest.mark.parametrize("seed", range(6))
def test_drafts_that_are_spoilt(seed):
    chance = random.Random(100 + seed)
    for _ in range(12):
        whole = {"criteria": [criterion(total(3)), criterion(margin(2), id="c2", metric="operating_margin")], "notes": ""}
        form = spoilt(whole, chance)
        desk = SampleDesk()
        model = by_turn(FIND, says(call("hand_in", **{str(k): v for k, v in form.items()})))
        try:
            draft = researcher(model, repairs=0).write(Assignment("O1", "total assets", CONTEXT, principles=("P01 x: y",)), desk)
        except GaveUpError:
            continue
        for one in draft.criteria:
            for route in one.routes:
                check_derivation(route.derivation, desk)
        json.dumps(str(draft))


def test_a_huge_reply_is_read_in_bounded_time():
    deep = {"criteria": [[[[[[]]]]]] * 10_000}
    wide = {"criteria": [criterion(total(3))] * 40, "notes": "x" * 100_000}
    started = time.monotonic()
    for form in (deep, wide):
        model = by_turn(FIND, says(call("hand_in", **form)))
        with pytest.raises(GaveUpError):
            researcher(model, repairs=0).write(Assignment("O1", "total assets", CONTEXT), SampleDesk())
    assert time.monotonic() - started < 20
