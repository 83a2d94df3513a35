"""A writer's drafts: criteria with principles, bindings, routes and questions; what does not hold is unresolved, and told."""

import json
from decimal import Decimal

import pytest
from attrs import asdict
from reading_model import by_turn, call, criterion, margin, nothing, researcher, results, says, total, value

from finassay.api.research import Assignment
from finassay.testing.research import TOTAL_ASSETS, SampleDesk, check_derivation

CONTEXT = {
    "query": "What were the total assets of Orchard Toolworks at the end of FY2022?",
    "bindings": {
        "entities": [{"id": "ENT1", "span": "Orchard Toolworks"}],
        "metrics": [{"id": "MET1", "span": "total assets", "canonical": "total_assets"}],
        "periods": [{"id": "PER1", "span": "FY2022"}, "nonsense"],
        "populations": "nonsense",
    },
}
PRINCIPLES = ("P01 The right subject: it is", "P08 One convention: throughout")


def assignment(**more):
    return Assignment("O1", "total assets", CONTEXT, principles=PRINCIPLES, bindings=("MET1",), **more)


def drafted(*criteria, notes="", repairs=0, **more):
    """The draft of a model that hands these in, and what it was told."""
    handed = says(call("hand_in", criteria=list(criteria), notes=notes))
    model = by_turn(says(call("find_documents", words="Orchard")), handed)
    draft = researcher(model, repairs=repairs).write(assignment(**more), SampleDesk())
    told = researcher(model, repairs=1)
    told.write(assignment(**more), SampleDesk())
    return draft, results(model.requests[-1])[-1]


def sound(one=None, **more):
    return criterion(one or total(3), **{"principles": ["P01"], "bindings": ["MET1", "ENT1"], **more})


def route(one, name="any", topic="", convention=""):
    return {"topic": topic, "route": name, "convention": convention, "value": one}


def test_a_sound_draft():
    draft, _ = drafted(sound(must_pass=True, decimals=1), notes="nothing else")
    (one,) = draft.criteria
    assert (one.id, one.kind, one.principles, one.bindings, one.must_pass) == ("O1.c1", "numeric", ("P01",), ("MET1", "ENT1"), True)
    assert one.routes[0].derivation.value == TOTAL_ASSETS
    assert (one.question.id, one.question.metric, one.question.period.asked, one.question.decimals) == (
        "O1.c1",
        "total_assets",
        "FY2022",
        1,
    )
    assert one.question.entity == "Orchard Toolworks"
    assert "3,598" not in json.dumps(asdict(one.question), default=str)
    assert draft.notes == "nothing else"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"principles": ["P99"]}, "O1.c1: there is no principle 'P99'"),
        ({"principles": []}, "O1.c1: names no principle"),
        ({"bindings": ["MET7"]}, "there is no binding 'MET7'"),
        ({"metric": "lighthouses"}, "there is no metric 'lighthouses'"),
        ({"period": ""}, "names no period"),
        ({"period": "FY2019"}, "'FY2019' is no period that the query asks about"),
        ({"entity": "Quarry Lane Foods"}, "'Quarry Lane Foods' is no entity that the query names"),
        ({"text": "States total assets clearly"}, "its text is vague: 'clearly'"),
        ({"text": "States total assets of 3,598.8 million"}, "hold '3,598.8', which gives the value away"),
        ({"question": "Is it 3,598.8?"}, "gives the value away"),
        ({"routes": [], "reason": ""}, "has neither a value nor a reason"),
        ({"kind": "format", "text": "Looks nice"}, "no program can look at this layout"),
        ({"kind": "format", "text": "Puts the figures into one table"}, "a criterion of kind format has no value"),
        ({"routes": [route(total(3, shown="1"))]}, "O1.c1: input total_assets: '1' does not stand"),
        ({"routes": [route(total(3), name="gross")]}, "O1.c1, route gross: a route needs the topic"),
        ({"routes": [route(total(3), "gross", "assets.basis", "3,598.8 in the report")]}, "the convention holds '3,598.8'"),
        (
            {"kind": "numeric", "routes": [route(value(quotes=[("D1", 3, "Total assets $ 3,598.8")], words="assets"))]},
            "a copied value has one input, and there are 0",
        ),
    ],
)
def test_what_is_wrong_goes_back(change, said):
    draft, told = drafted(sound(**change))
    assert said in told
    assert draft.criteria  # what holds is handed in all the same


