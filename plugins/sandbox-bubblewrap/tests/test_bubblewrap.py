"""The sandbox `bubblewrap` against the conformance kit, and what is its own."""

import contextlib
import ctypes
import errno
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import pytest

from finassay.api.errors import SandboxError
from finassay.api.sandbox import BoxSpec, Isolation, Limits, Service
from finassay.runs.interpreter import interpreter_folders
from finassay.testing.cases import ComponentConformance
from finassay_sandbox_bubblewrap.sandbox import BubblewrapOptions, BubblewrapSandbox
from finassay_sandbox_bubblewrap.view import masked, visible
from finassay_sandbox_local import way
from finassay_sandbox_local.cgroup import ProcessGroup
from finassay_sandbox_local.sweep import family, lives

WORKS = BubblewrapSandbox(BubblewrapOptions()).probe()
needs_bwrap = pytest.mark.skipif(not WORKS.ok, reason=f"bubblewrap does not work here: {WORKS.detail}")
BOMB = ["/bin/sh", "-c", "f() { f | f & }; f; sleep 60"]


@needs_bwrap
class TestConformance(ComponentConformance):
    kind = "sandbox"
    id = "bubblewrap"


@pytest.fixture
def open_box(tmp_path: Path):
    boxes = []

    def make(readable=(), **changes):
        workspace = tmp_path / f"workspace{len(boxes)}"
        workspace.mkdir()
        boxes.append(BubblewrapSandbox(BubblewrapOptions()).open(BoxSpec(workspace, (*interpreter_folders(), *readable), **changes)))
        return boxes[-1]

    yield make
    for box in boxes:
        box.close()


def ask(box, code: str):
    """What a Python expression (after statements) gives in the box, as JSON."""
    *statements, expression = code.strip().split("\n")
    process = box.spawn([sys.executable, "-c", "import json, os\n" + "\n".join(statements) + f"\nprint(json.dumps({expression}))"])
    text = b"\n".join(process.lines()).decode()
    assert process.wait(20) == 0, process.stderr_tail()
    return json.loads(text)


def until(condition, seconds: float = 15) -> bool:
    deadline = time.monotonic() + seconds
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.02)
    return condition()


# -- files ------------------------------------------------------------------------------------------------------------


@needs_bwrap
def test_nothing_of_the_home_but_the_interpreter_is_there(open_box):
    home = Path.home()
    seen = ask(open_box(), f"[os.path.join(d, f) for d, _, fs in os.walk({str(home)!r}) for f in fs][:100000]")
    allowed = tuple(str(p) for folder in interpreter_folders() for p in (folder, folder.resolve()))
    assert [path for path in seen if not path.startswith(allowed)] == []


@needs_bwrap
def test_no_file_outside_and_no_other_session_can_be_seen(open_box, tmp_path: Path):
    (tmp_path / "secret").write_text("hidden")
    one, two = open_box(), open_box()
    (one.workspace / "mine").write_text("1")
    paths = [
        str(tmp_path / "secret"),
        str(one.workspace / "mine"),
        str(tmp_path),
        "/etc/shadow",
        "/etc/hostname",
        "/var/log",
        "/sys/class",
        os.path.expanduser("~/.ssh"),
    ]
    assert ask(two, f"[p for p in {paths} if os.path.exists(p)]") == []
    assert ask(one, "os.path.exists('/workspace/mine')") is True


@needs_bwrap
def test_links_that_lead_out_lead_nowhere(open_box, tmp_path: Path):
    (tmp_path / "secret").write_text("hidden")
    box = open_box()
    (box.workspace / "link").symlink_to(tmp_path / "secret")
    (box.workspace / "up").symlink_to("../")
    assert ask(box, "[os.path.exists('link'), sorted(os.listdir('up')) == sorted(os.listdir('/'))]") == [False, True]


@needs_bwrap
def test_workspace_tmp_and_shared_memory_are_the_only_writable_places(open_box):
    code = """
def writable(place):
    try:
        open(os.path.join(place, 'probe'), 'w').close()
        return True
    except OSError:
        return False
[p for p, _, _ in os.walk('/') if not p.startswith('/proc') and writable(p)]"""
    box = open_box()
    # A checkout below /tmp makes the interpreter's parent folders appear inside the box's own /tmp, in memory: private like all of it.
    found = {place for place in ask(box, code) if not place.startswith("/tmp/")}
    assert found == {"/tmp", "/dev/shm", "/workspace", "/workspace/.home"}
    assert ask(box, "os.path.realpath('/var/tmp')") == "/tmp"
    assert ask(box, "os.path.expanduser('~')") == "/workspace/.home"
    assert (box.workspace / "probe").exists()
    assert not Path("/tmp/probe").exists()


