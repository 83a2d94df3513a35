"""Programs that speak the kit's own line protocol: one JSON object a line on standard output."""

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from finassay.api.agent import AgentCapabilities
from finassay_cli_kit.agent import Command, CommandLineAgent, TurnCommand
from finassay_cli_kit.events import Done, Failed, KitEvent, Note, ProgramSession, Said, ToolCall, ToolResult, UsageReported
from finassay_cli_kit.usage import usage_of


class JsonLinesAgent(CommandLineAgent):
    """A program that reads the user's message from standard input and speaks the line protocol of the README.

    It is started once per turn, in the workspace; what it must remember it keeps there, or in HOME. `FINASSAY_BRIEF` holds the
    brief's text, `FINASSAY_TURN` the turn's number, `FINASSAY_SECONDS` the time that the turn has; `FINASSAY_ACCESS`, where the
    capabilities ask for it, the way to model APIs and MCP servers.
    """

    def __init__(
        self,
        id: str,
        argv: tuple[str, ...],
        *,
        version: str = "unknown",
        capabilities: AgentCapabilities = AgentCapabilities(reports_usage=True),
    ) -> None:
        self.id, self.version, self.capabilities = id, version, capabilities
        self._argv = tuple(argv)

    def command(self, turn: TurnCommand) -> Command:
        environment = {
            "FINASSAY_BRIEF": turn.brief.instructions,
            "FINASSAY_TURN": str(turn.turn),
            "FINASSAY_SECONDS": f"{turn.seconds:g}",
        }
        if (access := turn.access) is not None:
            servers = [{"name": s.name, "url": s.url, "headers": dict(s.headers)} for s in access.servers]
            environment["FINASSAY_ACCESS"] = json.dumps({"urls": dict(access.urls), "token": access.token, "servers": servers})
        return Command(self._argv, turn.message.encode("utf-8", "replace"), environment)

    def events(self, line: bytes) -> Iterable[KitEvent]:
        return parse_line(line)


def parse_line(line: bytes) -> Iterator[KitEvent]:
    """The events of one line. Raises `ValueError` if it is not one of the protocol; an empty line is nothing."""
    text = line.decode("utf-8", "replace").strip()
    if not text:
        return
    data = json.loads(text)
    if not isinstance(data, dict):
        raise ValueError("not an object")
    kind = data.get("type")
    if kind == "message":
        yield Said(_text(data, "text"))
    elif kind == "tool-call":
        given = data.get("input")
        yield ToolCall(_text(data, "id"), _text(data, "name"), given if isinstance(given, dict) else {"value": given})
    elif kind == "tool-result":
        output = data.get("output")
        yield ToolResult(
            _text(data, "id"),
            output if isinstance(output, str) else json.dumps(output),
            data.get("is_error") is True,
            _exit_code(data.get("exit_code")),
        )
    elif kind == "usage":
        yield UsageReported(usage_of(data))
    elif kind == "error":
        yield Failed(_text(data, "text"), provider=data.get("kind") == "provider")
    elif kind == "session":
        yield ProgramSession(_text(data, "id"))
    elif kind == "note":
        yield Note(_text(data, "text"))
    elif kind == "done":
        yield Done()
    else:
        raise ValueError("unknown type")


def _text(data: Mapping[str, Any], name: str) -> str:
    value = data.get(name, "")
    if not isinstance(value, str):
        raise ValueError(f"{name} is not a text")
    return value


def _exit_code(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**31 else None
