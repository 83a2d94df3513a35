"""The agent `acp`."""

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import ClassVar, Final

from pydantic import BaseModel

from finassay.api.agent import AgentCapabilities, Diagnosis, Setting
from finassay.api.credentials import credential
from finassay.api.errors import AgentError
from finassay.api.sandbox import BoxProcess
from finassay_acp.exchange import Exchange, Terms
from finassay_acp.hello import Hello, greet
from finassay_acp.options import AcpOptions, Filling
from finassay_cli_kit import (
    Command,
    CommandLineAgent,
    Intake,
    KitEvent,
    ProgramSpec,
    TurnCommand,
    brief_and_message,
    find_program,
    python_runtime,
)

NOWHERE: Final = "http://127.0.0.1:9"
"""Stands for the gateway where a program is only asked for its name."""


class AcpAgent(CommandLineAgent):
    """Any program that speaks the Agent Client Protocol on its standard input and output.

    Its process ends with each turn, so that nothing acts between turns; the next one takes the session up again (`session/resume`, else
    `session/load`). A program that can do neither gets a new session with the transcript.
    """

    api_version: ClassVar[int] = 1
    description: ClassVar[str] = "any agent that speaks the Agent Client Protocol (ACP)"
    Options: ClassVar[type[BaseModel]] = AcpOptions
    id = "acp"

    def __init__(self, options: AcpOptions) -> None:
        self.options = options
        name, *self._arguments = options.command
        self._program = find_program(ProgramSpec(name, "as its makers say", (), ""), name, options.node)
        runtime = python_runtime(options.python)
        self.capabilities = AgentCapabilities(
            reports_usage=True,
            needs_network=bool(options.secrets) and not options.upstreams(),
            credentials=options.secrets,
            upstreams=options.upstreams(),
            models=options.models if options.upstreams() else (),
            channels=True,
            readable=tuple(dict.fromkeys((*self._program.readable, *map(_path, options.readable), *runtime.readable))),
            environment=runtime.environment,
        )
        self._hello = None if self._program.problem else self._greet()
        self.version = (self._hello.name if self._hello is not None else "") or "unknown"

    def _greet(self) -> Hello:
        options, fill = self.options, Filling("finassay", dict.fromkeys(self.options.upstreams(), NOWHERE))
        environment = {**dict.fromkeys(options.secrets, "finassay"), **{name: fill(text) for name, text in options.environment.items()}}
        files = {name: fill(text) for name, text in options.files.items()}
        return greet((*self._program.argv, *map(fill, self._arguments)), environment, files)

    def start(self, setting: Setting) -> None:
        diagnosis = self.diagnose()
        if diagnosis.problem:
            raise AgentError(f"{self.id}: {diagnosis.problem}", hint=diagnosis.hint)
        super().start(setting)

    def secrets(self) -> Iterable[str]:
        return self._secrets().values()

    def _secrets(self) -> Mapping[str, str]:
        return {name: credential((name,)) or "" for name in self.options.secrets}

    def command(self, turn: TurnCommand) -> Command:
        options, fill = self.options, Filling.of(turn.access)
        return Command(
            argv=(*self._program.argv, *map(fill, self._arguments)),
            stdin=None,
            environment={**self._secrets(), **{name: fill(text) for name, text in options.environment.items()}},
            files={name: fill(text).encode() for name, text in options.files.items()},
        )

    def converse(self, process: BoxProcess, turn: TurnCommand, intake: Intake) -> None:
        options, access = self.options, turn.access
        terms = Terms(
            cwd=turn.inside,
            session=turn.session,
            message=turn.message,
            opening=brief_and_message(turn.brief, turn.said, turn.message),
            seconds=turn.seconds,
            failed=lambda: access is not None and access.failure() is not None,
            servers=access.servers if access is not None else (),
            permission=options.permission,
            login=options.login,
            mode=options.mode,
            model=options.model,
            config=options.config,
            start_seconds=options.start_seconds,
            cumulative_usage=options.usage == "session",
        )
        Exchange(terms, intake).run(process)

    def events(self, line: bytes) -> Iterable[KitEvent]:
        """Nothing: lines are read by the turn's exchange, which also answers them."""
        return ()

    def diagnose(self) -> Diagnosis:
        """Whether the program is there and answers to the protocol."""
        options, program = self.options, " ".join((*self._program.argv, *self._arguments))
        if options.upstreams():
            how = f"a key for {', '.join(options.upstreams())}, behind the gateway"
        else:
            how = f"{', '.join(options.secrets)}, which the agent can read" if options.secrets else "the program's own"
        problem, hint = self._program.problem, self._program.hint
        if self._hello is not None and self._hello.problem:
            problem, hint = self._hello.problem, "Start it by hand to see why."
        return Diagnosis(program, "" if problem else self.version, how, problem, hint)


def _path(text: str) -> Path:
    return Path(os.path.expanduser(text)).absolute()
