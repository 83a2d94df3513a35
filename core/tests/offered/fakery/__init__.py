"""A distribution for tests, made visible by putting its folder on the path: a provider of chat models that a folder of switches steers, and
everything else that a run with models needs. The folder stands in FAKERY_SWITCHES:

down      while it is there, the provider fails as one that is overloaded, and quotes key and prompt in its error; only for prompts with the
          text that it holds, if it holds one
refused   while it is there, the provider refuses whatever it is asked, or only what it is asked if `one` stands in it
garbage   while it is there, the simulator can make nothing of what its model answers
void      while it is there, the simulator fails after its model has answered
calls     a line for each call that was answered: the role
away      while it is there, the gateway's upstream fails: for now, or for good if `refused` stands in it
"""

import os
import secrets
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict, Field

from finassay.api.agent import AgentCapabilities, AgentTurn, Setting, TurnContext
from finassay.api.channel import ChannelSpec, McpServer, ServerSpec
from finassay.api.credentials import credential
from finassay.api.errors import JudgeError, ProviderError, ProviderRefusedError, SimulatorError
from finassay.api.gateway import Access, GatewayCall, GatewaySpec
from finassay.api.grading import Answer, JudgeRequest, LabelQuestion, Quote
from finassay.api.model import ChatMessage, ChatReply, ChatRequest, ModelCapabilities, Models
from finassay.api.persona import Persona
from finassay.api.simulator import Decision, Observation, Rejection, Scene
from finassay.api.usage import Usage
from finassay.testing.fakes import MemorySandbox
from finassay.testing.samples import sample_persona

SWITCHES = "FAKERY_SWITCHES"


def switches() -> Path:
    return Path(os.environ[SWITCHES])


