"""The agent gemini-cli with the real program."""

import json
import os
import shutil
import threading
import time

import pytest

from finassay.api.errors import AgentError, ProviderError, ProviderRefusedError
from finassay_cli_kit.testing import MODEL, CutStream, EmptyStream, Mcp, ModelServer, Reset, Say, Script, Shell, Silence, Status, WriteFile
from finassay_cli_kit.testing.mcp import price
from finassay_gemini_cli.agent import GeminiCliAgent, GeminiCliOptions

BRIEF = "You work for a person. What lies in ./deliver is delivered."


@pytest.fixture
def agent(program):
    path = str(program("gemini").path)
    return lambda **options: GeminiCliAgent(GeminiCliOptions(program=path, **{"model": MODEL, "retries": 1, **options}))


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
    assert names == ["mcp_price_get_price", "write_file", "run_shell_command", "run_shell_command"]
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
    if way == "gateway":
        assert sum(call.usage.input_tokens or 0 for call in held.calls if call.kind == "model") == server.usage.input


def test_a_turn_cut_by_the_clock_keeps_what_was_done_and_the_conversation_goes_on(agent, begin, way):
    script = Script(
        [Say("Working on it."), Shell(f"echo half > deliver/part.md; sleep 371.{os.getpid()}"), Say("Never said.")],
        [Shell("cat deliver/part.md"), Say("Here is the half.")],
    )
    with ModelServer(script) as server:
        held = begin(agent(), server, way)
        cut = held.send_until((held.workspace / "deliver" / "part.md").exists, "Write it.")
        assert not held.alive(f"sleep\x00371.{os.getpid()}")
        second = held.send("Where are you?")
    assert cut.text == "Working on it."
    assert cut.usage.input_tokens is None  # the program counts only at its end; the gateway has it
    assert held.told("tool-call")[0]["name"] == "run_shell_command"
    if way == "gateway":
        assert held.calls[0].usage.input_tokens > 0
    assert second.text == "Here is the half."
    assert "Write it." in server.calls[-1].request.items[-4].text + " ".join(i.text for i in server.calls[-1].request.items)
    assert held.told("tool-result")[-1]["output"] == "half"


def test_a_killed_harness_goes_on_with_the_programs_conversation(agent, begin, way):
    script = Script([Say("First answer.")], [Shell("echo x > deliver/x; sleep 372")], [Say("Third answer.")])
    with ModelServer(script) as server:
        held = begin(agent(), server, way)
        held.send("First question.")
        held.send_until((held.workspace / "deliver" / "x").exists, "Second question.")
        again = begin(agent(), server, way, history=held.said, workspace=held.workspace)
        assert again.send("Third question.").text == "Third answer."
    texts = " ".join(item.text for item in server.calls[-1].request.items)
    for said in ("First question.", "First answer.", "Second question.", "Third question."):
        assert texts.count(said) == 1
    assert server.calls[-1].request.text == "Third question."


def test_a_lost_conversation_is_begun_anew_with_what_was_said(agent, begin, way):
    with ModelServer(Script([Say("First answer.")], [Say("Second answer.")])) as server:
        held = begin(agent(), server, way)
        held.send("First question.")
        shutil.rmtree(held.workspace / ".home" / "gemini" / ".gemini" / "tmp")
        assert held.send("Second question.").text == "Second answer."
    text = server.calls[-1].request.text
    assert text.startswith(BRIEF)
    assert text.endswith("Second question.")
    assert "First question." in text
    assert "First answer." in text
    assert any("no longer knows" in note["text"] for note in held.told("note"))


FAULTS = {
    "overload": (Status(529, times=None), ProviderError),
    "error": (Status(500, times=None), ProviderError),
    "rate": (Status(429, times=None), ProviderError),
    "cut": (CutStream(times=None), ProviderError),
    "empty": (EmptyStream(times=None), ProviderError),
    "reset": (Reset(times=None), ProviderError),
    "key": (Status(401, times=None), ProviderRefusedError),
    "model": (Status(404, times=None), ProviderRefusedError),
    "request": (Status(400, times=None), AgentError),
}


@pytest.mark.parametrize("name", FAULTS)
def test_whose_failure_it_was(agent, begin, way, name):
    fault, blame = FAULTS[name]
    with ModelServer(Script([fault], [Say("It works again.")])) as server:
        held = begin(agent(), server, way)
        started = time.monotonic()
        with pytest.raises(blame) as caught:
            held.send("Hello.")
        assert time.monotonic() - started < 30
        assert isinstance(caught.value, ProviderRefusedError) == (blame is ProviderRefusedError)
        assert server.key not in str(caught.value)
        assert held.send("Once more.").text == "It works again."


@pytest.mark.parametrize("fault", [Status(500), Status(429), EmptyStream(), Reset()], ids=lambda f: type(f).__name__)
def test_a_failure_that_passes_is_waited_out_by_the_program(agent, begin, way, fault):
    with ModelServer(Script([fault, Say("Fine.")])) as server:
        assert begin(agent(), server, way).send("Hello.").text == "Fine."


def test_a_wrong_key_and_an_unknown_model(agent, begin, way):
    with ModelServer(Script([Say("Never.")]), models=("another",)) as server, pytest.raises(ProviderRefusedError):
        begin(agent(), server, way).send("Hello.")
    with ModelServer(Script([Say("Never.")])) as server:
        held = begin(agent(), server, way)
        server.keys = ("another",)
        with pytest.raises(ProviderRefusedError):
            held.send("Hello.")


def test_no_network(agent, begin, way):
    with ModelServer(Script([Say("There again.")])) as server:
        held = begin(agent(), server, way)
        server.down()
        with pytest.raises(ProviderError) as caught:
            held.send("Hello.")
        assert not isinstance(caught.value, ProviderRefusedError)
        server.up()
        assert held.send("Hello?").text == "There again."


def test_a_stalled_stream_is_ended_by_the_gateway_else_by_the_clock(agent, begin, way):
    with ModelServer(Script([Silence(times=None)], [Say("Awake.")])) as server:
        held = begin(agent(), server, way)
        if way == "gateway":
            with pytest.raises(ProviderError):
                held.send("Hello.")
        else:
            assert held.send_until(lambda: bool(server.calls) and time.monotonic() > server.calls[0].at + 4, "Hello.").text == ""
            assert time.monotonic() < server.calls[0].at + 10
        assert held.send("Hello?").text == "Awake."


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
    token = held.access.token
    assert token not in json.dumps([dict(event.data) for event in held.log])
    assert token not in (held.workspace / ".home" / ".finassay-kit" / "transcript.jsonl").read_text()
    assert not (held.workspace / ".home" / "gemini" / ".gemini" / "settings.json").exists()


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


def test_a_message_that_looks_like_a_command_reaches_the_model(agent, begin):
    with ModelServer(Script([Say("One.")], [Say("Two.")])) as server:
        held = begin(agent(), server)
        held.send("Hello.")
        assert held.send("/quit now").text == "Two."


def test_sessions_side_by_side_do_not_mix(agent, begin, way):
    def answer(request):
        return [Say(f"heard {request.text[-1]}")]

    with ModelServer(answer) as server:
        held = [begin(agent(), server, way) for _ in range(3)]
        replies: dict[int, str] = {}

        def talk(number: int) -> None:
            replies[number] = held[number].send(f"I am {number}").text

        threads = [threading.Thread(target=talk, args=(n,)) for n in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert replies == {n: f"heard {n}" for n in range(3)}
