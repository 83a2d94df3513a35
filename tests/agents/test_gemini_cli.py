"""The agent gemini-cli with the real program."""

import json

import pytest
from every_program import EveryProgram, holds_no_token

from finassay.api.errors import AgentError
from finassay_cli_kit.testing import MODEL, ModelServer, Say, Script, Shell
from finassay_gemini_cli.agent import GeminiCliAgent, GeminiCliOptions


@pytest.fixture
def agent(program):
    path = str(program("gemini").path)
    return lambda **options: GeminiCliAgent(GeminiCliOptions(program=path, **{"model": MODEL, "retries": 1, **options}))


class TestGeminiCli(EveryProgram):
    PRICE, WRITE, SHELL = "mcp_price_get_price", "write_file", "run_shell_command"
    CONVERSATIONS = ".home/gemini/.gemini/tmp"
    COUNTS_AS_IT_GOES = False
    NOT_WAITED_OUT = ("CutStream",)

    def as_heard(self, text):
        return text.replace("@", "\\@")  # else it would read the file of that name into the prompt


def test_nothing_of_the_workspace_configures_it_and_no_log_holds_the_token(agent, begin, way):
    with ModelServer(Script([Shell("env; cat .home/gemini/.gemini/settings.json"), Say("Seen.")])) as server:
        held = begin(agent(), server, way)
        (held.workspace / ".env").write_text("GEMINI_MODEL=planted-model\nPLANTED=1\nGOOGLE_GEMINI_BASE_URL=http://127.0.0.1:9\n")
        settings = {"model": {"name": "planted-model"}, "mcpServers": {"bad": {"command": "touch", "args": ["planted"]}}}
        (held.workspace / ".gemini").mkdir()
        (held.workspace / ".gemini" / "settings.json").write_text(json.dumps(settings))
        held.send("Look around.")
        assert not (held.workspace / "planted").exists()
        assert {call.request.model for call in server.calls} == {MODEL}
        tools = {tool.name for tool in server.calls[0].request.tools}
        assert not tools & {"save_memory", "google_web_search", "web_fetch", "ask_user", "enter_plan_mode"}
        held.agent.finalize()
    seen = held.told("tool-result")[0]["output"]
    assert "GEMINI_API_KEY=[secret]" in seen
    assert "PLANTED=1" not in seen
    holds_no_token(held, ".home/gemini/.gemini/settings.json")


def test_a_long_message_and_options(agent, begin, way):
    with ModelServer(Script([Say("Read.")], [Shell("true"), Say("Never.")])) as server:
        held = begin(agent(refused_tools=("replace",)), server, way)
        assert held.send("/memory show Grüße 你好 " + "lorem ipsum " * 30_000 + "END").text == "Read."
        call = server.calls[0]
        assert call.request.text.endswith("END")
        assert "replace" not in {tool.name for tool in call.request.tools}
        limited = begin(agent(max_turns=1), server, way)
        with pytest.raises(AgentError, match="FatalTurnLimitedError"):
            limited.send("Loop.")
