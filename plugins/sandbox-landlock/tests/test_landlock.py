"""The sandbox `landlock` against the conformance kit, and what is its own."""

import contextlib
import os
import socket
import sys
import tempfile
import threading
from pathlib import Path

import pytest

from finassay.api.errors import SandboxError
from finassay.api.sandbox import BoxSpec, Isolation, Probe, Service
from finassay.catalog.catalog import Catalog
from finassay.runs.build import best_sandbox
from finassay.runs.interpreter import interpreter_folders
from finassay.testing.cases import ComponentConformance
from finassay_sandbox_landlock import sandbox as module
from finassay_sandbox_landlock.plan import BIND_TCP, CONNECT_TCP, READ, READ_DIR, Tier, beside, plan
from finassay_sandbox_landlock.sandbox import LandlockOptions, LandlockSandbox, isolation

WORKS = LandlockSandbox(LandlockOptions()).probe()
needs_landlock = pytest.mark.skipif(not WORKS.ok, reason=f"Landlock does not work here: {WORKS.detail}")


@needs_landlock
class TestConformance(ComponentConformance):
    kind = "sandbox"
    id = "landlock"


@needs_landlock
class TestWithoutNamespaces(ComponentConformance):
    kind = "sandbox"
    id = "landlock"
    options = {"namespaces": False}  # noqa: RUF012


@pytest.fixture
def open_box(tmp_path: Path):
    boxes = []

    def make(namespaces=True, **changes):
        workspace = tmp_path / f"workspace{len(boxes)}"
        workspace.mkdir()
        sandbox = LandlockSandbox(LandlockOptions(namespaces=namespaces, tmp_bytes=2**20))
        boxes.append(sandbox.open(BoxSpec(workspace, changes.pop("readable", interpreter_folders()), **changes)))
        return boxes[-1]

    yield make
    for box in boxes:
        box.close()


def said(box, code: str) -> list[bytes]:
    process = box.spawn([sys.executable, "-c", code])
    lines = list(process.lines())
    assert process.wait(20) == 0, process.stderr_tail()
    return lines


# -- what it says of itself ---------------------------------------------------------------------------------------------


def test_it_claims_what_its_kernel_enforces():
    full = Tier(7, spaces=True, hides=True)
    assert isolation(full, network=False, services=True) == Isolation(files=True, network=True, processes=True)
    assert isolation(full, network=True, services=False) == Isolation(files=True, network=False, processes=True)
    assert isolation(Tier(5, spaces=True, hides=True), network=False, services=True).processes is False  # signals
    plain = Tier(7, spaces=False)
    assert isolation(plain, network=False, services=False) == Isolation(files=True, network=True, processes=False)
    assert isolation(plain, network=False, services=True) == Isolation(files=True, network=False, processes=False)


def test_a_kernel_without_landlock_is_told(tmp_path: Path, monkeypatch):
    monkeypatch.setattr(module, "abi", lambda: 0)
    sandbox = LandlockSandbox(LandlockOptions())
    assert (sandbox.probe().ok, sandbox.isolation) == (False, Isolation(False, False, False))
    assert "no Landlock" in sandbox.probe().detail
    assert "5.13" in sandbox.probe().hint
    with pytest.raises(SandboxError, match="no Landlock"):
        sandbox.open(BoxSpec(tmp_path))


def test_an_unknown_processor_is_told(monkeypatch):
    monkeypatch.setattr(module, "supported", lambda: False)
    monkeypatch.setattr(module, "abi", lambda: 7)
    assert "processor" in LandlockSandbox(LandlockOptions()).probe().detail


@needs_landlock
def test_where_namespaces_are_refused_it_goes_on_without(monkeypatch):
    tried = module._try
    monkeypatch.setattr(module, "_try", lambda tier, size: "refused" if tier.spaces else tried(tier, size))
    sandbox = LandlockSandbox(LandlockOptions())
    assert sandbox.probe().ok
    assert "without namespaces" in sandbox.probe().detail
    assert sandbox.isolation == Isolation(files=True, network=False, processes=False)


@needs_landlock
def test_a_box_that_would_not_confine_is_found_out(monkeypatch):
    monkeypatch.setattr(
        module, "plan", lambda spec, *rest: plan(BoxSpec(spec.workspace, (Path("/tmp"), Path(tempfile.gettempdir()))), *rest)
    )
    monkeypatch.setattr("finassay_sandbox_landlock.plan._readable", lambda spec, workspace: iter((workspace.parent,)))
    probe = LandlockSandbox(LandlockOptions()).probe()
    assert not probe.ok
    assert "files" in probe.detail


