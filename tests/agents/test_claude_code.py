"""The agent claude-code with the real program."""

import json

import pytest

from finassay_claude_code.agent import ClaudeCodeAgent, ClaudeCodeOptions
from finassay_cli_kit.testing import MODEL, Mcp, ModelServer, Say, Script, Shell, WriteFile
from finassay_cli_kit.testing.mcp import price

BRIEF = "You work for a person. What lies in ./deliver is delivered."


@pytest.fixture
def agent(program):
    path = str(program("claude").path)
    return lambda **options: ClaudeCodeAgent(ClaudeCodeOptions(program=path, **{"model": MODEL, "retries": 1, **options}))


def test_turns_with_tools_a_channel_and_files(agent, begin, way):
    script = Script(
        [
            Say("I look at the prices."),
            Mcp("price", "get_price", {"symbol": "AAA"}),
            WriteFile("deliver/report.md", "# AAA"),
            Shell("python -c 'import pandas; print(pandas.__name__)' && cp deliver/report.md deliver/copy.md"),
            Say("The report is there."),
        ],
        [Shell("cat deliver/report.md"), Say("It says AAA.")],
        [Say("You are welcome.")],
    )
    with ModelServer(script) as server:
        held = begin(agent(), server, way)
        first, second, third = held.send("Report on AAA, please."), held.send("What does it say?"), held.send("Thank you.")
    server.check()
    assert [first.text, second.text, third.text] == ["The report is there.", "It says AAA.", "You are welcome."]
    assert {p.name: p.read_text() for p in (held.workspace / "deliver").iterdir()} == {"report.md": "# AAA", "copy.md": "# AAA"}
    names = [call["name"] for call in held.told("tool-call")]
    assert names == ["mcp__price__get_price", "Write", "Bash", "Bash"]
    results = held.told("tool-result")
    assert json.loads(results[0]["output"])["close"] == price("AAA")
    assert results[2]["output"] == "pandas"
    assert results[3]["output"] == "# AAA"
    assert not any(result["is_error"] for result in results)
    asked = server.calls
    assert {call.request.model for call in asked} == {MODEL}
    assert asked[0].request.text == f"{BRIEF}\n\nThe person's first message:\n\nReport on AAA, please."
    assert asked[4].request.text == "What does it say?"
    assert "The report is there." in [item.text for item in asked[-1].request.items]
    sums = [sum(getattr(turn.usage, name) for turn in (first, second, third)) for name in ("input_tokens", "output_tokens")]
    assert sums == [server.usage.input, server.usage.output]
    assert first.usage.cost_usd > second.usage.cost_usd > 0
    if way == "gateway":
        assert sum(call.usage.input_tokens or 0 for call in held.calls if call.kind == "model") == server.usage.input
