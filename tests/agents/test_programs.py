"""The programs by themselves, without an adapter: that the pinned versions start, and that the scripted model server is one they can talk to."""

import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from attrs import frozen

from finassay_cli_kit.testing import CutStream, Mcp, ModelServer, Say, Script, Shell, Status, TokenCount, WriteFile
from finassay_cli_kit.testing.mcp import price

PACKAGES = {
    "claude": "@anthropic-ai/claude-code",
    "codex": "@openai/codex",
    "gemini": "@google/gemini-cli",
    "kimi": "@moonshot-ai/kimi-code",
}
PINNED = json.loads((Path(__file__).parent / "package.json").read_text("utf-8"))["dependencies"]
SESSION = "5a0a9a52-3f4e-4a0c-9b8e-2f0a3c1d4e5f"
CATALOGUED = "gpt-6.2-sol"
"""A model that Codex knows; it is offered other tools than a model it does not know."""


@frozen
class Heard:
    """What a program said in one turn."""

    exit_code: int
    lines: tuple[dict[str, Any], ...]
    stderr: str
    session: str | None

    @property
    def whole(self) -> str:
        return json.dumps(self.lines) + self.stderr


@frozen
class Talk:
    """One conversation of one program with one model server, with a price channel by HTTP."""

    start: Callable[[str], Any]
    server: ModelServer
    home: Path
    workspace: Path
    retries: int = 1
    key: str = ""
    model: str = ""

    def run(self, name: str, args: list[str], env: dict[str, str], text: str = "") -> Heard:
        done = self.start(name).run(args, home=self.home, env={"TMPDIR": str(self.home), **env}, stdin=text, cwd=self.workspace, seconds=90)
        lines = tuple(json.loads(line) for line in done.stdout.splitlines() if line.startswith("{"))
        named = [line.get("session_id") or line.get("thread_id") for line in lines]
        return Heard(done.returncode, lines, done.stderr, next((n for n in reversed(named) if n), None))

    @property
    def bearer(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.server.key}"}

    def claude(self, text: str, session: str | None, *more: str) -> Heard:
        env = {
            "CLAUDE_CONFIG_DIR": str(self.home / "claude"),
            "ANTHROPIC_BASE_URL": self.server.urls["anthropic"],
            "ANTHROPIC_API_KEY": self.key or self.server.key,
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "CLAUDE_CODE_MAX_RETRIES": str(self.retries),
            "DISABLE_AUTOUPDATER": "1",
            "DISABLE_TELEMETRY": "1",
        }
        servers = {"mcpServers": {"price": {"type": "http", "url": self.server.mcp_url, "headers": self.bearer}}}
        args = ["-p", "--setting-sources", "", "--output-format", "stream-json", "--verbose", "--model", self.model or self.server.model]
        args += ["--permission-mode", "dontAsk", "--allowedTools", "Bash,Read,Edit,Write,mcp__price"]
        args += ["--mcp-config", json.dumps(servers), "--strict-mcp-config", *more]
        return self.run("claude", [*args, *(["--resume", session] if session else ["--session-id", SESSION])], env, text)

    def claude_bare(self, text: str, session: str | None) -> Heard:
        return self.claude(text, session, "--bare")

    def codex(self, text: str, session: str | None) -> Heard:
        (self.home / "codex").mkdir(exist_ok=True)
        provider = f'name="fake",base_url="{self.server.urls["openai"]}/v1",env_key="FAKE_KEY",wire_api="responses"'
        retries = f"request_max_retries={self.retries},stream_max_retries={self.retries}"
        settings = {
            "model_provider": "fake",
            "model_providers.fake": f"{{{provider},{retries}}}",
            "mcp_servers.price": f'{{url="{self.server.mcp_url}",bearer_token_env_var="MCP_KEY"}}',
        }
        args = ["exec", "--json", "--ignore-user-config", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox"]
        args += ["-m", self.model or self.server.model, *(word for name, value in settings.items() for word in ("-c", f"{name}={value}"))]
        env = {
            "CODEX_HOME": str(self.home / "codex"),
            "FAKE_KEY": self.key or self.server.key,
            "MCP_KEY": self.server.key,
            "TMPDIR": "/var/empty",
        }
        return self.run("codex", [*args, *(["resume", session] if session else []), "-"], env, text)

    def gemini(self, text: str, session: str | None) -> Heard:
        settings = {
            "security": {"auth": {"selectedType": "gemini-api-key"}},
            "privacy": {"usageStatisticsEnabled": False},
            "general": {"enableAutoUpdate": False, "maxAttempts": self.retries + 1},
            "mcpServers": {"price": {"httpUrl": self.server.mcp_url, "headers": self.bearer, "trust": True}},
        }
        (self.home / ".gemini").mkdir(exist_ok=True)
        (self.home / ".gemini" / "settings.json").write_text(json.dumps(settings), "utf-8")
        env = {
            "GEMINI_API_KEY": self.key or self.server.key,
            "GOOGLE_GEMINI_BASE_URL": self.server.urls["google"],
            "GEMINI_CLI_NO_RELAUNCH": "1",
        }
        args = ["-o", "stream-json", "--yolo", "--skip-trust", "-m", self.model or self.server.model]
        return self.run("gemini", [*args, *(["--resume", session] if session else ["--session-id", SESSION])], env, text)

    def kimi(self, text: str, session: str | None) -> Heard:
        own = self.home / "kimi"
        own.mkdir(exist_ok=True)
        (own / "mcp.json").write_text(json.dumps({"mcpServers": {"price": {"url": self.server.mcp_url, "headers": self.bearer}}}), "utf-8")
        env = {
            "KIMI_CODE_HOME": str(own),
            "KIMI_MODEL_NAME": self.model or self.server.model,
            "KIMI_MODEL_API_KEY": self.key or self.server.key,
            "KIMI_MODEL_BASE_URL": f"{self.server.urls['openai']}/v1",
            "KIMI_LOOP_MAX_ATTEMPTS_PER_STEP": str(self.retries + 1),
            "KIMI_DISABLE_TELEMETRY": "1",
            "KIMI_CODE_NO_AUTO_UPDATE": "1",
        }
        return self.run("kimi", [f"--prompt={text}", "--output-format", "stream-json", *(["-S", session] if session else [])], env)


@pytest.fixture
def talk(program, home, tmp_path) -> Callable[..., Talk]:
    (tmp_path / "workspace").mkdir()
    return lambda server, **more: Talk(program, server, home, tmp_path / "workspace", **more)


@pytest.mark.parametrize("name", PACKAGES)
def test_the_pinned_version_starts(name, program, home):
    done = program(name).run(["--version"], home=home)
    assert done.returncode == 0, done.stderr
    assert PINNED[PACKAGES[name]] in done.stdout


@pytest.mark.parametrize(
    ("way", "model"),
    [("claude", ""), ("claude_bare", ""), ("codex", ""), ("codex", CATALOGUED), ("gemini", ""), ("kimi", "")],
    ids=["claude", "claude-bare", "codex", "codex-code-mode", "gemini", "kimi"],
)
def test_two_turns_with_tools(way, model, talk):
    """A shell command, a file, an MCP call, a provider's hiccup; then a second turn of the same conversation."""
    text = '# Report\nIt\'s "so" – $HOME, é.\n'
    script = Script(
        [
            Say("I look first."),
            Shell("echo hello from 42 | tr a-z A-Z"),
            WriteFile("deliver/report.md", text),
            Mcp("price", "get_price", {"symbol": "AAA"}),
            Status(500),
            Say("Here is the report.", TokenCount(1000, 50, cached=400)),
        ],
        [Shell("cat deliver/report.md"), Say("That was all.")],
    )
    with ModelServer(script, models=[model] if model else ["scripted-model"]) as server:
        talking = talk(server)
        first = getattr(talking, way)("Write the report.", None)
        assert first.exit_code == 0, first.whole
        assert (talking.workspace / "deliver" / "report.md").read_text("utf-8") == text
        assert server.tool_calls == (("get_price", {"symbol": "AAA"}),)
        second = getattr(talking, way)("And what does it say?", first.session)
        assert second.exit_code == 0, second.whole
    server.check()
    assert "Here is the report." in joined(first)
    assert "That was all." in joined(second)
    results = [result for call in server.calls for result in call.request.results]
    assert any("HELLO FROM 42" in result for result in results)
    assert any(str(price("AAA")) in result for result in results)
    assert any('It\'s "so"' in result for result in results)
    assert {call.request.turn for call in server.calls} == {1, 2}
    assert "Write the report." in [item.text.strip() for item in server.calls[-1].request.items]
    assert [r for r in server.requests if r.status == 401] == []


@pytest.mark.parametrize("way", ["claude", "codex", "gemini", "kimi"])
def test_a_channel_that_answers_with_a_list(way, talk):
    """Gemini CLI reads a text that is JSON as structured content, which must be an object, and tells its model that the tool failed."""
    with ModelServer(Script([Mcp("price", "list_prices", {"symbol": "A", "days": ["2020-01-02"]}), Say("Done.")])) as server:
        heard = getattr(talk(server), way)("Hello.", None)
    assert heard.exit_code == 0, heard.whole
    server.check()
    assert [name for name, _ in server.tool_calls] == ["list_prices"]
    (told,) = server.calls[-1].request.results
    assert (str(price("A", "2020-01-02")) in told) == (way != "gemini")
    assert ("Invalid input: expected record" in told) == (way == "gemini")


def test_codex_falls_back_from_a_web_socket(talk):
    """Its built-in provider asks for one first."""
    with ModelServer(Script([Shell("echo hello"), Say("Here I am.")])) as server:
        talking = talk(server)
        (talking.home / "codex").mkdir()
        args = ["exec", "--json", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", "-m", server.model]
        args += ["-c", f'openai_base_url="{server.urls["openai"]}/v1"', "-"]
        heard = talking.run("codex", args, {"CODEX_HOME": str(talking.home / "codex"), "CODEX_API_KEY": server.key}, "Hello.")
    assert heard.exit_code == 0, heard.whole
    assert "Here I am." in heard.whole
    assert [r.status for r in server.requests] == [426, 200, 200]
    server.check()


def joined(heard: Heard) -> str:
    """What a program said, with the pieces of a streamed text put together."""
    pieces = [str(line.get("content", "")) for line in heard.lines if line.get("delta")]
    return "".join(pieces) + heard.whole


@pytest.mark.parametrize("way", ["claude", "codex", "gemini", "kimi"])
class TestWhatGoesWrong:
    """The program tells the failure, ends by itself, and the conversation goes on afterwards."""

    def test_a_wrong_key(self, way, talk):
        with ModelServer(Script()) as server:
            heard = getattr(talk(server, key="wrong"), way)("Hello.", None)
        assert heard.exit_code != 0, heard.whole
        assert {r.status for r in server.requests if r.request} == {401}

    def test_an_unknown_model(self, way, talk):
        with ModelServer(Script()) as server:
            heard = getattr(talk(server, model="no-such-model"), way)("Hello.", None)
        assert heard.exit_code != 0, heard.whole
        assert {r.status for r in server.requests if r.request} == {404}

    def test_nobody_listens(self, way, talk):
        """Codex waits until somebody does, for ever if need be: its turn has no end but the harness's."""
        with ModelServer(Script([Say("Here I am.")])) as server:
            server.down()
            again = threading.Timer(8.0, server.up)
            if way == "codex":
                again.start()
            heard = getattr(talk(server), way)("Hello.", None)
            again.cancel()
        if way == "codex":
            again.join()
            assert "waiting for network" in heard.whole
            assert "Here I am." in heard.whole
        else:
            assert heard.exit_code != 0, heard.whole
            assert not server.calls

    def test_a_stream_that_breaks_off(self, way, talk):
        with ModelServer(Script([CutStream(times=1), Say("Here I am again.")])) as server:
            heard = getattr(talk(server, retries=2), way)("Hello.", None)
        told = "Here I am again." in joined(heard)
        assert told == (len(server.calls) > 1), heard.whole