@needs_bwrap
def test_the_private_tmp_is_bounded(tmp_path: Path):
    box = BubblewrapSandbox(BubblewrapOptions(tmp_bytes=2**20)).open(BoxSpec(tmp_path, interpreter_folders()))
    code = """
def fits(place):
    try:
        with open(os.path.join(place, 'big'), 'wb') as f: f.write(bytes(2**22))
        return True
    except OSError:
        return False
[fits(p) for p in ('/tmp', '/dev/shm')]"""
    assert ask(box, code) == [False, False]
    box.close()


@needs_bwrap
def test_hidden_folders_are_empty_also_by_way_of_a_link(open_box, tmp_path: Path):
    package = tmp_path / "package"
    (package / "grammar").mkdir(parents=True)
    (package / "grammar" / "options.py").write_text("secret")
    (package / "other").mkdir()
    (tmp_path / "alias").symlink_to(package)
    box = open_box(readable=(tmp_path / "alias",), hidden=(package / "grammar", tmp_path / "elsewhere"))
    places = [str(tmp_path / name / "grammar") for name in ("package", "alias")]
    assert ask(box, f"[os.listdir(p) for p in {places}]") == [[], []]
    assert ask(box, f"sorted(os.listdir({str(tmp_path / 'alias')!r}))") == ["grammar", "other"]


@needs_bwrap
def test_a_folder_around_the_workspace_is_refused(tmp_path: Path):
    (tmp_path / "workspace").mkdir()
    for folder in (tmp_path, Path("/")):
        with pytest.raises(SandboxError, match="around the workspace"):
            BubblewrapSandbox(BubblewrapOptions()).open(BoxSpec(tmp_path / "workspace", (folder,)))


def test_readable_folders_are_shown_where_they_are_named_and_where_they_lead(tmp_path: Path):
    (tmp_path / "real" / "inner").mkdir(parents=True)
    (tmp_path / "link").symlink_to("real")
    named = (tmp_path / "link", tmp_path / "real" / "inner", tmp_path / "missing", Path("/usr/lib"))
    assert visible(named, Path("/nowhere")) == [tmp_path / "link", tmp_path / "real"]
    # The link stays one in the box, so that one mask serves both.
    assert masked((tmp_path / "real" / "inner", Path("/opt")), [tmp_path / "link", tmp_path / "real"]) == [tmp_path / "real" / "inner"]


# -- environment, processes, network ------------------------------------------------------------------------------------


@needs_bwrap
def test_the_environment_holds_only_what_was_named(open_box, monkeypatch):
    monkeypatch.setenv("A_SECRET", "1")
    code = "[sorted(os.environ), [open(f'/proc/{p}/environ').read() for p in os.listdir('/proc') if p.isdigit()]]"
    names, everywhere = ask(open_box(environment={"NAMED": "1"}), code)
    assert set(names) - {"PWD", "LC_CTYPE"} == {"PATH", "HOME", "TMPDIR", "LANG", "NAMED"}
    assert not any("A_SECRET" in text for text in everywhere)


@needs_bwrap
def test_other_processes_and_their_arguments_cannot_be_seen(open_box):
    box = open_box()
    other = open_box().spawn(["/bin/sleep", "61.5"])
    arguments = ask(box, "[open(f'/proc/{p}/cmdline').read() for p in os.listdir('/proc') if p.isdigit()]")
    assert len(arguments) <= 3
    assert not any("61.5" in text or str(box.workspace) in text for text in arguments)
    assert other.wait(0) is None


@needs_bwrap
def test_no_descriptor_is_handed_down(open_box, tmp_path: Path):
    with open(tmp_path / "secret", "w") as secret:
        os.set_inheritable(secret.fileno(), True)
        links = ask(
            open_box(),
            "sorted(os.readlink(f'/proc/self/fd/{n}').split(':')[0] for n in os.listdir('/proc/self/fd') if os.path.lexists(f'/proc/self/fd/{n}'))",
        )
    assert set(links) <= {"pipe", "/dev/null"}


