"""Whole sessions of a real task with the real programs: held, cut, resumed, metered, graded, and read from the record."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from finassay.models.ledger import read_ledger
from finassay.runs.folder import RunFolder
from finassay.runs.grade import scorecards
from finassay.runs.view import run_view
from finassay_cli_kit.testing import MODEL, ModelRequest, ModelServer, Say, Shell, Step, WriteFile

PROGRAMS = {
    "claude-code": ("claude", "anthropic"),
    "codex": ("codex", "openai"),
    "gemini-cli": ("gemini", "google"),
    "kimi-code": ("kimi", "moonshotai"),
}
"""Agent to its program and to the upstream that it calls unless it is told otherwise."""
KEY_NAME = "FINASSAY_TEST_MODEL_KEY"
PRICES = {"input": 1.0, "output": 5.0}
"""Dollars for a million tokens of the scripted model."""
MARKER = f"sleep 4171.{os.getpid()}"
"""No other worker of the tests looks for it."""
SECONDS = 30
"""Δ: slow machines need some for the third turn, whose script loads years of prices."""

ASK = (
    "Before I build it, please tell me: which signal should rank the stocks, how many names do you hold, how are they weighted, how often do you"
    " rebalance, is there a market timing rule, a stop or another risk limit, when are orders executed, and which trading costs apply?"
)
BACKTEST = """
import csv
from skfolio.datasets import load_sp500_dataset
prices = load_sp500_dataset().loc["2017-12-29":"2019-12-31"]
names = list(prices.columns[:5])
cash, held, rows, curve = 1_000_000.0, {}, [], []
for day, row in prices.iterrows():
    if not held:
        for name in names:
            held[name] = 200_000.0 / row[name]
            rows.append([day.date(), name, "buy", held[name], row[name], 0.0])
        cash = 0.0
    curve.append([day.date(), cash + sum(q * row[n] for n, q in held.items())])
with open("deliver/trades.csv", "w", newline="") as f:
    csv.writer(f).writerows([["date", "ticker", "side", "quantity", "price", "commission"], *rows])
with open("deliver/equity.csv", "w", newline="") as f:
    csv.writer(f).writerows([["date", "equity"], *curve])
print("total return", curve[-1][1] / curve[0][1] - 1)
"""


class Model:
    """Asks, then hangs in its shell past the end of its turn, once, then delivers a backtest.

    Goes by what it has done, not by the number of the turn: a program may put a message that was cut off into one with the next.
    """

    def __init__(self) -> None:
        self.asked = self.hung = self.delivering = False

    def __call__(self, request: ModelRequest) -> list[Step]:
        if not self.asked:
            self.asked = True
            return [Say(ASK)]
        if not self.hung:
            self.hung = True
            return [Shell(f"echo begun > deliver/notes.md; {MARKER}")]
        if not self.delivering and request.step > 0:
            return [Shell(MARKER)]  # a shell that gives up waiting for its command is made to wait again
        self.delivering = True
        steps = [
            WriteFile("deliver/backtest.py", BACKTEST),
            Shell("python deliver/backtest.py"),
            WriteFile("deliver/report.md", "# Report\nHeld."),
        ]
        return (
            steps[request.step : request.step + 1] if request.step < len(steps) else [Say("The backtest and the report are in the folder.")]
        )


class Desk:
    """A folder with one task and settings that lead an agent to the scripted model server."""

    def __init__(self, folder: Path, agent: str, program: Path, server: ModelServer) -> None:
        self.folder, self.agent, self.server = folder, agent, server
        self.run_folder = RunFolder(folder / "run")
        upstream = PROGRAMS[agent][1]
        (folder / "finassay.toml").write_text(
            f"""
[run]
turn_seconds = {SECONDS}
max_turns = 3
sandbox = "bubblewrap"
stall_seconds = 15

[run.agents.{agent}]
id = "{agent}"
options = {{ program = "{program}", model = "{MODEL}" }}

[run.gateway]
id = "standard"
options = {{ upstreams = {{ {upstream} = {{ url = "{server.url}", key = "{KEY_NAME}" }} }} }}

