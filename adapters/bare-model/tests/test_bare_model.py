"""A model without tools in a session."""

import threading
import time

import pytest

from finassay.api.agent import Setting, TurnContext
from finassay.api.conversation import Conversation, Message
from finassay.api.errors import AgentError, BudgetError, ProviderError, ProviderRefusedError, UsageError
from finassay.api.model import ChatReply
from finassay.api.task import Brief
from finassay.api.usage import Usage
from finassay.catalog.catalog import Catalog
from finassay.testing.fakes import FakeChatModel, FakeModels, FunctionChatModel
from finassay_bare_model.agent import CUT, NO_TOOLS, BareModel, BareModelOptions

BRIEF = "You are working for a person."


def reply(text, finish="stop", **usage):
    return ChatReply(text, finish, "model-1", usage=Usage(**usage))


class Session:
    def __init__(self, model, history=Conversation(), box=None, **options):
        self.models = FakeModels({"fake/model": model})
        self.agent = BareModel(BareModelOptions(model="fake/model", **options), self.models)
        self.log = []
        self.agent.start(Setting(Brief("s1", BRIEF, 6, 30, (), False), box, history))

    def send(self, text, turn=1, cut=lambda: False, seconds=30.0):
        return self.agent.send(text, TurnContext(turn, seconds, self.log.append, cut))


def spoken(request):
    return [(m.role, m.text) for m in request.messages]


def test_the_whole_conversation_goes_along_with_the_brief():
    model = FakeChatModel([reply("What stop?", input_tokens=10, output_tokens=3), reply("Noted.")])
    session = Session(model)
    first = session.send("I like winners.")
    session.send("Ten percent.", 2)
    assert (first.text, first.usage) == ("What stop?", Usage(input_tokens=10, output_tokens=3))
    assert spoken(model.requests[1]) == [
        ("system", f"{BRIEF}\n\n{NO_TOOLS}"),
        ("user", "I like winners."),
        ("assistant", "What stop?"),
        ("user", "Ten percent."),
    ]
    assert not model.requests[1].tools
    assert model.requests[1].search is None


def test_the_brief_alone_where_it_is_asked_for():
    model = FakeChatModel([reply("Yes.")])
    Session(model, say_no_tools=False).send("Hi.")
    assert model.requests[0].messages[0].text == BRIEF


def test_options_reach_the_model():
    session = Session(FakeChatModel([reply("Yes.")]), effort="low", model_options={"base_url": "x"}, max_output_tokens=999, temperature=0.5)
    session.send("Hi.", seconds=12)
    assert session.models.asked == [("fake/model", {"base_url": "x", "effort": "low"})]
    request = session.models.models["fake/model"].requests[0]
    assert (request.max_output_tokens, request.temperature, request.seconds, request.role) == (999, 0.5, 12, "agent")


def test_it_goes_on_from_the_record():
    history = Conversation(
        (
            Message("u0", 0, "user", "I like winners."),
            Message("a1", 1, "agent", "", cut=True),
            Message("u1", 1, "user", "Go on."),
            Message("a2", 2, "agent", "What stop?"),
            Message("u2", 2, "user", "Ten percent."),
        )
    )
    model = FakeChatModel([reply("Noted.")])
    Session(model, history).send("Ten percent.", 3)
    assert spoken(model.requests[0])[1:] == [
        ("user", "I like winners."),
        ("assistant", CUT),
        ("user", "Go on."),
        ("assistant", "What stop?"),
        ("user", "Ten percent."),
    ]


def test_blocks_with_file_names_are_no_files(finassay_workspace):
    class Box:
        workspace = finassay_workspace

    text = "deliver/trades.csv\n```csv\ndate,ticker\n```\n```python title=run.py\nprint(1)\n```"
    assert Session(FakeChatModel([reply(text)]), box=Box()).send("Hi.").text == text
    assert not list((finassay_workspace / "deliver").iterdir())


@pytest.mark.parametrize(
    "error", [ProviderRefusedError("no credit", any_request=True), ProviderError("busy", retry_after=3), BudgetError("spent")]
)
def test_failures_of_others_pass_through_as_they_are(error):
    with pytest.raises(type(error)) as raised:
        Session(FakeChatModel([error])).send("Hi.")
    assert raised.value is error


@pytest.mark.parametrize("finish", ["empty", "refusal", "length", "stop"])
def test_no_words_are_the_agents_failure_and_leave_no_trace(finish):
    model = FakeChatModel([reply("  ", finish), reply("Sorry. What stop?")])
    session = Session(model)
    with pytest.raises(AgentError):
        session.send("Hi.")
    assert session.send("Hi.").text == "Sorry. What stop?"
    assert spoken(model.requests[1]) == spoken(model.requests[0])


@pytest.mark.parametrize("finish", ["length", "refusal"])
def test_a_reply_that_was_cut_or_refuses_in_words_is_a_message_with_a_note(finish):
    session = Session(FakeChatModel([reply("I would rather", finish)]))
    assert session.send("Hi.").text == "I would rather"
    assert [e.kind for e in session.log] == ["usage", "note"]
    assert session.log[0].data["model"] == "model-1"


def test_a_turn_ends_with_the_clock_and_the_late_answer_is_dropped():
    stop, late = threading.Event(), threading.Event()

    def slow(request):
        late.wait(20)
        return reply("Too late.")

    session = Session(FunctionChatModel(slow))
    threading.Timer(0.2, stop.set).start()
    started = time.monotonic()
    turn = session.send("Hi.", cut=stop.is_set)
    assert time.monotonic() - started < 5
    assert (turn.text, turn.usage) == ("", Usage())
    late.set()
    session.agent._model.reply = lambda request: reply(" | ".join(m.text for m in request.messages[1:]))
    assert session.send("Still there?", 2).text == f"Hi. | {CUT} | Still there?"


def test_calls_serve_the_session_also_from_the_thread():
    from finassay.models.serving import served, serving

    seen = []
    model = FunctionChatModel(lambda request: seen.append(served().session) or reply("Yes."))
    with serving("s-7"):
        Session(model).send("Hi.")
    assert seen == ["s-7"]


def test_no_model_is_told_before_anything_is_spent():
    catalog = Catalog.installed()
    with pytest.raises(UsageError):
        catalog.create("agent", "bare-model", {}, FakeModels({}))
    with pytest.raises(UsageError):
        catalog.create("agent", "bare-model", {"model": "nobody/none"}, FakeModels({}))
