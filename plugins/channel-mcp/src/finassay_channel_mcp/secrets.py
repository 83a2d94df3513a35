"""Options stand in records, so no option may hold a key: secrets are named, their values come from the environment."""

import re
from collections.abc import Iterable, Mapping
from ipaddress import ip_address
from typing import Final
from urllib.parse import parse_qsl, urlsplit

VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}")
"""Name of an environment variable."""
PLACEHOLDER: Final = re.compile(r"\$\{([^{}]*)\}")
HEADER: Final = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,128}")
_KEYLIKE: Final = re.compile(
    r"(^|[._-])(api[._-]?key|app[._-]?key|key|secret|password|passwd|pwd|token|auth|authorization|cookie|credentials?)$|apikey$|apitoken$",
    re.IGNORECASE,
)
_HARMLESS: Final = re.compile(r"(?i)(bearer|basic|token|apikey)?\s*")


def placeholders(texts: Iterable[str]) -> tuple[str, ...]:
    """Names between `${` and `}`, each once, in order. Raises `ValueError` where one is no name of a variable."""
    names = dict.fromkeys(match[1] for text in texts for match in PLACEHOLDER.finditer(text))
    for name in names:
        if not VARIABLE.fullmatch(name):
            raise ValueError("a placeholder is written ${NAME}, with the name of an environment variable")
    return tuple(names)


def keylike(name: str) -> bool:
    """Whether a name is one that things with a secret in them have."""
    return bool(_KEYLIKE.search(name))


def holds_a_key(name: str, value: str) -> bool:
    """Whether a header, variable or parameter seems to hold a key itself instead of naming one."""
    return keylike(name) and not _HARMLESS.fullmatch(PLACEHOLDER.sub("", value))


def refuse_keys_in(headers: Mapping[str, str], url: str) -> None:
    """Raises `ValueError` where a header or the address holds what should be a `${NAME}`. The message does not repeat it."""
    for name, value in headers.items():
        if not HEADER.fullmatch(name) or any(ord(c) < 32 or ord(c) == 127 for c in value):
            raise ValueError("headers: a name has letters, digits and '-'; a value has no control characters")
        if holds_a_key(name, value):
            raise ValueError(
                f"header {name} seems to hold a key, which would stand in records: write ${{NAME}} for a variable of the environment"
            )
    parts = urlsplit(url)
    if parts.username or parts.password:
        raise ValueError("url holds a login, which would stand in records: use a header with ${NAME}")
    for name, value in parse_qsl(parts.query, keep_blank_values=True):
        if holds_a_key(name, value):
            raise ValueError(
                f"parameter {name} of url seems to hold a key, which would stand in records: write ${{NAME}} for a variable of the environment"
            )


def on_loopback(url: str) -> bool:
    """Whether an address is on this machine, by name or number; nothing is looked up."""
    host = urlsplit(url).hostname or ""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")
