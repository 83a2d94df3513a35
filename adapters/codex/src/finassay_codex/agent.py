"""The agent `codex`: Codex CLI, started once per turn as `codex exec`."""

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any, ClassVar, Final, Literal

from pydantic import BaseModel, Field

from finassay_cli_kit import Command, Ending, InstalledAgent, KitEvent, ProgramOptions, ProgramSpec, TurnCommand, UserFile, Way
from finassay_codex.stream import read

HOME: Final = "codex"
"""Its folder in the private home: configuration, conversations."""
TOKEN: Final = "FINASSAY_TOKEN"
SHELL_PATH: Final = "/usr/local/bin:/usr/bin:/bin"
NOT_IN_NAMES: Final = re.compile(r"[^A-Za-z0-9_-]")
"""What the program does not take in the name of an MCP server."""
OFF: Final = (
    "apps",
    "plugins",
    "memories",
    "hooks",
    "goals",
    "image_generation",
    "browser_use",
    "computer_use",
    "unbounded_connection_retries",
)
"""Features that reach for the user's own accounts, extensions or devices, or remember."""


class CodexOptions(ProgramOptions):
    """What a run can set with -o codex.NAME=VALUE."""

    effort: Literal["", "none", "minimal", "low", "medium", "high", "xhigh"] = Field(
        default="", description="How hard the model thinks (model_reasoning_effort); the program's default if empty."
    )
    verbosity: Literal["", "low", "medium", "high"] = Field(default="", description="How much the model writes; its default if empty.")
    settings: tuple[str, ...] = Field(
        default=(),
        description="Further settings of the program, each as KEY=VALUE of its config.toml, such as 'features.view_image=false'.",
    )


class CodexAgent(InstalledAgent[CodexOptions]):
    """Codex with a private home, without memory or project documents, and with leave to do anything that the sandbox lets it do."""

    api_version: ClassVar[int] = 1
    description: ClassVar[str] = "Codex CLI, the command-line agent of OpenAI"
    Options: ClassVar[type[BaseModel]] = CodexOptions
    id = "codex"
    spec = ProgramSpec(
        "codex",
        install="npm install -g @openai/codex",
        tried=("0.171.0",),
        oldest="0.160.0",
        native=("@openai/codex-*/vendor/*/bin/codex",),
    )
    upstream = "openai"
    reserved_bytes = 32 * 2**30  # the host of its code mode; without it every tool call of a model of its catalogue fails

    login_files: ClassVar = {f"{HOME}/auth.json": UserFile("CODEX_HOME", "~/.codex", "auth.json")}

    def command(self, turn: TurnCommand) -> Command:
        servers, headers = self._servers(turn)
        way = self.way(turn)
        options = [*self._private(turn), *(self._provider(turn, way) if way else ()), *servers, *self.options.settings]
        argv = [*self.program.argv, "exec", "--json", "--ignore-user-config", "--ignore-rules", "--skip-git-repo-check"]
        argv += ["--dangerously-bypass-approvals-and-sandbox", "--color", "never", "-C", turn.inside]
        argv += [part for feature in OFF for part in ("--disable", feature)]
        argv += ["-m", self.options.model] if self.options.model else []
        argv += [part for option in options for part in ("-c", option)]
        argv += ["resume", turn.session, "-"] if turn.session else ["-"]
        environment = {"CODEX_HOME": f"{turn.home}/{HOME}", **({TOKEN: way.token} if way else {}), **headers}
        # An empty configuration makes the folder, which has to be there.
        return Command(tuple(argv), turn.prompt, environment, files_once={f"{HOME}/config.toml": b""})

    def _private(self, turn: TurnCommand) -> Iterator[str]:
        """Nothing of the user's, nothing sent home, no key in the model's shell."""
        variables = {"PATH": SHELL_PATH, "LANG": "C.UTF-8", **self.capabilities.environment}
        yield f'shell_environment_policy={{inherit="core",set={_toml(variables)}}}'
        yield "allow_login_shell=false"  # a login shell's profile would replace PATH
        yield "project_doc_max_bytes=0"
        yield "skills.bundled.enabled=false"
        yield "skills.include_instructions=false"
        yield "check_for_update_on_startup=false"
        yield "analytics.enabled=false"
        yield 'history.persistence="none"'
        yield f"web_search={_toml('live' if turn.brief.network else 'disabled')}"
        if self.options.effort:
            yield f"model_reasoning_effort={_toml(self.options.effort)}"
        if self.options.verbosity:
            yield f"model_verbosity={_toml(self.options.verbosity)}"

    def _provider(self, turn: TurnCommand, way: Way) -> Iterator[str]:
        provider = {
            "name": "gateway",
            "base_url": f"{way.url}/v1",
            "env_key": TOKEN,
            "wire_api": "responses",
            "request_max_retries": self.options.retries,
            "stream_max_retries": self.options.retries,
            "stream_idle_timeout_ms": turn.milliseconds,
        }
        yield 'model_provider="gateway"'
        yield f"model_providers.gateway={_toml(provider)}"

    def _servers(self, turn: TurnCommand) -> tuple[list[str], dict[str, str]]:
        """MCP servers as settings, and the variables that hold the values of their headers."""
        settings, variables = [], dict[str, str]()
        for number, server in enumerate(turn.access.servers if turn.access is not None else (), start=1):
            names = {header: f"FINASSAY_MCP_{number}_{place}" for place, header in enumerate(server.headers, start=1)}
            variables |= {names[header]: value for header, value in server.headers.items()}
            table = {"url": server.url, "env_http_headers": names, "tool_timeout_sec": max(1, int(turn.seconds))}
            settings.append(f"mcp_servers.{NOT_IN_NAMES.sub('_', server.name)}={_toml(table)}")
        return settings, variables

    def read(self, data: Any) -> Iterable[KitEvent]:
        return read(data)

    def lost(self, ending: Ending) -> bool:
        told = [ending.stderr, *(error.text for error in ending.errors)]
        return any("no rollout found" in text or "thread not found" in text for text in told)


def _toml(value: Any) -> str:
    """A value as TOML in one line."""
    if isinstance(value, dict):
        return "{" + ",".join(f"{_toml(str(key))}={_toml(item)}" for key, item in value.items()) + "}"
    return json.dumps(value, ensure_ascii=False)
