"""Taking out of a text what must not be seen in it: keys, and passages of a prompt or a belief that an error quotes."""

import os
import re
from collections.abc import Iterable
from typing import Final

PASSAGE: Final = 16
"""Characters in a row that count as a passage; fewer may be chance."""
MASK: Final = "[…]"
_SECRET_NAMES: Final = re.compile(r"(KEY|TOKEN|SECRET|PASSWORD|CREDENTIALS?)$")
_SHORTEST: Final = 8
"""Values of fewer characters are not taken for secrets: `1` and `true` stand everywhere."""


def secrets_around() -> tuple[str, ...]:
    """Values of environment variables whose names say that they are secret, longest first."""
    found = {v for name, value in os.environ.items() if _SECRET_NAMES.search(name.upper()) and len(v := value.strip()) >= _SHORTEST}
    return tuple(sorted(found, key=lambda v: (-len(v), v)))


def without_secrets(text: str, secrets: Iterable[str]) -> str:
    """The text with every secret replaced, longest first."""
    for secret in sorted(secrets, key=len, reverse=True):
        text = text.replace(secret, "[redacted]")
    return text


def without_passages(text: str, sources: Iterable[str], length: int = PASSAGE) -> str:
    """The text with every run of at least `length` characters that stands in one of the sources replaced by `[…]`.

    Runs are found whatever their escaping of quotes and line ends: both sides are compared with those as spaces.
    """
    seen, flat = [_flat(source) for source in sources if len(source) >= length], _flat(text)
    hidden = [False] * len(text)
    for start in range(len(text) - length + 1):
        window = flat[start : start + length]
        if any(window in source for source in seen):
            hidden[start : start + length] = [True] * length
    out: list[str] = []
    for index, character in enumerate(text):
        if not hidden[index]:
            out.append(character)
        elif index == 0 or not hidden[index - 1]:
            out.append(MASK)
    return "".join(out)


def _flat(text: str) -> str:
    """Every character that escaping may change as a space, in the same length."""
    return re.sub(r"""[\s"'\\]""", " ", text)
