"""Channels: how an agent may reach data. A channel never hands over data by itself."""

from collections.abc import Mapping
from pathlib import Path
from typing import Protocol, runtime_checkable

from attrs import Factory, frozen


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
    mcp: Mapping[str, str] = Factory(dict)
    """An MCP server: `command` or `url`."""


@runtime_checkable
class Channel(Protocol):
    id: str

    def describe(self) -> ChannelSpec: ...
