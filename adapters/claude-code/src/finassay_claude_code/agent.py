"""The agent `claude-code`: Claude Code, started once per turn in its print mode."""

import json
import uuid
from collections.abc import Iterable
from typing import Any, ClassVar, Final, Literal

from pydantic import BaseModel, Field

from finassay_claude_code.stream import read
from finassay_cli_kit import Command, Ending, InstalledAgent, KitEvent, ProgramSpec, ToolOptions, TurnCommand, UserFile, flags, http_servers

CONFIG: Final = "claude"
"""Its configuration folder in the private home."""
NO_ANSWERER: Final = ("AskUserQuestion", "EnterPlanMode", "ExitPlanMode")
"""Tools that wait for somebody at a terminal."""
OUTLIVES: Final = ("CronCreate", "CronDelete", "CronList", "ScheduleWakeup", "EnterWorktree", "ExitWorktree", "RemoteTrigger")
"""Tools for things that happen after the turn, when no process of it lives."""
ALIASES: Final = ("default", "best", "fable", "opus", "sonnet", "haiku", "opusplan")
"""Words that the program takes for a model of its own choice."""
WEB: Final = ("WebSearch", "WebFetch")


class ClaudeCodeOptions(ToolOptions):
    """What a run can set with -o claude-code.NAME=VALUE."""

    effort: Literal["", "low", "medium", "high", "xhigh", "max"] = Field(
        default="", description="How hard the model thinks; the program's default if empty."
    )
    bare: bool = Field(
        default=False, description="The program's minimal mode: a short system prompt and only the tools Bash, Read and Edit."
    )


class ClaudeCodeAgent(InstalledAgent[ClaudeCodeOptions]):
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

    login_variables = ("CLAUDE_CODE_OAUTH_TOKEN",)
    login_files: ClassVar = {f"{CONFIG}/.credentials.json": UserFile("CLAUDE_CONFIG_DIR", "~/.claude", ".credentials.json")}

    def models(self) -> tuple[str, ...]:
        # What stands in requests: the program resolves an alias to a name that only it knows, and [1m] asks for a longer context.
        asked, _, _ = self.options.model.partition("[")
        return (asked,) if asked and asked not in ALIASES else ()

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
        argv += flags(model=options.model, effort=options.effort, max_turns=options.max_turns)
        argv += ["--resume", turn.session] if turn.session else ["--session-id", str(uuid.uuid4())]
        servers = json.dumps({"mcpServers": http_servers(turn.access, type="http")})
        return Command(tuple(argv), turn.words, self._environment(turn), files={f"{CONFIG}/mcp.json": servers.encode()})

    def _environment(self, turn: TurnCommand) -> dict[str, str]:
        milliseconds = str(turn.milliseconds)
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
        if way := self.way(turn):
            variables |= {"ANTHROPIC_BASE_URL": way.url, "ANTHROPIC_API_KEY": way.token}
        for model in self.models():  # for work on the side too: the gateway lets no other pass
            variables |= {f"ANTHROPIC_DEFAULT_{role}_MODEL": model for role in ("OPUS", "SONNET", "HAIKU")}
            variables |= {"ANTHROPIC_SMALL_FAST_MODEL": model, "CLAUDE_CODE_SUBAGENT_MODEL": model}
        return variables

    def read(self, data: Any) -> Iterable[KitEvent]:
        return read(data)

    def lost(self, ending: Ending) -> bool:
        return "No conversation found" in ending.stderr or any("No conversation found" in e.text for e in ending.errors)
