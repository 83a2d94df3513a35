"""Logins of a program's own: a person's subscription in place of a key."""

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from attrs import Factory, frozen

from finassay.api.credentials import credential, credential_source

MAX_LOGIN: Final = 1_000_000
SECRET_LENGTH: Final = 16
"""Shorter texts in a login file are names and dates, no secrets."""


@frozen
class Login:
    """A login as it was found. Its values are secrets: they go into the program's private home or environment and nowhere else."""

    found: str = ""
    """Where, in words that do not hold it; empty if there is none."""
    files: Mapping[str, bytes] = Factory(dict)
    """Path in the home to content."""
    environment: Mapping[str, str] = Factory(dict)

    def __repr__(self) -> str:
        return f"Login({self.found!r})"

    def secrets(self) -> tuple[str, ...]:
        """What must stand in no log."""
        texts = [text for data in self.files.values() for text in _texts(data)]
        return tuple(dict.fromkeys([*self.environment.values(), *(t for t in texts if len(t) >= SECRET_LENGTH)]))


def read_login(variables: Sequence[str], files: Mapping[str, Path]) -> Login:
    """The first of these that is there: a token in an environment variable (or the keyring), else files of the user's own home.

    `files` maps a path in the private home to the user's file.
    """
    if variables and (token := credential(variables)):
        source = credential_source(variables) or ""
        return Login(source, environment={source.partition(" ")[0]: token})
    for target, path in files.items():
        try:
            with path.open("rb") as file:
                return Login(_short(path), {target: file.read(MAX_LOGIN)})
        except OSError:
            continue
    return Login()


def _short(path: Path) -> str:
    home = os.path.expanduser("~")
    return str(path).replace(home, "~", 1) if str(path).startswith(home + os.sep) else str(path)


def _texts(data: bytes) -> Iterator[str]:
    try:
        value = json.loads(data)
    except ValueError:
        yield from data.decode("utf-8", "replace").split()
        return
    yield from _strings(value)


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from _strings(item)
    elif isinstance(value, list):
        for item in value:
            yield from _strings(item)
