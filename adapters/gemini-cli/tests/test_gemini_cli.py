"""The adapter with a stand-in for the program; tests/agents has the real one."""

import json
import threading
from pathlib import Path
from typing import ClassVar

import pytest

from finassay.api.errors import AgentError, ProviderError, ProviderRefusedError
from finassay.api.usage import Usage
from finassay.testing.cases import ComponentConformance
from finassay_cli_kit import Note, Said
from finassay_cli_kit.testing.standin import OPEN_BRIEF, held_by, way
from finassay_gemini_cli.agent import GeminiCliAgent, GeminiCliOptions
from finassay_gemini_cli.stream import Reader, failed, status_of

FAKE = str(Path(__file__).with_name("fake_gemini.py"))
ACCESS = way("google")


class TestConformance(ComponentConformance):
    kind = "agent"
    id = "gemini-cli"
    options: ClassVar[dict[str, str]] = {"program": FAKE}
    access = ACCESS


@pytest.fixture
def begin(tmp_path):
    with held_by(lambda **options: GeminiCliAgent(GeminiCliOptions(program=FAKE, **options)), tmp_path / "workspace", ACCESS) as begin:
        yield begin


def test_turns_tools_and_usage(begin):
    session = begin()
    first, second = session.send("Hello."), session.send("More.", 2)
    prompt = "Work well.\n\nThe person's first message:\n\nHello."
    assert first.text == f"Turn 1: {len(prompt)} characters, key [secret]."
    assert second.text == "Turn 2: 5 characters, key [secret]."
    assert first.usage == second.usage == Usage(input_tokens=100, cached_tokens=40, output_tokens=9)
    assert [call["name"] for call in session.told("tool-call")[:3]] == ["write_file", "mcp_price_get_price", "run_shell_command"]
    results = [(r["output"], r["is_error"]) for r in session.told("tool-result")[:3]]
    assert results == [("", False), ('{"close": 1.5}', False), ("exit code 1", True)]
    assert session.told("note")[0]["text"] == "said before its reply: I write it down."
    assert (session.workspace / "deliver" / "note.md").read_text() == "note"


