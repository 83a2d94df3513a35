"""The sandboxes `docker` and `podman` against a server that speaks the engine's protocol."""

import os
import shutil
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from finassay.api.errors import SandboxError
from finassay.api.sandbox import BoxSpec, Limits, Service
from finassay.catalog.catalog import Catalog
from finassay.runs.interpreter import interpreter_folders
from finassay.testing.conformance import run_conformance
from finassay_sandbox_container.process import OUT, ContainerProcess
from finassay_sandbox_container.sandbox import OWNER, WORKSPACE, ContainerOptions, DockerSandbox, PodmanSandbox, _lives, _owner
from finassay_sandbox_container.testing import IMAGE, engine_server


def bubblewrap_works() -> bool:
    program = shutil.which("bwrap")
    return (
        bool(program)
        and subprocess.run([program, "--ro-bind", "/", "/", "true"], capture_output=True, check=False, timeout=20).returncode == 0
    )


needs_bwrap = pytest.mark.skipif(
    not bubblewrap_works(), reason="the test server makes its containers with bubblewrap, which does not work here"
)
needs_docker = pytest.mark.skipif(shutil.which("docker") is None, reason="Docker's own client is not installed")


@pytest.fixture
def engine():
    with engine_server() as server:
        yield server


def options(engine, **changes) -> ContainerOptions:
    return ContainerOptions(image=IMAGE, socket=str(engine.path), **changes)


@pytest.fixture
def sandbox(engine):
    return DockerSandbox(options(engine))


@pytest.fixture
def open_box(sandbox, tmp_path: Path):
    boxes = []

    def make(**changes):
        workspace = tmp_path / f"workspace{len(boxes)}"
        workspace.mkdir()
        boxes.append(sandbox.open(BoxSpec(workspace, interpreter_folders(), **changes)))
        return boxes[-1]

    yield make
    for box in boxes:
        box.close()


@needs_bwrap
@pytest.mark.parametrize("id", ["docker", "podman"])
def test_conforms_against_a_server_that_speaks_the_protocol(engine, id):
    """Podman's differs only in where its socket is; so it is checked as a component, and the containers by Docker's."""
    given = {"image": IMAGE, "socket": str(engine.path)}
    if id == "podman":
        sandbox = Catalog.installed().create("sandbox", id, given)[0]
        assert sandbox.probe().ok, sandbox.probe().detail
        return
    results = list(run_conformance(Catalog.installed(), "sandbox", id, given))
    assert len(results) > 80
    assert [f"{r.id}: {r.detail}" for r in results if not r.ok and r.level == "must"] == []


@needs_bwrap
@needs_docker
def test_the_server_is_understood_by_dockers_own_client(engine):
    """What a client that knows real engines makes of the frames, the upgrade and the exit code."""
    command = ["docker", "-H", f"unix://{engine.path}", "run", "--rm", "-i", IMAGE, "/bin/sh", "-c", "cat; echo wrong >&2; exit 7"]
    done = subprocess.run(command, input=b"hello\n" * 10_000, capture_output=True, timeout=60, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (7, b"hello\n" * 10_000, b"wrong\n")


# -- what is asked of the engine ------------------------------------------------------------------------------------------


@needs_bwrap
def test_a_container_is_asked_for_with_nothing_that_is_not_needed(open_box, engine, tmp_path: Path):
    (tmp_path / "service").mkdir()
    service = Service("gateway", 4321, tmp_path / "service" / "s")
    box = open_box(services=(service,), limits=Limits(2**30, processes=50, file_bytes=2**20), environment={"NAMED": "1"})
    config = box.config(["agent", "--go"], {"ALSO": "2"}, "deliver")
    host = config["HostConfig"]
    assert config["Image"] == IMAGE
    assert config["User"] == f"{os.getuid()}:{os.getgid()}"
    assert config["WorkingDir"] == "/workspace/deliver"
    assert {"NAMED=1", "ALSO=2", "HOME=/workspace/.home"} < set(config["Env"])
    assert config["Cmd"][-2:] == ["agent", "--go"]
    assert (host["NetworkMode"], host["ReadonlyRootfs"], host["IpcMode"]) == ("none", True, "private")
    assert (host["CapDrop"], host["SecurityOpt"]) == (["ALL"], ["no-new-privileges"])
    assert (host["Memory"], host["MemorySwap"], host["PidsLimit"]) == (2**30, 2**30, 52)
    assert {"Name": "fsize", "Soft": 2**20, "Hard": 2**20} in host["Ulimits"]
    writable = [mount["Target"] for mount in host["Mounts"] if not mount["ReadOnly"]]
    assert writable == ["/workspace"]
    shown = {mount["Source"] for mount in host["Mounts"] if mount["Target"].startswith("/run/finassay")}
    assert str(tmp_path / "service") in shown
    assert "Privileged" not in host


@needs_bwrap
def test_everything_is_removed_by_id_and_by_label(open_box, engine):
    box = open_box()
    process = box.spawn(["/bin/sleep", "600"])
    assert list(engine.containers) == [process.container]
    box.stop()
    assert engine.containers == {}
    assert process.wait(10) == -signal.SIGKILL
    deleted = [(path, query) for method, path, query, _ in engine.requests if method == "DELETE"]
    assert (f"/containers/{process.container}", {"force": "true", "v": "true"}) in deleted
    assert list(box.spawn(["/bin/echo", "again"]).lines()) == [b"again"]


@needs_bwrap
def test_what_a_killed_harness_left_is_removed_by_the_next(open_box, engine, sandbox, tmp_path: Path):
    client = sandbox.open(BoxSpec(tmp_path))
    gone = client._engine.create({**client.config(["/bin/true"], {}, "."), "Labels": {OWNER: f"{os.getpid()}-1", WORKSPACE: "other"}})
    other = client._engine.create({**client.config(["/bin/true"], {}, "."), "Labels": {OWNER: _owner(), WORKSPACE: "other"}})
    foreign = client._engine.create({**client.config(["/bin/true"], {}, "."), "Labels": {}})
    open_box()
    assert gone not in engine.containers
    assert {other, foreign} <= set(engine.containers)
    client.close()


def test_a_process_is_known_by_its_id_and_its_start():
    assert _lives(_owner())
    assert not any(_lives(owner) for owner in ("", "x-1", f"{os.getpid()}-1", f"{2**22 + 1}-5", f"{os.getpid()}-"))


@needs_bwrap
def test_a_container_ends_with_its_harness_whatever_runs_in_it(open_box):
    box = open_box()
    code = "import os, signal, sys\nfor n in (1, os.getppid()):\n    os.kill(n, signal.SIGKILL)\nprint('alive', flush=True)\nimport time; time.sleep(600)"
    process = box.spawn([sys.executable, "-c", code])
    assert next(process.lines()) == b"alive"  # its first process cannot be killed from within
    box._hold()
    box._hold_none()  # what the kernel does when the harness dies
    assert process.wait(20) == -signal.SIGKILL


# -- failures -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("image", "said"), [("", "no image is named"), ("python:3.12", "not named by its digest"), ("x@sha256:" + "1" * 64, "is not there")]
)
def test_an_image_is_named_by_its_digest_and_has_to_be_there(engine, image, said, tmp_path: Path):
    sandbox = DockerSandbox(ContainerOptions(image=image, socket=str(engine.path)))
    assert not sandbox.probe().ok
    assert said in sandbox.probe().detail
    with pytest.raises(SandboxError, match=said):
        sandbox.open(BoxSpec(tmp_path))


