"""The loop around a model: everything is bounded, and ends in one clear reason."""

import pytest
from reading_model import by_turn, call, careful, nothing, researcher, results, says, total, turn_of, without_tools

from finassay.api.errors import BudgetError, ProviderError, ProviderRefusedError
from finassay.api.model import ChatMessage, ChatReply
from finassay.api.research import Assignment
from finassay.api.source import SourceError
from finassay.api.usage import Usage
from finassay.testing.fakes import FunctionChatModel
from finassay.testing.research import TOTAL_ASSETS, SampleDesk, total_assets
from finassay_researcher_model import wording
from finassay_researcher_model.loop import MAX_FRUITLESS, Answer, GaveUpError, Loop, _bounded
from finassay_researcher_model.options import ModelResearcherOptions

FIND = says(call("find_documents", words="Orchard"))


def derived(model, **options):
    return researcher(model, **options).derive(total_assets(), SampleDesk())


@pytest.mark.parametrize(
    ("reply", "said", "asked"),
    [
        (says(text="The value is 3."), "called no tool in a way that can be read", MAX_FRUITLESS),
        (says(call("think", about="it")), "called no tool in a way that can be read", MAX_FRUITLESS),
        (says(call("hand_in", quotes="all")), "called no tool in a way that can be read", MAX_FRUITLESS),
        (ChatReply("", "empty", "model-1", usage=Usage()), "called no tool", MAX_FRUITLESS),
        (ChatReply("so long", "length", "model-1"), "called no tool", MAX_FRUITLESS),
        (ChatReply("", "invalid", "model-1"), "called no tool", MAX_FRUITLESS),
        (ChatReply("No.", "refusal", "model-1"), "the model refused (model-1)", 1),
        (FIND, "handed in nothing within 6 replies", 6),
    ],
)
def test_a_model_that_never_hands_in(reply, said, asked):
    model = by_turn(reply)
    found = derived(model, turns=6)
    assert found.value is None
    assert said in found.reason
    assert len(model.requests) == asked
    with pytest.raises(GaveUpError):
        researcher(by_turn(reply), turns=6).write(Assignment("O1", "total assets", {}), SampleDesk())


def test_tokens_are_bounded():
    model = by_turn(says(call("find_documents", words="Orchard")))
    assert "within 10,000 tokens" in derived(model, tokens=10_000).reason
    assert len(model.requests) == 10  # 1,100 each
    silent = by_turn(ChatReply("x" * 50_000, "tool", "model-1", tool_calls=(call("find_documents", words="x"),)))
    assert "within 10,000 tokens" in derived(silent, tokens=10_000).reason
    assert len(silent.requests) < 5  # nobody counts them: characters do


def test_time_is_bounded_and_every_try_with_it():
    now = [0.0]

    def slow(request):
        now[0] += 40
        return FIND

    model = FunctionChatModel(slow)
    options = ModelResearcherOptions(model="fake/model", seconds=100, reply_seconds=70)
    loop = Loop(model, options, wording.tools("reviewer"), lambda name, arguments: Answer("nothing"), "reviewer", "x", lambda: now[0])
    with pytest.raises(GaveUpError, match="within 100 s"):
        loop.run("s", "u")
    assert [request.seconds for request in model.requests] == [70, 60, 20]


def test_it_is_told_when_replies_run_out():
    model = by_turn(FIND)
    derived(model, turns=6)
    told = [request.messages[-1].text for request in model.requests]
    assert ["replies left" in text for text in told] == [False, False, False, True, True, True]
    assert "You have 1 replies left" in told[-1]


def test_what_a_model_says_between_is_forgiven():
    def talks(request):
        return says(text="Let me think.") if turn_of(request) % 2 else careful(_without_talk(request))

    assert derived(FunctionChatModel(talks)).value == TOTAL_ASSETS


