"""How a box ends what ran in it, and that nothing of it stays."""

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from finassay.api.sandbox import Box
from finassay.testing.sandboxes.boxes import SandboxSubject, ask, opened, python, require, runs, scratch, until

STOP_SECONDS = 15.0
BEAT = "import time\nwhile True:\n    open('beat', 'a').write('x')\n    time.sleep(0.05)"
BOXES = 20


def _started(box: Box, code: str) -> None:
    """Start a program that goes on by a process that writes `beat`, and wait until both are there."""
    process = box.spawn(
        [python(box), "-c", f"import os, signal, subprocess, sys, time\nBEAT = {BEAT!r}\n{code}\nprint('up', flush=True)\ntime.sleep(600)"]
    )
    require(next(process.lines(), b"") == b"up", f"it did not start: {process.stderr_tail()[-300:]}")
    require(until((box.workspace / "beat").exists, 20), "the process that shall be ended did not start")


def _stopped(box: Box, what: str) -> None:
    started = time.monotonic()
    box.stop()
    took = time.monotonic() - started
    require(took < STOP_SECONDS, f"stop took {took:.0f} s")
    beat = box.workspace / "beat"
    size = beat.stat().st_size
    time.sleep(0.4)
    require(beat.stat().st_size == size, f"{what} still runs")
    require(list(box.spawn(["/bin/sh", "-c", "echo again"]).lines()) == [b"again"], "the box cannot be used after stop")


@runs("stops-detached", "tool shells run in sessions of their own and outlive the program that started them")
def _detached(subject: SandboxSubject) -> None:
    with opened(subject) as box:
        _started(box, "subprocess.Popen([sys.executable, '-c', BEAT], start_new_session=True)")
        _stopped(box, "a process in a session of its own")


DAEMON = """
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        for n in range(3): os.dup2(os.open(os.devnull, os.O_RDWR), n)
        os.execve(sys.executable, [sys.executable, '-c', BEAT], {})
    os._exit(0)
os.wait()
"""


@runs("stops-daemons", "a process that left its parent, its session, its files and its environment is ended too")
def _daemons(subject: SandboxSubject) -> None:
    with opened(subject) as box:
        _started(box, DAEMON)
        _stopped(box, "a daemon")


@runs("stops-the-unwilling", "a process that ignores every signal that can be ignored is ended too")
def _unwilling(subject: SandboxSubject) -> None:
    with opened(subject) as box:
        ignoring = "import signal\nfor n in set(signal.valid_signals()) - {signal.SIGKILL, signal.SIGSTOP}:\n    try: signal.signal(n, signal.SIG_IGN)\n    except (OSError, ValueError): pass\n"
        _started(box, f"subprocess.Popen([sys.executable, '-c', {ignoring!r} + BEAT], start_new_session=True)")
        _stopped(box, "a process that ignores signals")


@runs("stops-orphans-of-a-killed-parent", "a program that kills what started it gains nothing by it")
def _parents(subject: SandboxSubject) -> None:
    with opened(subject) as box:
        code = """
subprocess.Popen([sys.executable, '-c', BEAT], start_new_session=True)
print('up', flush=True)
time.sleep(0.5)
try: os.kill(os.getppid(), signal.SIGKILL)
except OSError: pass
"""
        process = box.spawn([python(box), "-c", f"import os, signal, subprocess, sys, time\nBEAT = {BEAT!r}\n{code}\ntime.sleep(600)"])
        next(process.lines(), b"")
        require(until((box.workspace / "beat").exists, 20), "the process that shall be ended did not start")
        time.sleep(1)
        _stopped(box, "a process whose parent was killed")


@runs("stops-many", "a hundred processes end as fast as one")
def _many(subject: SandboxSubject) -> None:
    with opened(subject) as box:
        _started(
            box,
            "for _ in range(100): subprocess.Popen(['sleep', '600'], start_new_session=True)\nsubprocess.Popen([sys.executable, '-c', BEAT])",
        )
        _stopped(box, "one of a hundred")


