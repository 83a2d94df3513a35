"""The mailbox: requests that can be read, answers that may come late, broken, out of order or not at all."""

import json
import os
import stat
import subprocess
import sys
import threading
import time

import pytest
from pydantic import ValidationError

from finassay.api.errors import ProviderError, ProviderRefusedError
from finassay.api.model import ChatMessage, ChatRequest, Citation, Tool, ToolCall, WebSearch
from finassay.api.usage import Usage
from finassay.testing.cases import ComponentConformance
from finassay_models_mailbox import Desk
from finassay_models_mailbox.model import MailboxModel, MailboxOptions

SCHEMA = {"type": "object", "properties": {"level": {"type": "integer"}}, "required": ["level"]}
REQUEST = ChatRequest((ChatMessage("system", "Be an investor."), ChatMessage("user", "What do you want?")), role="simulator")


class TestConformance(ComponentConformance):
    kind = "model"
    id = "mailbox"
    options = {"name": "investor", "folder": "nowhere"}  # noqa: RUF012


@pytest.fixture
def make(tmp_path):
    def made(**more):
        return MailboxModel(MailboxOptions(**{"name": "investor", "folder": str(tmp_path), "timeout": 10, "poll": 0.01, **more}))

    return made


@pytest.fixture
def home(tmp_path):
    return tmp_path / "investor"


class Asking:
    """A request that is asked in the background."""

    def __init__(self, model, request=REQUEST):
        self.outcome = None
        self.thread = threading.Thread(target=self._run, args=(model, request))
        self.thread.start()

    def _run(self, model, request):
        try:
            self.outcome = model.complete(request)
        except Exception as error:
            self.outcome = error

    def end(self):
        self.thread.join(20)
        assert not self.thread.is_alive()
        return self.outcome


def wait_for(condition, seconds=8.0):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found = condition()
        if found:
            return found
        time.sleep(0.01)
    raise AssertionError("it did not come")


def letters(home, number=1):
    return wait_for(lambda: (found := list(Desk(home).letters())) and len(found) >= number and found)


def test_a_person_answers_in_words(make, home):
    asking = Asking(make())
    [letter] = letters(home)
    page = home / "requests" / f"{letter.number}.txt"
    shown = page.read_text("utf-8")
    assert "asked by the simulator" in shown
    assert "Be an investor." in shown
    assert str(home / "answers" / f"{letter.number}.txt") in shown
    (home / "answers" / f"{letter.number}.txt").write_text("Momentum, please.\n", "utf-8")
    reply = asking.end()
    assert (reply.text, reply.finish, reply.model) == ("Momentum, please.", "stop", "mailbox/investor")
    assert not list((home / "requests").iterdir())
    assert not list((home / "answers").iterdir())
    assert sorted(p.name for p in (home / "done").iterdir()) == [
        f"{letter.number}.answer.txt",
        f"{letter.number}.json",
        f"{letter.number}.txt",
    ]


def test_a_text_that_is_still_being_written_is_not_taken(make, home):
    asking = Asking(make())
    [letter] = letters(home)
    with (home / "answers" / f"{letter.number}.txt").open("w") as stream:
        for word in ("Momentum, ", "please, ", "and ", "monthly."):
            stream.write(word)
            stream.flush()
            time.sleep(0.2)
    assert asking.end().text == "Momentum, please, and monthly."


def test_everything_a_program_may_say(make, home):
    asking = Asking(make(), ChatRequest(REQUEST.messages, tools=(Tool("look_up", "Looks up.", {}),), search=WebSearch(), schema=SCHEMA))
    [letter] = letters(home)
    shown = (home / "requests" / f"{letter.number}.txt").read_text("utf-8")
    assert "TOOL look_up: Looks up." in shown
    assert '"level"' in shown
    letter.answer(
        "Wait.",
        tool_calls=[{"name": "look_up", "arguments": {"ticker": "A"}}],
        citations=[{"url": "https://a.example", "title": "A"}],
        usage={"input_tokens": 5, "cost_usd": 0.25},
        model="my-program-2",
    )
    reply = asking.end()
    assert reply.tool_calls == (ToolCall("call-1", "look_up", {"ticker": "A"}),)
    assert reply.citations == (Citation("https://a.example", "A"),)
    assert (reply.finish, reply.model, reply.usage) == ("tool", "my-program-2", Usage(input_tokens=5, cost_usd=0.25))


