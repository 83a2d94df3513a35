"""The base class of agents that are programs."""

import threading
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from typing import ClassVar, Final

from attrs import Factory, frozen

from finassay.api.agent import AgentCapabilities, AgentTurn, Setting, TurnContext
from finassay.api.conversation import Conversation, Message
from finassay.api.errors import AgentError, ProviderError
from finassay.api.sandbox import Box, BoxProcess
from finassay.api.task import Brief
from finassay_cli_kit.events import Failed, KitEvent
from finassay_cli_kit.state import Resume, StateFolder
from finassay_cli_kit.turn import ProgramTurn, clean
from finassay_cli_kit.usage import latest

MAX_OUTPUT: Final = 512 * 2**20
"""Bytes of standard output that a turn may have before its program is stopped."""
EXIT_SECONDS: Final = 10.0
"""How long a program may take to exit after its final event."""


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
    """The workspace's path as the program sees it; HOME is `.home` in it."""


@frozen
class Command:
    """How a program is started."""

    argv: tuple[str, ...]
    stdin: bytes = b""
    environment: Mapping[str, str] = Factory(dict)
    """On top of what the sandbox sets and the capabilities name."""
    cwd: str = "."


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

    A subclass gives `id`, `version`, `capabilities`, `command` and `events`, and may sharpen `failure`. The program runs in the session's
    box with a home of its own; its events are logged as they come; the harness's clock ends it by stopping the box, and the turn then is
    what was said so far. A turn has succeeded only if the final success event arrived. Whatever still runs when a turn ends is stopped.
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

    @abstractmethod
    def events(self, line: bytes) -> Iterable[KitEvent]:
        """What a line of standard output means; nothing, or raises, where it means nothing."""

    def failure(self, ending: Ending) -> AgentError | ProviderError:
        """Whose fault it was that no final event came: by the last error told, else the agent's."""
        last = ending.errors[-1] if ending.errors else None
        if last is not None:
            return ProviderError(f"{self.id}: {last.text}") if last.provider else AgentError(f"{self.id}: {last.text}")
        told = f": {clean(ending.stderr.strip()[-500:])}" if ending.stderr.strip() else ""
        return AgentError(f"{self.id} ended without its final event (exit code {ending.exit_code}){told}")

    # -- the protocol -------------------------------------------------------------------------------------------------

    def start(self, setting: Setting) -> None:
        self._setting = setting
        self._said = _finished(setting.history)
        self._state = StateFolder(setting.box.workspace)
        self._resume = self._state.load() if self._said.messages else Resume()

    def send(self, message: str, context: TurnContext) -> AgentTurn:
        box = self._box()
        turn = ProgramTurn(context, self._resume.total)
        try:
            command = self.command(self._turn_command(message, context, box))
            process = box.spawn(command.argv, stdin=command.stdin, environment=command.environment, cwd=command.cwd)
            self._read(process, box, turn)
            exit_code = process.wait(self.exit_seconds)
        finally:
            box.stop()
            turn.close()
            self._keep(turn)
        if not turn.done and not context.cut():
            raise self.failure(Ending(exit_code, process.stderr_tail(), tuple(turn.errors)))
        self._remember(message, turn.text, context)
        return AgentTurn(turn.text, turn.usage)

    def finalize(self) -> None:
        if self._setting is not None:
            self._setting.box.stop()

    # -- inside -------------------------------------------------------------------------------------------------------

    def _box(self) -> Box:
        if self._setting is None:
            raise AgentError(f"{self.id} was not started")
        return self._setting.box

    def _turn_command(self, message: str, context: TurnContext, box: Box) -> TurnCommand:
        assert self._setting is not None
        return TurnCommand(message, context.turn, self._resume.session, self._said, context.seconds, self._setting.brief, box.inside)

    def _read(self, process: BoxProcess, box: Box, turn: ProgramTurn) -> None:
        """Take in the output to its end. A program that hangs after its final event, or never stops talking, is ended."""
        size, clock = 0, None
        with self._state.transcript() as write:
            try:
                for line in process.lines():
                    size += len(line) + 1
                    if size > self.max_output:
                        turn.errors.append(Failed(f"wrote more than {self.max_output:,} bytes in one turn"))
                        turn.done = False
                        box.stop()
                        break
                    write(line)
                    turn.take(self.events, line)
                    if turn.done and clock is None:
                        clock = threading.Timer(self.exit_seconds, box.stop)
                        clock.daemon = True
                        clock.start()
            finally:
                if clock is not None:
                    clock.cancel()
                    clock.join()

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