@needs_bwrap
def test_the_network_is_there_only_when_the_task_allows_it(open_box):
    with socket.create_server(("127.0.0.1", 0)) as server:
        code = f"""
import socket
def reach():
    try:
        socket.create_connection(('127.0.0.1', {server.getsockname()[1]}), 2).close()
        return True
    except OSError:
        return False
reach()"""
        assert ask(open_box(network=True), code) is True
        assert ask(open_box(network=False), code) is False
    assert open_box(network=True).isolation == Isolation(files=True, network=False, processes=True)


@needs_bwrap
def test_an_abstract_socket_of_the_machine_is_out_of_reach(open_box):
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(f"\0finassay-{os.getpid()}")
        server.listen()
        code = f"""
import socket
def reach():
    with socket.socket(socket.AF_UNIX) as s:
        return s.connect_ex('\\0finassay-{os.getpid()}')
reach()"""
        assert ask(open_box(), code) != 0


# -- services ----------------------------------------------------------------------------------------------------------


ECHO = """
import socket
def call(data, port):
    with socket.create_connection(('127.0.0.1', port), 5) as s:
        s.sendall(data)
        s.shutdown(socket.SHUT_WR)
        return b''.join(iter(lambda: s.recv(65536), b''))
"""


@pytest.fixture
def service():
    """An echo on a Unix socket in a folder of its own; `TCP` is a server that the service's port must not lead to."""
    with tempfile.TemporaryDirectory() as folder, socket.socket(socket.AF_UNIX) as server, socket.create_server(("127.0.0.1", 0)) as tcp:
        server.bind(f"{folder}/echo.sock")
        server.listen()
        workers: list[threading.Thread] = []

        def answer(stream: socket.socket) -> None:
            with stream, contextlib.suppress(OSError):
                while data := stream.recv(65536):
                    stream.sendall(data)

        def accept() -> None:
            with contextlib.suppress(OSError):
                while True:
                    workers.append(threading.Thread(target=answer, args=(server.accept()[0],), daemon=True))
                    workers[-1].start()

        threading.Thread(target=accept, daemon=True).start()
        yield Service("echo", tcp.getsockname()[1], Path(folder) / "echo.sock")
        server.shutdown(socket.SHUT_RDWR)


@needs_bwrap
def test_a_service_is_reachable_without_a_network_and_nothing_else_is(open_box, service):
    with socket.create_server(("127.0.0.1", 0)) as other:
        box = open_box(services=(service,))
        assert ask(box, f"{ECHO}\ncall(b'grau', {service.port}).decode()") == "grau"
        assert ask(box, f"{ECHO}\nlen(call(bytes(5_000_000), {service.port}))") == 5_000_000
        reach = f"""
import socket
def reach(port):
    with socket.socket() as s:
        return s.connect_ex(('127.0.0.1', port)) == 0
[reach(p) for p in ({other.getsockname()[1]}, {service.port})]"""
        assert ask(box, reach) == [False, True]
        assert ask(box, "[sorted(os.listdir('/run/finassay')), os.listdir('/run/finassay/0')]") == [["0", "relay.py"], ["echo.sock"]]
    assert box.isolation.network


@needs_bwrap
def test_bytes_pass_as_they_come_and_many_at_once(open_box, service):
    code = f"""
import socket
streams = [socket.create_connection(('127.0.0.1', {service.port}), 5) for _ in range(100)]
def round_trip(stream, number):
    stream.sendall(b'%d' % number)
    return stream.recv(10) == b'%d' % number
all(round_trip(s, n) for n in range(5) for s in streams)"""
    assert ask(open_box(services=(service,)), code) is True


@needs_bwrap
def test_more_connections_than_the_relay_takes_wait_their_turn(open_box, service):
    code = f"""
import socket
streams = [socket.create_connection(('127.0.0.1', {service.port}), 5) for _ in range(200)]
for s in streams: s.settimeout(5)
def round_trip(stream):
    stream.sendall(b'x')
    with stream: return stream.recv(10) == b'x'
all(round_trip(s) for s in streams)"""
    assert ask(open_box(services=(service,)), code) is True


