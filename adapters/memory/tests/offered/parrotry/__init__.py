"""A distribution for tests, made visible by putting its folder on the path. What its agents and its model hear goes, a JSON line each, into the
file that PARROTRY_HEARD names. A file of that name with `.edits` behind it holds what the model answers; while there is one with `.away`, the
parrot's provider fails in the second turn."""

import json
import os
from pathlib import Path
from typing import Any, ClassVar

from attrs import evolve
from pydantic import BaseModel, ConfigDict, Field

from finassay.api.agent import AgentCapabilities, AgentTurn, Setting, TurnContext
from finassay.api.errors import ProviderError
from finassay.api.model import ChatMessage, ChatReply, ChatRequest, ModelCapabilities, Models
from finassay.api.persona import Persona
from finassay.api.usage import Usage
from finassay.testing.fakes import MemorySandbox
from finassay.testing.samples import sample_persona

HEARD = "PARROTRY_HEARD"
ASKS = "How should I size the positions? What is your stop level, in percent? Are there trading costs?"


def heard(who: str, **what: Any) -> None:
    if HEARD in os.environ:
        with open(os.environ[HEARD], "a") as stream:
            stream.write(json.dumps({"who": who, **what}) + "\n")


class NoOptions(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Parrot:
    """Asks for everything, then repeats all that it heard, in its messages and in its report."""

    api_version: ClassVar = 1
    description: ClassVar = "An agent that repeats what it hears."
    Options: ClassVar = NoOptions
    id, version = "parrot", "3.1"
    capabilities = AgentCapabilities()
    identity: ClassVar = {"feathers": "green"}

    def __init__(self, options: NoOptions) -> None:
        self.said: list[str] = []

    def start(self, setting: Setting) -> None:
        self.workspace = setting.box.workspace
        self.said = [m.text for m in setting.history.messages if m.sender == "user"]
        heard("start", brief=setting.brief.instructions, history=[m.text for m in setting.history.messages])

    def send(self, message: str, context: TurnContext) -> AgentTurn:
        if context.turn == 2 and HEARD in os.environ and Path(os.environ[HEARD] + ".away").exists():
            raise ProviderError("overloaded")
        heard("agent", turn=context.turn, message=message)
        self.said.append(message)
        repeated = "\n\n".join(self.said)
        (self.workspace / "deliver" / "REPORT.md").write_text(f"# Report\n\n## Risks\n{repeated}\n")
        return AgentTurn(ASKS if context.turn == 1 else f"You said: {message} And before: {repeated}", Usage())

    def finalize(self) -> None:
        pass


class AskingOptions(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    model: str = Field(description="who thinks")


class Asking(Parrot):
    """An agent without a box that asks a model of the run."""

    description: ClassVar = "An agent that asks a model."
    Options: ClassVar = AskingOptions
    takes_models: ClassVar = True
    id, version = "asking", "1"
    capabilities = AgentCapabilities(uses_box=False)

    def __init__(self, options: AskingOptions, models: Models) -> None:
        self.model = models.get(options.model)

    def start(self, setting: Setting) -> None:
        self.box = setting.box

    def send(self, message: str, context: TurnContext) -> AgentTurn:
        return AgentTurn(self.model.complete(ChatRequest((ChatMessage("user", message),))).text, Usage())


class ModelOptions(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str = Field(description="the model")


class ParrotryModel:
    """Answers with the edits that it finds, and says so; without them it is away."""

    api_version: ClassVar = 1
    description: ClassVar = "A model that edits as it is told."
    Options: ClassVar = ModelOptions
    credentials: ClassVar = ()
    family = "parrotry"
    capabilities = ModelCapabilities(structured=True)

    def __init__(self, options: ModelOptions) -> None:
        self.id = f"parrotry/{options.name}"

    def complete(self, request: ChatRequest) -> ChatReply:
        prompt = "\n".join(m.text for m in request.messages)
        heard("model", role=request.role, prompt=prompt)
        if request.schema is None:
            return ChatReply("Noted. What stop?", "stop", "parrotry-exact", usage=Usage(10, 0, 5, 0, 0.01))
        edits = Path(os.environ[HEARD] + ".edits")
        if not edits.exists():
            raise ProviderError("overloaded")
        value = json.loads(edits.read_text())
        if value == "repeat":
            words = prompt.split()
            value = [
                {"op": "add", "id": "", "text": " ".join(words[i : i + 40]), "dimension": ""}
                for i in range(len(words) - 440, len(words), 40)
            ]
        return ChatReply("", "stop", "parrotry-exact", {"edits": value}, usage=Usage(10, 0, 5, 0, 0.02))


class SamplePersona:
    api_version: ClassVar = 1
    description: ClassVar = "The sample persona, with a name and a manner of its own."
    Options: ClassVar = NoOptions

    def __init__(self, options: NoOptions) -> None:
        self.persona: Persona = evolve(sample_persona(), name="QZPERSONAQZ", style="QZPERSONAQZ", background="QZPERSONAQZ")


class Nowhere(MemorySandbox):
    api_version: ClassVar = 1
    description: ClassVar = "Runs nothing."
    Options: ClassVar = NoOptions

    def __init__(self, options: NoOptions) -> None:
        super().__init__(id="nowhere")
