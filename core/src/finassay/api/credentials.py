"""Where keys come from: the environment, or a keyring if one is installed. Never a file, an option or a record."""

import importlib
import os
from collections.abc import Sequence

KEYRING_SERVICE = "finassay"


def credential(names: Sequence[str]) -> str | None:
    """The key in the first of these environment variables that is set, else in the keyring under service `finassay` and that name.

    The keyring is asked only where the package `keyring` is installed (`finassay[keyring]`); one that is locked or broken has no keys.
    """
    found = _find(names)
    return found[0] if found else None


def credential_source(names: Sequence[str]) -> str | None:
    """Where `credential` finds the key, in words that do not hold it; None if there is none."""
    found = _find(names)
    return found[1] if found else None


def _find(names: Sequence[str]) -> tuple[str, str] | None:
    for name in names:
        if value := os.environ.get(name, "").strip():
            return value, f"{name} in the environment"
    try:
        keyring = importlib.import_module("keyring")
    except ImportError:
        return None
    for name in names:
        try:
            value = str(keyring.get_password(KEYRING_SERVICE, name) or "").strip()
        except Exception:  # somebody else's code: a back end that cannot be opened
            return None
        if value:
            return value, f"{name} in the keyring"
    return None
