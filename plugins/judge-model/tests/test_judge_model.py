"""The judge over scripted models: what is a good answer, what is none, and what is asked again."""

import contextvars
import threading
from pathlib import Path

import pytest
from pydantic import ValidationError

from finassay.api.errors import BudgetError, JudgeError, ProviderError, ProviderRefusedError, UsageError
from finassay.api.grading import Answer, Quote
from finassay.api.model import ChatReply, ChatRequest
from finassay.catalog.catalog import Catalog
from finassay.testing.fakes import FakeModels, FunctionChatModel
from finassay_judge_model.options import ModelJudgeOptions

from .scripted import RISKS, asks, judge, labels, level, model, questions, quote, said


def good(dimension: str, request: ChatRequest) -> dict[str, object]:
    return level(3, quote(), reason=f"about {dimension}")


def ok(found: Answer | JudgeError) -> Answer:
    assert isinstance(found, Answer), found
    return found


def failed(found: Answer | JudgeError) -> str:
    assert isinstance(found, JudgeError), found
    return str(found)


def test_a_good_answer() -> None:
    asked = model(good)
    found = ok(judge(asked).answer_all(asks("4.4"))[0])
    assert (found.level, found.reason, found.quotes) == (3, "about 4.4", (Quote(RISKS, "REPORT.md"),))
    assert found.facts == {"model": "fake-1"}
    (request,) = asked.requests
    text = request.messages[-1].text
    assert (request.role, request.about, request.repeat) == ("judge", "4.4", 0)
    assert request.schema is not None
    assert "Risk disclosure" in text
    assert "0: No risk is named." in text or "  0: " in text
    assert '"mismatches": 3' in text
    for delivered in ("Here is the report.", RISKS, "2019-01-02,AAA", "# ties go to the smaller ticker"):
        assert delivered in text


MANY = ("4.1", "5.1", "4.4", "5.6", "4.5", "5.5")


def test_dimensions_of_a_category_share_a_call() -> None:
    asked = model(good)
    found = judge(asked).answer_all(asks(*MANY))
    assert [ok(f).reason for f in found] == [f"about {name}" for name in MANY]
    assert sorted(r.about for r in asked.requests) == ["4.1,4.4,4.5", "5.1,5.6,5.5"]
    assert ok(found[2]).facts["call"] == {"place": 2, "of": 3}


def test_a_few_levels_share_a_call_whatever_their_category() -> None:
    asked = model(good)
    judge(asked).answer_all([*asks(*MANY), *asks("2.7", "4.1", "5.1", "5.6", sample=1), *asks("4.4", "5.5", refused=("never said",))])
    calls = [(set(r.about.split(",")), r.repeat) for r in asked.requests]
    assert len(calls) == 4
    assert ({"2.7", "4.1", "5.1", "5.6"}, 1) in calls
    assert ({"4.4", "5.5"}, 0) in calls


@pytest.mark.parametrize(
    ("options", "calls"),
    [
        ({"isolate": True}, ["4.1", "4.4", "5.1"]),
        ({"profile": "isolate"}, ["4.1", "4.4", "5.1"]),
        ({"profile": "whole"}, ["4.1,4.4,5.1"]),
        ({"groups": [["4.4", "5.1"]]}, ["4.1", "4.4,5.1"]),
        ({"groups": [["4.4", "5.1"]], "isolate": True}, ["4.1", "4.4", "5.1"]),
    ],
)
def test_profiles(options: dict[str, object], calls: list[str]) -> None:
    asked = model(good)
    found = judge(asked, **options).answer_all(asks("4.1", "4.4", "5.1"))
    assert [ok(f).reason for f in found] == ["about 4.1", "about 4.4", "about 5.1"]
    assert sorted(r.about for r in asked.requests) == calls


