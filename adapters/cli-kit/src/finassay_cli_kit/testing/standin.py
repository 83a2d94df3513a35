"""An adapter in a session of its own, with a stand-in for its program: what the tests of every adapter begin with.

from finassay_cli_kit.testing.standin import held_by, way

WAY = way("openai")

@pytest.fixture
def begin(tmp_path):
    with held_by(lambda **options: FooAgent(FooOptions(program=FAKE, **options)), tmp_path / "workspace", WAY) as begin:
        yield begin

def test_turns(begin):
    session = begin(model="m-1")
    assert session.send("Hello.").text == "Hello back."
    assert session.told("tool-call")
"""

import contextlib
import json
import threading
import time
from collections.abc import Callable, Iterator
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, Final

from finassay.api.agent import Agent, AgentTurn, Setting, TurnContext
from finassay.api.channel import McpServer
from finassay.api.delivery import LogEvent
from finassay.api.gateway import Access
from finassay.api.sandbox import Box, BoxSpec
from finassay.api.task import Brief
from finassay_cli_kit.home import HOME

TOKEN: Final = "throw-away-token"
BRIEF: Final = Brief("s1", "Work well.", 6, 60, ("price",), False)
OPEN_BRIEF: Final = Brief("s1", "Work well.", 6, 60, (), True)
"""Of a task that allows the network."""
SECONDS: Final = 30.0
PATIENCE: Final = 20.0


def way(*upstreams: str) -> Access:
    """The way to model APIs of these names, to one of the user's own, `mine`, and to a channel. Nobody listens there."""
    urls = {name: f"http://127.0.0.1:9/{name}" for name in upstreams}
    server = McpServer("price", "http://127.0.0.1:9/channels/price/mcp", {"Authorization": f"Bearer {TOKEN}"})
    return Access({**urls, "mine": "http://127.0.0.1:9/mine/"}, TOKEN, (server,))


def local_box(workspace: Path, environment: dict[str, str]) -> Box:
    """A box of the sandbox `local`, which has to be installed."""
    (offered,) = entry_points(group="finassay.sandboxes", name="local")
    sandbox = offered.load()
    box: Box = sandbox(sandbox.Options()).open(BoxSpec(workspace, environment=environment))
    return box


class Held:
    """One session; `log` has its events."""

    def __init__(self, agent: Agent, workspace: Path, access: Access | None, brief: Brief) -> None:
        (workspace / "deliver").mkdir(parents=True, exist_ok=True)
        self.agent: Any = agent
        self.workspace = workspace
        self.log: list[LogEvent] = []
        self.box: Any = local_box(workspace, dict(agent.capabilities.environment))
        try:
            agent.start(Setting(brief, self.box, access=access))
        except BaseException:
            self.box.close()
            raise

    def send(self, text: str, turn: int = 1, cut: Callable[[], bool] = lambda: False) -> AgentTurn:
        """One turn."""
        told: AgentTurn = self.agent.send(text, TurnContext(turn, SECONDS, self.log.append, cut))
        return told

    def send_until(self, seen: Callable[[], bool], text: str, turn: int = 1, *, more: float = 0.5) -> AgentTurn:
        """A turn that the clock cuts, `more` seconds after `seen` holds."""
        cut = threading.Event()

        def clock() -> None:
            deadline = time.monotonic() + PATIENCE
            while not seen() and time.monotonic() < deadline:
                time.sleep(0.02)
            time.sleep(more)
            cut.set()
            self.box.stop()

        watcher = threading.Thread(target=clock)
        watcher.start()
        try:
            return self.send(text, turn, cut.is_set)
        finally:
            watcher.join()

    def told(self, kind: str) -> list[Any]:
        """The data of the log's events of a kind."""
        return [event.data for event in self.log if event.kind == kind]

    def home(self, path: str) -> Path:
        """A file of the program's private home, on the host."""
        return self.workspace / HOME / path

    def spy(self, monkeypatch: Any, reading: str = "") -> list[tuple[Any, ...]]:
        """What the box is told to start from now on: the command and the other arguments of `spawn`, and the JSON that then lies at `reading`."""
        spawn, seen = self.box.spawn, list[tuple[Any, ...]]()

        def spied(argv: Any, **how: Any) -> Any:
            seen.append((list(argv), how, *([json.loads(self.home(reading).read_text())] if reading else ())))
            return spawn(argv, **how)

        monkeypatch.setattr(self.box, "spawn", spied)
        return seen

    def end(self) -> None:
        """End the session and its box."""
        self.agent.finalize()
        self.box.close()


@contextlib.contextmanager
def held_by(make: Callable[..., Agent], workspace: Path, access: Access) -> Iterator[Callable[..., Held]]:
    """Gives a function that begins sessions, all in one workspace: `begin(access=…, brief=…, **options)`, where `make(**options)` makes the agent."""
    begun: list[Held] = []

    def begin(access: Access | None = access, brief: Brief = BRIEF, **options: Any) -> Held:
        begun.append(Held(make(**options), workspace, access, brief))
        return begun[-1]

    try:
        yield begin
    finally:
        for session in begun:
            session.end()
