"""The base class of agents that are programs."""

import time
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from typing import ClassVar, Final

from attrs import Factory, frozen

from finassay.api.agent import AgentCapabilities, AgentTurn, Setting, TurnContext
from finassay.api.conversation import Conversation, Message
from finassay.api.errors import AgentError, BudgetError, ProviderError, ProviderRefusedError
from finassay.api.gateway import Access
from finassay.api.sandbox import Box, BoxProcess
from finassay.api.task import Brief
from finassay_cli_kit.events import Failed, KitEvent
from finassay_cli_kit.home import HOME, HomeFiles
from finassay_cli_kit.intake import Intake
from finassay_cli_kit.prompt import as_words, brief_and_message
from finassay_cli_kit.state import Resume, StateFolder
from finassay_cli_kit.turn import ProgramTurn, clean
from finassay_cli_kit.usage import latest

MAX_OUTPUT: Final = 512 * 2**20
"""Bytes of standard output that a turn may have before its program is stopped."""
EXIT_SECONDS: Final = 10.0
"""How long a program may take to exit after its final event."""
MASK: Final = "[secret]"
NOTHING: Final = "(The person has sent an empty message.)"
"""Programs refuse to start without a prompt."""


@frozen
class TurnCommand:
    """What an adapter knows when it builds the command of a turn."""

    message: str
    """The user's message."""
    turn: int
    session: str | None
    """The program's own id of the conversation so far; None before the first turn, and where none was ever told."""
    said: Conversation
    """Everything said before this message, for programs that cannot resume and must be given a transcript."""
    seconds: float
    """Time that the turn has."""
    brief: Brief
    inside: str
    """The workspace's path as the program sees it."""
    access: Access | None = None
    """The way to model APIs and MCP servers, as in `Setting`."""

    @property
    def home(self) -> str:
        """HOME as the program sees it."""
        return f"{self.inside}/{HOME}"

    @property
    def prompt(self) -> str:
        """What to tell the program: the bare message where it goes on with its conversation, else the briefing (and what was said) before it."""
        message = self.message if self.message.strip() else NOTHING
        return message if self.session is not None else brief_and_message(self.brief, self.said, message)

    @property
    def words(self) -> str:
        """The prompt so that no program takes it for one of its own commands."""
        return as_words(self.prompt)

    @property
    def milliseconds(self) -> int:
        """`seconds` for programs that count so, at least a second: for time-outs of its own, which must not come before the harness's."""
        return max(1_000, int(self.seconds * 1_000))


@frozen
class Command:
    """How a program is started."""

    argv: tuple[str, ...]
    stdin: bytes | str | None = b""
    """Written and closed, a text as UTF-8; None leaves it open for an adapter that overrides `converse`."""
    environment: Mapping[str, str] = Factory(dict)
    """On top of what the sandbox sets and the capabilities name."""
    cwd: str = "."
    files: Mapping[str, bytes] = Factory(dict)
    """Path in HOME to content: written before each start, taken away when the session ends or a later command does not name it."""
    files_once: Mapping[str, bytes] = Factory(dict)
    """The same, but a file that is there already stays as the program left it."""


@frozen
class Ending:
    """How a program ended that was not cut."""

    exit_code: int | None
    stderr: str
    """The last few kilobytes of it."""
    errors: tuple[Failed, ...]
    """What it said went wrong, in order."""


