"""Conformance of sandboxes and agents: the kinds that run processes."""

import os
import socket
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from attrs import field, frozen

from finassay.api.agent import Agent, Setting, TurnContext
from finassay.api.delivery import LogEvent
from finassay.api.errors import AgentError
from finassay.api.sandbox import Box, BoxSpec, Limits, Sandbox
from finassay.api.task import Brief
from finassay.runs.interpreter import interpreter_folders
from finassay.session.intake import FOLDER
from finassay.testing.result import conformance, require

PYTHON = sys.executable
SECRET = "FINASSAY_CONFORMANCE_SECRET"


# -- sandboxes --------------------------------------------------------------------------------------------------------


@frozen
class SandboxSubject:
    sandbox: Sandbox


@contextmanager
def _box(sandbox: Sandbox, limits: Limits = Limits(), *, network: bool = False) -> Iterator[Box]:
    with tempfile.TemporaryDirectory(prefix="conform-") as folder:
        workspace = Path(folder) / "workspace"
        workspace.mkdir()
        box = sandbox.open(BoxSpec(workspace, interpreter_folders(), network=network, limits=limits))
        try:
            yield box
        finally:
            box.close()


def _run(box: Box, code: str, *arguments: str, seconds: float = 30) -> tuple[int | None, str]:
    process = box.spawn([PYTHON, "-c", code, *arguments])
    output = b"\n".join(process.lines())
    return process.wait(seconds), output.decode("utf-8", "replace")


@conformance("sandbox", "runs", "a program starts, reads its input and its exit code is told")
def _runs(subject: SandboxSubject) -> None:
    with _box(subject.sandbox) as box:
        process = box.spawn([PYTHON, "-c", "import sys; print(sys.stdin.read()[::-1]); sys.exit(7)"], stdin="grün".encode())
        lines = list(process.lines())
        require(lines == ["nürg".encode()], f"output {lines!r}")
        require(process.wait(10) == 7, "the exit code is lost")


@conformance("sandbox", "clean-environment", "no variable reaches an agent that was not named")
def _environment(subject: SandboxSubject) -> None:
    os.environ[SECRET] = "1"
    try:
        with _box(subject.sandbox) as box:
            _, output = _run(box, "import os; print(sorted(os.environ))")
            require(SECRET not in output, f"sees {output}")
    finally:
        del os.environ[SECRET]


@conformance("sandbox", "hides-files", "an agent must not see tasks, runs or other sessions", applies=lambda s: s.sandbox.isolation.files)
def _hides(subject: SandboxSubject) -> None:
    with tempfile.TemporaryDirectory(prefix="conform-secret-") as outside:
        secret = Path(outside) / "secret"
        secret.write_text("hidden")
        with _box(subject.sandbox) as box:
            _, output = _run(
                box,
                "import sys, os; print(os.path.exists(sys.argv[1])); print(os.listdir('/home') if os.path.isdir('/home') else [])",
                str(secret),
            )
            require(output.split("\n")[0] == "False", "a file outside the workspace can be seen")
            _, output = _run(box, "open('/usr/conform', 'w')")
            require(not Path("/usr/conform").exists(), "the system's files can be written")


@conformance("sandbox", "no-network", "a task without network has none", applies=lambda s: s.sandbox.isolation.network)
def _network(subject: SandboxSubject) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, _box(subject.sandbox) as box:
        port = str(server.getsockname()[1])
        code = "import socket, sys\ntry:\n socket.create_connection(('127.0.0.1', int(sys.argv[1])), 2); print('open')\nexcept OSError: print('shut')"
        _, output = _run(box, code, port)
        require(output.strip() == "shut", f"a server of the host answered: {output}")


@conformance("sandbox", "stops-everything", "a turn that is stopped leaves no process behind, not even a detached one")
def _stops(subject: SandboxSubject) -> None:
    with _box(subject.sandbox) as box:
        code = (
            "import subprocess, sys, time\n"
            'subprocess.Popen([sys.executable, \'-c\', \'import time\\nwhile True: open("beat", "a").write("x"); time.sleep(0.05)\'], start_new_session=True)\n'
            "print('up', flush=True)\ntime.sleep(600)"
        )
        process = box.spawn([PYTHON, "-c", code])
        require(next(process.lines(), b"") == b"up", "did not start")
        beat = box.workspace / "beat"
        _until(beat.exists, 5)
        started = time.monotonic()
        box.stop()
        require(time.monotonic() - started < 15, "stop took over 15 s")
        size = beat.stat().st_size if beat.exists() else 0
        time.sleep(0.4)
        require((beat.stat().st_size if beat.exists() else 0) == size, "a detached child still runs")
        require(_run(box, "print('again')")[1] == "again", "the box cannot be used after stop")


@conformance("sandbox", "memory-limit", "one agent must not take the machine down")
def _memory(subject: SandboxSubject) -> None:
    with _box(subject.sandbox, Limits(memory_bytes=512 * 2**20)) as box:
        code, output = _run(box, "x = bytearray(2 * 2**30); print('got it')")
        require("got it" not in output, f"2 GB were given under a limit of 512 MB (exit {code})")


