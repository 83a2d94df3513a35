"""Conformance of agents."""

import json
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from attrs import field, frozen

from finassay.api.agent import Agent, AgentCapabilities, Diagnosable, Setting, TurnContext
from finassay.api.delivery import LogEvent
from finassay.api.errors import AgentError
from finassay.api.gateway import Access, Gateway, GatewaySpec
from finassay.api.sandbox import Box, BoxSpec, Limits, Sandbox, Service
from finassay.api.task import Brief
from finassay.records.convert import to_json
from finassay.runs.interpreter import interpreter_folders
from finassay.session.intake import FOLDER
from finassay.testing.result import conformance, require


@frozen
class AgentSubject:
    """`make` gives a fresh agent; `sandbox` is where its processes run."""

    make: Callable[[], Agent]
    sandbox: Sandbox
    seconds: float = 60.0
    notes: list[str] = field(factory=list)
    access: Access | None = None
    """How an agent with a program that calls models reaches them; `gateway` opens a way where this is None."""
    gateway: Callable[[], Gateway] | None = None


@contextmanager
def _way(subject: AgentSubject, capabilities: AgentCapabilities) -> Iterator[tuple[Access | None, tuple[Service, ...]]]:
    """To the models of an agent that calls some. Through a gateway that has a key they are asked for real, and paid."""
    if subject.access is not None or not capabilities.upstreams or subject.gateway is None:
        yield subject.access, ()
        return
    gateway = subject.gateway()
    try:
        problems = gateway.problems(capabilities.upstreams, ())
        require(not problems, f"the agent's models are out of reach: {'; '.join(problems)}")
        session = gateway.open(GatewaySpec("conform", capabilities.upstreams, models=capabilities.models))
        try:
            yield session.access, session.services
        finally:
            session.close()
    finally:
        gateway.close()


@contextmanager
def _started(subject: AgentSubject, text: str = "") -> Iterator[tuple[Agent, Box, list[LogEvent]]]:
    agent = subject.make()
    log: list[LogEvent] = []
    with tempfile.TemporaryDirectory(prefix="conform-") as folder, _way(subject, agent.capabilities) as (access, services):
        workspace = Path(folder) / "workspace"
        (workspace / FOLDER).mkdir(parents=True)
        capabilities = agent.capabilities
        spec = BoxSpec(
            workspace,
            readable=(*interpreter_folders(), *capabilities.readable),
            environment=dict(capabilities.environment),
            network=capabilities.needs_network,
            services=services,
            limits=Limits(reserved_bytes=capabilities.reserved_bytes),
        )
        box = subject.sandbox.open(spec)
        brief = Brief("conform", text or "A conformance test.", 6, subject.seconds, (), capabilities.needs_network)
        try:
            agent.start(Setting(brief, box, access=access))
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
        struck = threading.Event()

        def act() -> None:
            try:
                outcome.append(agent.send(HELLO, TurnContext(1, 0.5, log.append, struck.is_set)))
            except AgentError as error:
                outcome.append(error)

        worker = threading.Thread(target=act, daemon=True)
        worker.start()
        worker.join(0.5)
        struck.set()
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


@conformance(
    "agent",
    "holds-no-key",
    "an agent that goes through the gateway needs no key of its own",
    applies=lambda s: s.make().capabilities.upstreams,
)
def _no_key(subject: AgentSubject) -> None:
    capabilities = subject.make().capabilities
    require(not capabilities.credentials, f"credentials {capabilities.credentials!r}: the gateway has them")
    named = [name for name in capabilities.environment if name.upper().endswith(("_KEY", "_TOKEN", "_SECRET"))]
    require(not named, f"variables {named!r} of its processes look like keys")


@conformance("agent", "diagnoses", "`finassay doctor --agents` tells what is there", applies=lambda s: isinstance(s.make(), Diagnosable))
def _diagnoses(subject: AgentSubject) -> None:
    agent = subject.make()
    require(isinstance(agent, Diagnosable), "no diagnose()")
    started = time.monotonic()
    told = agent.diagnose()  # type: ignore[attr-defined]
    require(time.monotonic() - started < 60, "it took more than a minute")
    require(told.program, "it does not say which program it looked for")
    require(not told.problem, f"{told.problem}. {told.hint}")
    for text in (told.program, told.version, told.login, told.problem, told.hint):
        require("\n" not in text and len(text) < 1_000, f"{text[:200]!r} is not one line")


@conformance(
    "agent",
    "identity-is-plain",
    "it stands on every session, which is resumed under the same one only",
    applies=lambda s: getattr(s.make(), "identity", None) is not None,
)
def _identity(subject: AgentSubject) -> None:
    first, second = (getattr(subject.make(), "identity", None) for _ in range(2))
    require(isinstance(first, Mapping), f"identity is a {type(first).__name__}")
    require(json.loads(json.dumps(to_json(first))) == to_json(first), "JSON cannot hold it")
    require(to_json(first) == to_json(second), "two agents of one choice have two identities")


@conformance(
    "agent",
    "begins-with-plain",
    "what a session began with stands on it, and is handed back when it is resumed",
    applies=lambda s: callable(getattr(s.make(), "begins_with", None)),
)
def _begins(subject: AgentSubject) -> None:
    begun = subject.make().begins_with()  # type: ignore[attr-defined]
    require(isinstance(begun, Mapping), f"it is a {type(begun).__name__}")
    require(json.loads(json.dumps(to_json(begun))) == to_json(begun), "JSON cannot hold it")
