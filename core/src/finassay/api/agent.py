"""Agents: three calls."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Protocol, runtime_checkable

from attrs import Factory, frozen

from finassay.api.conversation import Conversation
from finassay.api.delivery import LogEvent
from finassay.api.gateway import Access
from finassay.api.sandbox import Box
from finassay.api.task import Brief
from finassay.api.usage import Usage
from finassay.api.verdict import Json


@frozen
class AgentCapabilities:
    """What an agent can do; checked before a run starts."""

    uses_box: bool = True
    """Runs processes in the box; False for an agent that only talks."""
    resumes: bool = True
    """Goes on in the same workspace after the harness was killed, given the conversation so far."""
    reports_usage: bool = False
    reports_cost: bool = False
    needs_network: bool = False
    credentials: tuple[str, ...] = ()
    """Environment variables without which it cannot work; never their values."""
    upstreams: tuple[str, ...] = ()
    """Model APIs that its program calls through the gateway (`finassay.api.gateway`): it then needs no key of its own."""
    models: tuple[str, ...] = ()
    """Names of models that its program may ask for there; any if it is empty."""
    channels: bool = False
    """Gives the session's MCP servers to its program."""
    readable: tuple[Path, ...] = ()
    """Host folders that its processes must be able to read: its interpreter, its program."""
    environment: Mapping[str, str] = Factory(dict)
    """Variables that its processes need, besides those that the sandbox sets. Never a key."""
    reserved_bytes: int = 0
    """Address space that a process of it reserves without using it, as JavaScript engines do; see `Limits`."""


@frozen
class AgentTurn:
    """What an agent returns at the end of its turn; its files lie in `deliver/`."""

    text: str
    usage: Usage = Usage()


@frozen
class TurnContext:
    """What the harness gives to an agent's turn."""

    turn: int
    seconds: float
    """Time left when the turn starts. The harness stops the box's processes then; the agent returns what it has."""
    log: Callable[[LogEvent], None]
    """Append to the execution log as things happen, not afterwards: a cut turn keeps what was logged."""
    cut: Callable[[], bool]
    """Whether the harness has stopped the turn."""


@frozen
class Setting:
    """Where an agent works."""

    brief: Brief
    box: Box
    history: Conversation = Conversation()
    """Finished turns if the session is being resumed, else empty."""
    access: Access | None = None
    """The way to model APIs and MCP servers; None where neither is needed, or no gateway is used."""
    begun_with: Mapping[str, Json] = Factory(dict)
    """What the agent's `begins_with` said when the session began, also if it is being resumed."""


@frozen
class Diagnosis:
    """What `finassay doctor --agents` says of an agent's program, in one line."""

    program: str
    """Its path, or what was looked for."""
    version: str = ""
    """As the program tells it; empty if it does not start."""
    login: str = ""
    """How its model calls are paid: a key behind the gateway, a login of the program's own, nothing."""
    problem: str = ""
    """What keeps it from working; empty if nothing does."""
    hint: str = ""


@runtime_checkable
class Diagnosable(Protocol):
    """An agent that can say whether its program is there and works."""

    def diagnose(self) -> Diagnosis:
        """Look for the program and start it for a moment, at most some seconds. Spends nothing; never raises."""
        ...


@runtime_checkable
class Agent(Protocol):
    """Something that does financial work for a user.

    One instance serves one session and is called from one thread. `deliver/` in the workspace is what the user receives;
    what lies there when a turn ends is delivered, also when the turn was cut.

    An agent may also carry `identity`, a mapping that JSON can hold, of what decides its work besides its options: it stands on the session, which
    is resumed under the same one only; `outside_sandbox: true` in it says that the agent acts where no sandbox of the run holds it, and stands above
    the results. What may be another for every session (a memory) it tells with `begins_with() -> Mapping[str, Json]`, asked
    once before a session begins, recorded with it and handed back in `Setting.begun_with`. One that works through other components names where
    they came from in `parts: tuple[Origin, ...]`. One that learns from graded sessions is a `finassay.api.learning.Learner`.
    """

    id: str
    version: str
    """Version of the program that acts, not of the adapter; `unknown` if it cannot be told."""
    capabilities: AgentCapabilities

    def start(self, setting: Setting) -> None:
        """Make ready; nothing is said yet. Raises `AgentError`."""
        ...

    def send(self, message: str, context: TurnContext) -> AgentTurn:
        """One turn. Raises `AgentError` if the program or its protocol failed, `ProviderError` if its model's provider did."""
        ...

    def finalize(self) -> None:
        """The session is over; release everything. Called once, also after an error."""
        ...
