"""Where the real programs are, a home that holds nothing of the user's, and agents at work against a scripted model server."""

import contextlib
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from attrs import define, field, frozen

from finassay.api.agent import Agent, AgentTurn, Setting, TurnContext
from finassay.api.channel import ChannelSpec, McpServer, ServerSpec
from finassay.api.conversation import Conversation, Message
from finassay.api.delivery import LogEvent
from finassay.api.errors import AgentError
from finassay.api.gateway import Access, GatewayCall, GatewaySpec
from finassay.api.sandbox import Box, BoxSpec, Limits, Service
from finassay.api.task import Brief
from finassay.catalog.catalog import Catalog
from finassay_cli_kit import CommandLineAgent
from finassay_cli_kit.testing import ModelServer

sys.path.insert(0, str(Path(__file__).parent))
pytest.register_assert_rewrite("every_program")

ROOT = Path(__file__).parents[2]
AGENTS = Path(os.environ.get("FINASSAY_AGENTS", ROOT / ".agents")).absolute()


@frozen
class Program:
    """One of the installed programs."""

    name: str
    path: Path

    def run(
        self,
        args: Sequence[str],
        *,
        home: Path,
        env: Mapping[str, str] | None = None,
        stdin: str = "",
        cwd: Path | None = None,
        seconds: float = 60,
    ) -> subprocess.CompletedProcess[str]:
        """Run to the end with a clean environment; raises if that takes longer than `seconds`."""
        clean = {"HOME": str(home), "PATH": f"{self.path.parent}:/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8", "TERM": "dumb"}
        return subprocess.run(
            [str(self.path), *args],
            input=stdin,
            env={**clean, **(env or {})},
            cwd=cwd or home,
            capture_output=True,
            text=True,
            timeout=seconds,
            start_new_session=True,
            check=False,
        )


def installed(name: str) -> Program:
    path = AGENTS / "bin" / name
    if not path.exists():
        pytest.skip(f"{name} is not in {AGENTS.name}/bin: run make agents, or set FINASSAY_AGENTS")
    return Program(name, path)


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "home"
    folder.mkdir()
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def program() -> Callable[[str], Program]:
    """`program("codex")` is the installed one; without it the test is skipped."""
    return installed


BRIEF = "You work for a person. What lies in ./deliver is delivered."
MCP_TOKEN = "FINASSAY_TEST_MCP_TOKEN"


@define
class Held:
    """An agent in a box of its own, and the server that its model calls reach."""

    agent: Agent
    server: ModelServer
    box: Box
    access: Access
    calls: list[GatewayCall]
    log: list[LogEvent] = field(factory=list)
    said: Conversation = Conversation()
    judged: list[Exception] = field(factory=list)
    """Where there is no gateway to ask: what the adapter itself made of a failure."""

    @property
    def workspace(self) -> Path:
        return self.box.workspace

    def send(self, text: str, seconds: float = 60, cut: Callable[[], bool] = lambda: False) -> AgentTurn:
        """The next turn. What was said is kept in `said`, as the harness does.

        A program's own word that its model failed counts only where no gateway knows better; straight, the adapter's judgement is raised.
        """
        turn = len(self.said.of("agent")) + 1
        try:
            reply = self.agent.send(text, TurnContext(turn, seconds, self.log.append, cut))
        except AgentError:
            if not self.judged:
                raise
            raise self.judged.pop() from None
        user = Message(f"u{turn - 1}", turn - 1, "user", text)
        self.said = self.said.with_message(user).with_message(Message(f"a{turn}", turn, "agent", reply.text, cut=cut()))
        return reply

    def send_until(self, moment: Callable[[], bool], text: str, seconds: float = 30) -> AgentTurn:
        """A turn that the harness's clock ends as soon as `moment` has come."""
        cut = threading.Event()

        def clock() -> None:
            deadline = time.monotonic() + seconds
            while not moment() and time.monotonic() < deadline:
                time.sleep(0.02)
            cut.set()
            self.box.stop()

        watcher = threading.Thread(target=clock)
        watcher.start()
        try:
            return self.send(text, seconds, cut.is_set)
        finally:
            watcher.join()

    def alive(self, word: str) -> list[int]:
        """Processes with `word` in their command line."""
        found = []
        for folder in Path("/proc").iterdir():
            if folder.name.isdigit() and int(folder.name) != os.getpid():
                with contextlib.suppress(OSError):
                    if word.encode() in (folder / "cmdline").read_bytes():
                        found.append(int(folder.name))
        return found

    def told(self, kind: str) -> list[Mapping[str, Any]]:
        return [event.data for event in self.log if event.kind == kind]