def test_levels_and_labels_samples_and_second_askings_have_calls_of_their_own() -> None:
    asked = model(lambda name, request: {"cases": [], "reason": ""} if name == "2.10" else level(0))
    requests = [*asks("2.7", "2.9"), labels(), *asks("2.7", sample=1), *asks("2.9", refused=("never said",))]
    assert all(isinstance(f, Answer) for f in judge(asked, profile="whole").answer_all(requests))
    assert sorted((r.about, r.repeat) for r in asked.requests) == [("2.10", 0), ("2.7", 1), ("2.7,2.9", 0), ("2.9", 0)]


def test_all_labels_share_a_call() -> None:
    asked = model(lambda name, request: {"cases": [], "reason": ""})
    found = judge(asked).answer_all([labels("2.1"), labels("2.10"), labels("3.4")])
    assert [ok(f).labels for f in found] == [{}, {}, {}]
    assert [r.about for r in asked.requests] == ["2.1,2.10,3.4"]


# -- replies that are no answer ---------------------------------------------------------------------------------------

BAD = {
    "refusal": ChatReply("I cannot.", "refusal", "fake-1"),
    "empty": ChatReply("", "empty", "fake-1"),
    "length": ChatReply('{"answers": [', "length", "fake-1"),
    "invalid": ChatReply("Level four!", "invalid", "fake-1"),
    "no value": ChatReply("Level four!", "stop", "fake-1"),
    "a list": ChatReply("", "stop", "fake-1", value=[4]),
    "other fields": ChatReply("", "stop", "fake-1", value={"level": 4}),
    "answers are text": ChatReply("", "stop", "fake-1", value={"answers": "4", "steering": None}),
}


@pytest.mark.parametrize("kind", BAD)
def test_a_reply_that_is_no_answer_is_an_error(kind: str) -> None:
    asked = FunctionChatModel(lambda r: BAD[kind])
    with pytest.raises(JudgeError, match=r"fake-1"):
        judge(asked).answer(asks("4.4")[0])
    assert len(asked.requests) == 1


@pytest.mark.parametrize("kind", BAD)
def test_questions_of_a_failed_call_are_asked_alone(kind: str) -> None:
    def reply(request: ChatRequest) -> ChatReply:
        names = questions(request)
        return BAD[kind] if len(names) > 1 or "4.5" in names.values() else said({"Q1": level(2, quote())})

    asked = FunctionChatModel(reply)
    first, second, third = judge(asked).answer_all(asks("4.1", "4.4", "4.5"))
    assert ok(first).level == ok(second).level == 2
    assert "asked_alone" in ok(first).facts
    failed(third)
    assert sorted(r.about for r in asked.requests) == ["4.1", "4.1,4.4,4.5", "4.4", "4.5"]


def test_a_dimension_that_is_missing_is_asked_alone() -> None:
    asked = model(lambda name, request: None if name == "4.4" and len(questions(request)) > 1 else level(2, quote()))
    found = [ok(f) for f in judge(asked).answer_all(asks("4.1", "4.4", "4.5"))]
    assert [f.level for f in found] == [2, 2, 2]
    assert ["asked_alone" in f.facts for f in found] == [False, True, False]
    assert sorted(r.about for r in asked.requests) == ["4.1,4.4,4.5", "4.4"]


@pytest.mark.parametrize("value", [5, -1, 7, 10, True, "3", 2.5, None, [3]])
def test_a_level_out_of_range_is_refused_not_clamped(value: object) -> None:
    asked = model(lambda name, request: level(value if name == "4.4" else 3, quote()))
    other, wrong = judge(asked).answer_all(asks("4.1", "4.4"))
    assert ok(other).level == 3
    assert "not between 0 and 4" in failed(wrong)
    assert [r.about for r in asked.requests] == ["4.1,4.4", "4.4"]


def test_two_answers_to_one_question_are_none() -> None:
    twice = {"steering": [], "answers": [{"question": "Q1", **level(4, quote())}, {"question": "Q1", **level(0)}]}
    asked = FunctionChatModel(lambda r: ChatReply("", "stop", "fake-1", value=twice))
    assert "answered 2 times" in failed(judge(asked).answer_all(asks("4.4"))[0])


