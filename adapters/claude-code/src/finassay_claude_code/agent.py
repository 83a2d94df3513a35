"""The agent `claude-code`: Claude Code, started once per turn in its print mode."""

import json
import uuid
from collections.abc import Iterable
from typing import ClassVar, Final, Literal

from attrs import evolve
from pydantic import BaseModel, Field

from finassay.api.errors import AgentError, ProviderError
from finassay_claude_code.stream import read_line
from finassay_cli_kit import (
    Command,
    Ending,
    InstalledAgent,
    KitEvent,
    Login,
    ProgramOptions,
    ProgramSpec,
    TurnCommand,
    as_words,
    http_servers,
    read_login,
    user_folder,
)

CONFIG: Final = "claude"
"""Its configuration folder in the private home."""
NO_ANSWERER: Final = ("AskUserQuestion", "EnterPlanMode", "ExitPlanMode")
"""Tools that wait for somebody at a terminal."""
OUTLIVES: Final = ("CronCreate", "CronDelete", "CronList", "ScheduleWakeup", "EnterWorktree", "ExitWorktree", "RemoteTrigger")
"""Tools for things that happen after the turn, when no process of it lives."""
ALIASES: Final = ("default", "best", "fable", "opus", "sonnet", "haiku", "opusplan")
"""Words that the program takes for a model of its own choice."""
WEB: Final = ("WebSearch", "WebFetch")


class ClaudeCodeOptions(ProgramOptions):
    """What a run can set with -o claude-code.NAME=VALUE."""

    upstream: str = Field(
        default="", description="Model API at the gateway; `anthropic` if empty. Another one must speak the Anthropic Messages API."
    )
    effort: Literal["", "low", "medium", "high", "xhigh", "max"] = Field(
        default="", description="How hard the model thinks; the program's default if empty."
    )
    max_turns: int | None = Field(
        default=None, ge=1, description="Most model calls in one turn of the conversation; no limit if not given."
    )
    bare: bool = Field(
        default=False, description="The program's minimal mode: a short system prompt and only the tools Bash, Read and Edit."
    )
    refused_tools: tuple[str, ...] = Field(
        default=(), description="Tools that the model may not use, such as WebSearch or 'Bash(git *)', besides those that need a person."
    )


class ClaudeCodeAgent(InstalledAgent):
    """Claude Code with a private configuration, without memory, and with leave to do anything that the sandbox lets it do."""

    api_version: ClassVar[int] = 1
    description: ClassVar[str] = "Claude Code, the command-line agent of Anthropic"
    Options: ClassVar[type[BaseModel]] = ClaudeCodeOptions
    id = "claude-code"
    spec = ProgramSpec(
        "claude",
        install="npm install -g @anthropic-ai/claude-code",
        tried=("2.1.332",),
        oldest="2.1.300",
        native=("@anthropic-ai/claude-code-*/claude",),
    )
    upstream = "anthropic"
    reports_cost = True

    def __init__(self, options: ClaudeCodeOptions, /) -> None:
        self.options = options
        super().__init__(options)
        # What stands in requests: the program resolves an alias to a name that only it knows, and [1m] asks for a longer context.
        asked, _, _ = options.model.partition("[")
        self._model = "" if asked in ALIASES else asked
        self.capabilities = evolve(self.capabilities, models=(self._model,) if self._model and not options.login else ())

    def read_login(self) -> Login:
        credentials = user_folder("CLAUDE_CONFIG_DIR", "~/.claude") / ".credentials.json"
        return read_login(("CLAUDE_CODE_OAUTH_TOKEN",), {f"{CONFIG}/.credentials.json": credentials})

    def command(self, turn: TurnCommand) -> Command:
        options = self.options
        refused = [*NO_ANSWERER, *OUTLIVES, *options.refused_tools, *(() if turn.brief.network else WEB)]
        argv = [*self.program.argv, "-p", "--output-format", "stream-json", "--verbose", "--permission-mode", "bypassPermissions"]
        argv += [
            "--setting-sources",
            "",
            "--disable-slash-commands",
            "--strict-mcp-config",
            "--mcp-config",
            f"{turn.home}/{CONFIG}/mcp.json",
        ]
        argv += ["--disallowed-tools", ",".join(refused)]
        argv += ["--bare"] if options.bare else []
        argv += ["--model", options.model] if options.model else []
        argv += ["--effort", options.effort] if options.effort else []
        argv += ["--max-turns", str(options.max_turns)] if options.max_turns is not None else []
        argv += ["--resume", turn.session] if turn.session else ["--session-id", str(uuid.uuid4())]
        servers = json.dumps({"mcpServers": http_servers(turn.access, type="http")})
        login = self.login or Login()
        return Command(
            tuple(argv),
            stdin=as_words(turn.prompt).encode("utf-8", "replace"),
            environment={**self._environment(turn), **login.environment},
            files={f"{CONFIG}/mcp.json": servers.encode()},
            files_once=login.files,
        )

    def _environment(self, turn: TurnCommand) -> dict[str, str]:
        milliseconds = str(max(1_000, int(turn.seconds * 1_000)))
        variables = {
            "CLAUDE_CONFIG_DIR": f"{turn.home}/{CONFIG}",
            "IS_SANDBOX": "1",  # it refuses to work unattended as root unless it is told that it is confined
            "DISABLE_AUTOUPDATER": "1",
            "DISABLE_TELEMETRY": "1",
            "DISABLE_ERROR_REPORTING": "1",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "CLAUDE_CODE_DISABLE_AUTO_MEMORY": "1",
            "CLAUDE_CODE_DISABLE_BACKGROUND_TASKS": "1",  # it would wait for them after its answer, and answer again
            "CLAUDE_CODE_DISABLE_FILE_MENTIONS": "1",  # an @ in the person's words is no wish for a file
            "ENABLE_TOOL_SEARCH": "false",
            "CLAUDE_CODE_MAX_RETRIES": str(self.options.retries),
            "API_TIMEOUT_MS": milliseconds,
            "BASH_DEFAULT_TIMEOUT_MS": milliseconds,
            "BASH_MAX_TIMEOUT_MS": milliseconds,
            "MCP_TOOL_TIMEOUT": milliseconds,
        }
        if self.login is None and turn.access is not None:
            variables |= {"ANTHROPIC_BASE_URL": self.base_url(turn.access), "ANTHROPIC_API_KEY": turn.access.token}
        if self._model:
            roles = ("OPUS", "SONNET", "HAIKU")
            variables |= {f"ANTHROPIC_DEFAULT_{role}_MODEL": self._model for role in roles}
            variables |= {"ANTHROPIC_SMALL_FAST_MODEL": self._model, "CLAUDE_CODE_SUBAGENT_MODEL": self._model}
        return variables

    def events(self, line: bytes) -> Iterable[KitEvent]:
        return read_line(line)

    def failure(self, ending: Ending) -> AgentError | ProviderError:
        return super().failure(ending)

    def lost(self, ending: Ending) -> bool:
        return "No conversation found" in ending.stderr or any("No conversation found" in e.text for e in ending.errors)
