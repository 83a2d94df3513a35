"""Processes that grade end with the program that asked for gradings, however it ends."""

import os
import signal
import subprocess
import sys
import time

import pytest
from runs_on_disk import add_session, run_folder

from finassay.cli.main import _terminated_as_interrupted, main
from finassay.runs.folder import RunFolder

PROGRAM = """
import multiprocessing, sys, time
from pathlib import Path
from finassay.cli.main import _terminated_as_interrupted
from finassay.config.settings import recorded_settings
from finassay.runs.folder import RunFolder
from finassay.runs.grade import grading_pool

if __name__ == "__main__":
    folder = RunFolder(Path(sys.argv[1]))
    with _terminated_as_interrupted(), grading_pool(folder.root, recorded_settings(folder.manifest(), folder.manifest_path), 1) as submit:
        submit(folder.sessions()[0]).result()
        print(*(p.pid for p in multiprocessing.active_children()), flush=True)
        time.sleep(600)
"""


def lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    with open(f"/proc/{pid}/stat", "rb") as stream:
        return stream.read().rpartition(b")")[2].split()[0] not in (b"Z", b"X")


@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGKILL])
def test_they_end_with_whoever_started_them(tmp_path, end):
    folder = run_folder(tmp_path / "run")
    add_session(folder)
    (tmp_path / "program.py").write_text(PROGRAM)
    program = subprocess.Popen(
        [sys.executable, str(tmp_path / "program.py"), str(folder.root)], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert program.stdout is not None
    pids = [int(pid) for pid in program.stdout.readline().split()]
    assert len(pids) == 1
    program.send_signal(end)
    try:
        program.communicate(timeout=60)  # they hold its output: it ends when they do
    finally:
        program.kill()
    deadline = time.monotonic() + 20
    while (left := [pid for pid in pids if lives(pid)]) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not left


def test_a_termination_is_an_interruption():
    before = signal.getsignal(signal.SIGTERM)

    def ended() -> None:
        with _terminated_as_interrupted():
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(5)

    with pytest.raises(KeyboardInterrupt):
        ended()
    assert signal.getsignal(signal.SIGTERM) == before


def test_a_reader_that_goes_away_is_no_fault_of_a_plugin(tmp_path, monkeypatch, capsys):
    def gone(*given, **more):
        try:
            raise BrokenPipeError
        except BrokenPipeError:
            raise SystemExit(1)  # noqa: B904 - as rich does

    monkeypatch.setattr("finassay.cli.render.print_run", gone)
    folder = run_folder(tmp_path / "run")
    add_session(folder)
    with pytest.raises(SystemExit) as stopped:
        main(["grade", str(folder.root)])
    assert stopped.value.code == 141
    assert "plugin" not in capsys.readouterr().err
    assert RunFolder(folder.root).sessions()