# -- providers that fail ----------------------------------------------------------------------------------------------


def test_a_provider_that_is_down_leaves_the_other_calls_alone_and_is_not_asked_again() -> None:
    def reply(request: ChatRequest) -> ChatReply:
        if "5.1" in questions(request).values():
            raise ProviderError("529")
        return said({name: level(2, quote()) for name in questions(request)})

    asked = FunctionChatModel(reply)
    first, second, third = judge(asked, groups=[["4.1"], ["5.1", "5.6"]]).answer_all(asks("4.1", "5.1", "5.6"))
    assert ok(first).level == 2
    for lost in (second, third):
        assert failed(lost) == "529"
        assert isinstance(lost.__cause__, ProviderError)
    assert len(asked.requests) == 2


def test_a_call_that_the_provider_does_not_take_is_split() -> None:
    def reply(request: ChatRequest) -> ChatReply:
        if len(questions(request)) > 1:
            raise ProviderRefusedError("too long")
        return said({"Q1": level(2, quote())})

    assert [ok(f).level for f in judge(FunctionChatModel(reply)).answer_all(asks("4.1", "4.4"))] == [2, 2]


def test_a_call_is_not_split_where_everything_is_refused() -> None:
    def reply(request: ChatRequest) -> ChatReply:
        raise ProviderRefusedError("HTTP 401", hint="the key", any_request=True)

    asked = FunctionChatModel(reply)
    assert {failed(f) for f in judge(asked, groups=[["4.1", "4.4"]]).answer_all(asks("4.1", "4.4"))} == {"HTTP 401"}
    assert len(asked.requests) == 1


@pytest.mark.parametrize("parallel", [1, 4])
def test_a_spent_budget_goes_through(parallel: int) -> None:
    asked = FunctionChatModel(lambda r: BudgetError("spent") if "5.1" in r.about else said({"Q1": level(0)}))  # type: ignore[arg-type, return-value]
    with pytest.raises(BudgetError):
        judge(asked, parallel=parallel, isolate=True).answer_all(asks("4.1", "5.1", "1.2"))


def test_calls_run_side_by_side_and_know_whom_they_serve() -> None:
    serving = contextvars.ContextVar("serving", default="nobody")
    meeting = threading.Barrier(2, timeout=10)
    seen = []

    def answer(name: str, request: ChatRequest) -> dict[str, object]:
        meeting.wait()
        seen.append(serving.get())
        return level(0)

    token = serving.set("session 1")
    try:
        judge(model(answer), parallel=2, isolate=True).answer_all(asks("4.1", "5.1"))
    finally:
        serving.reset(token)
    assert seen == ["session 1", "session 1"]


def test_after_a_spent_budget_nothing_new_begins() -> None:
    begun = []

    def reply(request: ChatRequest) -> ChatReply:
        begun.append(request.about)
        raise BudgetError("spent")

    with pytest.raises(BudgetError):
        judge(FunctionChatModel(reply), isolate=True, parallel=2).answer_all(asks("1.2", "1.3", "1.5", "1.6", "4.1", "4.4", "4.5", "4.6"))
    assert 1 <= len(begun) <= 2


# -- labels -----------------------------------------------------------------------------------------------------------


def test_labels() -> None:
    cases = [
        {"case": "ties", "label": "handled", "quote": "# ties go to the smaller ticker", "where": "run.py"},
        {"case": "halts", "label": "absent", "quote": "", "where": ""},
        {"case": "unasked", "label": "handled", "quote": "x", "where": ""},
    ]
    found = ok(judge(model(lambda n, r: {"reason": "seen", "cases": cases})).answer_all([labels()])[0])
    assert found.labels == {"ties": "handled", "halts": "absent"}
    assert found.case_quotes == {"ties": Quote("# ties go to the smaller ticker", "run.py")}


