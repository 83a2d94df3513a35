"""The agent `command`: a program of one's own, as an agent by its command."""

import json
import sys

import pytest

from finassay.api.agent import Setting, TurnContext
from finassay.api.channel import McpServer
from finassay.api.errors import AgentError, UsageError
from finassay.api.gateway import Access
from finassay.api.sandbox import BoxSpec
from finassay.api.task import Brief
from finassay.catalog.catalog import Catalog
from finassay_remote.command import CommandAgent
from finassay_remote.options import CommandOptions
from finassay_sandbox_local.sandbox import LocalOptions, LocalSandbox

TELL = """
import json, os, sys
heard = sys.stdin.read()
told = {k: v for k, v in os.environ.items() if k.startswith(("FINASSAY_", "MY_"))}
print(json.dumps({"type": "message", "text": json.dumps({"heard": heard, "told": told, "arguments": sys.argv[1:]})}))
print(json.dumps({"type": "done"}))
"""


def play(tmp_path, access=None, **options):
    agent = CommandAgent(CommandOptions(**options))
    workspace = tmp_path / "w"
    (workspace / "deliver").mkdir(parents=True)
    box = LocalSandbox(LocalOptions()).open(
        BoxSpec(workspace, agent.capabilities.readable, environment=dict(agent.capabilities.environment))
    )
    try:
        agent.start(Setting(Brief("s1", "Work well.", 6, 30, (), False), box, access=access))
        return json.loads(agent.send("Grüße", TurnContext(1, 30, lambda event: None, lambda: False)).text)
    finally:
        agent.finalize()
        box.close()


def test_a_program_and_its_arguments(tmp_path):
    told = play(tmp_path, command=[sys.executable, "-c", TELL, "--fast"], environment={"MY_MODE": "x"}, version="3")
    assert (told["heard"], told["arguments"]) == ("Grüße", ["--fast"])
    assert {k: v for k, v in told["told"].items() if k in ("FINASSAY_BRIEF", "FINASSAY_TURN", "MY_MODE")} == {
        "FINASSAY_BRIEF": "Work well.",
        "FINASSAY_TURN": "1",
        "MY_MODE": "x",
    }
    assert 0 < float(told["told"]["FINASSAY_SECONDS"]) <= 30


def test_python_is_the_one_that_runs_finassay(tmp_path):
    assert play(tmp_path, command=["python", "-c", TELL])["heard"] == "Grüße"


def test_the_way_to_models_and_channels(tmp_path):
    servers = (McpServer("prices", "http://127.0.0.1:9/channels/prices/mcp", {"Authorization": "Bearer throw-away"}),)
    access = Access({"anthropic": "http://127.0.0.1:9/anthropic", "my-llm": "http://127.0.0.1:9/my-llm"}, "throw-away", servers)
    told = play(tmp_path, access, command=[sys.executable, "-c", TELL.replace("json.dumps(told)", "1")], upstreams=["anthropic", "my-llm"])[
        "told"
    ]
    assert told["FINASSAY_URL_ANTHROPIC"] == "http://127.0.0.1:9/anthropic"
    assert told["FINASSAY_URL_MY_LLM"] == "http://127.0.0.1:9/my-llm"
    assert "throw-away" not in told["FINASSAY_TOKEN"]  # masked in what the program says; it had the token itself
    assert json.loads(told["FINASSAY_MCP"])["prices"]["url"] == servers[0].url


def test_capabilities_are_what_options_say():
    agent = CommandAgent(
        CommandOptions(command=["python"], upstreams=["openai"], models=["m"], network=True, channels=False, readable=["/opt"])
    )
    capabilities = agent.capabilities
    assert (capabilities.upstreams, capabilities.models, capabilities.needs_network, capabilities.channels) == (
        ("openai",),
        ("m",),
        True,
        False,
    )
    assert "/opt" in [str(p) for p in capabilities.readable]


def test_a_program_that_is_not_there(tmp_path):
    agent = CommandAgent(CommandOptions(command=["no-such-program-anywhere"]))
    assert "not found" in agent.diagnose().problem
    with pytest.raises(AgentError, match="not found"):
        play(tmp_path, command=["no-such-program-anywhere"])


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"command": []},
        {"command": [""]},
        {"command": ["a\0b"]},
        {"command": ["a"], "environment": {"OPENAI_API_KEY": "sk-1"}},
        {"command": ["a"], "x": 1},
    ],
)
def test_options_that_cannot_be_meant(options):
    with pytest.raises(UsageError) as error:
        Catalog.installed().create("agent", "command", options)
    assert "sk-1" not in str(error.value)
