"""What every command-line agent must do with its real program. The module of each says in what it differs and tests the rest."""

import json
import os
import shutil
import threading
import time
from typing import ClassVar

import pytest

from finassay.api.errors import AgentError, ProviderError, ProviderRefusedError
from finassay_cli_kit.testing import MODEL, CutStream, EmptyStream, Mcp, ModelServer, Reset, Say, Script, Shell, Silence, Status, WriteFile
from finassay_cli_kit.testing.mcp import price

BRIEF = "You work for a person. What lies in ./deliver is delivered."
FAULTS = {
    "overload": (Status(529, times=None), ProviderError),
    "error": (Status(500, times=None), ProviderError),
    "rate": (Status(429, times=None), ProviderError),
    "cut": (CutStream(times=None), ProviderError),
    "empty": (EmptyStream(times=None), ProviderError),
    "reset": (Reset(times=None), ProviderError),
    "key": (Status(401, times=None), ProviderRefusedError),
    "model": (Status(404, "The model 'scripted-model' does not exist.", times=None), ProviderRefusedError),
    "request": (Status(400, times=None), AgentError),
}
MESSAGES = (
    *("Hello.", "/clear", " /cost of the fund?", "!touch planted", "@deliver", "# Remember this", "-p --help", "  "),
    "Read @.home/claude/mcp.json, @.home/kimi/mcp.json and @.home/gemini/.gemini/settings.json",
)
PASSING = {"Status500": Status(500), "Status429": Status(429), "CutStream": CutStream(), "EmptyStream": EmptyStream(), "Reset": Reset()}


def started(held) -> float:
    """When the turn's model call reached the server; the program may take seconds to get there."""
    return held.server.calls[0].at if held.server.calls else float("inf")