def test_what_does_not_hold_is_unresolved_with_the_reason():
    draft, _ = drafted(sound(total(3, shown="9.9")), sound(id="c2", text="States the operating margin of FY2022", one=margin(2)))
    first, second = draft.criteria
    assert [r.derivation.value for r in first.routes] == [None]
    assert "does not stand in the quote" in first.routes[0].derivation.reason
    assert not first.must_pass
    assert second.routes[0].derivation.value is not None
    for one in draft.criteria:
        for r in one.routes:
            check_derivation(r.derivation, SampleDesk()) if r.derivation.script is None else None


def test_what_was_not_asked_bears_no_value():
    draft, _ = drafted(sound(period="FY2019"), sound(id="c2", period="FY2021", text="States the total assets of the year before"))
    first, second = draft.criteria
    assert (first.routes, first.reason) == ((), "'FY2019' is no period that the query asks about")
    assert second.routes  # the year before is what a change is told from


def test_a_value_that_is_not_claimed_is_no_mistake():
    draft, told = drafted(sound(nothing("no report is there")), sound(id="c2", routes=[], reason="asks for a judgement"))
    assert told.startswith("⟦")  # the list of documents: the draft was taken at once
    assert [r.derivation.reason for r in draft.criteria[0].routes] == ["no report is there"]
    assert draft.criteria[1].reason == "asks for a judgement"


def test_conventions_are_routes_and_only_accepted_ones():
    routes = [
        route(total(3), "reported", "assets.basis", "as reported"),
        route(nothing("not shown"), "adjusted", "assets.basis", "adjusted"),
    ]
    draft, _ = drafted(sound(routes=routes))
    assert [(r.route, r.topic, r.derivation.value) for r in draft.criteria[0].routes] == [
        ("reported", "assets.basis", TOTAL_ASSETS),
        ("adjusted", "assets.basis", None),
    ]
    draft, told = drafted(sound(routes=routes), conventions={"assets.basis": ("adjusted",)})
    assert "only adjusted are accepted for assets.basis" in told
    assert [r.derivation.value for r in draft.criteria[0].routes] == [None, None]


def test_ids_and_dependencies():
    criteria = [sound(id="a"), sound(id="b", depends_on=["a", "b", "nobody"]), sound(id="../../x y", depends_on=[])]
    draft, _ = drafted(*criteria)
    assert [one.id for one in draft.criteria] == ["O1.a", "O1.b", "O1.x-y"]
    assert draft.criteria[1].depends_on == ("O1.a",)
    _, told = drafted(sound(id="a"), sound(id="a"))
    assert "two criteria have one id" in told


def test_kinds_without_a_value_ask_nobody():
    form = sound(kind="format", text="Puts the figures into one table", routes=[], reason="")
    draft, _ = drafted(form, sound(id="x", kind="prohibited", text="Takes the figures of another year", routes=[]))
    assert [one.question for one in draft.criteria] == [None, None]
    assert [one.routes for one in draft.criteria] == [(), ()]


@pytest.mark.parametrize(
    "handed",
    [{}, {"criteria": []}, {"criteria": [{}] * 100}, {"criteria": "all"}, {"criteria": [{"text": "x" * 9_000}]}, {"criteria": [[]]}],
)
def test_what_is_no_draft_is_told_so(handed):
    model = by_turn(says(call("hand_in", **handed)), says(call("hand_in", criteria=[sound(nothing())], notes="")))
    draft = researcher(model).write(assignment(), SampleDesk())
    assert len(draft.criteria) == 1
    assert "criteria" in results(model.requests[-1])[0]


def test_numbers_stay_decimal():
    draft, _ = drafted(sound(margin(2)))
    assert isinstance(draft.criteria[0].routes[0].derivation.value, Decimal)
