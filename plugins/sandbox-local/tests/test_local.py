"""The sandbox `local` against the conformance kit, and what is its own."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from finassay.api.errors import SandboxError
from finassay.api.sandbox import MAX_LINE_BYTES, BoxSpec, Limits
from finassay.testing.cases import ComponentConformance
from finassay_sandbox_local.cgroup import ProcessGroup
from finassay_sandbox_local.process import CUT_MARK
from finassay_sandbox_local.sandbox import LocalOptions, LocalSandbox
from finassay_sandbox_local.sweep import family, lives

BOMB = ["/bin/sh", "-c", "f() { f | f & }; f; sleep 60"]


class TestConformance(ComponentConformance):
    kind = "sandbox"
    id = "local"


@pytest.fixture
def open_box(tmp_path: Path):
    boxes = []

    def make(**changes):
        workspace = tmp_path / f"workspace{len(boxes)}"
        workspace.mkdir()
        boxes.append(LocalSandbox(LocalOptions()).open(BoxSpec(workspace, **changes)))
        return boxes[-1]

    yield make
    for box in boxes:
        box.close()


@pytest.fixture
def box(open_box):
    return open_box()


def until(condition, seconds: float = 15) -> bool:
    deadline = time.monotonic() + seconds
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.02)
    return condition()


def test_says_that_it_isolates_nothing():
    isolation = LocalSandbox(LocalOptions()).isolation
    assert (isolation.files, isolation.network, isolation.processes) == (False, False, False)


def test_the_environment_holds_only_what_was_named(open_box, monkeypatch):
    monkeypatch.setenv("A_SECRET", "1")
    box = open_box(environment={"NAMED": "1"})
    names = b" ".join(box.spawn(["/usr/bin/env"], environment={"ALSO": "2"}).lines()).decode()
    assert {pair.partition("=")[0] for pair in names.split()} == {"PATH", "HOME", "TMPDIR", "LANG", "NAMED", "ALSO", "FINASSAY_BOX"}


def test_an_endless_line_is_cut_and_the_next_is_read(box):
    code = f"import sys; sys.stdout.write('x' * {MAX_LINE_BYTES + 1000}); print(); print('next')"
    lines = list(box.spawn([sys.executable, "-c", code]).lines())
    assert len(lines[0]) <= MAX_LINE_BYTES
    assert lines[0].endswith(CUT_MARK)
    assert lines[1:] == [b"next"]


def test_line_ends_and_a_last_line_without_one(box):
    assert list(box.spawn(["/usr/bin/printf", "a\\r\\n\\nb\\n\\377c"]).lines()) == [b"a", b"", b"b", b"\xffc"]


def test_standard_error_keeps_its_tail_only(box):
    process = box.spawn([sys.executable, "-c", "import sys; sys.stderr.write('y' * 10_000_000 + 'end')"])
    assert list(process.lines()) == []
    process.wait(10)
    assert process.stderr_tail().endswith("end")
    assert len(process.stderr_tail()) < 20_000


def test_large_input_and_output_do_not_deadlock(box):
    data = b"z" * 5_000_000 + b"\n"
    process = box.spawn([sys.executable, "-c", "import sys; sys.stdout.write(sys.stdin.read())"], stdin=data)
    assert sum(len(line) for line in process.lines()) == 5_000_000


def test_input_that_nobody_reads_blocks_nothing(box):
    process = box.spawn(["/bin/true"], stdin=b"z" * 5_000_000)
    assert process.wait(10) == 0
    box.stop()


def test_an_open_input_takes_more_until_it_is_closed(box):
    process = box.spawn(["/bin/sh", "-c", "read a; echo $a; read b; echo $b; exec wc -c"], stdin=None)
    lines = process.lines()
    for text in (b"one", b"two"):
        process.write(text + b"\n")
        assert next(lines) == text
    process.write(b"z" * 1_000_000)
    process.close_input()
    process.close_input()
    assert list(lines) == [b"1000000"]
    assert process.wait(10) == 0
    with pytest.raises(SandboxError, match="no more input"):
        process.write(b"late")


def test_writing_to_a_program_that_is_gone_or_closed_its_input_is_told(box):
    gone = box.spawn(["/bin/true"], stdin=None)
    gone.wait(10)
    with pytest.raises(SandboxError, match="no more input"):
        gone.write(b"x" * 1_000_000)
    closed = box.spawn(["/bin/sh", "-c", "exec <&-; echo closed; exec sleep 60"], stdin=None)
    assert next(closed.lines()) == b"closed"
    with pytest.raises(SandboxError, match="no more input"):
        closed.write(b"x")


def test_a_writer_is_released_by_stop(box):
    process = box.spawn(["/bin/sleep", "60"], stdin=None)
    told = []

    def write():
        try:
            process.write(b"x" * 1_000_000)
        except SandboxError as error:
            told.append(error)

    writer = threading.Thread(target=write)
    writer.start()
    time.sleep(0.1)
    assert writer.is_alive()
    box.stop()
    writer.join(5)
    assert told


def test_a_child_that_holds_the_output_does_not_keep_the_reader(box):
    started = time.monotonic()
    process = box.spawn(["/bin/sh", "-c", "sleep 60 & (while :; do echo more; done) & echo done"])
    lines = list(process.lines())
    assert b"done" in lines
    assert time.monotonic() - started < 10
    assert process.wait(0) == 0


def test_a_reader_is_released_by_stop_and_does_not_delay_it(box):
    process = box.spawn(["/bin/sh", "-c", "echo one; sleep 60"])
    reader = process.lines()
    assert next(reader) == b"one"
    started = time.monotonic()
    box.stop()
    assert time.monotonic() - started < 3
    assert list(reader) == []
    assert process.wait(1) == -signal.SIGKILL


def test_a_reader_in_another_thread_is_released_by_stop(box):
    process = box.spawn(["/bin/sleep", "60"])
    reader = threading.Thread(target=lambda: list(process.lines()))
    reader.start()
    box.stop()
    reader.join(5)
    assert not reader.is_alive()


def test_wait_tells_the_exit_code_and_honours_its_time(box):
    assert box.spawn(["/bin/sh", "-c", "exit 7"]).wait() == 7
    assert box.spawn(["/bin/sh", "-c", "kill -TERM $$"]).wait(10) == -signal.SIGTERM
    process = box.spawn(["/bin/sleep", "60"])
    started = time.monotonic()
    assert process.wait(0.1) is None
    assert time.monotonic() - started < 2


def test_a_folder_outside_the_workspace_is_refused(box):
    with pytest.raises(SandboxError, match="outside"):
        box.spawn(["true"], cwd="../..")


def test_a_program_that_does_not_exist_is_told(box):
    process = box.spawn(["no-such-program-here"])
    assert list(process.lines()) == []
    assert process.wait(10) == 127
    assert "no-such-program-here" in process.stderr_tail()


def test_stop_ends_what_left_its_session_its_parent_and_its_environment(box):
    script = "env -i setsid /bin/sh -c 'env -i setsid sleep 600 & echo $!; exec sleep 600' & sleep 0.3; echo up"
    process = box.spawn(["/bin/sh", "-c", script])
    lines = list(process.lines())
    assert lines[-1] == b"up"
    assert process.wait(10) == 0
    left = family(process.pid)
    assert len(left) == 2
    box.stop()
    assert not any(lives(pid) for pid in left)
    assert list(box.spawn(["/bin/echo", "again"]).lines()) == [b"again"]


def test_a_program_outlives_the_thread_that_started_it(box):
    started = []
    thread = threading.Thread(target=lambda: started.append(box.spawn(["/bin/sh", "-c", "sleep 0.5; echo alive"])))
    thread.start()
    thread.join()
    assert list(started[0].lines()) == [b"alive"]


@pytest.mark.parametrize("group", [True, False], ids=["control group", "watch"])
def test_a_fork_bomb_is_bounded(open_box, monkeypatch, group):
    if not group:
        monkeypatch.setattr(ProcessGroup, "create", classmethod(lambda cls, limit: None))
    box = open_box(limits=Limits(processes=60))
    others = 0 if os.geteuid() == 0 else 200  # an ordinary user's limit counts all of its processes
    process = box.spawn(BOMB)
    peak, deadline = 0, time.monotonic() + 1.5
    while time.monotonic() < deadline:
        peak = max(peak, len(family(process.pid)))
    bound = 60 + others if group or os.geteuid() != 0 else 1_000  # a watch looks fifty times a second, so it overshoots
    assert peak <= bound
    box.stop()
    assert not family(process.pid)
    assert list(box.spawn(["/bin/echo", "still here"]).lines()) == [b"still here"]


def test_limits_of_memory_and_file_size_are_told_by_the_kernel(open_box):
    box = open_box(limits=Limits(memory_bytes=2**29, file_bytes=2**20))
    process = box.spawn([sys.executable, "-c", "bytearray(2**30)"])
    assert process.wait(20) == 1
    assert "MemoryError" in process.stderr_tail()
    assert box.spawn([sys.executable, "-c", "open('big', 'wb').write(bytes(2**22))"]).wait(20) != 0
    assert (box.workspace / "big").stat().st_size <= 2**20


def test_two_boxes_end_apart(open_box):
    one, two = open_box(), open_box()
    kept = two.spawn(["/bin/sleep", "60"])
    one.spawn(["/bin/sleep", "60"])
    one.stop()
    assert kept.wait(0.2) is None


def test_the_next_box_ends_what_a_killed_harness_left_behind(tmp_path: Path):
    """The supervisor normally sees to it; here it is killed too, and only the marker is left."""
    (tmp_path / "workspace").mkdir()
    first = LocalSandbox(LocalOptions()).open(BoxSpec(tmp_path / "workspace"))
    process = first.spawn(["/bin/sh", "-c", "echo up; exec sleep 600"])
    assert next(process.lines()) == b"up"
    left = list(family(process.pid))
    os.kill(process.pid, signal.SIGKILL)
    assert until(lambda: process.wait(0) is not None)
    assert all(lives(pid) for pid in left)
    second = LocalSandbox(LocalOptions()).open(BoxSpec(tmp_path / "workspace"))
    assert not any(lives(pid) for pid in left)
    second.close()
    first.close()


def test_nothing_runs_on_after_the_harness_was_killed(tmp_path: Path):
    code = (
        "import sys, time\nfrom pathlib import Path\nfrom finassay.api.sandbox import BoxSpec\n"
        "from finassay_sandbox_local.sandbox import LocalSandbox, LocalOptions\n"
        "box = LocalSandbox(LocalOptions()).open(BoxSpec(Path(sys.argv[1])))\n"
        "p = box.spawn(['/bin/sh', '-c', 'env -i setsid sleep 600 & echo $!; sleep 600'])\n"
        "print(p.pid, next(p.lines()).decode(), flush=True)\ntime.sleep(600)\n"
    )
    harness = subprocess.Popen([sys.executable, "-c", code, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    assert harness.stdout is not None
    pids = [int(pid) for pid in harness.stdout.readline().split()]
    assert len(pids) == 2
    assert all(lives(pid) for pid in pids)
    harness.kill()
    harness.wait(10)
    harness.stdout.close()
    assert until(lambda: not any(lives(pid) for pid in pids))


def test_what_an_agent_put_in_place_of_its_home_leads_nowhere(tmp_path: Path):
    workspace, outside = tmp_path / "workspace", tmp_path / "outside"
    workspace.mkdir()
    outside.mkdir()
    (workspace / ".home").symlink_to(outside)
    (workspace / ".tmp").write_text("a file")
    box = LocalSandbox(LocalOptions()).open(BoxSpec(workspace))
    assert not (workspace / ".home").is_symlink()
    assert (workspace / ".tmp").is_dir()
    box.close()


def test_close_leaves_no_control_group(open_box):
    box = open_box()
    group = box._group
    if group is None:
        pytest.skip("no control group can be made here")
    assert group.path.is_dir()
    box.spawn(["/bin/sleep", "60"])
    box.close()
    assert not group.path.exists()