@needs_bwrap
def test_the_relay_changes_nothing_for_the_program(open_box, service):
    box = open_box(services=(service,))
    assert box.spawn(["/bin/sh", "-c", "exit 7"]).wait(20) == 7
    assert box.spawn(["/bin/sh", "-c", "kill -TERM $$"]).wait(20) == -signal.SIGTERM
    assert list(box.spawn(["/bin/cat"], stdin=b"all of it").lines()) == [b"all of it"]
    # SIGPIPE is ignored by Python, and what is ignored would stay so.
    assert list(box.spawn(["/bin/sh", "-c", "yes | head -1; trap"]).lines()) == [b"y"]
    code = f"""
import signal
def childless():
    try:
        os.waitpid(-1, os.WNOHANG)
    except ChildProcessError:
        return True
def descriptors():
    return [n for n in os.listdir('/proc/self/fd') if int(n) > 2 and os.path.lexists('/proc/self/fd/' + n)]
[childless(), descriptors(), os.path.basename(os.readlink('/proc/self/exe')) in {[os.path.basename(os.path.realpath(sys.executable))]}]"""
    assert ask(box, code) == [True, [], True]


@needs_bwrap
def test_a_program_that_kills_the_relay_only_loses_its_way_out(open_box, service):
    code = f"""
import signal, socket, time
others = [int(p) for p in os.listdir('/proc') if p.isdigit() and int(p) not in (1, os.getpid())]
for p in others: os.kill(p, signal.SIGKILL)
time.sleep(0.1)
def reach():
    with socket.socket() as s:
        return s.connect_ex(('127.0.0.1', {service.port})) == 0
[len(others), reach()]"""
    assert ask(open_box(services=(service,)), code) == [1, False]


@needs_bwrap
def test_the_relay_ends_with_its_program(open_box, service):
    process = open_box(services=(service,)).spawn(["/bin/sleep", "0.3"])
    assert until(lambda: len(family(process.pid)) == 3)
    pids = list(family(process.pid))
    assert process.wait(20) == 0
    assert until(lambda: not any(lives(pid) for pid in pids), 3)


@needs_bwrap
def test_a_folder_that_holds_more_than_a_services_socket_is_not_shown(tmp_path: Path, service):
    (service.socket.parent / "key").write_text("secret")
    with pytest.raises(SandboxError, match="more than its socket"):
        BubblewrapSandbox(BubblewrapOptions()).open(BoxSpec(tmp_path, services=(service,)))
    (service.socket.parent / "key").unlink()
    with pytest.raises(SandboxError, match="cannot be read"):
        BubblewrapSandbox(BubblewrapOptions()).open(BoxSpec(tmp_path, services=(Service("gone", 1, tmp_path / "no" / "s"),)))


@needs_bwrap
def test_of_the_relays_interpreter_only_the_standard_library_is_shown(tmp_path: Path, service):
    box = BubblewrapSandbox(BubblewrapOptions()).open(BoxSpec(tmp_path, services=(service,)))
    places = [str(p) for p in way.site_packages() if not p.is_relative_to("/usr")]
    process = box.spawn([way.interpreter(), "-I", "-S", "-c", f"import os, json; print(json.dumps([os.listdir(p) for p in {places!r}]))"])
    assert list(process.lines()) == [json.dumps([[] for _ in places]).encode()]
    box.close()


@needs_bwrap
def test_with_the_network_a_service_is_its_own_port(open_box, service):
    box = open_box(services=(service,), network=True)
    code = f"""
import socket
def reach():
    with socket.socket() as s:
        return s.connect_ex(('127.0.0.1', {service.port})) == 0
[reach(), os.path.exists('/run/finassay')]"""
    assert ask(box, code) == [True, False]


# -- limits -------------------------------------------------------------------------------------------------------------


@needs_bwrap
@pytest.mark.parametrize("group", [True, False], ids=["control group", "watch"])
def test_a_fork_bomb_is_bounded(open_box, monkeypatch, group):
    if not group:
        monkeypatch.setattr(ProcessGroup, "create", classmethod(lambda cls, limit: None))
    box = open_box(limits=Limits(processes=60))
    process = box.spawn(BOMB)
    peak, deadline = 0, time.monotonic() + 1.5
    while time.monotonic() < deadline:
        peak = max(peak, len(family(process.pid)))
    bound = 64 if group or os.geteuid() != 0 else 1_000  # a watch looks fifty times a second, so it overshoots
    assert peak <= bound
    box.stop()
    assert not family(process.pid)
    assert list(box.spawn(["/bin/echo", "still here"]).lines()) == [b"still here"]


