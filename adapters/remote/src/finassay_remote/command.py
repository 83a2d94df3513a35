"""The agent `command`: any program that speaks the kit's line protocol, by its command."""

import json
import os
from pathlib import Path
from typing import ClassVar, Final

from attrs import evolve
from pydantic import BaseModel

from finassay.api.agent import AgentCapabilities, Diagnosis, Setting
from finassay.api.errors import AgentError
from finassay_cli_kit import Command, JsonLinesAgent, Program, ProgramSpec, TurnCommand, find_program, http_servers, python_runtime
from finassay_remote.options import CommandOptions

PYTHONS: Final = ("python", "python3")
MAX_TOLD: Final = 500
"""Characters of a command that `finassay doctor` shows."""


class CommandAgent(JsonLinesAgent):
    """A program of anybody's: started once a turn, in the sandbox, with the message on its standard input."""

    api_version: ClassVar[int] = 1
    description: ClassVar[str] = "any program that speaks JSON lines on standard output, in the sandbox"
    Options: ClassVar[type[BaseModel]] = CommandOptions
    id = "command"

    def __init__(self, options: CommandOptions, /) -> None:
        name, *arguments = options.command
        self.options = options
        runtime = python_runtime(options.python)
        if name in PYTHONS and runtime.path:  # what its shell would call python, too
            self._program = Program((str(Path(runtime.path, "python3")),))
        else:
            self._program = find_program(ProgramSpec(name, "as its makers say", (), ""), name, options.node)
        readable = (*self._program.readable, *(Path(os.path.expanduser(path)).absolute() for path in options.readable), *runtime.readable)
        super().__init__(
            self.id,
            (*self._program.argv, *arguments),
            version=options.version or self._program.version or "unknown",
            capabilities=AgentCapabilities(
                reports_usage=True,
                reports_cost=True,
                needs_network=options.network,
                upstreams=options.upstreams,
                models=options.models if options.upstreams else (),
                channels=options.channels,
                readable=tuple(dict.fromkeys(readable)),
                environment={**runtime.environment, **options.environment},
            ),
        )

    def start(self, setting: Setting) -> None:
        if self._program.problem:
            raise AgentError(f"{self.id}: {self._program.problem}", hint=self._program.hint)
        super().start(setting)

    def command(self, turn: TurnCommand) -> Command:
        """On top of the line protocol's variables: the way to models and MCP servers, where the session has one."""
        command, access = super().command(turn), turn.access
        if access is None:
            return command
        ways = {f"FINASSAY_URL_{name.upper().replace('-', '_')}": url for name, url in access.urls.items()}
        servers = {"FINASSAY_MCP": json.dumps(http_servers(access))} if access.servers else {}
        return evolve(command, environment={**command.environment, "FINASSAY_TOKEN": access.token, **ways, **servers})

    def diagnose(self) -> Diagnosis:
        """Whether the program is there."""
        program = " ".join(" ".join((*self._program.argv, *self.options.command[1:])).split())[:MAX_TOLD]
        how = (
            f"a key for {', '.join(self.options.upstreams)}, behind the gateway"
            if self.options.upstreams
            else "its model calls are its own affair"
        )
        return Diagnosis(program, self.version, how, self._program.problem, self._program.hint)
