"""The prompt: only at a terminal, the same words as everywhere, and nobody waits for ever."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from somebody import scene

from finassay.api.errors import ProviderError, UsageError
from finassay.api.simulator import Rejection
from finassay_simulator_person.dialogue import TerminalDialogue
from finassay_simulator_person.terminal import TerminalOptions, TerminalSimulator


class Script:
    """Types lines; keeps what was shown and asked."""

    def __init__(self, *lines: str) -> None:
        self.lines = list(lines)
        self.pages: list[str] = []
        self.told: list[str] = []
        self.asked: list[str] = []

    def page(self, markdown: str) -> None:
        self.pages.append(markdown)

    def tell(self, text: str, style: str = "") -> None:
        self.told.append(text)

    def ask(self, prompt: str, seconds: float) -> str:
        self.asked.append(prompt)
        return self.lines.pop(0)


@pytest.fixture
def at_a_terminal(monkeypatch):
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True, raising=False)


def user(script: Script, monkeypatch) -> TerminalSimulator:
    monkeypatch.setattr(TerminalSimulator, "dialogue", lambda self: script)
    return TerminalSimulator(TerminalOptions(timeout_minutes=1))


def test_without_a_terminal_it_is_refused_before_the_run(monkeypatch):
    monkeypatch.setattr(sys.stdin, "isatty", lambda: False, raising=False)
    with pytest.raises(UsageError) as raised:
        TerminalSimulator(TerminalOptions())
    assert "mailbox" in raised.value.hint


@pytest.mark.usefixtures("at_a_terminal")
def test_a_decision_is_asked_for_piece_by_piece(monkeypatch):
    script = Script("cl", "clarify", "met", "a1, REPORT.md", "", "unc", "Twelve percent.", "", "That is it.", ".")
    decision = user(script, monkeypatch).decide(scene("Which stop level?"))
    assert (decision.action, decision.message) == ("clarify", "Twelve percent.\n\nThat is it.")
    assert [(o.status, o.citations) for o in decision.observations] == [("met", ("a1", "REPORT.md")), ("missing", ()), ("uncertain", ())]
    assert any("'cl' is not one of" in text for text in script.told)  # clarify or close
    assert "Which stop level?" in script.pages[0]
    assert "(the stop): asked" in script.pages[0]


@pytest.mark.usefixtures("at_a_terminal")
def test_leaving_needs_evidence_and_a_reason(monkeypatch):
    script = Script("block", "", "", "", "a1", "ref", "I will leave it at that.", ".")
    decision = user(script, monkeypatch).decide(scene("No."))
    assert (decision.evidence, decision.block_reason) == (("a1",), "refused")


@pytest.mark.usefixtures("at_a_terminal")
def test_an_opening_and_its_refusal(monkeypatch):
    script = Script("Hello.", ".")
    assert user(script, monkeypatch).open(scene(), (Rejection("opening-incomplete", "the opening does not tell x"),)) == "Hello."
    assert script.pages == []
    assert script.told[0] == "Not sent: the opening does not tell x"


def test_lines_come_from_standard_input_and_their_end_leaves_the_session_waiting(monkeypatch, capsys):
    reader, writer = os.pipe()
    with os.fdopen(reader) as stdin:
        monkeypatch.setattr(sys, "stdin", stdin)
        os.write(writer, b"  yes \n")
        assert TerminalDialogue().ask("Well?", 1.0) == "yes"
        with pytest.raises(ProviderError, match="nobody answered at the terminal"):
            TerminalDialogue().ask("Well?", 0.05)
        os.close(writer)
        with pytest.raises(ProviderError, match="closed"):
            TerminalDialogue().ask("Well?", 1.0)
    assert "Well?" in capsys.readouterr().out


def test_what_is_shown_obeys_nobody(capsys):
    TerminalDialogue().tell("\x1b[2J[red]x[/red]\u202e")
    TerminalDialogue().page("```\n\x1b]0;title\x07[bold]y\n```".replace("\x1b", "�").replace("\x07", "�"))
    shown = capsys.readouterr().out
    assert "\x1b[2J" not in shown
    assert "[red]x[/red]" in shown
    assert "[bold]y" in shown


PROGRAM = """
from somebody import scene
from finassay_simulator_person.terminal import TerminalOptions, TerminalSimulator
user = TerminalSimulator(TerminalOptions(timeout_minutes=1))
decision = user.decide(scene("Which stop level do you want?"))
print("DECIDED", decision.action, decision.message.splitlines(), [o.status for o in decision.observations])
"""


def test_at_a_real_terminal():
    """A pseudo-terminal stands for the person's; what is typed arrives as a decision."""
    pty = pytest.importorskip("pty", reason="pseudo-terminals are there on POSIX systems only")
    ours, theirs = pty.openpty()
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parent), "COLUMNS": "100"}
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM], stdin=theirs, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=environment
    ) as program:
        os.close(theirs)
        os.write(ours, b"clarify\nmissing\nmissing\nunc\nTwenty percent.\nFrom entry.\n.\n")
        out = program.communicate(timeout=60)[0].decode()
    os.close(ours)
    assert program.returncode == 0, out
    assert "DECIDED clarify ['Twenty percent.', 'From entry.'] ['missing', 'missing', 'uncertain']" in out
    assert "Which stop level do you want?" in out
