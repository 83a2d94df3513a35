"""The adapter with a stand-in for the program; tests/agents has the real one."""

import json
from pathlib import Path
from typing import ClassVar

import pytest

from finassay.api.errors import AgentError, ProviderError, ProviderRefusedError
from finassay.api.usage import Usage
from finassay.testing.cases import ComponentConformance
from finassay_claude_code.agent import ClaudeCodeAgent, ClaudeCodeOptions
from finassay_cli_kit.testing.standin import OPEN_BRIEF, held_by, way

FAKE = str(Path(__file__).with_name("fake_claude.py"))
ACCESS = way("anthropic")


class TestConformance(ComponentConformance):
    kind = "agent"
    id = "claude-code"
    options: ClassVar[dict[str, str]] = {"program": FAKE}
    access = ACCESS


@pytest.fixture
def begin(tmp_path, monkeypatch):
    monkeypatch.delenv("CLAUDE_CODE_OAUTH_TOKEN", raising=False)
    with held_by(lambda **options: ClaudeCodeAgent(ClaudeCodeOptions(program=FAKE, **options)), tmp_path / "workspace", ACCESS) as begin:
        yield begin


def test_turns_tools_usage_and_cost(begin):
    session = begin()
    first, second = session.send("Hello."), session.send("More.", 2)
    prompt = "Work well.\n\nThe person's first message:\n\nHello."
    assert first.text == f"Turn 1: {len(prompt)} characters, key [secret]."
    assert second.text == "Turn 2: 5 characters, key [secret]."
    assert first.usage == second.usage == Usage(input_tokens=150, cached_tokens=30, output_tokens=7, cost_usd=0.25)
    assert [call["name"] for call in session.told("tool-call")[:2]] == ["Write", "Bash"]
    assert [r["exit_code"] for r in session.told("tool-result")[:2]] == [None, 1]
    assert not any("sub-agent" in str(event.data) for event in session.log)
    assert (session.workspace / "deliver" / "note.md").read_text() == "# Note"


def test_the_programs_configuration_is_private_and_taken_away(begin):
    session = begin()
    session.send("Hello.")
    config = session.workspace / ".home" / "claude" / "mcp.json"
    server = json.loads(config.read_text())["mcpServers"]["price"]
    assert server == {"type": "http", "url": ACCESS.servers[0].url, "headers": dict(ACCESS.servers[0].headers)}
    assert config.stat().st_mode & 0o077 == 0
    session.agent.finalize()
    assert not config.exists()