@conformance("sandbox", "file-size-limit", "one file must not fill the disk")
def _file_size(subject: SandboxSubject) -> None:
    with _box(subject.sandbox, Limits(file_bytes=2**20)) as box:
        _run(box, "f = open('big', 'wb')\nfor _ in range(64): f.write(bytes(2**17)); f.flush()")
        big = box.workspace / "big"
        require(not big.exists() or big.stat().st_size <= 2**20, "a file of over 1 MB was written")


@conformance("sandbox", "process-limit", "a fork bomb is bounded")
def _processes(subject: SandboxSubject) -> None:
    with _box(subject.sandbox, Limits(processes=40)) as box:
        code = (
            "import subprocess, sys\nn = 0\ntry:\n"
            " for _ in range(200): subprocess.Popen(['sleep', '20']); n += 1\n"
            "except OSError: pass\nprint(n, flush=True)\n"
        )
        _, output = _run(box, code)
        require(not output.strip().isdigit() or int(output) < 200, f"{output.strip()} processes were started under a limit of 40")


@conformance("sandbox", "boxes-are-apart", "two sessions never see each other", applies=lambda s: s.sandbox.isolation.files)
def _apart(subject: SandboxSubject) -> None:
    with _box(subject.sandbox) as first, _box(subject.sandbox) as second:
        (first.workspace / "mine").write_text("1")
        _, output = _run(second, "import os, sys; print(os.path.exists(sys.argv[1]))", str(first.workspace / "mine"))
        require(output.strip() == "False", "one box sees the other's workspace")


def _until(condition: Callable[[], bool], seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if condition():
            return True
        time.sleep(0.02)
    return condition()


# -- agents -----------------------------------------------------------------------------------------------------------


@frozen
class AgentSubject:
    """`make` gives a fresh agent; `sandbox` is where its processes run."""

    make: Callable[[], Agent]
    sandbox: Sandbox
    seconds: float = 60.0
    notes: list[str] = field(factory=list)


@contextmanager
def _started(subject: AgentSubject, text: str = "") -> Iterator[tuple[Agent, Box, list[LogEvent]]]:
    agent = subject.make()
    log: list[LogEvent] = []
    with tempfile.TemporaryDirectory(prefix="conform-") as folder:
        workspace = Path(folder) / "workspace"
        (workspace / FOLDER).mkdir(parents=True)
        capabilities = agent.capabilities
        readable = (*interpreter_folders(), *capabilities.readable)
        box = subject.sandbox.open(
            BoxSpec(workspace, readable, environment=dict(capabilities.environment), network=capabilities.needs_network)
        )
        try:
            agent.start(Setting(Brief("conform", text or "A conformance test.", 6, subject.seconds, (), capabilities.needs_network), box))
            yield agent, box, log
        finally:
            agent.finalize()
            box.close()


def _send(agent: Agent, text: str, turn: int, log: list[LogEvent], seconds: float) -> str:
    reply = agent.send(text, TurnContext(turn, seconds, log.append, lambda: False))
    require(isinstance(reply.text, str), f"the reply's text is a {type(reply.text).__name__}")
    for name in ("input_tokens", "output_tokens", "cost_usd"):
        value = getattr(reply.usage, name)
        require(value is None or value >= 0, f"usage.{name} is {value}")
    return reply.text


HELLO = "Hi. I like last year's winners, skipping the latest month, refreshed once a month. Please use data up to the end of 2019."


@conformance("agent", "replies", "a turn ends with a message")
def _replies(subject: AgentSubject) -> None:
    with _started(subject) as (agent, _, log):
        require(_send(agent, HELLO, 1, log, subject.seconds).strip(), "the first reply is empty")


@conformance("agent", "second-turn", "a conversation goes on")
def _second(subject: AgentSubject) -> None:
    with _started(subject) as (agent, _, log):
        _send(agent, HELLO, 1, log, subject.seconds)
        require(_send(agent, "What would you like to know?", 2, log, subject.seconds).strip(), "the second reply is empty")


@conformance("agent", "utf-8-and-large", "users write umlauts, and sometimes a great deal")
def _large(subject: AgentSubject) -> None:
    with _started(subject) as (agent, _, log):
        require(
            _send(agent, "Grüße 你好 🙂 " + HELLO + " More background: " + "lorem ipsum " * 20_000, 1, log, subject.seconds).strip(),
            "no reply",
        )


@conformance(
    "agent", "stopped-turn", "the harness's clock ends a turn and every process of it", applies=lambda s: s.make().capabilities.uses_box
)
def _stopped(subject: AgentSubject) -> None:
    with _started(subject) as (agent, box, log):
        outcome: list[object] = []

        def act() -> None:
            try:
                outcome.append(agent.send(HELLO, TurnContext(1, 0.05, log.append, lambda: True)))
            except AgentError as error:
                outcome.append(error)

        worker = threading.Thread(target=act, daemon=True)
        worker.start()
        worker.join(0.05)
        box.stop()
        worker.join(15)
        require(outcome, "the adapter did not return within 15 s of the stop")


@conformance("agent", "two-at-once", "sessions never mix")
def _two(subject: AgentSubject) -> None:
    with _started(subject) as (first, one, log1), _started(subject) as (second, two, log2):
        _send(first, HELLO, 1, log1, subject.seconds)
        require(not list((two.workspace / FOLDER).iterdir()), "one session's files lie in the other's folder")
        _send(second, HELLO, 1, log2, subject.seconds)
        require(one.workspace != two.workspace, "one workspace for two")
