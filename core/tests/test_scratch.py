"""Temporary folders: removed when they are closed, or by the next process where their owner was killed; never a living one's."""

import os
import signal
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

import pytest

from finassay.records import scratch
from finassay.records.scratch import ALIVE, Scratch, sweep

OWNER = """
import sys
from finassay.records.scratch import Scratch
made = [Scratch("box") for _ in range(3)]
for one in made:
    (one.path / "deep" / "er").mkdir(parents=True)
    (one.path / "deep" / "file").write_text("x")
print(*(one.path.name for one in made), flush=True)
sys.stdin.readline()
"""


@pytest.fixture
def temporary(tmp_path, monkeypatch):
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    monkeypatch.setattr(scratch, "_swept", set())
    return folder


@pytest.fixture
def owner(temporary):
    """A process that made three folders and lives until it is killed."""
    process = subprocess.Popen(
        [sys.executable, "-c", OWNER],
        env={**os.environ, "TMPDIR": str(temporary)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    process.names = process.stdout.readline().split()
    yield process
    process.kill()
    process.communicate()


def test_a_folder_is_private_and_goes_when_it_is_closed(temporary):
    with Scratch("box") as made:
        assert made.path.parent == temporary
        assert made.path.name.startswith("finassay-box-")
        assert made.path.stat().st_mode & 0o777 == 0o700
        (made.path / "shut").mkdir()
        (made.path / "shut" / "file").write_text("x")
        (made.path / "shut").chmod(0)
    made.close()
    assert os.listdir(temporary) == []


def test_what_a_killed_process_left_is_removed_when_the_next_begins(temporary, owner):
    assert len(owner.names) == 3
    assert sweep(temporary) == []  # it lives
    assert set(owner.names) == set(os.listdir(temporary))
    owner.send_signal(signal.SIGKILL)
    owner.wait()
    with Scratch("box") as made:
        assert os.listdir(temporary) == [made.path.name]


def test_two_that_sweep_at_once_and_many_that_begin(temporary, owner):
    owner.send_signal(signal.SIGKILL)
    owner.wait()
    with ThreadPoolExecutor(8) as pool:
        removed = [one for found in pool.map(sweep, [temporary] * 8) for one in found]
        assert sorted(p.name for p in removed) == sorted(owner.names)
        made = list(pool.map(Scratch, ["box"] * 40))
        for folders in pool.map(sweep, [temporary] * 8):
            assert folders == []
    assert len(os.listdir(temporary)) == 40
    for one in made:
        one.close()


def test_what_is_not_certainly_a_dead_ones_stays(temporary, tmp_path, monkeypatch):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / ALIVE).touch()
    (temporary / "finassay-link").symlink_to(tmp_path / "elsewhere")
    (temporary / "finassay-unlocked").mkdir()
    (temporary / "finassay-file").touch()
    (temporary / "finassay-linked").mkdir()
    (temporary / "finassay-linked" / ALIVE).symlink_to(tmp_path / "elsewhere" / ALIVE)
    (temporary / "another").mkdir()
    (temporary / "another" / ALIVE).touch()
    os.mkfifo(tmp_path / "pipe")
    before = sorted(os.listdir(temporary))
    assert sweep(temporary) == []
    assert sorted(os.listdir(temporary)) == before
    (temporary / "finassay-dead").mkdir()
    (temporary / "finassay-dead" / ALIVE).touch()
    monkeypatch.setattr(os, "getuid", lambda: 12345)  # somebody else's
    assert sweep(temporary) == []
    monkeypatch.undo()
    assert [p.name for p in sweep(temporary)] == ["finassay-dead"]
    assert sweep(tmp_path / "nowhere") == []


def test_a_child_that_outlives_its_parent_by_fork_keeps_the_folder(temporary):
    """The lock belongs to all who inherited it: who still works there must not lose it."""
    code = (
        "import os, sys, time\nfrom finassay.records.scratch import Scratch\nmade = Scratch('box')\n"
        "child = os.fork()\nif child == 0:\n    time.sleep(600)\nprint(child, flush=True)\nos.kill(os.getpid(), 9)"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code], env={**os.environ, "TMPDIR": str(temporary)}, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    child = int(process.stdout.readline())
    process.wait()
    try:
        assert sweep(temporary) == []
    finally:
        os.kill(child, signal.SIGKILL)
        process.stdout.read()  # until the child, which holds the pipe, is gone
        process.stdout.close()
    assert len(sweep(temporary)) == 1


def test_a_file_system_without_locks(temporary, monkeypatch):
    def refuse(*given):
        raise OSError("no locks")

    monkeypatch.setattr(scratch.fcntl, "flock", refuse)
    made = Scratch("box")
    assert os.listdir(made.path) == []
    monkeypatch.undo()
    assert sweep(temporary) == []
    made.close()
    assert os.listdir(temporary) == []
