"""Secrets of channels: where `${NAME}` stands, and what takes its place."""

import re
from collections.abc import Mapping
from typing import Final

from finassay.api.channel import ServerSpec
from finassay.api.credentials import credential

_PLACE: Final = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")


def values(server: ServerSpec) -> dict[str, str]:
    """The secrets that are there, by name."""
    return {name: value for name in server.secrets if (value := credential([name]))}


def unfilled(server: ServerSpec) -> list[str]:
    """Names that stand in the url or a header and are no secrets of the server."""
    texts = (server.url, *server.headers.values())
    return [name for text in texts for name in _PLACE.findall(text) if name not in server.secrets]


def filled(text: str, secrets: Mapping[str, str]) -> str:
    """A text with its secrets in place."""
    return _PLACE.sub(lambda found: secrets.get(found[1], found[0]), text)