@needs_bwrap
def test_memory_and_file_size_are_bounded(open_box):
    box = open_box(limits=Limits(memory_bytes=2**29, file_bytes=2**20))
    process = box.spawn([sys.executable, "-c", "bytearray(2**30)"])
    assert process.wait(20) == 1
    assert "MemoryError" in process.stderr_tail()
    assert box.spawn([sys.executable, "-c", "open('big', 'wb').write(bytes(2**22))"]).wait(20) != 0
    assert (box.workspace / "big").stat().st_size <= 2**20


# -- ends ---------------------------------------------------------------------------------------------------------------


@needs_bwrap
def test_stop_ends_what_left_its_session_and_its_parent(open_box):
    box = open_box()
    process = box.spawn(
        ["/bin/sh", "-c", "(env -i setsid sh -c 'setsid sleep 600 & exec sleep 600' &) ; sleep 0.3; echo up; exec sleep 600"]
    )
    assert next(process.lines()) == b"up"
    left = list(family(process.pid))
    assert len(left) >= 4
    started = time.monotonic()
    box.stop()
    assert time.monotonic() - started < 5
    assert not any(lives(pid) for pid in left)
    assert list(box.spawn(["/bin/echo", "again"]).lines()) == [b"again"]


@needs_bwrap
def test_nothing_outlives_its_program(open_box):
    """The kernel ends a PID namespace with its first program."""
    box = open_box()
    process = box.spawn(["/bin/sh", "-c", "setsid sh -c 'while :; do date > beat; sleep 0.02; done' & sleep 0.4"])
    assert process.wait(20) == 0
    assert until(lambda: not family(process.pid))
    beat = (box.workspace / "beat").stat().st_mtime_ns
    time.sleep(0.2)
    assert (box.workspace / "beat").stat().st_mtime_ns == beat


@needs_bwrap
def test_a_program_outlives_the_thread_that_started_it(open_box):
    box, started = open_box(), []
    thread = threading.Thread(target=lambda: started.append(box.spawn(["/bin/sh", "-c", "sleep 0.5; echo alive"])))
    thread.start()
    thread.join()
    assert list(started[0].lines()) == [b"alive"]


@needs_bwrap
@pytest.mark.parametrize("group", [True, False], ids=["control group", "watch"])
def test_nothing_runs_on_after_the_harness_was_killed(tmp_path: Path, group):
    code = (
        "import sys, time\nfrom pathlib import Path\nfrom finassay.api.sandbox import BoxSpec\n"
        "from finassay_sandbox_local.cgroup import ProcessGroup\n"
        "from finassay_sandbox_local.sweep import family\n"
        "from finassay_sandbox_bubblewrap.sandbox import BubblewrapSandbox, BubblewrapOptions\n"
        "if sys.argv[2] == 'False': ProcessGroup.create = classmethod(lambda cls, limit: None)\n"
        "box = BubblewrapSandbox(BubblewrapOptions()).open(BoxSpec(Path(sys.argv[1])))\n"
        "p = box.spawn(['/bin/sh', '-c', '(env -i setsid sleep 600 &); sleep 0.2; echo up; sleep 600'])\n"
        "next(p.lines())\nprint(p.pid, *family(p.pid), flush=True)\ntime.sleep(600)\n"
    )
    harness = subprocess.Popen([sys.executable, "-c", code, str(tmp_path), str(group)], stdout=subprocess.PIPE, text=True)
    assert harness.stdout is not None
    pids = [int(pid) for pid in harness.stdout.readline().split()]
    assert len(pids) >= 4
    assert all(lives(pid) for pid in pids)
    harness.kill()
    harness.wait(10)
    harness.stdout.close()
    assert until(lambda: not any(lives(pid) for pid in pids))


@needs_bwrap
def test_close_leaves_nothing_but_the_workspace(open_box):
    box = open_box()
    box.spawn(["/bin/sh", "-c", "echo kept > kept"]).wait(10)
    own, group = box._own, box._group
    box.close()
    assert not own.exists()
    assert group is None or not group.path.exists()
    assert (box.workspace / "kept").read_text() == "kept\n"


# -- probing ------------------------------------------------------------------------------------------------------------