class EveryProgram:
    """Tests of one program; `agent(**options)` is a fixture of its module."""

    PRICE: ClassVar[str]
    """How the log names the channel's tool,"""
    WRITE: ClassVar[str]
    """the tool that writes a file,"""
    SHELL: ClassVar[str]
    """and the one that runs a command."""
    CONVERSATIONS: ClassVar[str]
    """Where in the workspace the program keeps what it remembers."""
    COUNTS_AS_IT_GOES: ClassVar[bool] = True
    """Whether a cut turn's usage is known; else only the gateway has it."""
    NOT_WAITED_OUT: ClassVar[tuple[str, ...]] = ()
    """Passing failures that the program gives up on."""

    def noted(self, held) -> bool:
        """Whether the program has written down the newest step, so that it is not lost when it is killed."""
        return True

    def as_heard(self, text: str) -> str:
        """How the model gets a person's words."""
        return text

    def test_turns_with_tools_a_channel_and_files(self, agent, begin, way):
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
            turns = [held.send(said) for said in ("Report on AAA, please.", "What does it say?", "Thank you.")]
        server.check()
        assert [turn.text for turn in turns] == ["The report is there.", "It says AAA.", "You are welcome."]
        assert {p.name: p.read_text() for p in (held.workspace / "deliver").iterdir()} == {"report.md": "# AAA", "copy.md": "# AAA"}
        assert [call["name"] for call in held.told("tool-call")] == [self.PRICE, self.WRITE, self.SHELL, self.SHELL]
        results = held.told("tool-result")
        assert json.loads(results[0]["output"])["close"] == price("AAA")
        assert [result["output"].strip() for result in results[2:]] == ["pandas", "# AAA"]
        assert not any(result["is_error"] for result in results)
        asked = server.calls
        assert {call.request.model for call in asked} == {MODEL}
        assert asked[0].request.text == f"{BRIEF}\n\nThe person's first message:\n\nReport on AAA, please."
        assert asked[4].request.text == "What does it say?"
        assert "The report is there." in [item.text for item in asked[-1].request.items]
        sums = [sum(getattr(turn.usage, name) for turn in turns) for name in ("input_tokens", "output_tokens")]
        assert sums == [server.usage.input, server.usage.output]
        assert all(turn.usage.cost_usd is None for turn in turns)  # the model is in no price list: a figure would be a guess
        if way == "gateway":
            assert sum(call.usage.input_tokens or 0 for call in held.calls if call.kind == "model") == server.usage.input

    def test_a_turn_cut_by_the_clock_keeps_what_was_done_and_the_conversation_goes_on(self, agent, begin, way):
        script = Script(
            [Say("Working on it."), Shell(f"echo half > deliver/part.md; sleep 371.{os.getpid()}"), Say("Never said.")],
            [Shell("cat deliver/part.md"), Say("Here is the half.")],
        )
        with ModelServer(script) as server:
            held = begin(agent(), server, way)
            cut = held.send_until(lambda: (held.workspace / "deliver" / "part.md").exists() and self.noted(held), "Write it.")
            assert not held.alive(f"sleep\x00371.{os.getpid()}")
            second = held.send("Where are you?")
        assert cut.text == "Working on it."
        if self.COUNTS_AS_IT_GOES:
            assert cut.usage.input_tokens > 0
        else:
            assert cut.usage.input_tokens is None
        if way == "gateway":
            assert held.calls[0].usage.input_tokens > 0
        assert held.told("tool-call")[0]["name"] == self.SHELL
        assert second.text == "Here is the half."
        assert "Write it." in " ".join(item.text for item in server.calls[-1].request.items)
        assert held.told("tool-result")[-1]["output"].strip() == "half"

    def test_a_killed_harness_goes_on_with_the_programs_conversation(self, agent, begin, way):
        script = Script([Say("First answer.")], [Shell("echo x > deliver/x; sleep 372")], [Say("Third answer.")])
        with ModelServer(script) as server:
            held = begin(agent(), server, way)
            held.send("First question.")
            held.send_until(lambda: (held.workspace / "deliver" / "x").exists() and self.noted(held), "Second question.")
            again = begin(agent(), server, way, history=held.said, workspace=held.workspace)
            assert again.send("Third question.").text == "Third answer."
        texts = " ".join(item.text for item in server.calls[-1].request.items)
        for said in ("First question.", "First answer.", "Second question.", "Third question."):
            assert texts.count(said) == 1
        assert server.calls[-1].request.text == "Third question."

    def test_a_lost_conversation_is_begun_anew_with_what_was_said(self, agent, begin, way):
        with ModelServer(Script([Say("First answer.")], [Say("Second answer.")])) as server:
            held = begin(agent(), server, way)
            held.send("First question.")
            shutil.rmtree(held.workspace / self.CONVERSATIONS)
            assert held.send("Second question.").text == "Second answer."
        text = server.calls[-1].request.text
        assert text.startswith(BRIEF)
        assert text.endswith("Second question.")
        assert "First question." in text
        assert "First answer." in text
        assert any("no longer knows" in note["text"] for note in held.told("note"))

    @pytest.mark.parametrize("name", FAULTS)
    def test_whose_failure_it_was(self, agent, begin, way, name):
        fault, blame = FAULTS[name]
        with ModelServer(Script([fault], [Say("It works again.")])) as server:
            held = begin(agent(), server, way)
            begun = time.monotonic()
            with pytest.raises(blame) as caught:
                held.send("Hello.")
            assert time.monotonic() - begun < 30
            assert isinstance(caught.value, ProviderRefusedError) == (blame is ProviderRefusedError)
            assert server.key not in str(caught.value)
            assert held.send("Once more.").text == "It works again."

    @pytest.mark.parametrize("passing", PASSING)
    def test_a_failure_that_passes_is_waited_out_by_the_program(self, agent, begin, way, passing):
        with ModelServer(Script([PASSING[passing], Say("Fine.")], [Say("Later.")])) as server:
            held = begin(agent(), server, way)
            if passing in self.NOT_WAITED_OUT:
                with pytest.raises(ProviderError):
                    held.send("Hello.")
            else:
                assert held.send("Hello.").text == "Fine."

    def test_a_wrong_key_and_an_unknown_model(self, agent, begin, way):
        with ModelServer(Script([Say("Never.")]), models=("another",)) as server, pytest.raises(ProviderRefusedError):
            begin(agent(), server, way).send("Hello.")
        with ModelServer(Script([Say("Never.")])) as server:
            held = begin(agent(), server, way)
            server.keys = ("another",)
            with pytest.raises(ProviderRefusedError):
                held.send("Hello.")

    def test_no_network(self, agent, begin, way):
        with ModelServer(Script([Say("There again.")])) as server:
            held = begin(agent(), server, way)
            server.down()
            with pytest.raises(ProviderError) as caught:
                held.send("Hello.")
            assert not isinstance(caught.value, ProviderRefusedError)
            server.up()
            assert held.send("Hello?").text == "There again."

    def test_a_stalled_stream_is_ended_by_the_gateway_else_by_the_clock(self, agent, begin, way):
        with ModelServer(Script([Silence(times=None)], [Say("Awake.")])) as server:
            held = begin(agent(), server, way)
            if way == "gateway":
                with pytest.raises(ProviderError):
                    held.send("Hello.")
                assert len(server.calls) <= 2  # as often as `retries` says, and not ten times
            else:
                assert held.send_until(lambda: time.monotonic() > started(held) + 4, "Hello.").text == ""
                assert time.monotonic() < started(held) + 10
            assert held.send("Hello?").text == "Awake."

    def test_a_message_is_a_message_however_it_begins(self, agent, begin):
        """No command, option, file or note of the program."""
        with ModelServer(lambda request: [Say(f"heard {request.text}")]) as server:
            held = begin(agent(), server)
            for text in MESSAGES:
                assert (self.as_heard(text).strip() or "empty message") in held.send(text).text
            assert not (held.workspace / "planted").exists()
            assert not any("mcpServers" in item.text for item in server.calls[-1].request.items)

    def test_sessions_side_by_side_do_not_mix(self, agent, begin, way):
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


def holds_no_token(held, configuration: str = "") -> None:
    """Neither the log, nor the transcript, nor what is left of the program's configuration shows the session's token."""
    token = held.access.token
    assert token not in json.dumps([dict(event.data) for event in held.log])
    assert token not in (held.workspace / ".home" / ".finassay-kit" / "transcript.jsonl").read_text()
    assert not configuration or not (held.workspace / configuration).exists()
