"""Stopping a run: at once, with nothing lost; and what was stored is graded as it was stored or not at all."""

import json
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

COMMAND = [sys.executable, "-m", "finassay.cli.main"]


def finassay(*arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*COMMAND, *map(str, arguments)], capture_output=True, text=True, timeout=240, check=False)


@pytest.fixture(scope="module")
def tasks(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tasks")
    done = finassay(
        *("tasks", "sample", "--grammar", "us-long-only", "--seeds", "0-11", "--needs", "prices", "--channel", "embedded-market"),
        *("--out", folder),
    )
    assert done.returncode == 0, done.stderr
    return folder


def ends(run: Path) -> dict[str, str]:
    """Session id to the type of its last event."""
    return {p.parent.name: json.loads(p.read_text().splitlines()[-1])["type"] for p in run.glob("sessions/*/events.jsonl")}


@pytest.fixture(scope="module")
def stopped(tasks, tmp_path_factory):
    """A run that was interrupted once its first session had ended, and how it took that."""
    run = tmp_path_factory.mktemp("run") / "run"
    arguments = ["run", "--agent", "storyteller", "--tasks", str(tasks), "--out", str(run), "--jobs", "1", "--no-grade"]
    with subprocess.Popen([*COMMAND, *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as program:
        assert program.stdout is not None
        for line in program.stdout:
            if "satisfied" in line:
                break
        program.send_signal(signal.SIGINT)
        asked = time.monotonic()
        rest = program.stdout.read()
        code = program.wait(60)
    return run, arguments, rest, code, time.monotonic() - asked


def test_an_interrupt_holds_nothing_more(stopped):
    run, _, rest, code, seconds = stopped
    assert code == 130
    assert "the same command goes on" in rest
    assert seconds < 30
    assert len(ends(run)) <= 3


@pytest.fixture(scope="module")
def resumed(stopped, tmp_path_factory):
    """A copy of the stopped run that the same command went on with: the folder, the command's end, the records before."""
    stood, arguments, *_ = stopped
    run = tmp_path_factory.mktemp("resumed") / "run"
    shutil.copytree(stood, run)
    before = {p: p.read_bytes() for p in run.glob("sessions/*/events.jsonl")}
    again = [str(run) if a == str(stood) else a for a in arguments]
    done = subprocess.run([*COMMAND, *again], capture_output=True, text=True, timeout=240, check=False)
    return run, done, before


def test_the_same_command_goes_on(resumed):
    run, done, before = resumed
    finished = {p for p, data in before.items() if b'"type":"end"' in data}
    assert done.returncode == 0, done.stderr
    assert set(ends(run).values()) == {"end"}
    assert len(ends(run)) == 12
    assert finished
    for path, data in before.items():
        assert path.read_bytes().startswith(data)
        assert path not in finished or path.read_bytes() == data


@pytest.mark.parametrize("harm", ["lost", "changed"])
def test_bytes_that_the_store_lost_are_not_laid_at_the_agents_door(resumed, tmp_path, harm):
    run = tmp_path / "run"
    shutil.copytree(resumed[0], run)
    blob = max((p for p in run.glob("blobs/*/*")), key=lambda p: p.stat().st_size)
    blob.chmod(0o644)
    blob.unlink() if harm == "lost" else blob.write_bytes(b"evil report")
    done = finassay("grade", run, "--jobs", "1")
    hurt = [p.parent.name for p in run.glob("sessions/*/events.jsonl") if blob.name in p.read_text()]
    graded = {p.parent.parent.name for p in run.glob("sessions/*/gradings/*.json")}
    assert hurt
    assert not graded & set(hurt)
    assert len(graded) == 12 - len(hurt)
    assert blob.name in done.stdout + done.stderr
