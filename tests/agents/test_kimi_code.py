"""The agent kimi-code with the real program."""

import json

import pytest
from every_program import EveryProgram, holds_no_token

from finassay.api.errors import AgentError
from finassay_cli_kit.testing import MODEL, ModelServer, Say, Script, Shell, WriteFile
from finassay_kimi_code.agent import KimiCodeAgent, KimiCodeOptions


@pytest.fixture
def agent(program):
    path = str(program("kimi").path)
    return lambda **options: KimiCodeAgent(KimiCodeOptions(program=path, **{"model": MODEL, "upstream": "openai", "retries": 1, **options}))


class TestKimiCode(EveryProgram):
    PRICE, WRITE, SHELL = "mcp__price__get_price", "Write", "Bash"
    CONVERSATIONS = ".home/kimi/sessions"

    def noted(self, held):
        """It takes a second or so."""
        wires = held.workspace.glob(".home/kimi/sessions/*/*/agents/main/wire.jsonl")
        lines = (line for wire in wires for line in wire.read_text().splitlines())
        return any(line.startswith('{"type":"context.append_loop_event"') and '"tool.call"' in line for line in lines)


def test_nothing_of_the_workspace_configures_it_and_no_log_holds_the_token(agent, begin, way):
    with ModelServer(Script([Shell("env; cat .home/kimi/mcp.json"), Say("Seen.")])) as server:
        held = begin(agent(), server, way)
        planted = json.dumps({"mcpServers": {"bad": {"command": "touch", "args": ["planted"]}}})
        (held.workspace / ".mcp.json").write_text(planted)
        (held.workspace / ".kimi-code").mkdir()
        (held.workspace / ".kimi-code" / "mcp.json").write_text(planted)
        (held.workspace / ".env").write_text("KIMI_MODEL_NAME=planted-model\n")
        held.send("Look around.")
        assert not (held.workspace / "planted").exists()
        assert {call.request.model for call in server.calls} == {MODEL}
        held.agent.finalize()
    assert "KIMI_MODEL_API_KEY=[secret]" in held.told("tool-result")[0]["output"]
    holds_no_token(held, ".home/kimi/mcp.json")


def test_a_message_too_long_for_an_argument_is_read_from_a_file(agent, begin, way):
    with ModelServer(Script([Shell("tail -c 4 .home/kimi/prompt.md"), Say("Read.")], [Say("Short.")])) as server:
        held = begin(agent(), server, way)
        assert held.send("Grüße 你好 " + "lorem ipsum " * 30_000 + "END").text == "Read."
        assert held.told("tool-result")[0]["output"] == " END"
        assert held.send("-p is no option here").text == "Short."
    assert server.calls[-1].request.text == "-p is no option here"


def test_the_limit_of_steps(agent, begin, way):
    with ModelServer(Script([Shell("true"), Say("Never.")])) as server, pytest.raises(AgentError, match="max_steps"):
        begin(agent(max_steps=1), server, way).send("Loop.")


@pytest.mark.parametrize("protocol", ["kimi", "openai", "anthropic"])
def test_the_protocols_that_it_speaks(agent, begin, way, protocol):
    upstream = "anthropic" if protocol == "anthropic" else "openai"
    with ModelServer(Script([WriteFile("deliver/a", "x"), Say("Written.")])) as server:
        held = begin(agent(protocol=protocol, upstream=upstream), server, way)
        reply = held.send("Write.")
    assert reply.text == "Written."
    assert (reply.usage.input_tokens, reply.usage.output_tokens) == (server.usage.input, server.usage.output)