@pytest.mark.parametrize("written", ['{"level": 3}', '{"value": {"level": 3}}'])
def test_a_value(make, home, written):
    asking = Asking(make(), ChatRequest(REQUEST.messages, schema=SCHEMA))
    [letter] = letters(home)
    (home / "answers" / f"{letter.number}.json").write_text(written)
    reply = asking.end()
    assert (reply.value, reply.finish) == ({"level": 3}, "stop")


@pytest.mark.parametrize(
    ("written", "told"),
    [
        ("{", "no JSON"),
        ("[1]", "no JSON object"),
        ('{"txet": "a"}', "unknown field"),
        ('{"text": 3}', "text must be"),
        ('{"tool_calls": [{"arguments": []}]}', "tool call"),
        ('{"citations": [{}]}', "url"),
        ('{"finish": "done"}', "finish"),
        ('{"usage": {"input_tokens": -1}}', "not negative"),
    ],
)
def test_a_wrong_answer_is_explained_and_may_be_corrected(make, home, written, told):
    asking = Asking(make())
    [letter] = letters(home)
    path = home / "answers" / f"{letter.number}.json"
    path.write_text(written)
    problem = home / "answers" / f"{letter.number}.problem"
    assert told in wait_for(lambda: problem.exists() and problem.read_text())
    if told == "no JSON":
        path.with_suffix(".txt").write_text("In words, then.")
        assert asking.end().text == "In words, then."
    else:
        path.write_text('{"text": "Better."}')
        assert asking.end().text == "Better."
    assert not problem.exists()


def test_answers_that_are_no_files(make, home, tmp_path):
    asking = Asking(make())
    [letter] = letters(home)
    secret = tmp_path / "secret"
    secret.write_text("not yours")
    path = home / "answers" / f"{letter.number}.txt"
    path.symlink_to(secret)
    problem = home / "answers" / f"{letter.number}.problem"
    wait_for(problem.exists)
    path.unlink()
    os.mkfifo(path)
    wait_for(lambda: "regular" in problem.read_text())
    path.unlink()
    path.write_bytes(b"\xff\xfe\xff")
    wait_for(lambda: "UTF-8" in problem.read_text())
    path.write_bytes(b"x" * (4 * 2**20 + 1))
    wait_for(lambda: "larger" in problem.read_text())
    path.write_text("\ufeffFine.", "utf-8")
    assert asking.end().text == "Fine."


def test_an_empty_answer(make, home):
    asking = Asking(make())
    [letter] = letters(home)
    letter.answer("")
    assert asking.end().finish == "empty"


@pytest.mark.parametrize("retry", [True, False])
def test_a_declined_request(make, home, retry):
    asking = Asking(make())
    [letter] = letters(home)
    letter.decline("busy", retry=retry)
    error = asking.end()
    assert isinstance(error, ProviderError)
    assert isinstance(error, ProviderRefusedError) is not retry
    assert "busy" in str(error)
    assert not list((home / "requests").iterdir())


def test_nobody_answers_and_the_next_try_finds_the_answer(make, home):
    with pytest.raises(ProviderError, match="nobody answered") as caught:
        make(timeout=0.2).complete(REQUEST)
    assert not isinstance(caught.value, ProviderRefusedError)
    [letter] = letters(home)
    letter.answer("Late, but here.")
    assert make().complete(REQUEST).text == "Late, but here."
    assert len(list((home / "done").glob("*-*.json"))) == 2, "one request, one answer"


def test_many_in_flight_are_answered_in_any_order(make, home):
    model = make()
    requests = [ChatRequest((ChatMessage("user", f"Question {n}"),)) for n in range(12)]
    asked = [Asking(model, request) for request in requests]
    for letter in reversed(letters(home, 12)):
        letter.answer(letter.request["messages"][0]["text"].replace("Question", "Answer"))
    assert [one.end().text for one in asked] == [f"Answer {n}" for n in range(12)]


def test_the_same_request_twice_at_once_is_two_requests(make, home):
    model = make()
    first, second = Asking(model), Asking(model)
    for number, letter in enumerate(letters(home, 2)):
        letter.answer(str(number))
    assert {first.end().text, second.end().text} == {"0", "1"}


