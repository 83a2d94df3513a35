"""Fakes that take the place of components in tests: scripted, without network, without processes."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from attrs import define, field

from finassay.api.agent import AgentCapabilities, AgentTurn, Setting, TurnContext
from finassay.api.delivery import LogEvent
from finassay.api.errors import SandboxError, UsageError
from finassay.api.grading import Answer, JudgeRequest, LabelQuestion, Quote
from finassay.api.model import ChatModel, ChatReply, ChatRequest, ModelCapabilities
from finassay.api.sandbox import Box, BoxProcess, BoxSpec, Isolation, Probe
from finassay.api.simulator import Decision, Observation, Rejection, Scene
from finassay.api.usage import Usage
from finassay.session.intake import FOLDER

Reply = str | Exception | Callable[[str, TurnContext], str]


@define
class ScriptedAgent:
    """Says what the script says, turn by turn (the last entry again when it runs out), and delivers the files of that turn.

    An entry may be a text, an exception to raise, or a function of the user's message and the turn's context.
    """

    replies: Sequence[Reply] = ("Working on it.",)
    files: Sequence[Mapping[str, bytes]] = ()
    workspace: Path | None = None
    id: str = "scripted"
    version: str = "1"
    capabilities: AgentCapabilities = AgentCapabilities(uses_box=False)
    heard: list[str] = field(factory=list)
    finalized: bool = False
    _turn: int = 0

    def start(self, setting: Setting) -> None:
        if setting.box is not None:
            self.workspace = setting.box.workspace
        self._turn = len(setting.history.of("agent"))

    def send(self, message: str, context: TurnContext) -> AgentTurn:
        self.heard.append(message)
        index = min(self._turn, len(self.replies) - 1)
        reply = self.replies[index]
        context.log(LogEvent(context.turn, "tool-call", {"id": "1", "name": "write", "input": {}}))
        if self.workspace is not None and self._turn < len(self.files):
            for path, data in self.files[self._turn].items():
                target = self.workspace / FOLDER / path
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(data)
        self._turn += 1
        if isinstance(reply, Exception):
            raise reply
        text = reply(message, context) if callable(reply) else reply
        return AgentTurn(text, Usage())

    def finalize(self) -> None:
        self.finalized = True


@define
class ScriptedSimulator:
    """Opens with the belief's opening clauses, then takes decisions from a script (the last again when it runs out)."""

    decisions: Sequence[Decision | Exception] = ()
    opening: str = ""
    id: str = "scripted"
    version: str = "1"
    deterministic: bool = True
    rejected: list[Rejection] = field(factory=list)

    def open(self, scene: Scene, rejections: tuple[Rejection, ...] = ()) -> str:
        self.rejected += rejections
        clauses = [scene.task.belief.item(name).opening for name in scene.task.belief.opening]
        return self.opening or f"I like {' and '.join(clauses)}. The universe is {scene.task.conditions.universe.text}."

    def decide(self, scene: Scene, rejections: tuple[Rejection, ...] = ()) -> Decision:
        self.rejected += rejections
        turn = len(scene.conversation.of("agent"))
        if not self.decisions:
            goals = tuple(Observation(goal.id, "missing") for goal in scene.task.goals)
            return Decision("follow_up", goals, f"Please go on, part {turn}.")
        decision = self.decisions[min(turn - 1, len(self.decisions) - 1)]
        if isinstance(decision, Exception):
            raise decision
        return decision


def met(scene_goals: Sequence[str], citation: str = "a1") -> tuple[Observation, ...]:
    """Every goal met, citing one thing."""
    return tuple(Observation(goal, "met", (citation,)) for goal in scene_goals)