@pytest.mark.parametrize("kind", [DockerSandbox, PodmanSandbox])
def test_without_an_engine_it_says_where_it_looked(kind, tmp_path: Path, monkeypatch):
    monkeypatch.setattr(kind, "PLACES", (str(tmp_path / "engine.sock"),))
    probe = kind(ContainerOptions(image=IMAGE)).probe()
    assert not probe.ok
    assert str(tmp_path / "engine.sock") in probe.detail


@pytest.mark.parametrize("path", ["/version", "/containers/create"])
def test_what_the_engine_refuses_is_told_in_its_words(engine, path):
    engine.broken[path] = "out of everything"
    probe = DockerSandbox(options(engine)).probe()
    assert not probe.ok
    assert "out of everything" in probe.detail


@needs_bwrap
def test_the_probe_says_that_no_real_engine_was_tried(sandbox):
    assert sandbox.probe().ok
    assert "not yet against a real engine" in sandbox.probe().detail


@needs_bwrap
def test_a_container_that_cannot_be_started_is_taken_away(open_box, engine):
    box = open_box()
    made: list[str] = []
    create = box._engine.create
    box._engine.create = lambda config: (
        made.append(create(config)) or engine.broken.update({f"/containers/{made[-1]}/start": "no room"}) or made[-1]
    )
    with pytest.raises(SandboxError, match="no room"):
        box.spawn(["/bin/true"])
    assert made[0] not in engine.containers
    del box._engine.create


def test_an_engine_that_goes_away_ends_the_wait(tmp_path: Path):
    class Gone:
        def attach(self, container):
            return self

        def start(self, container):
            """As if."""

        def exactly(self, size):
            return b""

        def wait(self, container):
            raise SandboxError("the engine is gone")

        def end_input(self):
            raise OSError

    process = ContainerProcess(Gone(), "id", None)  # type: ignore[arg-type]
    assert process.wait(5) == -signal.SIGKILL
    assert list(process.lines()) == []
    assert "the engine is gone" in process.stderr_tail()
    with pytest.raises(SandboxError, match="no more input"):
        process.write(b"x")


def test_frames_are_taken_apart_wherever_the_network_cut_them():
    frames = bytes([OUT, 0, 0, 0]) + (6).to_bytes(4, "big") + b"one\ntw" + bytes([2, 0, 0, 0, 0, 0, 0, 3]) + b"err"
    frames += bytes([9, 0, 0, 0, 0, 0, 0, 2]) + b"??" + bytes([OUT, 0, 0, 0, 0, 0, 0, 1]) + b"o" + bytes([OUT, 0, 0])

    class Slow:
        def __init__(self) -> None:
            self.left, self.over = frames, threading.Event()

        def attach(self, container):
            return self

        def start(self, container):
            """As if."""

        def read(self, size):
            part, self.left = self.left[: min(size, 2)], self.left[min(size, 2) :]
            return part

        def exactly(self, size):
            found = b""
            while len(found) < size and (part := self.read(size - len(found))):
                found += part
            return found

        def wait(self, container):
            return 3

        def end_input(self):
            """As if."""

    process = ContainerProcess(Slow(), "id", b"")  # type: ignore[arg-type]
    assert list(process.lines()) == [b"one", b"two"]
    assert process.wait(5) == 3
    assert process.stderr_tail() == "err"