[run.models.{upstream}.prices."{MODEL}"]
input = {PRICES["input"]}
output = {PRICES["output"]}
"""
        )
        done = self.finassay(
            "tasks",
            "sample",
            "--grammar",
            "us-long-only",
            "--seeds",
            "3",
            "--needs",
            "prices",
            "--channel",
            "embedded-market",
            "--out",
            "tasks",
        )
        assert done.returncode == 0, done.stderr

    def start(self, *arguments: str) -> "subprocess.Popen[str]":
        import os

        environment = {**os.environ, KEY_NAME: self.server.key}
        return subprocess.Popen(
            [sys.executable, "-m", "finassay.cli.main", *arguments],
            cwd=self.folder,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def finassay(self, *arguments: str, seconds: float = 240) -> "subprocess.CompletedProcess[str]":
        process = self.start(*arguments)
        try:
            out, err = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            raise
        return subprocess.CompletedProcess(arguments, process.returncode, out, err)

    def run(self) -> "subprocess.CompletedProcess[str]":
        return self.finassay("run", "--tasks", "tasks", "--out", "run", "--jobs", "1")


def alive(words: str) -> list[str]:
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if words.replace(" ", "\0").encode() in path.read_bytes():
                found.append(path.parent.name)
        except OSError:
            continue
    return found


@pytest.fixture
def server():
    with ModelServer(Model()) as one:
        yield one


@pytest.mark.timeout(400)
@pytest.mark.parametrize("agent", PROGRAMS)
def test_a_whole_session_is_held_and_graded(agent, program, tmp_path, server):
    desk = Desk(tmp_path, agent, program(PROGRAMS[agent][0]).path, server)
    done = desk.run()
    assert done.returncode == 0, done.stdout + done.stderr
    (key,) = desk.run_folder.sessions()
    state = desk.run_folder.state(key)
    assert state.ended is not None
    assert state.conversation.of("agent")[0].text == ASK
    assert [turn.cut for turn in state.turns] == [False, True, False]
    assert abs(state.turns[1].seconds - SECONDS) < 5
    assert not alive(MARKER)
    calls = [event.data for event in state.log if event.kind == "tool-call"]
    assert len(calls) >= 4
    files = {file.path for file in state.deliveries[-1].files}
    assert {"notes.md", "backtest.py", "trades.csv", "equity.csv", "report.md"} <= files
    (session,) = run_view(desk.run_folder).sessions
    assert session.metered
    spent = [usage.cost_usd for _, usage in session.usage]
    assert sum(u.input_tokens or 0 for _, u in session.usage) == server.usage.input
    cost = (server.usage.input * PRICES["input"] + server.usage.output * PRICES["output"]) / 1e6
    assert sum(spent) == pytest.approx(cost, rel=1e-6)
    lines = [e for e in read_ledger(desk.run_folder.root / "ledger.jsonl") if e.role == "agent" and not e.failed]
    assert sum(e.cost_usd for e in lines) == pytest.approx(cost, rel=1e-6)
    assert {e.turn for e in lines} == {1, 2, 3}
    (card,) = scorecards(desk.run_folder, key)
    assert card.verdicts
    assert session.identity["agent"]["program_version"] not in ("", "unknown")
    assert len(session.identity["instructions"]) == 64
    nowhere = [p for p in desk.run_folder.root.rglob("*") if p.is_file() and server.key.encode() in p.read_bytes()]
    assert nowhere == []


@pytest.mark.timeout(400)
@pytest.mark.parametrize("agent", PROGRAMS)
def test_a_killed_run_goes_on_with_the_same_command(agent, program, tmp_path, server):
    desk = Desk(tmp_path, agent, program(PROGRAMS[agent][0]).path, server)
    process = desk.start("run", "--tasks", "tasks", "--out", "run", "--jobs", "1")
    deadline = time.monotonic() + 90
    while not alive(MARKER) and time.monotonic() < deadline and process.poll() is None:
        time.sleep(0.1)
    assert alive(MARKER), process.communicate(timeout=10)
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=20)
    deadline = time.monotonic() + 15
    while alive(MARKER) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not alive(MARKER)
    done = desk.run()
    assert done.returncode == 0, done.stdout + done.stderr
    (key,) = desk.run_folder.sessions()
    state = desk.run_folder.state(key)
    assert state.ended is not None
    assert state.conversation.of("agent")[0].text == ASK
    assert [turn.turn for turn in state.turns] == [1, 2, 3]
    resumed = [json.loads(line) for line in (desk.run_folder.session_path(key) / "events.jsonl").read_text().splitlines()]
    assert any(event["type"] == "resumed" for event in resumed)
