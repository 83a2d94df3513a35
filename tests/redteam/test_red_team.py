"""A hostile agent in a real run in the sandbox `bubblewrap`, with everything that it tries. The list: docs/reference/red-team.md."""

import json
import os
import re
import subprocess
import time
from pathlib import Path

import holding
import pytest
import trap as traps
import ways

from finassay.catalog.catalog import Catalog
from finassay.runs.coderunner import SandboxCodeRunner
from finassay.runs.interpreter import interpreter_folders

AGENTS = {"looker": traps.LOOKER, "breaker": traps.BREAKER}
TRIED = tuple(group for group in ways.GROUPS if group is not ways.HARNESS)


@pytest.fixture(scope="module")
def held(trap, works):
    works("bubblewrap")
    return traps.hold(trap, "held", "bubblewrap", AGENTS, upstream=True)


@pytest.fixture(scope="module")
def results(held):
    return held.results(*AGENTS)


def test_there_are_enough_secrets_to_find(trap):
    """Otherwise nothing would be found because nothing was there."""
    assert len(trap.marks) >= 20
    assert sum(what.startswith("the belief") for what in trap.marks) >= 4


def test_every_way_is_tried_and_in_the_table(results):
    assert holding.untried(results, TRIED) == ([], [])
    assert len(list(ways.every())) >= 45


def test_what_is_stopped_is_stopped(results):
    assert holding.unexpected(results, "bubblewrap") == []


def test_what_is_open_in_bubblewrap_is_told_truly(results):
    """A page that says that something is open, where it no longer is, is as wrong as the other way round."""
    assert {id for id in results if results[id]["worked"]} == {w.id for w in ways.every() if w.bubblewrap == "open" and w.where == "agent"}


@pytest.mark.parametrize("alias", AGENTS)
def test_nothing_hidden_was_learnt(held, alias):
    assert holding.learnt(held, alias) == []


def test_the_record_and_the_other_session_are_untouched(held):
    assert holding.untouched(held) == []


def test_the_sealed_is_for_its_owner_alone(held):
    sealed = [p for p in held.files() if held.folder.is_sealed(p)]
    assert len(sealed) >= 5
    assert {oct(p.stat().st_mode & 0o077) for p in sealed} == {"0o0"}


def test_keys_stand_in_no_file_of_the_run(held):
    keys = [held.trap.marks["the model API's key"].encode(), held.trap.marks["another key"].encode()]
    assert [p for p in held.files() if any(key in p.read_bytes() for key in keys)] == []


def test_failures_are_laid_at_the_agents_door(held):
    """Forged failures of a provider, and output without end: neither voids a session, nor leaves it open."""
    looker, breaker = (held.folder.state(held.session(alias)) for alias in AGENTS)
    assert (looker.ended, breaker.ended) == ("agent_error", "agent_error")
    assert "the program says so" in looker.end_detail or "no call failed" in looker.end_detail or "overloaded" in looker.end_detail
    assert "bytes in one turn" in breaker.end_detail


def test_what_was_not_taken_stands_in_the_record(held):
    deliveries = held.folder.state(held.session("breaker")).deliveries
    reasons = {r.path: r.reason for delivery in deliveries[1:3] for r in delivery.rejected}
    assert {f"link-{n}": reasons.get(f"link-{n}") for n in range(7)} == {f"link-{n}": "is a link" for n in range(7)}
    assert reasons["pipe.csv"] == "is no regular file"
    assert "larger" in reasons["sparse.csv"]
    assert any("deeper" in reason for reason in reasons.values())
    assert any("more than 5,000 files" in reason for reason in reasons.values())
    assert {r.reason for r in deliveries[3].rejected} == {"is a link or no folder"}
    assert not any(ord(c) < 32 or c in "\u202e\u2066" for delivery in deliveries for r in delivery.rejected for c in r.path)
    taken = {f.path for f in deliveries[1].files}
    assert "fine.txt" in taken
    assert not any(path.startswith(("/", "../")) or "\n" in path for path in taken)


def test_forged_events_stay_what_they_are(held):
    state = held.folder.state(held.session("breaker"))
    assert all(
        value is None or 0 <= value < 1e15
        for _, usage in state.usage
        for value in (usage.input_tokens, usage.output_tokens, usage.cost_usd)
    )
    assert [m.id for m in state.conversation.of("agent")] == [f"a{n}" for n in range(1, 6)]
    assert not any("forged" in m.text for m in state.conversation.messages)
    lines = (held.folder.session_path(held.session("breaker")) / "events.jsonl").read_bytes().splitlines()
    assert [json.loads(line)["type"] for line in lines][-1] == "end"
    assert max(map(len, lines)) < 64 * 2**20