@define
class FakeJudge:
    """Gives the same level to everything, with the first words of the newest report or message as its quote."""

    level: int = 3
    label: str = ""
    error: Exception | None = None
    id: str = "fake"
    version: str = "1"
    deterministic: bool = True
    asked: list[JudgeRequest] = field(factory=list)

    def answer(self, request: JudgeRequest) -> Answer:
        self.asked.append(request)
        if self.error is not None:
            raise self.error
        texts = [*request.material.reports, *request.material.messages]
        quote = Quote(" ".join(texts[0].text.split()[:6]), texts[0].where) if texts else Quote("")
        if isinstance(request.question, LabelQuestion):
            label = self.label or request.question.labels[0]
            return Answer(
                "as scripted", labels=dict.fromkeys(request.question.cases, label), case_quotes=dict.fromkeys(request.question.cases, quote)
            )
        return Answer("as scripted", level=self.level, quotes=(quote,))


@define
class FakeChatModel:
    """Replies from a script, in order; raises what is an exception."""

    replies: Sequence[ChatReply | Exception] = ()
    id: str = "fake/model"
    family: str = "fake"
    capabilities: ModelCapabilities = ModelCapabilities(structured=True, search=True, fetch=True)
    requests: list[ChatRequest] = field(factory=list)

    def complete(self, request: ChatRequest) -> ChatReply:
        reply = self.replies[min(len(self.requests), len(self.replies) - 1)]
        self.requests.append(request)
        if isinstance(reply, Exception):
            raise reply
        return reply


@define
class FunctionChatModel:
    """Replies by a function of the request, for models that are asked in no fixed order; raises what is an exception."""

    reply: Callable[[ChatRequest], ChatReply | Exception]
    id: str = "fake/model"
    family: str = "fake"
    capabilities: ModelCapabilities = ModelCapabilities(structured=True, search=True, fetch=True)
    requests: list[ChatRequest] = field(factory=list)

    def complete(self, request: ChatRequest) -> ChatReply:
        self.requests.append(request)
        reply = self.reply(request)
        if isinstance(reply, Exception):
            raise reply
        return reply


@define
class FakeModels:
    """Models by the name that they are asked for, whatever their options, which are kept. Any other name is a `UsageError`."""

    models: Mapping[str, ChatModel]
    asked: list[tuple[str, Mapping[str, Any]]] = field(factory=list)

    def get(self, name: str, options: Mapping[str, Any] | None = None) -> ChatModel:
        self.asked.append((name, dict(options or {})))
        if name not in self.models:
            raise UsageError(f"no model {name!r}", hint=f"There are {', '.join(self.models) or 'none'}.")
        return self.models[name]


@define
class _MemoryProcess:
    output: list[bytes]
    code: int

    def lines(self) -> Iterator[bytes]:
        yield from self.output

    def write(self, data: bytes) -> None:
        raise SandboxError("a function in memory has its whole input from the start")

    def close_input(self) -> None:
        pass

    def wait(self, seconds: float | None = None) -> int | None:
        return self.code

    def stderr_tail(self) -> str:
        return ""


@define
class MemoryBox:
    """A box whose programs are Python functions: `programs[argv[0]]` gets argv and stdin and returns (exit code, lines)."""

    workspace: Path
    programs: Mapping[str, Callable[[Sequence[str], bytes], tuple[int, list[bytes]]]]
    inside: str = "/workspace"
    isolation: Isolation = Isolation(False, False, False)
    stopped: int = 0

    def spawn(
        self, argv: Sequence[str], *, stdin: bytes | None = b"", environment: Mapping[str, str] | None = None, cwd: str = "."
    ) -> BoxProcess:
        code, output = self.programs[argv[0]](argv, stdin or b"")
        return _MemoryProcess(output, code)

    def stop(self) -> None:
        self.stopped += 1

    def close(self) -> None:
        self.stop()


@define
class MemorySandbox:
    """Opens `MemoryBox`es; starts no process."""

    programs: Mapping[str, Any] = field(factory=dict)
    id: str = "memory"
    isolation: Isolation = Isolation(False, False, False)

    def probe(self) -> Probe:
        return Probe(True, "in memory, for tests")

    def open(self, spec: BoxSpec) -> Box:
        return MemoryBox(spec.workspace, self.programs)