def _without_talk(request):
    from attrs import evolve

    return evolve(request, messages=[m for m in request.messages if m.role == "system" or m.text not in ("Let me think.", wording.NUDGE)])


def test_what_does_not_hold_goes_back_and_is_mended():
    wrong, right = total(3, shown="9,999.9"), total(3)
    model = by_turn(FIND, says(call("hand_in", **wrong)), says(call("hand_in", **right)))
    assert derived(model).value == TOTAL_ASSETS
    assert "'9,999.9' does not stand in the quote 1" in results(model.requests[-1])[-1]


def test_what_is_never_mended_stays_unresolved():
    model = by_turn(FIND, says(call("hand_in", **total(3, shown="9,999.9"))))
    found = derived(model, repairs=2)
    assert found.value is None
    assert found.reason == "not grounded: input total_assets: '9,999.9' does not stand in the quote 1"
    assert len(model.requests) == 4


def test_a_model_without_tools_works_by_text():
    model = without_tools(FunctionChatModel(careful))
    assert derived(model).value == TOTAL_ASSETS
    first = model.requests[0]
    assert not first.tools
    assert first.schema["required"] == ["tool", "arguments"]
    assert "find_in_document" in first.messages[0].text
    for value in (None, {"tool": "hand_in", "arguments": "{"}, {"tool": "hand_in", "arguments": "[1]"}, "words", {"tool": 1}):
        nonsense = without_tools(by_turn(FIND))
        nonsense.reply = lambda request, value=value: ChatReply("x", "stop", "model-1", value=value)
        assert "called no tool" in derived(nonsense).reason


def test_calls_of_one_reply_are_all_answered_in_order():
    several = says(
        call("find_documents", "a", words="Orchard"), call("search", "b", query="total assets"), call("pages", "c", document="D9")
    )
    model = by_turn(several, says(call("hand_in", **nothing())))
    derived(model)
    last = model.requests[-1].messages
    assert [m.tool_call_id for m in last if m.role == "tool"] == ["a", "b", "c"]
    assert "there is no document 'D9'" in last[-1].text
    many = says(*(call("pages", str(n), document="D1") for n in range(30)))
    model = by_turn(many, says(call("hand_in", **nothing())))
    derived(model)
    told = results(model.requests[-1])
    assert len(told) == 30
    assert told[-1].startswith("only 12 calls")


class AwayDesk(SampleDesk):
    def find(self, query, limit=50):
        raise SourceError("the source is away")


@pytest.mark.parametrize("error", [ProviderError("away"), BudgetError("spent"), ProviderRefusedError("no such model", any_request=True)])
def test_what_stops_everything_is_raised(error):
    with pytest.raises(type(error)):
        derived(by_turn(lambda request: error))
    with pytest.raises(type(error)):
        researcher(by_turn(lambda request: error)).write(Assignment("O1", "x", {}), SampleDesk())


def test_a_source_that_is_away_is_raised_and_not_taken_for_nothing():
    with pytest.raises(SourceError):
        researcher(by_turn(FIND)).derive(total_assets(), AwayDesk())


def test_old_results_make_room():
    messages = [ChatMessage("system", "s"), ChatMessage("user", "u")]
    for number in range(10):
        messages += [ChatMessage("assistant", f"a{number}"), ChatMessage("tool", f"{number}" * 1_000, tool_call_id="c")]
    kept = _bounded(messages, 6_000)
    assert len(kept) == len(messages)
    assert sum(len(m.text) for m in kept) <= 6_000 + 200
    assert [m.text == wording.LEFT_OUT for m in kept if m.role == "tool"] == [True] * 5 + [False] * 5
    assert kept[:2] == tuple(messages[:2])
    assert _bounded(messages, 10**6) == tuple(messages)


def test_the_ledger_is_told_who_asks_and_what_about():
    model = FunctionChatModel(careful)
    derived(model)
    assert {(r.role, r.about) for r in model.requests} == {("reviewer", "review:sample")}
