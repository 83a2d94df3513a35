"""Agents that are none of the known programs, in whole runs: one behind a command with the data of a channel, one behind HTTP."""

import contextlib
import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("finassay_remote", reason="the agents remote and command are not installed")
pytest.importorskip("finassay_market_data", reason="the channel market-data is not installed")
pytest.importorskip("finassay_gateway", reason="the gateway standard is not installed")

from finassay.runs.folder import RunFolder
from finassay.runs.view import run_view

FINASSAY = [sys.executable, "-m", "finassay.cli.main"]
SECONDS = 240
CUTOFF = "2015-06-30"
PROGRAM = """
import asyncio, json, os, sys
import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

async def ask():
    (server,) = json.loads(os.environ["FINASSAY_MCP"]).values()
    async with httpx2.AsyncClient(headers=server["headers"], timeout=60) as http:
        async with Client(streamable_http_client(server["url"], http_client=http)) as client:
            given = {"tickers": ["AAPL", "XOM"], "start": "2015-06-01", "format": "csv"}
            told = await client.call_tool("get_prices", given)
            late = await client.call_tool("get_prices", {**given, "start": "2015-07-01"})
            print(json.dumps({"type": "tool-call", "id": "1", "name": "get_prices", "input": given}))
            return [block.text for block in told.content], json.loads(late.content[0].text)

(about, text), late = asyncio.run(ask())
with open("deliver/prices.csv", "w") as stream:
    stream.write(text)
keys = sorted(name for name in os.environ if "KEY" in name or "SECRET" in name)
print(json.dumps({"type": "message", "text": json.dumps({"about": json.loads(about), "late": late["total_rows"], "keys": keys})}))
print(json.dumps({"type": "done"}), flush=True)
"""


def finassay(folder: Path, *arguments: str, expect: int = 0) -> str:
    environment = {**os.environ, "FMP_API_KEY": "planted-key-of-a-channel"}
    done = subprocess.run(
        [*FINASSAY, *arguments], cwd=folder, env=environment, capture_output=True, text=True, timeout=SECONDS, check=False
    )
    assert done.returncode == expect, done.stdout + done.stderr
    return done.stdout + done.stderr


def tasks(folder: Path, *channels: str) -> None:
    named = [word for channel in channels for word in ("--channel", channel)]
    finassay(folder, "tasks", "sample", "--grammar", "us-long-only", "--seeds", "0", "--needs", "prices", *named, "--out", "tasks")


def sessions(folder: Path):
    return run_view(RunFolder(folder / "run")).sessions


@contextlib.contextmanager
def example():
    process = subprocess.Popen([sys.executable, "-m", "finassay_remote.example"], stderr=subprocess.PIPE, text=True)
    try:
        yield process.stderr.readline().split()[-1]
    finally:
        process.terminate()
        process.communicate(timeout=30)


@pytest.mark.slow
def test_a_program_gets_prices_through_the_channel_and_delivers_what_can_be_traced(tmp_path):
    program = tmp_path / "agent.py"
    program.write_text(PROGRAM)
    (tmp_path / "finassay.toml").write_text(
        f'[run.agents.mine]\\nid = "command"\\noptions = {{ command = ["python", "{program}"], readable = ["{program}"], version = "1" }}\\n'
        f'[run.channels.feed]\\nid = "market-data"\\noptions = {{ cutoff = "{CUTOFF}" }}\\n'.replace("\\n", "\n")
    )
    tasks(tmp_path, "feed")
    finassay(tmp_path, "run", "--tasks", "tasks", "--sessions", "1", "--turns", "1", "--no-grade", "--out", "run")
    (session,) = sessions(tmp_path)
    said = json.loads(session.conversation.of("agent")[0].text)
    assert said["late"] == 0
    assert said["keys"] == []
    assert said["about"]["total_rows"] == 22
    (file,) = session.deliveries[-1].files
    assert file.path == "prices.csv"
    assert file.sha256 == said["about"]["sha256"]
    text = (RunFolder(tmp_path / "run").blobs.path(file.sha256)).read_text()
    assert text.splitlines()[-1].startswith(CUTOFF)
    assert hashlib.sha256(text.encode()).hexdigest() == file.sha256
    (log,) = (tmp_path / "run").rglob("gateway.jsonl")
    calls = [json.loads(line) for line in log.read_text().splitlines()]
    assert [call["what"] for call in calls if call.get("what")] == ["get_prices", "get_prices"]
    assert {call["to"] for call in calls} == {"feed"}


@pytest.mark.slow
def test_an_agent_behind_http_in_a_run(tmp_path):
    tasks(tmp_path, "embedded-market")
    with example() as url:
        settings = f'[run.agents.theirs]\nid = "remote"\noptions = {{ url = "{url}", network = false }}\n'
        (tmp_path / "finassay.toml").write_text(settings)
        run = ("run", "--tasks", "tasks", "--sessions", "1", "--turns", "2", "--out", "run")
        said = finassay(tmp_path, *run)
        (tmp_path / "finassay.toml").write_text(settings.replace(", network = false", ""))
        refused = finassay(tmp_path, *run[:-1], "other", expect=5)
    assert "Acted where no sandbox of this run held them: theirs (1 of 1 sessions)." in said
    assert "needs the network" in refused
    (session,) = sessions(tmp_path)
    assert [file.path for file in session.deliveries[-1].files] == ["REPORT.md"]
    assert [event.kind for event in session.log] == ["tool-call", "tool-result"]
    assert session.identity["agent"]["program_version"] == "example 1.0"
    gone = finassay(tmp_path, *run[:-1], "third", expect=5)
    assert "no answer from the agent's server" in gone


HOARDER = """
import json, os, time
for n in range(3000):
    open(f"kept-{n}", "w").close()
time.sleep(SECONDS)
print(json.dumps({"type": "message", "text": "I keep everything."}))
print(json.dumps({"type": "done"}), flush=True)
"""


@pytest.mark.slow
@pytest.mark.parametrize("seconds", [0, 200])
def test_an_agent_that_fills_its_workspace_ends_its_session_also_while_its_turn_runs(tmp_path, seconds):
    program = tmp_path / "agent.py"
    program.write_text(HOARDER.replace("SECONDS", str(seconds)))
    (tmp_path / "finassay.toml").write_text(
        f'[run]\nworkspace_files = 1000\n[run.agents.mine]\nid = "command"\n'
        f'options = {{ command = ["python", "{program}"], readable = ["{program}"], version = "1" }}\n'
    )
    tasks(tmp_path)
    said = finassay(tmp_path, "run", "--tasks", "tasks", "--sessions", "1", "--turns", "2", "--no-grade", "--out", "run")
    assert "resource_limit" in said
    (session,) = sessions(tmp_path)
    assert (session.end_reason, session.end_detail) == ("resource_limit", "more than 1,000 files and folders in the workspace")
    assert len(session.turns) == 1
    assert session.turns[0].seconds < 60
    assert session.identity["sandbox"]["workspace"] == {"entries": 1000, "size": 16 * 2**30}
    assert "more than 1,000 files and folders in the workspace" in finassay(tmp_path, "show", "run", session.id)
