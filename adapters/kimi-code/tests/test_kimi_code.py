"""The adapter with a stand-in for the program; tests/agents has the real one."""

import json
import shutil
from pathlib import Path
from typing import ClassVar

import pytest

from finassay.api.errors import AgentError, ProviderError, ProviderRefusedError
from finassay.api.usage import Usage
from finassay.testing.cases import ComponentConformance
from finassay_cli_kit import Failed
from finassay_cli_kit.testing.standin import held_by, way
from finassay_kimi_code.agent import KimiCodeAgent, KimiCodeOptions
from finassay_kimi_code.stream import read, read_error, read_index, read_usage

FAKE = str(Path(__file__).with_name("fake_kimi.py"))
ACCESS = way("moonshotai", "anthropic")


class TestConformance(ComponentConformance):
    kind = "agent"
    id = "kimi-code"
    options: ClassVar[dict[str, str]] = {"program": FAKE}
    access = ACCESS


@pytest.fixture
def begin(tmp_path):
    with held_by(lambda **options: KimiCodeAgent(KimiCodeOptions(program=FAKE, **options)), tmp_path / "workspace", ACCESS) as begin:
        yield begin


def test_turns_tools_and_usage(begin):
    session = begin()
    first, second = session.send("Hello."), session.send("More.", 2)
    prompt = "Work well.\n\nThe person's first message:\n\nHello."
    assert first.text == f"Turn 1: {len(prompt)} characters, key [secret]."
    assert second.text == "Turn 2: 5 characters, key [secret]."
    assert first.usage == second.usage == Usage(input_tokens=200, cached_tokens=80, output_tokens=10)
    assert [call["name"] for call in session.told("tool-call")[:3]] == ["Write", "Bash", "mcp__price__get_price"]
    results = [(r["output"], r["is_error"]) for r in session.told("tool-result")[:3]]
    assert results == [("Wrote 4 bytes to deliver/note.md", False), ("oops\n(image)", False), ('{"close": 1.5}', False)]
    assert session.told("tool-call")[1]["input"] == {"value": "not json"}
    assert session.told("note")[0]["text"] == "said before its reply: I write it down."
    assert (session.workspace / "deliver" / "note.md").read_text() == "note"


@pytest.mark.parametrize(
    ("word", "blame", "says"),
    [
        ("OVERLOADED", ProviderError, "overloaded"),
        ("NOWHERE", ProviderError, "Connection error"),
        ("LOGGED-OUT", ProviderRefusedError, "401"),
        ("NO-MODEL", ProviderRefusedError, "does not exist"),
        ("BAD", AgentError, "400"),
        ("STEPS", AgentError, "loop.max_steps_exceeded"),
        ("MUTE", AgentError, r"without its final event \(exit code 0\)"),
    ],
)
def test_whose_failure_it_was(begin, monkeypatch, word, blame, says):
    """What the adapter makes of it; a gateway that saw no call fail does not believe it."""
    session, judged = begin(), []
    judge = session.agent.failure
    monkeypatch.setattr(session.agent, "failure", lambda ending: judged.append(judge(ending)) or judged[-1])
    with pytest.raises(AgentError, match=says):
        session.send(word)
    assert type(judged[0]) is blame


def test_a_conversation_that_the_program_lost_is_told_again(begin):
    session = begin()
    session.send("Hello.")
    shutil.rmtree(session.workspace / ".home" / "kimi" / "sessions")
    reply = session.send("More.", 2)
    assert reply.text.startswith("Turn 1: ")
    assert reply.usage.input_tokens == 200
    assert any("no longer knows" in note["text"] for note in session.told("note"))


def test_a_cut_turn_keeps_what_was_said_and_done(begin):
    session = begin()
    reply = session.send_until((session.workspace / "hanging").exists, "HANG", more=0)
    assert reply.text == "I write it down."
    assert reply.usage == Usage(input_tokens=100, cached_tokens=40, output_tokens=5)
    assert session.told("tool-call") == [{"id": "c1", "name": "Write", "input": {"path": "deliver/note.md"}}]
    assert session.send("Again.", 2).text.startswith("Turn 2: ")
    assert len(session.told("tool-call")) == 4


def test_an_answer_that_broke_off_and_was_asked_again_is_not_the_reply(begin):
    assert begin().send("RETRIED").text.startswith("Turn 1: ")


def test_options_become_variables(begin, monkeypatch):
    session = begin(model="m-1", protocol="anthropic", effort="high", max_steps=9, context=5_000, retries=2)
    assert session.agent.capabilities.models == ("m-1",)
    assert session.agent.capabilities.upstreams == ("anthropic",)
    seen = session.spy(monkeypatch, "kimi/mcp.json")
    session.send("Hello.")
    session.send("More.", 2)
    argv, how, servers = seen[0]
    assert argv[-3].startswith("--prompt=Work well.")
    assert seen[1][0][-5:-1] == ["--prompt=More.", "--output-format", "stream-json", "-S"]
    given = {name: value for name, value in how["environment"].items() if name.startswith(("KIMI_MODEL", "KIMI_LOOP"))}
    assert given == {
        "KIMI_MODEL_NAME": "m-1",
        "KIMI_MODEL_API_KEY": ACCESS.token,
        "KIMI_MODEL_BASE_URL": "http://127.0.0.1:9/anthropic",
        "KIMI_MODEL_PROVIDER_TYPE": "anthropic",
        "KIMI_MODEL_MAX_CONTEXT_SIZE": "5000",
        "KIMI_MODEL_THINKING_EFFORT": "high",
        "KIMI_LOOP_MAX_ATTEMPTS_PER_STEP": "3",
        "KIMI_LOOP_MAX_STEPS_PER_TURN": "9",
    }
    assert not any(ACCESS.token in part for part in argv)
    url = ACCESS.servers[0].url
    assert servers == {"mcpServers": {"price": {"transport": "http", "url": url, "headers": {"Authorization": "Bearer throw-away-token"}}}}