@runs("stops-the-multiplying", "processes that start others faster than they can be listed are ended too")
def _multiplying(subject: SandboxSubject) -> None:
    with opened(subject) as box:
        fork = "import os, sys, time\nwhile True:\n    open('beat', 'a').write('x')\n    try:\n        if os.fork(): os._exit(0)\n        os.setsid()\n    except OSError: time.sleep(0.01)"
        _started(box, f"for _ in range(5): subprocess.Popen([sys.executable, '-c', {fork!r}])")
        _stopped(box, "a process that forks and exits")


@runs("stop-releases-readers", "the turn's thread reads while another one stops it")
def _releases(subject: SandboxSubject) -> None:
    with opened(subject) as box:
        process = box.spawn(["/bin/sh", "-c", "echo up; exec sleep 600"], stdin=None)
        lines = process.lines()
        require(next(lines, b"") == b"up", "it did not start")
        left: list[bytes] = [b"unread"]
        reader = threading.Thread(target=lambda: left.__setitem__(slice(None), list(lines)), daemon=True)
        reader.start()
        box.stop()
        reader.join(10)
        require(not reader.is_alive() and left == [], "the reader was not released")
        code = process.wait(10)
        require(code is not None and code != 0, f"a program that was stopped is told to have ended with {code}")


@runs("close-ends-everything", "a session's processes end with it, and closing twice does no harm")
def _close(subject: SandboxSubject) -> None:
    with opened(subject) as box:
        _started(box, DAEMON)
        box.close()
        size = (box.workspace / "beat").stat().st_size
        time.sleep(0.4)
        require((box.workspace / "beat").stat().st_size == size, "a daemon outlives the box")
        box.close()
        require((box.workspace / "beat").exists(), "the workspace was taken away")


def _traces() -> dict[str, set[str]]:
    """What of this process and of the machine a box may leave behind."""
    own = str(os.getpid())
    children = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                state, parent = (entry / "stat").read_bytes().rpartition(b")")[2].split()[:2]
            except (OSError, ValueError):
                continue
            children[entry.name] = parent.decode() if state != b"Z" or parent.decode() == own else ""
    below, found = {own}, True
    while found:
        found = {pid for pid, parent in children.items() if parent in below} - below  # type: ignore[assignment]
        below |= found  # type: ignore[arg-type]
    groups = {str(p) for root in Path("/sys/fs/cgroup").glob("*") for p in _folders(root) if f"-{own}-" in p.name}
    return {
        "process": below - {own},
        "descriptor": {name for name in os.listdir("/proc/self/fd") if os.path.lexists(f"/proc/self/fd/{name}")},
        "temporary file": set(os.listdir(tempfile.gettempdir())),
        "cgroup": groups,
        "mount": {line.split()[4] for line in Path("/proc/self/mountinfo").read_text().splitlines()},
    }


def _folders(root: Path) -> list[Path]:
    found = []
    for folder, names, _ in os.walk(root):
        if folder.count(os.sep) - str(root).count(os.sep) > 4:
            names.clear()
        found += [Path(folder, name) for name in names]
    return found


@runs("leaves-nothing-behind", "a run opens thousands of boxes: no process, descriptor, folder, cgroup, mount or thread may stay of twenty")
def _nothing(subject: SandboxSubject) -> None:
    def use() -> None:
        with opened(subject) as box:
            process = box.spawn(
                [python(box), "-c", "import os\nif os.fork() == 0:\n    os.setsid(); import time; time.sleep(600)\nprint('up')"]
            )
            list(process.lines())
            box.spawn(["/bin/sh", "-c", "sleep 600"], stdin=None)
            ask(box, "answer = open(os.environ['TMPDIR'] + '/left', 'w').write('x')")

    use()  # what is made once and kept, such as the thread that starts programs
    usual = tempfile.tempdir
    with scratch() as folder:
        tempfile.tempdir = str(folder)  # where nobody else makes and removes files meanwhile
        try:
            _count(use)
        finally:
            tempfile.tempdir = usual


