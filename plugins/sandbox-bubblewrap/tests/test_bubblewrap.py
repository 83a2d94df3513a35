"""The sandbox `bubblewrap` against the conformance kit, and what is its own."""

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from finassay.api.errors import SandboxError
from finassay.api.sandbox import BoxSpec
from finassay.runs.interpreter import interpreter_folders
from finassay.testing.cases import ComponentConformance
from finassay_sandbox_bubblewrap.sandbox import BubblewrapOptions, BubblewrapSandbox

WORKS = BubblewrapSandbox(BubblewrapOptions()).probe()
needs_bwrap = pytest.mark.skipif(not WORKS.ok, reason=f"bubblewrap does not work here: {WORKS.detail}")


@needs_bwrap
class TestConformance(ComponentConformance):
    kind = "sandbox"
    id = "bubblewrap"


@pytest.fixture
def open_box(tmp_path: Path):
    boxes = []

    def make(**changes):
        workspace = tmp_path / f"workspace{len(boxes)}"
        workspace.mkdir()
        boxes.append(BubblewrapSandbox(BubblewrapOptions()).open(BoxSpec(workspace, interpreter_folders(), **changes)))
        return boxes[-1]

    yield make
    for box in boxes:
        box.close()


def output(box, code: str) -> str:
    process = box.spawn([sys.executable, "-c", code])
    text = b"\n".join(process.lines()).decode()
    process.wait(20)
    return text


@needs_bwrap
def test_the_home_of_the_user_is_not_there(open_box):
    home = os.path.expanduser("~")
    listed = output(open_box(), f"import os; print(sorted(os.listdir({home!r})) if os.path.isdir({home!r}) else [])")
    inside = {p.relative_to(home).parts[0] for p in interpreter_folders() if p.is_relative_to(home)}
    assert set(eval(listed)) <= inside


@needs_bwrap
def test_hidden_folders_are_empty(open_box, tmp_path: Path):
    package = tmp_path / "package"
    (package / "grammar").mkdir(parents=True)
    (package / "grammar" / "options.py").write_text("secret")
    (package / "other").mkdir()
    box = open_box()
    box.close()
    box = BubblewrapSandbox(BubblewrapOptions()).open(BoxSpec(box.workspace, (*interpreter_folders(), package), (package / "grammar",)))
    assert output(box, f"import os; print(os.listdir({str(package / 'grammar')!r}), os.listdir({str(package)!r}))").startswith("[] [")
    box.close()


@needs_bwrap
def test_the_network_is_there_when_the_task_allows_it(open_box):
    import socket

    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        code = f"import socket; socket.create_connection(('127.0.0.1', {port}), 2); print('open')"
        assert output(open_box(network=True), code) == "open"
        assert output(open_box(network=False), code) == ""


@needs_bwrap
def test_workspace_and_tmp_are_the_only_writable_places(open_box):
    code = (
        "import os\n"
        "for place in ('/', '/usr', '/etc', '/var', '/opt', '/dev', '/tmp', '.'):\n"
        "    try:\n        open(os.path.join(place, 'probe'), 'w').close(); print(place)\n    except OSError: pass\n"
    )
    box = open_box()
    assert set(output(box, code).split()) <= {"/tmp", "/dev", "."}  # /dev is the box's own, in memory
    assert not Path("/probe").exists()
    assert (box.workspace / "probe").exists()


@needs_bwrap
def test_nothing_runs_on_after_the_harness_was_killed(tmp_path: Path):
    (tmp_path / "workspace").mkdir()
    code = (
        "import sys, time\nfrom pathlib import Path\n"
        "from finassay.api.sandbox import BoxSpec\nfrom finassay.runs.interpreter import interpreter_folders\n"
        "from finassay_sandbox_bubblewrap.sandbox import BubblewrapSandbox, BubblewrapOptions\n"
        f"box = BubblewrapSandbox(BubblewrapOptions()).open(BoxSpec(Path({str(tmp_path / 'workspace')!r}), interpreter_folders()))\n"
        'p = box.spawn([sys.executable, \'-c\', \'import time\\nwhile True: open("beat", "a").write("x"); time.sleep(0.05)\'])\n'
        "time.sleep(600)\n"
    )
    harness = subprocess.Popen([sys.executable, "-c", code])
    beat = tmp_path / "workspace" / "beat"
    deadline = time.monotonic() + 20
    while not beat.exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert beat.exists()
    harness.send_signal(signal.SIGKILL)
    harness.wait(10)
    time.sleep(0.5)
    size = beat.stat().st_size
    time.sleep(0.5)
    assert beat.stat().st_size == size


def test_a_missing_program_is_reported_with_a_hint(tmp_path: Path):
    sandbox = BubblewrapSandbox(BubblewrapOptions(program="no-such-bwrap"))
    probe = sandbox.probe()
    assert not probe.ok
    assert "no-such-bwrap" in probe.detail
    assert "apt-get" in probe.hint
    with pytest.raises(SandboxError):
        sandbox.open(BoxSpec(tmp_path))


def test_this_machine_was_tested(request):
    """A machine with the program must not skip its tests unseen."""
    assert WORKS.ok or shutil.which("bwrap") is None, WORKS.detail