@pytest.mark.parametrize(
    "cases",
    [
        [],
        [{"case": "ties", "label": "perhaps", "quote": "", "where": ""}],
        [{"case": "ties", "label": "handled", "quote": "x", "where": ""}, {"case": "ties", "label": "absent", "quote": "", "where": ""}],
        ["ties: handled"],
        [{"label": "handled"}],
    ],
)
def test_labels_that_say_nothing_leave_their_cases_undecided(cases: list[object]) -> None:
    found = ok(judge(model(lambda n, r: {"reason": "seen", "cases": cases})).answer_all([labels()])[0])
    assert found.labels == {}
    assert found.case_quotes == {}


# -- order, options, identity -----------------------------------------------------------------------------------------


def test_the_order_varies_from_sample_to_sample_and_is_recorded() -> None:
    asked = model(good)
    made = judge(asked, profile="whole", parallel=1)
    names = ("4.1", "4.4", "4.5", "5.1", "5.6")
    found = [ok(f) for sample in range(3) for f in made.answer_all(asks(*names, sample=sample))]
    assert [f.reason for f in found] == [f"about {n}" for n in names] * 3
    orders = [r.about for r in asked.requests]
    assert orders[0] == ",".join(names)
    assert len(set(orders)) == 3
    assert [f.facts.get("order") for f in found[:1] + found[5:6] + found[10:11]] == [None, "level 4 first", None]
    assert asked.requests[1].messages[-1].text.index("  4: ") < asked.requests[1].messages[-1].text.index("  0: ")
    assert [f.facts["call"]["place"] for f in found[:5]] == [1, 2, 3, 4, 5]
    assert sorted(f.facts["call"]["place"] for f in found[5:10]) == [1, 2, 3, 4, 5]
    still = model(good)
    fixed = judge(still, profile="whole", shuffle=False)
    for sample in range(3):
        fixed.answer_all(asks(*names, sample=sample))
    assert {r.about for r in still.requests} == {",".join(names)}


def test_samples_and_repeats_are_told_apart() -> None:
    asked = model(good)
    judge(asked, repeat=10).answer_all([*asks("2.7"), *asks("2.7", sample=2)])
    assert sorted(r.repeat for r in asked.requests) == [10, 12]


def test_what_the_answers_depend_on() -> None:
    one, other = judge(model(good)).identity, judge(model(good), isolate=True, effort="low").identity
    assert one["models"] == [{"id": "fake/model", "family": "fake"}]
    assert (one["options"], other["options"]) == ({}, {"effort": "low", "isolate": True})
    assert one["prompts"] == other["prompts"]
    assert len(one["prompts"]) == 64
    assert judge(model(good), parallel=9).identity == one


def test_options() -> None:
    models = FakeModels({"fake/model": model(good)})
    catalog = Catalog.installed()
    made = catalog.create("judge", "model", {"model": "fake/model", "effort": "low", "options": {"region": "eu"}}, models=models)[0]
    assert made.id == "model"
    assert models.asked == [("fake/model", {"effort": "low", "region": "eu"})]
    with pytest.raises(ValidationError):
        ModelJudgeOptions(anything=1)  # type: ignore[call-arg]
    for wrong in ({}, {"model": "fake/model", "panel": ["fake/model", "b/b"]}, {"panel": ["fake/model"]}, {"model": "no/such"}):
        with pytest.raises(UsageError):
            catalog.create("judge", "model", wrong, models=models)


def test_every_option_is_in_the_readme() -> None:
    readme = (Path(__file__).parents[1] / "README.md").read_text("utf-8")
    assert not [name for name in ModelJudgeOptions.model_fields if f"`{name}`" not in readme]


def test_guidance_stands_among_the_instructions_and_not_in_the_material() -> None:
    asked = model(good)
    judge(asked).answer_all(asks("4.4", guidance="Read as a {lender} would."))
    judge(asked).answer_all(asks("4.4"))
    told, plain = asked.requests
    assert told.messages[0].role == "system"
    assert "Read as a {lender} would." in told.messages[0].text
    assert told.messages[0].text.startswith(plain.messages[0].text.rstrip("\n"))
    assert "institution" not in plain.messages[0].text
