"""The sandbox `local` against the conformance kit, and what is its own."""

import sys
import time
from pathlib import Path

import pytest

from finassay.api.errors import SandboxError
from finassay.api.sandbox import MAX_LINE_BYTES, BoxSpec
from finassay.testing.cases import ComponentConformance
from finassay_sandbox_local.sandbox import LocalOptions, LocalSandbox


class TestConformance(ComponentConformance):
    kind = "sandbox"
    id = "local"


@pytest.fixture
def box(tmp_path: Path):
    box = LocalSandbox(LocalOptions()).open(BoxSpec(tmp_path))
    yield box
    box.close()


def test_says_that_it_isolates_nothing():
    isolation = LocalSandbox(LocalOptions()).isolation
    assert (isolation.files, isolation.network, isolation.processes) == (False, False, False)


def test_an_endless_line_is_cut_and_the_next_is_read(box):
    code = f"import sys; sys.stdout.write('x' * {MAX_LINE_BYTES + 1000}); print(); print('next')"
    lines = list(box.spawn([sys.executable, "-c", code]).lines())
    assert len(lines[0]) <= MAX_LINE_BYTES
    assert lines[-1] == b"next"


def test_standard_error_keeps_its_tail_only(box):
    process = box.spawn([sys.executable, "-c", "import sys; sys.stderr.write('y' * 10_000_000 + 'end')"])
    assert list(process.lines()) == []
    process.wait(10)
    time.sleep(0.3)
    assert process.stderr_tail().endswith("end")
    assert len(process.stderr_tail()) < 20_000


def test_large_input_and_output_do_not_deadlock(box):
    data = b"z" * 5_000_000 + b"\n"
    process = box.spawn([sys.executable, "-c", "import sys; sys.stdout.write(sys.stdin.read())"], stdin=data)
    assert sum(len(line) for line in process.lines()) == 5_000_000


def test_a_child_that_holds_the_output_does_not_keep_the_reader(box):
    started = time.monotonic()
    code = "import subprocess; subprocess.Popen(['sleep', '60']); print('done')"
    assert list(box.spawn([sys.executable, "-c", code]).lines()) == [b"done"]
    assert time.monotonic() - started < 10


def test_a_folder_outside_the_workspace_is_refused(box):
    with pytest.raises(SandboxError, match="outside"):
        box.spawn(["true"], cwd="../..")


def test_a_program_that_does_not_exist_is_told(box):
    process = box.spawn(["no-such-program-here"])
    assert list(process.lines()) == []
    assert process.wait(10) not in (0, None)
    time.sleep(0.2)
    assert "no-such-program-here" in process.stderr_tail()


def test_the_next_box_ends_what_a_killed_harness_left_behind(tmp_path: Path):
    sandbox = LocalSandbox(LocalOptions())
    first = sandbox.open(BoxSpec(tmp_path))
    process = first.spawn([sys.executable, "-c", "import time; print('up', flush=True); time.sleep(600)"])
    assert next(process.lines()) == b"up"
    second = sandbox.open(BoxSpec(tmp_path))  # the first was never closed, as after SIGKILL
    assert process.wait(10) is not None
    second.close()
    first.close()