def _count(use: Callable[[], None]) -> None:
    before, threads = _traces(), threading.active_count()
    for _ in range(BOXES):
        use()
    left: dict[str, set[str]] = {}

    def clean() -> bool:
        left.clear()
        left.update({what: found - before[what] for what, found in _traces().items() if found - before[what]})
        return not left and threading.active_count() <= threads + 2

    require(until(clean, 5), f"left behind by {BOXES} boxes: {left or 'threads: ' + str(threading.active_count() - threads)}")


HARNESS = (
    "import importlib, sys\nfrom pathlib import Path\nfrom finassay.api.sandbox import BoxSpec\nfrom finassay.runs.interpreter import interpreter_folders\n"
    "kind = getattr(importlib.import_module(sys.argv[1]), sys.argv[2])\nsandbox = kind(kind.Options.model_validate_json(sys.argv[3]))\n"
    "box = sandbox.open(BoxSpec(Path(sys.argv[4]), interpreter_folders()))\n"
    "process = box.spawn([sys.argv[5], '-c', sys.argv[6]])\nprint(next(process.lines(), b'').decode(), flush=True)\n"
    "if sys.stdin.readline(): box.close()\n"
)
"""Opens a box, starts a program in it, tells its first line; closes the box when it is told to."""


@contextlib.contextmanager
def _harness(subject: SandboxSubject, box: Box, program: str, temporary: Path) -> Iterator["subprocess.Popen[bytes]"]:
    """Another harness with a box of its own around the same workspace, its program started; killed at the end."""
    offered = type(subject.sandbox)
    options = getattr(subject.sandbox, "options", None)
    require(options is not None, "the sandbox keeps no `options`, so that it cannot be made again in another process")
    told = options.model_dump_json() if options is not None else "{}"
    harness = subprocess.Popen(
        [sys.executable, "-c", HARNESS, offered.__module__, offered.__name__, told, str(box.workspace), python(box), program],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "TMPDIR": str(temporary)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    try:
        assert harness.stdout is not None
        require(harness.stdout.readline().strip() == b"up", "it did not start")
        yield harness
    finally:
        harness.send_signal(signal.SIGKILL)
        harness.communicate()


@runs("ends-with-the-harness", "a harness that is killed leaves no agent running on")
def _killed(subject: SandboxSubject) -> None:
    with opened(subject) as box:
        program = f"import os, sys, time\nBEAT = {BEAT!r}\n{DAEMON}\nprint('up', flush=True)\ntime.sleep(600)"
        with _harness(subject, box, program, box.workspace.parent):
            require(until((box.workspace / "beat").exists, 20), "the process that shall be ended did not start")
        sizes: list[int] = []

        def still() -> bool:
            sizes.append((box.workspace / "beat").stat().st_size)
            time.sleep(0.3)
            return sizes[-1] == (box.workspace / "beat").stat().st_size

        require(until(still, 10), "a daemon outlives a harness that was killed")


@runs(
    "sweeps-after-a-kill", "a harness that is killed leaves temporary folders only until the next one begins, which touches no living one's"
)
def _swept(subject: SandboxSubject) -> None:
    waiting, brief = "import time; print('up', flush=True); time.sleep(600)", "print('up', flush=True)"
    with opened(subject) as box, scratch() as temporary:
        with _harness(subject, box, waiting, temporary):
            pass
        dead = set(os.listdir(temporary))
        with _harness(subject, box, waiting, temporary):
            living = set(os.listdir(temporary)) - dead
            with _harness(subject, box, brief, temporary) as third:
                third.communicate(b"close\n", 30)
            left = set(os.listdir(temporary))
            require(living <= left, f"the folders of a living harness are gone: {sorted(living - left)}")
            require(left <= living, f"left behind: {sorted(left - living)}")