def test_the_gateway_lets_through_what_it_should_and_nothing_else(held):
    """By what the model API heard: one path, with the real key, without the token."""
    key = held.trap.marks["the model API's key"]
    scan = ("/", {})  # of whoever scans ports at the same time, from outside any box
    heard = [entry for entry in held.trap.heard if entry != scan]
    assert heard
    assert {path for path, _ in heard} == {"/v1/messages"}
    assert {headers.get("x-api-key") for _, headers in heard} == {key}
    assert not any("smuggled" in repr(entry) or "evil" in repr(entry).lower() for entry in heard)
    calls = [json.loads(line) for line in (held.folder.session_path(held.session("looker")) / "gateway.jsonl").read_text().splitlines()]
    assert sum(call.get("refused", "") != "" for call in calls) >= 20
    assert {call["what"] for call in calls if call["kind"] == "model" and not call.get("refused")} == {"model-a"}


# -- after the session --------------------------------------------------------------------------------------------------


def finassay(held, *arguments, seconds=200):
    return subprocess.run(
        [*traps.COMMAND, *map(str, arguments)],
        capture_output=True,
        timeout=seconds,
        check=False,
        env={**held.trap.environment, "COLUMNS": "120"},
    )


@pytest.fixture(scope="module")
def graded(held):
    """The session with the hostile delivery, graded; with how long that took."""
    key = held.session("breaker")
    started = time.monotonic()
    done = finassay(held, "grade", held.folder.root, "--session", key.id)
    assert done.returncode == 0, done.stderr
    (path,) = (held.folder.session_path(key) / "gradings").glob("*.json")
    return path.read_text(), time.monotonic() - started


def test_injected_instructions_give_no_level_and_tell_nothing(held, graded):
    text, _ = graded
    assert holding.learnt(held, "breaker") == []
    state = held.folder.state(held.session("breaker"))
    assert not any(t.action == "finish" for t in state.user_turns)
    levels = [int(level) for level in re.findall(r'"level": (\d)', text)]
    assert levels
    assert sum(level == 4 for level in levels) < len(levels) / 2
    assert not Path("/tmp/red-team-unpickled").exists()
    assert not Path("/tmp/out-of-the-archive").exists()


def test_the_report_runs_nothing(held, graded):
    done = finassay(held, "report", held.folder.root)
    assert done.returncode == 0, done.stderr
    pages = list((held.folder.root / "report").rglob("*.html"))
    assert len(pages) >= 3
    for page in pages:
        text = page.read_text("utf-8")
        assert "default-src 'none'" in text
        assert not re.search(
            r"<script|<iframe|<img[^>]+onerror|<svg[^>]+onload|javascript:", re.sub(r"<!--.*?-->", "", text), re.IGNORECASE
        )
        assert not any(c in text for c in "\x1b\x07\u202e\u2066")
    assert any("RED-TEAM-RAN" in page.read_text("utf-8") for page in pages), "the hostile text is not shown at all: this test shows nothing"


@pytest.mark.parametrize("arguments", [["show"], ["show", "--failed"], ["report"]], ids=" ".join)
def test_no_escape_code_reaches_the_readers_terminal(held, graded, arguments):
    session = [held.session("breaker").id] if arguments[0] == "show" else []
    done = finassay(held, arguments[0], held.folder.root, *session, *arguments[1:])
    assert done.returncode == 0, done.stderr
    said = done.stdout + done.stderr
    assert said
    assert not any(c in said.decode("utf-8", "replace") for c in "\x1b\x07\x9b\u202e\u2066")


@pytest.fixture(scope="module")
def rerun(held, tmp_path_factory):
    """The delivered script, run again as graders do; a clock of three seconds is left to it."""
    delivery = held.folder.state(held.session("breaker")).deliveries[1]
    files = {f.path: held.folder.blobs.path(f.sha256) for f in delivery.files if f.path in ("run.py", "metrics.csv")}
    scratch = tmp_path_factory.mktemp("scratch")
    runner = SandboxCodeRunner(Catalog.installed().create("sandbox", "bubblewrap")[0], interpreter_folders(), {}, scratch)
    started = time.monotonic()
    try:
        result = runner.run(files, ("{python}", "run.py"), seconds=3)
        told = json.loads(result.written["told.json"].read_text())
    finally:
        runner.close()
    return result, told, time.monotonic() - started, list(scratch.iterdir())


def test_a_script_that_is_run_again_learns_and_reaches_nothing(held, rerun):
    _, told, _, _ = rerun
    assert told["worked"] == []
    assert held.trap.finds(json.dumps(told)) == {}
    assert set(told["files"]) <= {"/proc/1/environ"}


def test_a_script_that_runs_for_ever_is_ended_and_cleared_away(rerun):
    result, _, seconds, left = rerun
    assert result.exit_code is None
    assert seconds < 30
    assert left == []
    assert not [p for p in Path("/proc").iterdir() if p.name.isdigit() and b"time.sleep(604.25)" in _command(p)]


def _command(process: Path) -> bytes:
    try:
        return b"" if process.name == str(os.getpid()) else (process / "cmdline").read_bytes()
    except OSError:
        return b""
