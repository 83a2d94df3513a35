"""Bad input and faults at the command line: one clear line with a hint and an exit code of its own, and nothing lost."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from importlib.metadata import entry_points
from pathlib import Path

import pytest

DEMO = Path(__file__).parents[1] / "demo"
QUERY = "What was the net income of Larkspur Instruments in FY2023?"
MAIN = "import sys; from finassay.cli.main import main; sys.exit(main(sys.argv[1:]))"
FULL = """
import errno, os
written, sync = [], os.fsync
def fsync(file):
    written.append(file)
    if len(written) > 5:
        raise OSError(errno.ENOSPC, "No space left on device")
    sync(file)
os.fsync = fsync
"""
"""A disk that takes five files and no more."""


@pytest.fixture
def desk(tmp_path):
    for group, name in {"finassay.sources": "corpus", "finassay.researchers": "statements-a"}.items():
        if name not in {entry.name for entry in entry_points(group=group)}:
            pytest.skip(f"{name} is not installed beside it")
    shutil.copytree(DEMO / "corpus", tmp_path / "corpus")
    (tmp_path / "binary.txt").write_bytes(bytes(range(256)) * 8)
    (tmp_path / "zeros.txt").write_bytes(b"What was revenue?\0\0")
    (tmp_path / "empty.txt").write_text("\n")
    (tmp_path / "file").write_text("no folder")
    (tmp_path / "letters").mkdir()
    (tmp_path / "letters" / "letter.txt").write_text("mine")
    return tmp_path


def command(*, query=QUERY, cutoff="2024-03-31", source="corpus:corpus", out="out", more=()):
    return [sys.executable, "-c", MAIN, "rubric", "generate", query, "--cutoff", cutoff, "--source", source, "--out", out, *more]


def ended(arguments, desk):
    done = subprocess.run(arguments, cwd=desk, capture_output=True, text=True, timeout=120, stdin=subprocess.DEVNULL)
    assert "Traceback" not in done.stdout + done.stderr
    return done


@pytest.mark.parametrize(
    ("given", "code", "said"),
    [
        ({"query": ""}, 2, "the query is empty"),
        ({"query": "  "}, 2, "the query is empty"),
        ({"query": "empty.txt"}, 2, "the query is empty"),
        ({"query": "binary.txt"}, 3, "is no text in UTF-8"),
        ({"query": "zeros.txt"}, 3, "it holds zero bytes"),
        ({"query": "corpus"}, 2, "corpus is a folder"),
        ({"query": "Good morning to you."}, 2, "asks for nothing"),
        ({"cutoff": "2999-01-01"}, 2, "lies ahead"),
        ({"cutoff": "2024-02-30"}, 2, "expected a date"),
        ({"source": "corpus:nowhere"}, 2, "there is no folder 'nowhere'"),
        ({"more": ("--guidance", "nowhere")}, 4, "no guidance 'nowhere'"),
        ({"more": ("--reviewer", "statements-a")}, 2, "of one family"),
        ({"out": "letters"}, 2, "holds something else"),
        ({"out": "file"}, 2, "is a file, no folder"),
    ],
)
def test_what_cannot_be_made_is_one_line_and_a_hint(desk, given, code, said):
    before = sorted(p for p in desk.rglob("*") if "-index" not in str(p) and p.name != ".lock")
    done = ended(command(**given), desk)
    assert done.returncode == code, done.stderr
    error, hint = done.stderr.splitlines()
    assert error.startswith("error: ")
    assert said in error
    assert hint.startswith("hint: ")
    assert sorted(p for p in desk.rglob("*") if "-index" not in str(p) and p.name != ".lock") == before


def test_undated_sources_show_nothing_and_are_counted(desk):
    rows = [json.loads(line) for line in (desk / "corpus" / "documents.jsonl").read_text().splitlines()]
    for row in rows:
        row.pop("published", None)
    (desk / "corpus" / "documents.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    done = ended(command(), desk)
    assert done.returncode == 0
    assert "; queued" in done.stdout
    assert "documents there for nobody, because undated" in done.stdout
    assert "no document" in (desk / "out" / "queue" / "O1.json").read_text()


def test_a_disk_that_is_full_stops_in_one_line_and_nothing_is_lost(desk):
    arguments = command()
    arguments[2] = FULL + MAIN
    done = ended(arguments, desk)
    assert done.returncode == 8, done.stderr
    error, hint = done.stderr.splitlines()
    assert "No space left on device" in error
    assert "out/" in error
    assert "the same command" in hint
    assert (desk / "out" / "budget.json").exists()
    assert not list((desk / "out").rglob(".*.tmp"))
    assert "; final" in ended(command(), desk).stdout


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_who_stops_it_is_told_that_it_goes_on(desk, number):
    query = str(DEMO / "queries" / "larkspur.txt")
    child = subprocess.Popen(command(query=query), cwd=desk, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 60
    while not (desk / "out" / "budget.json").exists() and child.poll() is None and time.monotonic() < deadline:
        time.sleep(0.005)
    os.kill(child.pid, number)
    _, said = child.communicate(timeout=60)
    assert (child.returncode, said.splitlines()) == (130, ["stopped; the same command goes on where it was"])
    assert "80.00 of 100 points" in ended(command(query=query), desk).stdout