@pytest.mark.parametrize(
    ("word", "blame", "says"),
    [
        ("OVERLOADED", ProviderError, "529"),
        ("LOGGED-OUT", ProviderRefusedError, "401"),
        ("OFFLINE", ProviderError, "ECONNRESET"),
        ("LIMIT", AgentError, "maximum number of turns"),
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
    for file in (session.workspace / ".home" / "claude" / "projects").iterdir():
        file.unlink()
    assert session.send("More.", 2).text.startswith("Turn 1: ")
    assert any("no longer knows" in note["text"] for note in session.told("note"))


def test_a_cut_turn_keeps_what_was_said_and_counted(begin):
    session = begin()
    kept = session.home(".finassay-kit/transcript.jsonl")
    reply = session.send_until(lambda: kept.exists() and "Still at it." in kept.read_text(), "HANG")
    assert reply.text == "Still at it."
    assert reply.usage == Usage(input_tokens=150, cached_tokens=30, output_tokens=1)


def test_what_was_denied_is_noted(begin):
    session = begin()
    session.send("DENIED")
    assert any(note["text"].startswith("not permitted: Bash") for note in session.told("note"))


def test_options_become_flags_and_variables(begin, monkeypatch):
    session = begin(model="m-1", effort="high", max_turns=9, bare=True, refused_tools=("Agent",), retries=2, upstream="mine")
    seen = session.spy(monkeypatch)
    session.send("Hello.")
    argv, how = seen[0]
    for flags in (["--model", "m-1"], ["--effort", "high"], ["--max-turns", "9"], ["--permission-mode", "bypassPermissions"]):
        assert list(argv)[argv.index(flags[0]) : argv.index(flags[0]) + 2] == flags
    assert "--bare" in argv
    refused = argv[argv.index("--disallowed-tools") + 1].split(",")
    assert {"Agent", "WebSearch", "WebFetch", "AskUserQuestion"} <= set(refused)
    variables = how["environment"]
    assert variables["ANTHROPIC_BASE_URL"] == "http://127.0.0.1:9/mine"
    assert variables["CLAUDE_CODE_MAX_RETRIES"] == "2"
    assert {v for k, v in variables.items() if k.endswith("_MODEL")} == {"m-1"}
    assert not any(ACCESS.token in part for part in argv)
    assert session.agent.capabilities.models == ("m-1",)
    assert session.agent.capabilities.upstreams == ("mine",)


def test_the_web_is_open_where_the_task_allows_it(begin, monkeypatch):
    session = begin(brief=OPEN_BRIEF)
    seen = session.spy(monkeypatch)
    session.send("Hello.")
    argv = seen[0][0]
    assert "WebSearch" not in argv[argv.index("--disallowed-tools") + 1]


def test_a_login_of_its_own(begin, tmp_path, monkeypatch):
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "user"))
    with pytest.raises(AgentError, match="not logged in"):
        begin(access=None, login=True)
    (tmp_path / "user").mkdir()
    (tmp_path / "user" / ".credentials.json").write_text(json.dumps({"claudeAiOauth": {"accessToken": "secret-of-a-person-0123456789"}}))
    session = begin(access=None, login=True)
    assert session.agent.capabilities.upstreams == ()
    assert session.agent.capabilities.needs_network
    assert "secret-of" not in repr(session.agent.login)
    assert session.send("Hello.").text.endswith("key none.")
    copied = session.workspace / ".home" / "claude" / ".credentials.json"
    assert "secret-of-a-person" in copied.read_text()
    copied.write_text("refreshed by the program")
    session.send("More.", 2)
    assert copied.read_text() == "refreshed by the program"
    session.agent.finalize()
    assert not copied.exists()


def test_what_doctor_says(begin, tmp_path, monkeypatch):
    told = ClaudeCodeAgent(ClaudeCodeOptions(program=FAKE)).diagnose()
    assert (told.version, told.problem, told.login) == ("2.1.332", "", "a key for anthropic, behind the gateway")
    told = ClaudeCodeAgent(ClaudeCodeOptions(program=str(tmp_path / "missing"))).diagnose()
    assert "was not found" in told.problem
    assert "npm install" in told.hint


def test_without_a_gateway_it_does_not_start(begin):
    with pytest.raises(AgentError, match="no way to its models"):
        begin(access=None)


def test_the_readme_tells_every_option_and_the_versions_tried():
    readme = (Path(__file__).parents[1] / "README.md").read_text("utf-8")
    for name in ClaudeCodeOptions.model_fields:
        assert f"| `{name}` |" in readme
    for version in ClaudeCodeAgent.spec.tried:
        assert f"**{version}**" in readme


@pytest.mark.parametrize(
    ("model", "asked"), [("opus", ()), ("sonnet[1m]", ()), ("", ()), ("claude-x-1", ("claude-x-1",)), ("claude-x-1[1m]", ("claude-x-1",))]
)
def test_the_gateway_is_told_the_model_that_stands_in_requests(begin, monkeypatch, model, asked):
    session = begin(model=model)
    assert session.agent.capabilities.models == asked
    seen = session.spy(monkeypatch)
    session.send("Hello.")
    argv, how = seen[0]
    assert (argv[argv.index("--model") + 1] if "--model" in argv else "") == model
    assert {v for k, v in how["environment"].items() if k.endswith("_MODEL")} == set(asked)