class ModelOptions(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str = Field(description="the model")
    effort: str = Field(default="", description="how hard it tries")
    base_url: str = Field(default="", description="where it is")


class FakeryModel:
    api_version: ClassVar = 1
    description: ClassVar = "A model that says what tests want."
    Options: ClassVar = ModelOptions
    credentials: ClassVar = ("FAKERY_API_KEY", "FAKERY_OTHER_KEY")
    family = "fakery"
    capabilities = ModelCapabilities(structured=True)

    def __init__(self, options: ModelOptions) -> None:
        self.id = f"fakery/{options.name}"
        self.key = credential(self.credentials) or ""
        if not self.key:
            raise ProviderRefusedError("fakery: no key", hint="Set FAKERY_API_KEY.")

    def complete(self, request: ChatRequest) -> ChatReply:
        prompt = "\n".join(m.text for m in request.messages)
        down = switches() / "down"
        if down.exists() and down.read_text() in prompt:
            raise ProviderError(f"overloaded; Authorization: Bearer {self.key}; you asked: {prompt}", hint=f"prompt was {prompt!r}")
        refused = switches() / "refused"
        if refused.exists():
            with open(switches() / "refusals", "a") as refusals:
                refusals.write(request.role + "\n")
            raise ProviderRefusedError("HTTP 401", hint="The key in FAKERY_API_KEY is wrong.", any_request=refused.read_text() != "one")
        with open(switches() / "calls", "a") as calls:
            calls.write(request.role + "\n")
        value = {"level": 3} if request.schema else None
        return ChatReply("I see.", "stop", "fakery-exact", value, usage=Usage(1000, 0, 100, 0))


class LocalModel(FakeryModel):
    """Costs nothing and needs no key."""

    credentials: ClassVar = ()
    capabilities = ModelCapabilities(structured=False, free=True)

    def __init__(self, options: ModelOptions) -> None:
        self.id, self.key = f"fakery-local/{options.name}", "none"


class TalkerOptions(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    model: str = Field(description="who talks")
    effort: str = Field(default="", description="how hard it tries")


class Talker:
    """A simulator that tells its model the whole belief, and then says what is harmless."""

    api_version: ClassVar = 1
    description: ClassVar = "A user that asks a model and goes on."
    Options: ClassVar = TalkerOptions
    takes_models: ClassVar = True
    id, version, deterministic = "talker", "1", False

    def __init__(self, options: TalkerOptions, models: Models) -> None:
        self.model = models.get(options.model, {"effort": options.effort} if options.effort else None)
        self.identity = {"prompt": "0" * 64}

    def _ask(self, scene: Scene, what: str) -> None:
        belief = "; ".join(item.sentence for item in scene.task.belief.items)
        messages = (ChatMessage("system", f"You want: {belief}"), ChatMessage("user", what))
        self.model.complete(ChatRequest(messages, role="simulator", repeat=scene.seed))

    def open(self, scene: Scene, rejections: tuple[Rejection, ...] = ()) -> str:
        self._ask(scene, "open")
        clauses = [scene.task.belief.item(name).opening for name in scene.task.belief.opening]
        return f"I like {' and '.join(clauses)}. The universe is {scene.task.conditions.universe.text}."

    def decide(self, scene: Scene, rejections: tuple[Rejection, ...] = ()) -> Decision:
        turn = len(scene.conversation.of("agent"))
        self._ask(scene, f"turn {turn}")
        if (switches() / "garbage").exists():
            raise SimulatorError(f"the answer does not fit the form; {scene.task.belief.items[1].sentence}")
        if (switches() / "void").exists():
            raise ValueError(f"no decision; {scene.task.belief.items[1].sentence}")
        return Decision("follow_up", tuple(Observation(g.id, "missing") for g in scene.task.goals), f"Please go on, part {turn}.")


class ReaderAloud:
    """A judge that asks its model about everything and quotes the agent's first words."""

    api_version: ClassVar = 1
    description: ClassVar = "A judge that asks a model."
    Options: ClassVar = TalkerOptions
    takes_models: ClassVar = True
    id, version, deterministic = "reader-aloud", "1", True

    def __init__(self, options: TalkerOptions, models: Models) -> None:
        self.model = models.get(options.model, {"effort": options.effort} if options.effort else None)
        self.identity = {"prompt": "1" * 64}

    def answer(self, request: JudgeRequest) -> Answer:
        schema = {"type": "object", "properties": {"level": {"type": "integer"}}, "required": ["level"]}
        asked = ChatRequest(
            (ChatMessage("user", f"{request.dimension.id} {request.question.id}"),), schema=schema, role="judge", about=request.dimension.id
        )
        try:
            level = self.model.complete(asked).value["level"]
        except ProviderError as error:
            raise JudgeError(str(error)) from error
        quote = Quote("Working on it.", "a1")
        if isinstance(request.question, LabelQuestion):
            labels = dict.fromkeys(request.question.cases, request.question.labels[0])
            return Answer("read", labels=labels, case_quotes=dict.fromkeys(request.question.cases, quote))
        return Answer("read", level=level, quotes=(quote,))


class NoOptions(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Worker:
    """An agent that says the same at every turn and tells what it used."""

    api_version: ClassVar = 1
    description: ClassVar = "An agent that works on it."
    Options: ClassVar = NoOptions
    id, version = "worker", "1"
    capabilities = AgentCapabilities(uses_box=False)

    def __init__(self, options: NoOptions) -> None:
        pass

    def start(self, setting: Setting) -> None:
        pass

    def send(self, message: str, context: TurnContext) -> AgentTurn:
        return AgentTurn("Working on it.", Usage(10, 0, 5, 0, 0.25))

    def finalize(self) -> None:
        pass


class Asker(Worker):
    """An agent that asks a model of the run, and says its key if it finds one."""

    Options: ClassVar = TalkerOptions
    takes_models: ClassVar = True
    id = "asker"

    def __init__(self, options: TalkerOptions, models: Models) -> None:
        self.model = models.get(options.model)

    def send(self, message: str, context: TurnContext) -> AgentTurn:
        self.model.complete(ChatRequest((ChatMessage("user", message),)))
        return AgentTurn(f"Working on it. My key is {os.environ.get('FAKERY_API_KEY', 'none')}.", Usage())


class FakeryGateway:
    """A gateway whose calls are made by `pass_on`, in the program that holds the session."""

    api_version: ClassVar = 1
    description: ClassVar = "A gateway for tests."
    Options: ClassVar = NoOptions
    id = "standard"
    open_sessions: ClassVar[dict[str, "FakerySession"]] = {}
    closed: ClassVar[int] = 0

    def __init__(self, options: NoOptions) -> None:
        pass

    def problems(self, upstreams: Sequence[str], channels: Sequence[ChannelSpec]) -> list[str]:
        return [f"no upstream {name!r}" for name in upstreams if name != "fakery"]

    def secrets(self) -> tuple[str, ...]:
        return (os.environ["FAKERY_API_KEY"],)

    def open(self, spec: GatewaySpec) -> "FakerySession":
        session = FakerySession(spec)
        self.open_sessions[session.access.token] = session
        return session

    def close(self) -> None:
        FakeryGateway.closed += 1


class FakerySession:
    services = ()

    def __init__(self, spec: GatewaySpec) -> None:
        self.spec, self.error = spec, None
        servers = tuple(McpServer(c.id, "http://127.0.0.1:1/channels/" + c.id) for c in spec.channels)
        self.access = Access({"fakery": "http://127.0.0.1:1/fakery"}, f"throwaway-{secrets.token_hex(8)}", servers, lambda: self.error)

    def pass_on(self) -> None:
        away = switches() / "away"
        self.spec.afford()
        if away.exists():
            refused = away.read_text() == "refused"
            self.error = ProviderRefusedError("HTTP 401", any_request=True) if refused else ProviderError("HTTP 529")
            self.spec.called(GatewayCall("model", "fakery", "m", 401 if refused else 529))
            return
        self.error = None
        self.spec.called(GatewayCall("other", "fakery", "", 200))
        self.spec.called(GatewayCall("channel", "prices", "get_prices", 200, "d1", "d2"))
        self.spec.called(GatewayCall("model", "fakery", "m", 200, "d3", usage=Usage(1000, 0, 100, 0)))

    def settle(self, seconds: float = 5.0) -> None:
        pass

    def close(self) -> None:
        FakeryGateway.open_sessions.pop(self.access.token, None)


class Tap:
    """A channel with a server."""

    api_version: ClassVar = 1
    description: ClassVar = "Prices for tests."
    Options: ClassVar = NoOptions
    id = "tap"

    def __init__(self, options: NoOptions) -> None:
        pass

    def describe(self) -> ChannelSpec:
        return ChannelSpec("tap", "Prices out of the tap.", frozenset({"prices"}), server=ServerSpec(("tap",)))


class CallerOptions(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    model: str = Field(default="m", description="the model it asks")
    upstream: str = Field(default="fakery", description="where it asks")


class Caller(Worker):
    """An agent that calls its model twice a turn through the gateway, and says its token."""

    Options: ClassVar = CallerOptions
    id = "caller"

    def __init__(self, options: CallerOptions) -> None:
        models = (options.model,) if options.model else ()
        self.capabilities = AgentCapabilities(uses_box=False, upstreams=(options.upstream,), models=models, channels=True)

    def start(self, setting: Setting) -> None:
        self.access = setting.access

    def send(self, message: str, context: TurnContext) -> AgentTurn:
        for _ in range(2):
            FakeryGateway.open_sessions[self.access.token].pass_on()
            if (error := self.access.failure()) is not None:
                raise error
        return AgentTurn(f"My token is {self.access.token}; I have {[s.name for s in self.access.servers]}.", Usage(1, 1, 1, 1, 9.0))


class SamplePersona:
    api_version: ClassVar = 1
    description: ClassVar = "A persona made up for tests."
    Options: ClassVar = NoOptions

    def __init__(self, options: NoOptions) -> None:
        self.persona: Persona = sample_persona()


class Nowhere(MemorySandbox):
    api_version: ClassVar = 1
    description: ClassVar = "A sandbox that starts nothing."
    Options: ClassVar = NoOptions

    def __init__(self, options: Any) -> None:
        super().__init__({}, "nowhere")
