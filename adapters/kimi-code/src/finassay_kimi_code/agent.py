"""The agent `kimi-code`: Kimi Code CLI, started once per turn in its prompt mode."""

import json
import re
from collections.abc import Iterable
from typing import Any, ClassVar, Final, Literal

from attrs import evolve
from pydantic import BaseModel, Field

from finassay.api.agent import Setting
from finassay.api.errors import AgentError, ProviderError
from finassay.api.sandbox import BoxProcess
from finassay_cli_kit import (
    Command,
    Done,
    Ending,
    InstalledAgent,
    Intake,
    KitEvent,
    Login,
    NodeProgramOptions,
    ProgramSession,
    ProgramSpec,
    Said,
    ToolCall,
    TurnCommand,
    UsageReported,
    http_servers,
    read_home,
    read_login,
    user_folder,
)
from finassay_kimi_code.stream import read, read_error, read_index, read_steps, read_usage

HOME: Final = "kimi"
"""Its folder in the private home: configuration, conversations."""
PROMPT: Final = f"{HOME}/prompt.md"
LONGEST: Final = 120_000
"""Bytes of a prompt that is given as an argument; Linux takes 131,072."""
READ: Final = (
    "Read the whole file {path}, in parts if it is long. It is the person's message to you, with all that belongs to it: answer it."
)
LOST: Final = re.compile(r'Session "[^"\n]*" not found')
UPSTREAMS: Final = {"kimi": "moonshotai", "openai": "openai", "anthropic": "anthropic"}


class KimiCodeOptions(NodeProgramOptions):
    """What a run can set with -o kimi-code.NAME=VALUE."""

    model: str = Field(default="kimi-k2.6", description="Model, as its API names it.")
    protocol: Literal["kimi", "openai", "anthropic"] = Field(
        default="kimi", description="What the model API speaks: Kimi's or OpenAI's chat completions, or Anthropic's messages."
    )
    context: int = Field(
        default=262_144, ge=1_000, description="Tokens that the model's context holds; it decides when the program compacts."
    )
    effort: str = Field(default="", description="How hard the model thinks, as the program names it; its default if empty.")
    max_steps: int | None = Field(
        default=None, ge=1, description="Most model calls in one turn of the conversation; no limit if not given."
    )


class KimiCodeAgent(InstalledAgent[KimiCodeOptions]):
    """Kimi Code with a private home, without memory, and with leave to do anything that the sandbox lets it do."""

    api_version: ClassVar[int] = 1
    description: ClassVar[str] = "Kimi Code CLI, the command-line agent of Moonshot AI"
    Options: ClassVar[type[BaseModel]] = KimiCodeOptions
    id = "kimi-code"
    spec = ProgramSpec("kimi", install="npm install -g @moonshot-ai/kimi-code", tried=("2.1.0",), oldest="2.1.0", node="22.19")
    upstream = "moonshotai"

    def default_upstream(self) -> str:
        return UPSTREAMS[self.options.protocol]

    def read_login(self) -> Login:
        folder = user_folder("KIMI_CODE_HOME", "~/.kimi-code")
        names = ["config.toml", *(f"credentials/{path.name}" for path in sorted(folder.glob("credentials/*.json")))]
        parts = [read_login((), {f"{HOME}/{name}": folder / name}) for name in names]
        files = {path: data for part in parts for path, data in part.files.items()}
        return Login(parts[-1].found, files) if len(names) > 1 and len(files) == len(names) else Login()

    def start(self, setting: Setting) -> None:
        super().start(setting)
        self._workspace = setting.box.workspace

    def command(self, turn: TurnCommand) -> Command:
        prompt = (turn.words.replace("\0", "").strip() or "(The message is empty.)").encode("utf-8", "replace")
        files = {f"{HOME}/mcp.json": json.dumps({"mcpServers": http_servers(turn.access, transport="http")}).encode()}
        if len(prompt) > LONGEST:
            files[PROMPT] = prompt
            prompt = READ.format(path=f"{turn.home}/{PROMPT}").encode()
        argv = [*self.program.argv, f"--prompt={prompt.decode()}", "--output-format", "stream-json"]
        argv += ["-S", turn.session] if turn.session else []
        self._wire = self._wire_of(turn) if turn.session else ""
        self._told_before = len(read_home(self._workspace, self._wire)) if self._wire else 0
        return Command(tuple(argv), environment=self._environment(turn), files=files)

    def _environment(self, turn: TurnCommand) -> dict[str, str]:
        options = self.options
        variables = {
            "KIMI_CODE_HOME": f"{turn.home}/{HOME}",
            "KIMI_DISABLE_TELEMETRY": "1",  # it also waits for an answer from home at its end
            "KIMI_CODE_NO_AUTO_UPDATE": "1",
            "KIMI_DISABLE_CRON": "1",
            "KIMI_LOOP_MAX_ATTEMPTS_PER_STEP": str(options.retries + 1),
            "KIMI_MCP_TOOL_TIMEOUT_MS": str(turn.milliseconds),
        }
        if options.max_steps is not None:
            variables["KIMI_LOOP_MAX_STEPS_PER_TURN"] = str(options.max_steps)
        if options.effort:
            variables["KIMI_MODEL_THINKING_EFFORT"] = options.effort
        if way := self.way(turn):
            variables |= {
                "KIMI_MODEL_NAME": options.model,
                "KIMI_MODEL_API_KEY": way.token,
                "KIMI_MODEL_BASE_URL": way.url if options.protocol == "anthropic" else f"{way.url}/v1",
                "KIMI_MODEL_PROVIDER_TYPE": options.protocol,
                "KIMI_MODEL_MAX_CONTEXT_SIZE": str(options.context),
            }
        return variables

    def _wire_of(self, turn: TurnCommand) -> str:
        """Path in HOME of the file in which the program keeps the turn's session, or the newest one; empty if there is none."""
        found = read_index(read_home(self._workspace, f"{HOME}/session_index.jsonl"), turn.home, turn.session)
        return f"{found[1]}/agents/main/wire.jsonl" if found is not None else ""

    def converse(self, process: BoxProcess, turn: TurnCommand, intake: Intake) -> None:
        """Usage stands only in the program's files; so do the session's id and the last step of a turn that failed or was cut."""
        self._seen: set[str] = set()
        self._done = False
        super().converse(process, turn, intake)
        index = read_home(self._workspace, f"{HOME}/session_index.jsonl")
        if (found := read_index(index, turn.home, turn.session)) is not None:
            wire = read_home(self._workspace, f"{found[1]}/agents/main/wire.jsonl", self._told_before)
            # In a turn that went well it has everything told; what stands in the file besides are answers that broke off and were asked again.
            missing = [] if self._done else [event for event in read_steps(wire) if _mark(event) not in self._seen]
            intake.tell(ProgramSession(found[0]), *missing, UsageReported(read_usage(wire)))

    def read(self, data: Any) -> Iterable[KitEvent]:
        for event in read(data):
            if isinstance(event, Said | ToolCall):
                self._seen.add(_mark(event))
            self._done = self._done or isinstance(event, Done)
            yield event

    def failure(self, ending: Ending) -> AgentError | ProviderError:
        told = read_error(ending.stderr)
        return super().failure(ending if told is None else evolve(ending, errors=(told,)))

    def lost(self, ending: Ending) -> bool:
        return LOST.search(ending.stderr) is not None


def _mark(event: Said | ToolCall) -> str:
    """By what something that stands in two places is known again."""
    return event.text if isinstance(event, Said) else f"call {event.id}"