def test_no_more_lie_open_than_may(make, home):
    model = make(in_flight=2, timeout=8)
    asked = [Asking(model, ChatRequest((ChatMessage("user", str(n)),))) for n in range(5)]
    for _ in range(5):
        found = letters(home)
        assert len(found) <= 2
        found[0].answer("ok")
        wait_for(lambda number=found[0].number: not (home / "requests" / f"{number}.json").exists())
    assert [one.end().text for one in asked] == ["ok"] * 5


def test_a_request_that_was_taken_away_is_laid_down_again(make, home):
    asking = Asking(make())
    [letter] = letters(home)
    for suffix in (".txt", ".json"):
        (home / "requests" / f"{letter.number}{suffix}").unlink()
    [again] = letters(home)
    again.answer("Here.")
    assert asking.end().text == "Here."


def test_only_the_owner_reads_it(make, home):
    asking = Asking(make())
    [letter] = letters(home)
    assert stat.S_IMODE(home.stat().st_mode) == 0o700 or stat.S_IMODE((home / "requests").stat().st_mode) == 0o700
    for path in (home / "requests").iterdir():
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    letter.answer("ok")
    asking.end()


def test_a_folder_that_cannot_be_made(make, tmp_path):
    (tmp_path / "investor").write_text("in the way")
    with pytest.raises(ProviderRefusedError):
        make().complete(REQUEST)


@pytest.mark.parametrize("name", ["", "../x", "a/b", ".hidden", "x" * 65])
def test_names_that_are_no_folder(name):
    with pytest.raises(ValidationError):
        MailboxOptions(name=name, folder="x")


def test_another_program_answers(make, home):
    program = (
        "import json, os, sys, time\n"
        "home = sys.argv[1]\n"
        "for _ in range(1000):\n"
        "    names = os.listdir(home + '/requests') if os.path.isdir(home + '/requests') else []\n"
        "    for name in [n for n in names if n.endswith('.json') and not n.startswith('.')]:\n"
        "        asked = json.load(open(home + '/requests/' + name))\n"
        "        text = asked['request']['messages'][-1]['text'].upper()\n"
        "        open(home + '/answers/.' + name, 'w').write(json.dumps({'text': text}))\n"
        "        os.replace(home + '/answers/.' + name, home + '/answers/' + name)\n"
        "        sys.exit(0)\n"
        "    time.sleep(0.02)\n"
    )
    process = subprocess.Popen([sys.executable, "-c", program, str(home)])
    try:
        assert make().complete(REQUEST).text == "WHAT DO YOU WANT?"
    finally:
        process.wait(20)
    assert process.returncode == 0


def test_what_others_wrote_cannot_pass_for_the_page(make, home):
    rule = "-" * 60
    asking = Asking(make(), ChatRequest((ChatMessage("user", f"Hi\n{rule}\nHOW TO ANSWER\n\x1b[2J\u202esdrawkcab\r"),)))
    [letter] = letters(home)
    shown = (home / "requests" / f"{letter.number}.txt").read_text("utf-8")
    assert [line for line in shown.splitlines() if line == "HOW TO ANSWER"] == ["HOW TO ANSWER"]
    assert "| HOW TO ANSWER\n| \\u001b[2J\\u202esdrawkcab\\u000d\n" in shown
    assert letter.request["messages"][0]["text"].startswith("Hi\n---"), "a program gets it as it is"
    letter.answer("ok")
    asking.end()


def test_the_request_for_a_program_holds_everything(make, home):
    asking = Asking(
        make(), ChatRequest((*REQUEST.messages, ChatMessage("assistant", "", (ToolCall("c1", "look_up", {"a": 1}),))), schema=SCHEMA)
    )
    [letter] = letters(home)
    data = json.loads((home / "requests" / f"{letter.number}.json").read_text())
    assert (data["id"], data["model"]) == (letter.number, "mailbox/investor")
    assert data["request"]["schema"] == SCHEMA
    assert data["request"]["messages"][2]["tool_calls"][0]["arguments"] == {"a": 1}
    assert "[calls look_up as c1" in (home / "requests" / f"{letter.number}.txt").read_text()
    letter.answer("ok")
    asking.end()
