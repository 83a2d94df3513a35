"""The adapter with a stand-in for the program; tests/agents has the real one."""

import json
import tomllib
from pathlib import Path
from typing import ClassVar

import pytest

from finassay.api.errors import AgentError, ProviderError, ProviderRefusedError
from finassay.api.usage import Usage
from finassay.testing.cases import ComponentConformance
from finassay_cli_kit.testing.standin import OPEN_BRIEF, held_by, way
from finassay_codex.agent import CodexAgent, CodexOptions

FAKE = str(Path(__file__).with_name("fake_codex.py"))
ACCESS = way("openai")


class TestConformance(ComponentConformance):
    kind = "agent"
    id = "codex"
    options: ClassVar[dict[str, str]] = {"program": FAKE}
    access = ACCESS


@pytest.fixture
def begin(tmp_path):
    with held_by(lambda **options: CodexAgent(CodexOptions(program=FAKE, **options)), tmp_path / "workspace", ACCESS) as begin:
        yield begin


def settings(argv):
    return dict(argv[n + 1].split("=", 1) for n, part in enumerate(argv) if part == "-c")


def test_turns_tools_and_usage(begin):
    session = begin()
    first, second = session.send("Hello."), session.send("More.", 2)
    prompt = "Work well.\n\nThe person's first message:\n\nHello."
    assert first.text == f"Turn 1: {len(prompt)} characters, key [secret]."
    assert second.text == "Turn 2: 5 characters, key [secret]."
    assert first.usage == second.usage == Usage(input_tokens=100, cached_tokens=40, output_tokens=9, reasoning_tokens=3)
    assert [call["name"] for call in session.told("tool-call")[:2]] == ["shell", "price.get_price"]
    results = [(r["output"], r["is_error"], r["exit_code"]) for r in session.told("tool-result")[:3]]
    assert results == [("oops\n", True, 1), ('{"close": 1.5}', False, None), ('{"message": "user cancelled"}', True, None)]
    assert (session.workspace / "deliver" / "note.md").read_text() == "note"


@pytest.mark.parametrize(
    ("word", "blame", "says"),
    [
        ("OVERLOADED", ProviderError, "high demand"),
        ("LOGGED-OUT", ProviderRefusedError, "401"),
        ("NO-MODEL", ProviderRefusedError, "does not exist"),
        ("BAD", AgentError, "400"),
        ("MUTE", AgentError, "without its final event"),
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
    for file in (session.workspace / ".home" / "codex" / "sessions").iterdir():
        file.unlink()
    reply = session.send("More.", 2)
    assert reply.text.startswith("Turn 1: ")
    assert reply.usage.input_tokens == 100
    assert any("no longer knows" in note["text"] for note in session.told("note"))


def test_a_cut_turn_keeps_what_was_said(begin):
    session = begin()
    reply = session.send_until(lambda: bool(session.told("note")), "HANG")
    assert reply.text == "Still at it."
    assert reply.usage == Usage()


def test_options_become_flags_and_settings(begin, monkeypatch):
    session = begin(model="m-1", effort="high", verbosity="low", settings=("features.view_image=false",), retries=2, upstream="mine")
    seen = session.spy(monkeypatch)
    session.send("Hello.")
    session.send("More.", 2)
    argv, how = seen[0]
    given = settings(argv)
    assert argv[argv.index("-m") + 1] == "m-1"
    assert (given["model_reasoning_effort"], given["model_verbosity"], given["features.view_image"]) == ('"high"', '"low"', "false")
    provider = tomllib.loads(f"x={given['model_providers.gateway']}")["x"]
    assert provider["base_url"] == "http://127.0.0.1:9/mine/v1"
    assert how["environment"][provider["env_key"]] == ACCESS.token
    assert (provider["request_max_retries"], provider["stream_max_retries"]) == (2, 2)
    server = tomllib.loads(f"x={given['mcp_servers.price']}")["x"]
    assert server["url"] == ACCESS.servers[0].url
    assert how["environment"][server["env_http_headers"]["Authorization"]] == "Bearer throw-away-token"
    assert not any(ACCESS.token in part for part in argv)
    second = seen[1][0]
    assert second[-3] == "resume"
    assert second.index("-C") < second.index("resume")
    assert settings(second) == given | {"model_providers.gateway": settings(second)["model_providers.gateway"]} | {
        "mcp_servers.price": settings(second)["mcp_servers.price"]
    }
    policy = tomllib.loads(f"x={given['shell_environment_policy']}")["x"]
    assert policy["inherit"] == "core"
    assert "FINASSAY" not in json.dumps(policy)


def test_the_web_is_open_where_the_task_allows_it(begin, monkeypatch):
    closed = begin()
    open_ = begin(brief=OPEN_BRIEF)
    for session, word in ((closed, '"disabled"'), (open_, '"live"')):
        seen = session.spy(monkeypatch)
        session.send("Hello.")
        assert settings(seen[0][0])["web_search"] == word


def test_a_login_of_its_own(begin, tmp_path, monkeypatch):
    monkeypatch.setenv("CODEX_HOME", str(tmp_path / "user"))
    with pytest.raises(AgentError, match="not logged in"):
        begin(access=None, login=True)
    (tmp_path / "user").mkdir()
    (tmp_path / "user" / "auth.json").write_text(json.dumps({"tokens": {"access_token": "secret-of-a-person-0123456789"}}))
    session = begin(access=None, login=True)
    assert session.agent.capabilities.upstreams == ()
    assert session.agent.capabilities.needs_network
    assert "secret-of" not in repr(session.agent.login)
    seen = session.spy(monkeypatch)
    assert session.send("Hello.").text.endswith("key none.")
    assert not any("gateway" in part for part in seen[0][0])
    assert "secret-of-a-person" in (session.workspace / ".home" / "codex" / "auth.json").read_text()
    session.agent.finalize()
    assert not (session.workspace / ".home" / "codex" / "auth.json").exists()


def test_what_doctor_says(tmp_path):
    told = CodexAgent(CodexOptions(program=FAKE)).diagnose()
    assert (told.version, told.problem, told.login) == ("0.171.0", "", "a key for openai, behind the gateway")
    told = CodexAgent(CodexOptions(program=str(tmp_path / "missing"))).diagnose()
    assert "was not found" in told.problem
    assert "npm install" in told.hint


def test_the_readme_tells_every_option_and_the_versions_tried():
    readme = (Path(__file__).parents[1] / "README.md").read_text("utf-8")
    for name in CodexOptions.model_fields:
        assert f"| `{name}` |" in readme
    for version in CodexAgent.spec.tried:
        assert f"**{version}**" in readme