class CommandLineAgent(ABC):
    """Implements `finassay.api.agent.Agent` for a program that is started once per turn.

    A subclass gives `id`, `version`, `capabilities`, `command` and `events`, and may sharpen `failure` and `lost`. The program runs in the
    session's box with a home of its own; its events are logged as they come; the harness's clock ends it by stopping the box, and the turn
    then is what was said so far. A turn has succeeded only if the final success event arrived. Whatever still runs when a turn ends is stopped.
    """

    id: str
    version: str = "unknown"
    capabilities: AgentCapabilities = AgentCapabilities()
    exit_seconds: ClassVar[float] = EXIT_SECONDS
    max_output: ClassVar[int] = MAX_OUTPUT

    _setting: Setting | None = None

    @abstractmethod
    def command(self, turn: TurnCommand) -> Command:
        """The command of one turn."""

    def prepared(self, turn: TurnCommand) -> Command:
        """The command with what a base class adds to it."""
        return self.command(turn)

    @abstractmethod
    def events(self, line: bytes) -> Iterable[KitEvent]:
        """What a line of standard output means; nothing, or raises, where it means nothing."""

    def failure(self, ending: Ending) -> AgentError | ProviderError:
        """Whose fault it was that no final event came: by the last error told, else the agent's. The gateway was asked before."""
        last = ending.errors[-1] if ending.errors else None
        if last is not None and last.refused:
            return ProviderRefusedError(f"{self.id}: {last.text}", any_request=True)
        if last is not None:
            return ProviderError(f"{self.id}: {last.text}") if last.provider else AgentError(f"{self.id}: {last.text}")
        told = f": {clean(ending.stderr.strip()[-500:])}" if ending.stderr.strip() else ""
        return AgentError(f"{self.id} ended without its final event (exit code {ending.exit_code}){told}")

    def converse(self, process: BoxProcess, turn: TurnCommand, intake: Intake) -> None:
        """Take in what the program says, to its end. An adapter whose program is answered while it speaks does so here."""
        for line in process.lines():
            if not intake.take(line, self.events):
                break

    def lost(self, ending: Ending) -> bool:
        """Whether the program failed because it no longer knows its conversation. It is then started anew and told what was said."""
        return False

    def secrets(self) -> Iterable[str]:
        """What must stand in no log, besides the session's token."""
        return ()

    # -- the protocol -------------------------------------------------------------------------------------------------

    def start(self, setting: Setting) -> None:
        self._setting = setting
        self._said = _finished(setting.history)
        self._state = StateFolder(setting.box.workspace)
        self._files = HomeFiles(setting.box.workspace)
        self._resume = self._state.load() if self._said.messages else Resume()
        token = (setting.access.token,) if setting.access is not None else ()
        self._masked = [text.encode() for text in (*token, *self.secrets()) if text]

    def send(self, message: str, context: TurnContext) -> AgentTurn:
        box, until = self._box(), time.monotonic() + context.seconds
        turn = ProgramTurn(context, self._resume.total)
        ending = self._run(message, until, context, box, turn)
        if ending is not None and self._resume.session is not None and self.lost(ending):
            self._resume = Resume()
            turn = ProgramTurn(context, self._resume.total)
            turn.note("the program no longer knows its conversation; it is told what was said")
            ending = self._run(message, until, context, box, turn)
        if ending is not None:
            raise self._blame(ending)
        self._remember(message, turn.text, context)
        return AgentTurn(turn.text, turn.usage)

    def finalize(self) -> None:
        if self._setting is not None:
            self._setting.box.stop()
            self._files.clear()

    # -- inside -------------------------------------------------------------------------------------------------------

    def _box(self) -> Box:
        if self._setting is None:
            raise AgentError(f"{self.id} was not started")
        return self._setting.box

    def _run(self, message: str, until: float, context: TurnContext, box: Box, turn: ProgramTurn) -> Ending | None:
        """Start the program and take in what it says; None if it succeeded or was cut, else how it ended."""
        try:
            asked = self._turn_command(message, max(0.0, until - time.monotonic()), context, box)
            command = self.prepared(asked)
            self._files.write(command.files, command.files_once)
            stdin = command.stdin.encode("utf-8", "replace") if isinstance(command.stdin, str) else command.stdin
            process = box.spawn(command.argv, stdin=stdin, environment=command.environment, cwd=command.cwd)
            if context.cut():  # the clock struck before there was anything to stop
                box.stop()
            self._read(process, asked, box, context, turn)
            exit_code = process.wait(self.exit_seconds)
        finally:
            box.stop()
            turn.close()
            self._keep(turn)
        if turn.done or context.cut():
            return None
        return Ending(exit_code, self._mask(process.stderr_tail().encode()).decode("utf-8", "replace"), tuple(turn.errors))

    def _blame(self, ending: Ending) -> AgentError | ProviderError | BudgetError:
        """The gateway knows whether the provider answered; what the program says of it may be wrong, or missing."""
        access = self._setting.access if self._setting is not None else None
        known, told = access.failure() if access is not None else None, self.failure(ending)
        if known is None and access is not None and access.urls and isinstance(told, ProviderError):
            return AgentError(f"{told} (the program says so; at the gateway no call failed)")
        return known or told

    def _mask(self, line: bytes) -> bytes:
        for secret in self._masked:
            line = line.replace(secret, MASK.encode())
        return line

    def _turn_command(self, message: str, seconds: float, context: TurnContext, box: Box) -> TurnCommand:
        assert self._setting is not None
        setting = self._setting
        return TurnCommand(message, context.turn, self._resume.session, self._said, seconds, setting.brief, box.inside, setting.access)

    def _read(self, process: BoxProcess, asked: TurnCommand, box: Box, context: TurnContext, turn: ProgramTurn) -> None:
        with self._state.transcript() as write:
            intake = Intake(turn, write, self._mask, self.max_output, self.exit_seconds, box.stop, context.cut)
            try:
                self.converse(process, asked, intake)
            finally:
                intake.close()

    def _keep(self, turn: ProgramTurn) -> None:
        """What a later turn needs, also of a resumed harness."""
        self._resume = Resume(turn.session or self._resume.session, latest(turn.total, self._resume.total))
        self._state.save(self._resume)

    def _remember(self, message: str, reply: str, context: TurnContext) -> None:
        user = Message(f"u{context.turn - 1}", context.turn - 1, "user", message)
        agent = Message(f"a{context.turn}", context.turn, "agent", reply, cut=context.cut())
        self._said = self._said.with_message(user).with_message(agent)


def _finished(history: Conversation) -> Conversation:
    """Whole exchanges: a user's message that waits for its reply comes with the next `send`."""
    messages = history.messages
    while messages and messages[-1].sender == "user":
        messages = messages[:-1]
    return Conversation(messages)
