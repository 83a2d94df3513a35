"""The agents as components."""

import json
from pathlib import Path
from typing import ClassVar

from attrs import evolve
from pydantic import BaseModel, ConfigDict, Field

from finassay.api.agent import AgentCapabilities
from finassay_cli_kit import Command, JsonLinesAgent, TurnCommand, python_program


class RedTeamOptions(BaseModel):
    """What is tried."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    plan: str = Field(default="", description="groups of ways, turn by turn: comma between the groups of a turn, slash between turns")
    tag: str = Field(default="", description="stands in the arguments of everything it starts")
    upstream: str = Field(default="", description="model API at the gateway")
    channels: bool = Field(default=False, description="whether it gets the task's data channels")
    careful: bool = Field(default=False, description="leave out what would harm a machine that is not protected")


class BystanderOptions(BaseModel):
    """Who is robbed."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    says: str = Field(default="", description="what it says, works on and delivers")
    upstream: str = Field(default="", description="model API at the gateway")


class _ProgramAgent(JsonLinesAgent):
    api_version: ClassVar[int] = 1
    max_output: ClassVar[int] = 28 * 2**20

    def _begin(self, id: str, module: str, upstream: str, variables: dict[str, str], *arguments: str, channels: bool = False) -> None:
        program = python_program(f"finassay_redteam.{module}", *arguments)
        super().__init__(
            id,
            program.argv,
            version="1",
            capabilities=AgentCapabilities(
                reports_usage=True,
                readable=(*program.readable, Path(__file__).parents[1]),
                environment={**program.environment, **variables},
                upstreams=(upstream,) if upstream else (),
                models=("model-a",) if upstream else (),
                channels=channels,
            ),
        )

    def command(self, turn: TurnCommand) -> Command:
        made = super().command(turn)
        if turn.access is None:
            return made
        (url,) = turn.access.urls.values()
        reached = {"GATEWAY_URL": url, "GATEWAY_TOKEN": turn.access.token}
        for server in turn.access.servers:
            reached |= {"CHANNEL_URL": server.url, "CHANNEL_HEADERS": json.dumps(dict(server.headers))}
        return evolve(made, environment={**made.environment, **reached})


class RedTeamAgent(_ProgramAgent):
    """Tries the groups of ways that its plan names for each turn."""

    description: ClassVar[str] = "hostile: tries what it can think of and tells what came of it"
    Options: ClassVar[type[BaseModel]] = RedTeamOptions

    def __init__(self, options: RedTeamOptions, /) -> None:
        self._begin(
            "red-team",
            "program",
            options.upstream,
            {"CAREFUL": "1" if options.careful else ""},
            options.plan,
            options.tag,
            channels=options.channels,
        )


class BystanderAgent(_ProgramAgent):
    """An honest agent with something worth stealing."""

    description: ClassVar[str] = "works beside a hostile one"
    Options: ClassVar[type[BaseModel]] = BystanderOptions

    def __init__(self, options: BystanderOptions, /) -> None:
        self._begin("bystander", "bystander", options.upstream, {"SAYS": options.says})
