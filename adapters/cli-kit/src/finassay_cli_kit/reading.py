"""What the output of such programs has in common: errors of HTTP, content in blocks, options on a command line."""

import json
from typing import Any, Final

from finassay_cli_kit.events import Failed

REFUSED: Final = (401, 402, 403, 404)
"""Statuses of a model API that stay whatever is asked: wrong key, no credit, unknown model."""
OWN: Final = (400, 413, 422)
"""Those that say that the program asked for something impossible."""


def failed_call(text: str, status: int = 0, *, provider: bool = False, refused: bool = False) -> Failed:
    """An error of a model call. Its HTTP status says whose failure it was; where there is none (0), `provider` does, for what the program said."""
    return Failed(text, status not in OWN if status else provider or refused, refused=refused or status in REFUSED)


def content_text(content: Any) -> str:
    """The text of a message or of a tool's result: a text, or blocks of which some have one; what has another form as JSON."""
    if content is None or isinstance(content, str):
        return content or ""
    if isinstance(content, list) and all(isinstance(block, dict) for block in content):
        return "\n".join(str(block.get("text") or f"({block.get('type')})") for block in content)
    return json.dumps(content, ensure_ascii=False)


def flags(**options: object) -> list[str]:
    """`--name value` for each option that is set: not None and not empty. An underscore stands for a hyphen."""
    given = {name: value for name, value in options.items() if value not in (None, "")}
    return [part for name, value in given.items() for part in (f"--{name.replace('_', '-')}", str(value))]
