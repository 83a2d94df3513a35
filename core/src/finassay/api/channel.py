"""Channels: how an agent may reach data. A channel never hands over data by itself.

A channel is a text for the brief and, mostly, an MCP server. The server is run, or reached, by the harness: what it needs (files, keys)
stays outside the box, and the agent's program sees it at a loopback address that holds for its session only.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Protocol, runtime_checkable

from attrs import Factory, frozen


@frozen
class ServerSpec:
    """An MCP server as somebody declares it: a `command` (stdio) or a `url` (streamable HTTP), not both.

    `secrets` name environment variables of the harness; their values stand in no record. For a command they become variables of the same
    name; in `url` and `headers` they are written `${NAME}`.
    """

    command: tuple[str, ...] = ()
    environment: Mapping[str, str] = Factory(dict)
    """Variables of the command, besides PATH, HOME, LANG and the secrets."""
    url: str = ""
    headers: Mapping[str, str] = Factory(dict)
    secrets: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    """Names of the tools that agents may use; all if it is empty."""
    start_seconds: float = 30.0
    """How long it may take until it lists its tools."""


@frozen
class McpServer:
    """A channel as the program of one session reaches it: streamable HTTP on loopback, with a token that ends with the session."""

    name: str
    url: str
    headers: Mapping[str, str] = Factory(dict)


@frozen
class ChannelSpec:
    """What a channel puts into a session."""

    id: str
    text: str
    """One paragraph for the agent's brief: what is there and how to reach it."""
    provides: frozenset[str]
    """Kinds of data, as in `Grammar.sample(needs=…)`."""
    readable: tuple[Path, ...] = ()
    """Host folders that the box must see."""
    packages: tuple[str, ...] = ()
    """Python packages that the agent's runtime has because of this channel; what they ship counts as delivered for 3.6."""
    server: ServerSpec | None = None


@runtime_checkable
class Channel(Protocol):
    id: str

    def describe(self) -> ChannelSpec: ...
