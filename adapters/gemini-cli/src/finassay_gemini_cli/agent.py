"""The agent `gemini-cli`: Gemini CLI, started once per turn in its headless mode."""

import json
import re
import uuid
from collections.abc import Iterable
from typing import Any, ClassVar, Final

from attrs import evolve
from pydantic import BaseModel, Field

from finassay.api.errors import AgentError, ProviderError
from finassay_cli_kit import (
    Command,
    Ending,
    InstalledAgent,
    KitEvent,
    NodeProgramOptions,
    ProgramSpec,
    ToolOptions,
    TurnCommand,
    UserFile,
    http_servers,
)
from finassay_gemini_cli.stream import Reader, failed, status_of

HOME: Final = "gemini"
"""Its home in the private home; it makes `.gemini` there."""
MEMORY: Final = ("save_memory",)
NO_ANSWERER: Final = ("ask_user", "enter_plan_mode", "exit_plan_mode")
"""Tools that wait for somebody at a terminal."""
WEB: Final = ("google_web_search", "web_fetch")
AUTO: Final = "auto"
MENTION: Final = re.compile(r"(?<!\\)@(?=[^\s,;!?()\[\]{}])")
"""What the program takes for the name of a file to read into the prompt, or of an agent to call, unless a backslash stands before it."""


class GeminiCliOptions(ToolOptions, NodeProgramOptions):
    """What a run can set with -o gemini-cli.NAME=VALUE."""

    model: str = Field(
        default="gemini-2.5-pro",
        min_length=1,
        description="Model, as the program names it. `auto` lets the program choose for each prompt, which costs a call more.",
    )
    models: tuple[str, ...] = Field(
        default=(), description="Further models that the gateway lets it ask for; the program uses small ones for work on the side."
    )


class GeminiCliAgent(InstalledAgent[GeminiCliOptions]):
    """Gemini CLI with a private home, without memory, and with leave to do anything that the sandbox lets it do."""

    api_version: ClassVar[int] = 1
    description: ClassVar[str] = "Gemini CLI, the command-line agent of Google"
    Options: ClassVar[type[BaseModel]] = GeminiCliOptions
    id = "gemini-cli"
    spec = ProgramSpec("gemini", install="npm install -g @google/gemini-cli", tried=("0.61.0",), oldest="0.60.0", node="20")
    upstream = "google"

    login_files: ClassVar = {f"{HOME}/.gemini/oauth_creds.json": UserFile("GEMINI_CLI_HOME", "~", ".gemini/oauth_creds.json")}

    def models(self) -> tuple[str, ...]:
        return () if self.options.model == AUTO else tuple(dict.fromkeys((self.options.model, *self.options.models)))

    def command(self, turn: TurnCommand) -> Command:
        self._reader = Reader()
        argv = [*self.program.argv, "-o", "stream-json", "--yolo", "--skip-trust", "-m", self.options.model]
        argv += ["--resume", turn.session] if turn.session else ["--session-id", str(uuid.uuid4())]
        settings = json.dumps(self._settings(turn)).encode()
        return Command(
            tuple(argv), MENTION.sub(r"\\@", turn.words), self._environment(turn), files={f"{HOME}/.gemini/settings.json": settings}
        )

    def _environment(self, turn: TurnCommand) -> dict[str, str]:
        variables = {
            "GEMINI_CLI_HOME": f"{turn.home}/{HOME}",
            "GEMINI_CLI_NO_RELAUNCH": "1",  # else it starts itself again as a child, and ignores signals
            # What stands here cannot be set by a file in the workspace.
            "GEMINI_SANDBOX": "false",
            "GEMINI_SYSTEM_MD": "false",
            "GEMINI_WRITE_SYSTEM_MD": "false",
            "GEMINI_TELEMETRY_ENABLED": "false",
            "NO_COLOR": "1",
            "TERM": "dumb",
        }
        if way := self.way(turn):
            variables |= {"GOOGLE_GEMINI_BASE_URL": way.url, "GEMINI_API_KEY": way.token}
        return variables

    def _settings(self, turn: TurnCommand) -> dict[str, Any]:
        options = self.options
        refused = (*MEMORY, *NO_ANSWERER, *options.refused_tools, *(() if turn.brief.network else WEB))
        return {
            "security": {"auth": {"selectedType": "oauth-personal" if self.login is not None else "gemini-api-key"}},
            "privacy": {"usageStatisticsEnabled": False},
            "telemetry": {"enabled": False},
            "general": {
                "enableAutoUpdate": False,
                "enableAutoUpdateNotification": False,
                "maxAttempts": options.retries + 1,
                "sessionRetention": {"enabled": False},
                "plan": {"enabled": False},
            },
            "model": {"maxSessionTurns": options.max_turns or -1},
            "tools": {
                "exclude": list(refused),
                "shell": {"enableInteractiveShell": False, "inactivityTimeout": max(300, int(turn.seconds))},
            },
            "advanced": {"ignoreLocalEnv": True},
            "hooksConfig": {"enabled": False},
            "skills": {"enabled": False},
            "experimental": {"autoMemory": False},
            "mcpServers": http_servers(turn.access, url="httpUrl", trust=True, timeout=turn.milliseconds),
        }

    def read(self, data: Any) -> Iterable[KitEvent]:
        return self._reader.read(data)

    def failure(self, ending: Ending) -> AgentError | ProviderError:
        status = 404 if "ModelNotFoundError" in ending.stderr else status_of(ending.exit_code)
        if ending.errors and status:
            ending = evolve(ending, errors=(failed(ending.errors[-1].text, status),))
        return super().failure(ending)

    def lost(self, ending: Ending) -> bool:
        return "Error resuming session" in ending.stderr