# -- what it grants -------------------------------------------------------------------------------------------------------


def test_what_lies_beside_a_hidden_folder_is_granted_piece_by_piece(tmp_path: Path):
    for name in ("a/hidden/x", "a/shown", "b"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "a" / "file").touch()
    (tmp_path / "a" / "link").symlink_to("hidden")
    hidden = [tmp_path / "a" / "hidden"]
    assert list(beside(tmp_path, hidden)) == [tmp_path / "a" / "file", tmp_path / "a" / "shown", tmp_path / "b"]
    assert list(beside(tmp_path / "b", hidden)) == [tmp_path / "b"]
    assert list(beside(tmp_path / "a" / "hidden", hidden)) == []


def test_a_folder_with_something_hidden_in_it_can_be_listed_but_not_read(tmp_path: Path):
    (tmp_path / "r" / "hidden").mkdir(parents=True)
    (tmp_path / "r" / "shown").mkdir()
    (tmp_path / "w").mkdir()
    spec = BoxSpec(tmp_path / "w", (tmp_path / "r",), hidden=(tmp_path / "r" / "hidden",))
    paths = dict(plan(spec, Tier(1, spaces=False), tmp_path, tmp_path / "w", 2**20)["paths"])
    assert paths[str(tmp_path / "r")] == READ_DIR
    assert paths[str(tmp_path / "r" / "shown")] == READ
    assert str(tmp_path / "r" / "hidden") not in paths


@pytest.mark.parametrize(("abi", "parts"), [(1, 1), (3, 1), (4, 2), (5, 2), (6, 3), (9, 3)])
def test_an_older_kernel_is_asked_only_for_what_it_knows(tmp_path: Path, abi, parts):
    found = plan(BoxSpec(tmp_path, services=(Service("s", 4000, tmp_path / "s"),)), Tier(abi, spaces=False), tmp_path, tmp_path, 1)
    handled = found["handled"]
    assert len(handled) == parts
    assert handled[0].bit_length() == {1: 13, 3: 15, 4: 15, 5: 16, 6: 16, 9: 17}[abi]
    assert all(access & ~handled[0] == 0 for _, access in found["paths"])
    assert found["ports"] == ([(4000, CONNECT_TCP)] if abi >= 4 else [])
    assert parts == 1 or handled[1] == BIND_TCP | CONNECT_TCP


def test_a_folder_around_the_workspace_is_refused(tmp_path: Path):
    (tmp_path / "workspace").mkdir()
    if not WORKS.ok:
        pytest.skip(WORKS.detail)
    with pytest.raises(SandboxError, match="around the workspace"):
        LandlockSandbox(LandlockOptions()).open(BoxSpec(tmp_path / "workspace", (tmp_path,)))


# -- how it runs ----------------------------------------------------------------------------------------------------------


@needs_landlock
@pytest.mark.parametrize("namespaces", [True, False])
def test_ordinary_work_goes_on(open_box, namespaces):
    """Threads, processes, pipes between them, links and renames: what data work is made of."""
    code = """
import multiprocessing, os, socket, subprocess, sys, tempfile, threading, pathlib
print(subprocess.run(["/bin/sh", "-c", "echo sub | cat"], capture_output=True, text=True).stdout.strip())
a, b = socket.socketpair(); a.send(b"pair"); print(b.recv(9).decode())
os.makedirs("x/y"); open("x/y/f", "w").write("1"); os.rename("x/y/f", "x/g"); os.symlink("g", "x/l"); os.link("x/g", "x/h"); print(open("x/l").read())
os.chmod("x/g", 0o755)
with tempfile.TemporaryFile() as f: f.write(b"t"); print("tmp")
parent, child = multiprocessing.Pipe()
p = multiprocessing.get_context("fork").Process(target=lambda: child.send("piped")); p.start(); print(parent.recv()); p.join()
print(len(os.listdir(os.path.dirname(os.__file__))) > 100)
"""
    assert said(open_box(namespaces), code) == [b"sub", b"pair", b"1", b"tmp", b"piped", b"True"]


