"""The base class of agents that are installed programs with a model behind them."""

import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar

from attrs import evolve, frozen

from finassay.api.agent import AgentCapabilities, Diagnosis, Setting
from finassay.api.errors import AgentError
from finassay.api.gateway import Access
from finassay_cli_kit.agent import Command, CommandLineAgent, TurnCommand
from finassay_cli_kit.events import KitEvent
from finassay_cli_kit.find import ProgramSpec, find_program
from finassay_cli_kit.login import Login, read_login
from finassay_cli_kit.options import ProgramOptions
from finassay_cli_kit.runtime import python_runtime

OptionsT = TypeVar("OptionsT", bound=ProgramOptions)


@frozen
class Way:
    """Where a program's model calls go, and what takes the key's place there."""

    url: str
    """Without a version path."""
    token: str


@frozen
class UserFile:
    """A file of the user's own settings: in the folder that a variable names, else in `folder`, which may begin with `~`."""

    variable: str
    folder: str
    name: str

    @property
    def path(self) -> Path:
        return user_folder(self.variable, self.folder) / self.name


class InstalledAgent(CommandLineAgent, Generic[OptionsT]):
    """An agent of somebody else's making: found on this machine, given a private home, the gateway and the session's MCP servers.

    A subclass gives `id`, `spec`, `upstream`, `command` and either `read`, if its program prints a JSON value in each line, or `events`; and
    where its program keeps logins of its own.
    """

    spec: ClassVar[ProgramSpec]
    upstream: ClassVar[str]
    """The model API at the gateway whose protocol its program speaks, by default; empty for a program without a model behind it."""
    reports_usage: ClassVar[bool] = True
    reports_cost: ClassVar[bool] = False
    reserved_bytes: ClassVar[int] = 0
    """As in `AgentCapabilities`."""
    login_variables: ClassVar[tuple[str, ...]] = ()
    """Environment variables that may hold a token of the program's own."""
    login_files: ClassVar[Mapping[str, UserFile]] = {}
    """Path in the private home to the user's file that holds a login of the program's own."""

    def __init__(self, options: OptionsT, /) -> None:
        self.options = options
        self.program = find_program(self.spec, options.program, getattr(options, "node", ""))
        self._runtime = python_runtime(options.python)
        self._own_upstream = options.upstream or self.default_upstream()
        self._login = self.read_login() if options.login else None
        self.version = self.program.version or "unknown"
        self.capabilities = AgentCapabilities(
            reports_usage=self.reports_usage,
            reports_cost=self.reports_cost,
            needs_network=options.login,
            upstreams=(self._own_upstream,) if self._own_upstream and not options.login else (),
            models=() if options.login else self.models(),
            channels=True,
            readable=tuple(dict.fromkeys((*self.program.readable, *self._runtime.readable))),
            environment={**self._runtime.environment, **self.program.environment},
            reserved_bytes=self.reserved_bytes,
        )

    def models(self) -> tuple[str, ...]:
        """Names that stand in its requests, which alone the gateway lets pass; none if it may ask for any."""
        return (self.options.model,) if self.options.model else ()

    def default_upstream(self) -> str:
        """The model API at the gateway where the options name none."""
        return self.upstream

    def read_login(self) -> Login:
        """The program's own login on this machine; an empty one if there is none, or if the program has no such thing."""
        return read_login(self.login_variables, {target: file.path for target, file in self.login_files.items()})

    @property
    def login(self) -> Login | None:
        """The login that the program works with; None if it goes through the gateway."""
        return self._login

    def way(self, turn: TurnCommand) -> Way | None:
        """The way to its models, for a program that has no login of its own. Raises `AgentError` as `base_url`."""
        if self._login is not None or turn.access is None:
            return None
        return Way(self.base_url(turn.access), turn.access.token)

    def prepared(self, turn: TurnCommand) -> Command:
        """The adapter's command, with the login that the program works with."""
        command, login = self.command(turn), self._login or Login()
        return evolve(command, environment={**command.environment, **login.environment}, files_once={**command.files_once, **login.files})

    def events(self, line: bytes) -> Iterable[KitEvent]:
        return self.read(json.loads(line)) if line.strip() else ()

    def read(self, data: Any) -> Iterable[KitEvent]:
        """What the JSON value of a line means; nothing, or raises, where it means nothing."""
        raise TypeError(f"{type(self).__name__} reads no lines: it needs `read`, or `events`")

    def base_url(self, access: Access | None) -> str:
        """Where the program's model calls go, without a version path. Raises `AgentError` without a gateway."""
        urls = access.urls if access is not None else {}
        if self._own_upstream not in urls:
            raise AgentError(f"{self.id} has no way to its models", hint="Run it with a gateway, or with the option login = true.")
        return urls[self._own_upstream].rstrip("/")

    def start(self, setting: Setting) -> None:
        diagnosis = self.diagnose()
        if diagnosis.problem:
            raise AgentError(f"{self.id}: {diagnosis.problem}", hint=diagnosis.hint)
        if self.capabilities.upstreams:
            self.base_url(setting.access)
        super().start(setting)

    def secrets(self) -> Iterable[str]:
        return self._login.secrets() if self._login is not None else ()

    def diagnose(self) -> Diagnosis:
        """What `finassay doctor --agents` says: the program, its version, how its model calls are paid."""
        program = self.program.argv[-1]
        if self._login is None:
            how = f"a key for {self._own_upstream}, behind the gateway" if self._own_upstream else "no model behind it"
        else:
            how = f"its own login ({self._login.found})" if self._login.found else ""
        if self.program.problem or how:
            return Diagnosis(program, self.program.version, how, self.program.problem, self.program.hint)
        return Diagnosis(
            program, self.program.version, "", "it is not logged in on this machine", f"Log in with {self.spec.name}, then try again."
        )


def user_folder(variable: str, default: str) -> Path:
    """A folder of the user's own settings: where an environment variable says, else `default`, which may begin with `~`."""
    return Path(os.environ.get(variable) or os.path.expanduser(default))
