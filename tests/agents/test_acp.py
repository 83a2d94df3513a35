"""The agent acp with real programs that speak the protocol."""

import json
import os
import shutil
import time
from pathlib import Path

import pytest

from finassay.api.errors import AgentError, ProviderError, ProviderRefusedError
from finassay_acp.agent import AcpAgent
from finassay_acp.options import AcpOptions
from finassay_cli_kit.testing import MODEL, Mcp, ModelServer, Say, Script, Shell, Silence, Status, WriteFile
from finassay_cli_kit.testing.mcp import price

BRIEF = "You work for a person. What lies in ./deliver is delivered."
SETTINGS = {
    "security": {"auth": {"selectedType": "gemini-api-key"}},
    "privacy": {"usageStatisticsEnabled": False},
    "general": {"enableAutoUpdate": False, "maxAttempts": 2},
}
HOW = {
    "gemini": {
        "arguments": ("--acp", "-m", MODEL, "--skip-trust"),
        "environment": {"GEMINI_API_KEY": "{token}", "GOOGLE_GEMINI_BASE_URL": "{url:google}", "GEMINI_CLI_NO_RELAUNCH": "1"},
        "files": {".gemini/settings.json": json.dumps(SETTINGS)},
    },
    "kimi": {
        "arguments": ("acp",),
        "environment": {
            "KIMI_MODEL_NAME": MODEL,
            "KIMI_MODEL_API_KEY": "{token}",
            "KIMI_MODEL_BASE_URL": "{url:openai}/v1",
            "KIMI_DISABLE_TELEMETRY": "1",
            "KIMI_CODE_NO_AUTO_UPDATE": "1",
            "KIMI_LOOP_MAX_ATTEMPTS_PER_STEP": "2",
        },
    },
}
SESSIONS = {"gemini": ".gemini/tmp", "kimi": ".kimi-code/sessions"}


@pytest.fixture(params=["gemini", "kimi"])
def name(request):
    return request.param


@pytest.fixture
def agent(program, name):
    how = HOW[name]
    command = (str(program(name).path), *how["arguments"])
    return lambda **options: AcpAgent(
        AcpOptions(command=command, environment=how["environment"], files=how.get("files", {}), models=(MODEL,), **options)
    )


def old(file):
    """Whether it is there for two seconds: the programs write their sessions down a little late, and what is not written is lost with them."""
    return file.exists() and time.time() > file.stat().st_mtime + 2


def test_turns_with_tools_a_channel_and_files(agent, begin, way, name):
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
    assert len(held.told("tool-call")) == len(held.told("tool-result")) == 4
    results = held.told("tool-result")
    assert f"{price('AAA')}" in results[0]["output"]
    if name == "kimi":  # Gemini CLI shows no output of its shell
        assert "pandas" in results[2]["output"]
        assert "# AAA" in results[3]["output"]
    assert not any(result["is_error"] for result in results)
    assert {call.request.model for call in server.calls} == {MODEL}
    assert server.calls[0].request.text.endswith("The person's first message:\n\nReport on AAA, please.")
    assert "The report is there." in " ".join(item.text for item in server.calls[-1].request.items)
    assert held.agent.version.startswith({"gemini": "gemini-cli 0.", "kimi": "Kimi Code CLI 2."}[name])
    if name == "gemini":
        assert first.usage.output_tokens > 0
    if way == "gateway":
        assert sum(call.usage.input_tokens or 0 for call in held.calls if call.kind == "model") == server.usage.input


def test_a_turn_cut_by_the_clock_keeps_what_was_done_and_the_conversation_goes_on(agent, begin, way):
    script = Script(
        [Say("Working on it."), Shell(f"echo half > deliver/part.md; sleep 371.{os.getpid()}"), Say("Never said.")],
        [Shell("cat deliver/part.md"), Say("Here is the half.")],
    )
    with ModelServer(script) as server:
        held = begin(agent(), server, way)
        cut = held.send_until(lambda: old(held.workspace / "deliver" / "part.md"), "Write it.")
        assert not held.alive(f"sleep\x00371.{os.getpid()}")
        second = held.send("Where are you?")
    assert cut.text == "Working on it."
    assert second.text == "Here is the half."
    assert "Write it." in " ".join(i.text for i in server.calls[-1].request.items)
    assert "half" in " ".join(i.text for i in server.calls[-1].request.items)