WAYS = os.environ.get("FINASSAY_AGENT_WAYS", "gateway").split(",")
"""`gateway,direct` tries both; the second costs as much again and is what people with a login of their own have."""


@pytest.fixture(params=WAYS)
def way(request: pytest.FixtureRequest) -> str:
    """How the program reaches its model: straight, in the sandbox `local`, or through the gateway, in the sandbox that isolates most."""
    return str(request.param)


@pytest.fixture
def begin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Held]]:
    """`begin(agent, server)` starts a session; with a `history` and the workspace of another one, it resumes that one."""
    with ExitStack() as stack:

        def make(
            agent: Agent, server: ModelServer, way: str = "direct", *, history: Conversation | None = None, workspace: Path | None = None
        ) -> Held:
            folder = workspace or tmp_path / f"workspace-{time.monotonic_ns()}"
            (folder / "deliver").mkdir(parents=True, exist_ok=True)
            calls: list[GatewayCall] = []
            access, services = _direct(server) if way == "direct" else _gateway(agent, server, monkeypatch, stack, calls)
            sandbox = Catalog.installed().create("sandbox", "local" if way == "direct" else "bubblewrap")[0]
            wanted = agent.capabilities
            box = sandbox.open(
                BoxSpec(
                    folder,
                    wanted.readable,
                    environment=dict(wanted.environment),
                    services=services,
                    limits=Limits(reserved_bytes=wanted.reserved_bytes),
                )
            )
            stack.callback(box.close)
            agent.start(Setting(Brief("test", BRIEF, 6, 60, ("price",), False), box, history or Conversation(), access))
            stack.callback(agent.finalize)
            held = Held(agent, server, box, access, calls, said=history or Conversation())
            if way == "direct" and isinstance(agent, CommandLineAgent):
                judge = agent.failure
                monkeypatch.setattr(agent, "failure", lambda ending: held.judged.append(judge(ending)) or held.judged[-1])
            return held

        yield make


def _direct(server: ModelServer) -> tuple[Access, tuple[Service, ...]]:
    price = McpServer("price", server.mcp_url, {"Authorization": f"Bearer {server.key}"})
    return Access(server.urls, server.key, (price,)), ()


def _gateway(
    agent: Agent, server: ModelServer, monkeypatch: pytest.MonkeyPatch, stack: ExitStack, calls: list[GatewayCall]
) -> tuple[Access, tuple[Service, ...]]:
    upstreams = agent.capabilities.upstreams
    for name in (*(f"FINASSAY_TEST_{u.upper()}" for u in upstreams), MCP_TOKEN):
        if name not in os.environ:
            monkeypatch.setenv(name, server.key)
    known = {u: {"url": server.url, "key": f"FINASSAY_TEST_{u.upper()}"} for u in upstreams}
    gateway = Catalog.installed().create("gateway", "standard", {"upstreams": known})[0]
    stack.callback(gateway.close)
    price = ServerSpec(url=server.mcp_url, headers={"Authorization": f"Bearer ${{{MCP_TOKEN}}}"}, secrets=(MCP_TOKEN,))
    channel = ChannelSpec("price", "Closing prices of made-up symbols, by the tool get_price.", frozenset({"prices"}), server=price)
    assert gateway.problems(upstreams, (channel,)) == []
    session = gateway.open(
        GatewaySpec("test", upstreams, (channel,), agent.capabilities.models, stall_seconds=STALL_SECONDS, called=calls.append)
    )
    stack.callback(session.close)
    return session.access, session.services


STALL_SECONDS = 4.0