def test_a_missing_program_is_reported_with_a_hint(tmp_path: Path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    sandbox = BubblewrapSandbox(BubblewrapOptions())
    probe = sandbox.probe()
    assert not probe.ok
    assert "'bwrap' was not found" in probe.detail
    assert "apt-get install bubblewrap" in probe.hint
    with pytest.raises(SandboxError, match="not found"):
        sandbox.open(BoxSpec(tmp_path))


def fake_program(tmp_path: Path, code: str) -> BubblewrapSandbox:
    (tmp_path / "bwrap").write_text(f"#!{sys.executable}\nimport os, sys\n{code}\n")
    (tmp_path / "bwrap").chmod(0o755)
    return BubblewrapSandbox(BubblewrapOptions(program=str(tmp_path / "bwrap")))


def test_a_kernel_that_refuses_is_reported(tmp_path: Path):
    probe = fake_program(tmp_path, "sys.exit('No permissions to create new namespace')").probe()
    assert not probe.ok
    assert "No permissions" in probe.detail
    assert "user namespaces" in probe.hint


def test_a_program_that_does_not_confine_is_found_out(tmp_path: Path):
    code = (
        "box = os.read(int(sys.argv[sys.argv.index('--args') + 1]), 65536).decode().split('\\0')\n"
        "os.chdir(box[box.index('--bind') + 1])\n"
        "program = sys.argv[sys.argv.index('--') + 1:]\n"
        "os.execvp(program[0], program)"
    )
    probe = fake_program(tmp_path, code).probe()
    assert not probe.ok
    assert probe.detail == "it does not confine files here"


def test_a_machine_that_has_the_program_does_not_skip_unseen():
    assert WORKS.ok or shutil.which("bwrap") is None, WORKS.detail


@needs_bwrap
def test_settings_of_the_machine_cannot_be_written_whoever_runs_the_harness(open_box):
    """Root's user id alone lets one write them, and `core_pattern` names a program that runs outside every box."""
    code = """
def opens(path):
    try:
        os.close(os.open(path, os.O_WRONLY))
        return True
    except OSError:
        return False
found = [os.path.join(f, n) for f, _, names in os.walk('/proc/sys') for n in names]
found += [e.path for e in os.scandir('/proc') if e.is_file(follow_symlinks=False)]
[len(found) > 100, [p for p in found if opens(p)]]
"""
    assert ask(open_box(), code) == [True, []]


@needs_bwrap
def test_files_about_the_whole_machine_are_empty_or_closed(open_box):
    code = """
def read(name):
    try:
        return open('/proc/' + name, 'rb').read(9).decode('latin-1')
    except PermissionError:
        return ''
[name for name in ('keys', 'key-users', 'timer_list', 'slabinfo', 'kmsg') if os.path.exists('/proc/' + name) and read(name)]
"""
    assert ask(open_box(), code) == []


@needs_bwrap
def test_keys_in_the_kernels_keyrings_are_out_of_reach(open_box):
    """The box inherits the harness's session keyring, and its user owns the keys in the user's; no namespace hides either."""
    harness = """
libc = ctypes.CDLL(None, use_errno=True)
numbers = {'x86_64': (248, 250), 'aarch64': (217, 219)}[os.uname().machine]
"""
    libc, numbers = ctypes.CDLL(None, use_errno=True), {"x86_64": (248, 250), "aarch64": (217, 219)}[os.uname().machine]
    keys = [libc.syscall(numbers[0], b"user", b"finassay-test", b"a password", 10, ring) for ring in (-3, -4)]
    if -1 in keys:
        pytest.skip(f"the kernel keeps no keys here: {os.strerror(ctypes.get_errno())}")
    code = f"""
import ctypes
{harness}
text = ctypes.create_string_buffer(64)
[[libc.syscall(numbers[1], 11, key, text, 64), ctypes.get_errno()] for key in {keys!r}]
"""
    try:
        assert ask(open_box(), code) == [[-1, errno.ENOSYS]] * 2
    finally:
        for key, ring in zip(keys, (-3, -4), strict=True):
            libc.syscall(numbers[1], 9, key, ring)


@needs_bwrap
def test_a_hidden_file_is_empty_also_by_way_of_a_link(open_box, tmp_path: Path):
    (tmp_path / "shown").mkdir()
    (tmp_path / "shown" / "module.py").write_text("secret = 1\n")
    (tmp_path / "shown" / "other.py").write_text("open\n")
    (tmp_path / "link").symlink_to("shown")
    box = open_box(readable=(tmp_path / "link",), hidden=(tmp_path / "shown" / "module.py",))
    code = f"[open({str(tmp_path)!r} + n).read() for n in ('/shown/module.py', '/link/module.py', '/link/other.py')]"
    assert ask(box, code) == ["", "", "open\n"]
