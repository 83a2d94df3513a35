"""The agent kimi-code with the real program."""

import json
import os
import shutil
import threading
import time

import pytest

from finassay.api.errors import AgentError, ProviderError, ProviderRefusedError
from finassay_cli_kit.testing import MODEL, CutStream, EmptyStream, Mcp, ModelServer, Reset, Say, Script, Shell, Silence, Status, WriteFile
from finassay_cli_kit.testing.mcp import price
from finassay_kimi_code.agent import KimiCodeAgent, KimiCodeOptions

BRIEF = "You work for a person. What lies in ./deliver is delivered."


@pytest.fixture
def agent(program):
    path = str(program("kimi").path)
    return lambda **options: KimiCodeAgent(KimiCodeOptions(program=path, **{"model": MODEL, "upstream": "openai", "retries": 1, **options}))


def written(held):
    """Whether the program has written down the newest step: it takes a second or so, and what is not written is lost when it is killed."""
    wires = list(held.workspace.glob(".home/kimi/sessions/*/*/agents/main/wire.jsonl"))
    return any(
        line.startswith('{"type":"context.append_loop_event"') and '"tool.call"' in line
        for w in wires
        for line in w.read_text().splitlines()
    )


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
    assert results[2]["output"] == "pandas\n"
    assert results[3]["output"] == "# AAA"
    assert not any(result["is_error"] for result in results)
    asked = server.calls
    assert {call.request.model for call in asked} == {MODEL}
    assert asked[0].request.text == f"{BRIEF}\n\nThe person's first message:\n\nReport on AAA, please."
    assert asked[4].request.text == "What does it say?"
    assert "The report is there." in [item.text for item in asked[-1].request.items]
    sums = [sum(getattr(turn.usage, name) for turn in (first, second, third)) for name in ("input_tokens", "output_tokens")]
    assert sums == [server.usage.input, server.usage.output]
    assert first.usage.cost_usd is None  # the model is not in its price list, so that its figure is a guess
    if way == "gateway":
        assert sum(call.usage.input_tokens or 0 for call in held.calls if call.kind == "model") == server.usage.input


def test_a_turn_cut_by_the_clock_keeps_what_was_done_and_the_conversation_goes_on(agent, begin, way):
    script = Script(
        [Say("Working on it."), Shell(f"echo half > deliver/part.md; sleep 371.{os.getpid()}"), Say("Never said.")],
        [Shell("cat deliver/part.md"), Say("Here is the half.")],
    )
    with ModelServer(script) as server:
        held = begin(agent(), server, way)
        cut = held.send_until(lambda: (held.workspace / "deliver" / "part.md").exists() and written(held), "Write it.")
        assert not held.alive(f"sleep\x00371.{os.getpid()}")
        second = held.send("Where are you?")
    assert cut.text == "Working on it."
    assert cut.usage.input_tokens > 0
    assert held.told("tool-call")[0]["name"] == "Bash"
    assert second.text == "Here is the half."
    assert "Write it." in server.calls[-1].request.items[-4].text + " ".join(i.text for i in server.calls[-1].request.items)
    assert held.told("tool-result")[-1]["output"] == "half\n"


def test_a_killed_harness_goes_on_with_the_programs_conversation(agent, begin, way):
    script = Script([Say("First answer.")], [Shell("echo x > deliver/x; sleep 372")], [Say("Third answer.")])
    with ModelServer(script) as server:
        held = begin(agent(), server, way)
        held.send("First question.")
        held.send_until(lambda: (held.workspace / "deliver" / "x").exists() and written(held), "Second question.")
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
        shutil.rmtree(held.workspace / ".home" / "kimi" / "sessions")
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


@pytest.mark.parametrize("fault", [Status(500), Status(429), CutStream(), EmptyStream(), Reset()], ids=lambda f: type(f).__name__)
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
            assert len(server.calls) == 2  # as often as `retries` says, and not ten times
        else:
            assert held.send_until(lambda: bool(server.calls) and time.monotonic() > server.calls[0].at + 4, "Hello.").text == ""
            assert time.monotonic() < server.calls[0].at + 10
        assert held.send("Hello?").text == "Awake."


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
    token = held.access.token
    assert token not in json.dumps([dict(event.data) for event in held.log])
    assert token not in (held.workspace / ".home" / ".finassay-kit" / "transcript.jsonl").read_text()
    assert not (held.workspace / ".home" / "kimi" / "mcp.json").exists()


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