def test_an_upstream_of_ones_own(begin, monkeypatch):
    session = begin(upstream="mine")
    seen = session.spy(monkeypatch, "kimi/mcp.json")
    session.send("Hello.")
    assert seen[0][1]["environment"]["KIMI_MODEL_BASE_URL"] == "http://127.0.0.1:9/mine/v1"


@pytest.mark.parametrize("text", ["x" * 200_000, "ü" * 70_000])
def test_a_prompt_too_long_for_an_argument_lies_in_a_file(begin, text):
    session = begin()
    session.send("Hello.")
    assert session.send(text, 2).text.startswith(f"Turn 2: {len(text)} characters")
    session.send("Short.", 3)
    assert not (session.workspace / ".home" / "kimi" / "prompt.md").exists()


@pytest.mark.parametrize(("text", "length"), [("\0", 23), ("a\0b", 2), ("\udcff", 1), ("-S x", 4), ("/quit", 21)])
def test_messages_that_are_hard_to_give(begin, text, length):
    session = begin()
    session.send("Hello.")
    assert session.send(text, 2).text.startswith(f"Turn 2: {length} characters")


def test_a_login_of_its_own(begin, tmp_path, monkeypatch):
    monkeypatch.setenv("KIMI_CODE_HOME", str(tmp_path / "user"))
    with pytest.raises(AgentError, match="not logged in"):
        begin(access=None, login=True)
    (tmp_path / "user" / "credentials").mkdir(parents=True)
    (tmp_path / "user" / "config.toml").write_text('default_model = "managed"')
    (tmp_path / "user" / "credentials" / "kimi-code.json").write_text(json.dumps({"access_token": "secret-of-a-person-0123456789"}))
    session = begin(access=None, login=True)
    assert session.agent.capabilities.upstreams == session.agent.capabilities.models == ()
    assert session.agent.capabilities.needs_network
    assert session.send("Hello.").text.endswith("key none.")
    path = session.workspace / ".home" / "kimi" / "credentials" / "kimi-code.json"
    assert "secret-of-a-person" in path.read_text()
    session.agent.finalize()
    assert not path.exists()


def test_what_doctor_says(tmp_path, monkeypatch):
    told = KimiCodeAgent(KimiCodeOptions(program=FAKE)).diagnose()
    assert (told.version, told.problem, told.login) == ("2.1.0", "", "a key for moonshotai, behind the gateway")
    told = KimiCodeAgent(KimiCodeOptions(program=str(tmp_path / "missing"))).diagnose()
    assert "was not found" in told.problem
    assert "npm install" in told.hint


def test_lines_that_are_no_events():
    assert list(read({"role": "meta", "type": "invented"})) == list(read({"role": "user"})) == []
    for data in ("x", [], {}, {"role": "tool"}, {"role": "assistant", "tool_calls": [5]}, {"role": "meta", "type": "session.resume_hint"}):
        with pytest.raises((TypeError, KeyError, AttributeError)):
            list(read(data))


def test_an_index_that_the_agent_spoilt_names_nothing_outside():
    good = {"sessionId": "s1", "sessionDir": "/w/.home/kimi/sessions/s1"}
    newer = {"sessionId": "s2", "sessionDir": "/w/.home/kimi/sessions/s2"}
    bad = [
        b"no json",
        b"[]",
        b"5",
        b'{"sessionId": "s3", "sessionDir": "/etc"}',
        b'{"sessionId": 4, "sessionDir": "/w/.home/x"}',
        b'{"sessionDir": 1}',
    ]
    data = b"\n".join([json.dumps(good).encode(), json.dumps(newer).encode(), *bad])
    assert read_index(data, "/w/.home") == ("s2", "kimi/sessions/s2")
    assert read_index(data, "/w/.home", "s1") == ("s1", "kimi/sessions/s1")
    assert read_index(data, "/w/.home", "s9") is None
    assert read_index(b"", "/w/.home") is None


def test_usage_is_summed_and_nonsense_is_not_counted():
    record = b'{"type": "usage.record", "usage": {"inputOther": 1, "inputCacheRead": 2, "inputCacheCreation": 4, "output": 8}}'
    odd = b'{"type": "usage.record", "usage": {"inputOther": -1, "inputCacheRead": true, "output": "many"}}'
    assert read_usage(b"\n".join([record, b'{"usage.record', b'"usage.record"', odd, record])) == Usage(14, 4, 16)
    assert read_usage(b'{"type": "turn.ended"}') == Usage()


def test_the_last_complaint_decides():
    assert read_error("nothing of it") is None
    told = read_error("error: provider.api_error: 500 first\nnoise\nerror: failed to run prompt: provider.auth_error: 403 no\n")
    assert told == Failed("provider.auth_error: 403 no", provider=True, refused=True)