def test_a_cancelled_turn_leaves_a_session_that_goes_on(agent, begin):
    with ModelServer(Script([Say("Working."), Shell(f"sleep 373.{os.getpid()}"), Say("Never.")], [Say("Here.")])) as server:
        held = begin(agent(), server)
        started = time.monotonic()
        until = started + 20
        reply = held.send_until(lambda: time.monotonic() > until, "Work.", seconds=20)
        assert reply.text == "Working."
        assert any("cancelled" in note["text"] for note in held.told("note"))
        assert held.send("Where are you?").text == "Here."


def test_a_killed_harness_goes_on_with_the_programs_conversation(agent, begin, way):
    script = Script([Say("First answer.")], [Shell("echo x > deliver/x; sleep 372")], [Say("Third answer.")])
    with ModelServer(script) as server:
        held = begin(agent(), server, way)
        held.send("First question.")
        held.send_until(lambda: old(held.workspace / "deliver" / "x"), "Second question.")
        again = begin(agent(), server, way, history=held.said, workspace=held.workspace)
        assert again.send("Third question.").text == "Third answer."
    texts = " ".join(item.text for item in server.calls[-1].request.items)
    for said in ("First question.", "First answer.", "Second question.", "Third question."):
        assert texts.count(said) == 1


def test_a_lost_conversation_is_begun_anew_with_what_was_said(agent, begin, name):
    with ModelServer(Script([Say("First answer.")], [Say("Second answer.")])) as server:
        held = begin(agent(), server)
        held.send("First question.")
        shutil.rmtree(Path(held.workspace, ".home", SESSIONS[name]))
        assert held.send("Second question.").text == "Second answer."
    text = server.calls[-1].request.text
    assert text.startswith(BRIEF)
    assert "First answer." in text


@pytest.mark.parametrize(
    ("fault", "blame"),
    [
        (Status(500, times=None), ProviderError),
        (Status(401, times=None), ProviderRefusedError),
        (Status(404, times=None), ProviderRefusedError),
    ],
    ids=["error", "key", "model"],
)
def test_the_gateway_knows_whose_failure_it_was(agent, begin, fault, blame):
    with ModelServer(Script([fault], [Say("It works again.")])) as server:
        held = begin(agent(), server, "gateway")
        with pytest.raises(blame) as caught:
            held.send("Hello.")
        assert server.key not in str(caught.value)
        assert held.send("Once more.").text == "It works again."


def test_no_network(agent, begin):
    with ModelServer(Script([Say("There again.")])) as server:
        held = begin(agent(), server, "gateway")
        server.down()
        with pytest.raises((ProviderError, AgentError)):
            held.send("Hello.", seconds=50)
        server.up()
        assert held.send("Hello?").text == "There again."


def test_a_stalled_stream_is_ended_by_the_gateway(agent, begin):
    with ModelServer(Script([Silence(times=None)], [Say("Awake.")])) as server:
        held = begin(agent(), server, "gateway")
        with pytest.raises(ProviderError):
            held.send("Hello.", seconds=80)
        assert held.send("Hello?").text == "Awake."


def test_permissions_are_asked_and_answered(agent, begin):
    with ModelServer(Script([WriteFile("deliver/a", "x"), Say("Done.")])) as server:
        held = begin(agent(permission="deny"), server)
        held.send("Write.", seconds=30)
    assert not (held.workspace / "deliver" / "a").exists()
    assert any(note["text"].startswith("permission for") and "reject" in note["text"] for note in held.told("note"))


def test_no_log_holds_the_token(agent, begin, name):
    with ModelServer(Script([Shell("env"), Say("Seen.")])) as server:
        held = begin(agent(), server)
        held.send("Look around.")
        token = held.access.token
        if name == "kimi":  # Gemini CLI shows no output of its shell
            assert "[secret]" in json.dumps([dict(event.data) for event in held.log])
        assert token not in json.dumps([dict(event.data) for event in held.log])
        assert token not in (held.workspace / ".home" / ".finassay-kit" / "transcript.jsonl").read_text()