@needs_landlock
@pytest.mark.skipif(os.geteuid() != 0, reason="the machine's default here needs root's namespaces")
def test_with_namespaces_there_are_semaphores_terminals_and_a_bounded_tmp(open_box):
    code = """
import multiprocessing, os, pty
multiprocessing.Lock(); print("semaphore")
master, slave = pty.openpty(); os.write(slave, b"x"); print(os.isatty(slave), os.ttyname(slave))
try:
    open("/tmp/big", "wb").write(bytes(2**22)); print("all of it")
except OSError: print("full")
print(os.environ["TMPDIR"], len(os.listdir("/proc")) > 5)
"""
    assert said(open_box(), code) == [b"semaphore", b"True /dev/pts/0", b"full", b"/tmp True"]


@needs_landlock
def test_without_namespaces_only_a_services_port_can_be_reached(open_box):
    with contextlib.ExitStack() as stack:
        servers = [stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(2)]
        ports = [server.getsockname()[1] for server in servers]
        box = open_box(False, services=(Service("s", ports[0], Path("/nowhere/s")),))
        code = f"""
import socket
for port in {ports}:
    with socket.socket() as s: print(s.connect_ex(("127.0.0.1", port)))
with socket.socket() as s:
    try: s.bind(("127.0.0.1", 0)); print("bound")
    except OSError: print("refused")
for family, kind, protocol in ((socket.AF_INET, socket.SOCK_DGRAM, 0), (socket.AF_INET, socket.SOCK_STREAM, 262), (socket.AF_UNIX, socket.SOCK_STREAM, 0)):
    try: socket.socket(family, kind, protocol).close(); print("made")
    except OSError: print("refused")
with socket.socket() as s:
    try: s.sendto(b"x", 0x20000000, ("127.0.0.1", {ports[1]})); print("sent")
    except OSError: print("refused")
"""
        assert said(box, code) == [b"0", b"13", b"refused", b"refused", b"refused", b"refused", b"refused"]
        assert box.isolation.network is False


@needs_landlock
@pytest.mark.parametrize("namespaces", [True, False])
def test_the_description_of_the_box_is_shown_to_nobody(open_box, namespaces, tmp_path: Path):
    """Not in the arguments of any process: those of others can be read where processes are not isolated."""
    (tmp_path / "somewhere").mkdir()
    box = open_box(namespaces, readable=(*interpreter_folders(), tmp_path / "somewhere"))
    (box.workspace / "needle").write_text(str(tmp_path / "somewhere"))
    code = """
import os
needle = open("needle", "rb").read()
def arguments(p):
    try:
        return open(f"/proc/{p}/cmdline", "rb").read()
    except OSError:  # it ended meanwhile
        return b""
print(any(needle in arguments(p) for p in os.listdir("/proc") if p.isdigit()))
"""
    assert said(box, code) == [b"False"]


@needs_landlock
def test_a_start_that_cannot_be_confined_is_none(open_box, monkeypatch):
    box = open_box()
    monkeypatch.setattr(module, "plan", lambda *a: {**plan(*a), "filter": b"\xff" * 8})
    process = box.spawn(["/bin/echo", "free"])
    assert list(process.lines()) == []
    assert process.wait(20) == 126
    assert "cannot be confined" in process.stderr_tail()


@needs_landlock
def test_close_leaves_nothing_but_the_workspace(open_box):
    box = open_box()
    box.spawn(["/bin/sh", "-c", "echo kept > kept"]).wait(20)
    own = box._own
    box.close()
    assert not own.exists()
    assert (box.workspace / "kept").read_text() == "kept\n"
    assert threading.active_count() < 50


# -- the order of the defaults --------------------------------------------------------------------------------------------


@needs_landlock
def test_it_is_the_default_after_bubblewrap_and_before_local(monkeypatch):
    bubblewrap = pytest.importorskip("finassay_sandbox_bubblewrap.sandbox").BubblewrapSandbox
    works = Probe(True, "works")
    monkeypatch.setattr(bubblewrap, "probe", lambda self: works)
    assert best_sandbox(Catalog.installed()) == "bubblewrap"
    monkeypatch.setattr(bubblewrap, "probe", lambda self: Probe(False, "no namespaces"))
    assert best_sandbox(Catalog.installed()) == "landlock"
    least = Tier(1, spaces=False)
    monkeypatch.setattr(LandlockSandbox, "_found", (least, works))  # also where it isolates the least
    assert best_sandbox(Catalog.installed()) == "landlock"
    monkeypatch.setattr(LandlockSandbox, "_found", (None, Probe(False, "no Landlock")))
    assert best_sandbox(Catalog.installed()) == "local"