@pytest.mark.parametrize(
    ("word", "blame", "says"),
    [
        ("OVERLOADED", ProviderError, "overloaded"),
        ("NOWHERE", ProviderError, "fetch failed"),
        ("EMPTY", ProviderError, "empty"),
        ("LOGGED-OUT", ProviderRefusedError, "401"),
        ("NO-MODEL", ProviderRefusedError, "does not exist"),
        ("BAD", AgentError, "400"),
        ("TURNS", AgentError, "FatalTurnLimitedError"),
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
    for file in (session.workspace / ".home" / "gemini" / ".gemini" / "tmp").iterdir():
        file.unlink()
    assert session.send("More.", 2).text.startswith("Turn 1: ")
    assert any("no longer knows" in note["text"] for note in session.told("note"))


def test_a_cut_turn_keeps_what_was_said(begin, monkeypatch):
    session = begin()
    read, heard = session.agent.events, threading.Event()

    def spied(line):
        yield from read(line)
        if b"it down" in line:
            heard.set()

    monkeypatch.setattr(session.agent, "events", spied)

    reply = session.send_until(heard.is_set, "HANG", more=0.1)
    assert reply.text == "I write it down."
    assert reply.usage == Usage()
    assert session.send("Again.", 2).text.startswith("Turn 2: ")


def test_options_become_flags_and_settings(begin, monkeypatch):
    session = begin(model="m-1", models=("m-2",), max_turns=9, refused_tools=("replace",), retries=2, upstream="mine")
    assert session.agent.capabilities.models == ("m-1", "m-2")
    assert session.agent.capabilities.upstreams == ("mine",)
    seen = session.spy(monkeypatch, "gemini/.gemini/settings.json")
    session.send("Hello.")
    session.send("More.", 2)
    argv, how, settings = seen[0]
    assert argv[argv.index("-m") + 1] == "m-1"
    assert argv[-2] == "--session-id"
    assert seen[1][0][-2:] == ["--resume", argv[-1]]
    assert how["environment"]["GOOGLE_GEMINI_BASE_URL"] == "http://127.0.0.1:9/mine"
    assert how["environment"]["GEMINI_API_KEY"] == ACCESS.token
    assert not any(ACCESS.token in part for part in argv)
    assert settings["general"]["maxAttempts"] == 3
    assert settings["model"]["maxSessionTurns"] == 9
    assert {"replace", "save_memory", "ask_user", "web_fetch"} <= set(settings["tools"]["exclude"])
    assert settings["advanced"]["ignoreLocalEnv"] is True
    server = settings["mcpServers"]["price"]
    assert (server["httpUrl"], server["headers"], server["trust"]) == (
        ACCESS.servers[0].url,
        {"Authorization": "Bearer throw-away-token"},
        True,
    )


def test_a_model_of_its_own_choice_is_not_limited(begin):
    assert begin(model="auto").agent.capabilities.models == ()


def test_the_web_is_open_where_the_task_allows_it(begin, monkeypatch):
    session = begin(brief=OPEN_BRIEF)
    seen = session.spy(monkeypatch, "gemini/.gemini/settings.json")
    session.send("Hello.")
    assert "google_web_search" not in seen[0][2]["tools"]["exclude"]


def test_a_login_of_its_own(begin, tmp_path, monkeypatch):
    monkeypatch.setenv("GEMINI_CLI_HOME", str(tmp_path / "user"))
    with pytest.raises(AgentError, match="not logged in"):
        begin(access=None, login=True)
    (tmp_path / "user" / ".gemini").mkdir(parents=True)
    (tmp_path / "user" / ".gemini" / "oauth_creds.json").write_text(json.dumps({"access_token": "secret-of-a-person-0123456789"}))
    session = begin(access=None, login=True)
    assert session.agent.capabilities.upstreams == session.agent.capabilities.models == ()
    assert session.agent.capabilities.needs_network
    seen = session.spy(monkeypatch, "gemini/.gemini/settings.json")
    assert session.send("Hello.").text.endswith("key none.")
    assert seen[0][2]["security"]["auth"]["selectedType"] == "oauth-personal"
    path = session.workspace / ".home" / "gemini" / ".gemini" / "oauth_creds.json"
    assert "secret-of-a-person" in path.read_text()
    session.agent.finalize()
    assert not path.exists()


def test_what_doctor_says(tmp_path, monkeypatch):
    told = GeminiCliAgent(GeminiCliOptions(program=FAKE)).diagnose()
    assert (told.version, told.problem, told.login) == ("0.61.0", "", "a key for google, behind the gateway")
    told = GeminiCliAgent(GeminiCliOptions(program=str(tmp_path / "missing"))).diagnose()
    assert "was not found" in told.problem
    assert "npm install" in told.hint


def test_lines_that_are_no_events():
    reader = Reader()
    assert list(reader.read({"type": "invented"})) == []
    for data in ("YOLO", [], {"type": "init"}, {"type": "message"}, {"type": "tool_use", "tool_id": 1}):
        with pytest.raises((TypeError, KeyError, AttributeError)):
            list(reader.read(data))
    assert list(reader.read({"type": "error", "severity": "warning", "message": "x"})) == [Note("warning: x")]


def test_pieces_of_a_message_are_joined():
    reader = Reader()
    pieces = [{"type": "message", "role": "assistant", "content": piece, "delta": True} for piece in ("a", "b")]
    read = [event for data in (*pieces, {"type": "tool_result", "tool_id": "1"}, pieces[0]) for event in reader.read(data)]
    assert [event for event in read if isinstance(event, Said)] == [Said("a"), Said("b", more=True), Said("a")]


def test_statuses():
    assert [status_of(code) for code in (None, 0, 1, 53, 143, 144, 145, 244, 255)] == [0, 0, 0, 0, 0, 400, 401, 500, 511]
    assert failed('{"error": {"code": 429}}').provider
    assert not failed("something broke").provider
    assert failed("x", 404).refused
