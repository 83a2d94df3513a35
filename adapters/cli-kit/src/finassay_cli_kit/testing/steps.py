"""What a scripted model does, in words that belong to no vendor."""

from collections.abc import Mapping
from typing import Any

from attrs import Factory, frozen


@frozen
class TokenCount:
    """What a reply says it cost. `input` holds the cached ones, `output` the reasoning ones."""

    input: int
    output: int
    cached: int = 0
    reasoning: int = 0


@frozen
class Say:
    """Text of the assistant. `usage` instead of the estimate (a token per four characters) counts for the whole reply."""

    text: str
    usage: TokenCount | None = None
    thinking: str = ""
    """Reasoning text, shown where the API has a place for it."""


@frozen
class Shell:
    """Run a command line with the program's shell tool."""

    command: str


@frozen
class WriteFile:
    """Write a file (relative to the working folder) with the program's tool for that, with its shell where there is none."""

    path: str
    text: str


@frozen
class Mcp:
    """Call a tool of an MCP server, by the names that the server was declared with."""

    server: str
    tool: str
    arguments: Mapping[str, Any] = Factory(dict)


@frozen
class Use:
    """Call a tool by its exact name, offered or not; `text` instead of arguments for tools that take free text."""

    name: str
    arguments: Mapping[str, Any] = Factory(dict)
    text: str | None = None


@frozen(init=False)
class Together:
    """Several tool calls in one reply."""

    steps: tuple["ToolStep", ...]

    def __init__(self, *steps: "ToolStep") -> None:
        self.__attrs_init__(steps)


ToolStep = Shell | WriteFile | Mcp | Use
Step = Say | ToolStep | Together


@frozen
class ToolUse:
    """A call in the shape of the tool that the request offered."""

    id: str
    name: str
    arguments: Mapping[str, Any] = Factory(dict)
    text: str | None = None
    """The input of a tool that takes free text."""
    namespace: str = ""


@frozen
class Reply:
    """One reply of the model."""

    id: str
    model: str
    text: str
    uses: tuple[ToolUse, ...]
    usage: TokenCount
    thinking: str = ""
