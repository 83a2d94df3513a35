"""The words and bounds of the remote protocol, version 1. The page docs/reference/remote-agents.md is its specification."""

import re
from typing import Any, Final
from urllib.parse import quote

from attrs import frozen

from finassay.api.errors import AgentError

VERSION: Final = 1
NDJSON: Final = "application/x-ndjson"
JSON: Final = "application/json"
BYTES: Final = "application/octet-stream"

MAX_LINE: Final = 16 * 2**20
"""Bytes of one event, and so of a file that is written into one: about 12 MiB."""
MAX_TURN: Final = 512 * 2**20
"""Bytes of a turn's events."""
MAX_JSON: Final = 64 * 2**20
"""Bytes of a turn that is answered as one object."""
MAX_ANSWER: Final = 2**20
"""Bytes of every other answer."""
MAX_FILE: Final = 2**30
MAX_TOTAL: Final = 4 * 2**30
MAX_FILES: Final = 5_000
MAX_DEPTH: Final = 12
MAX_PATH: Final = 300
ID: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,199}")
SHA256: Final = re.compile(r"[0-9a-f]{64}")


def session_path(session: str) -> str:
    return f"sessions/{session}"


def turn_path(session: str, turn: int) -> str:
    return f"sessions/{session}/turns/{turn}"


def file_path(session: str, path: str) -> str:
    return f"sessions/{session}/files/{quote(path, safe='/')}"


@frozen
class About:
    """What a server says of itself."""

    name: str
    version: str
    resumes: bool = True
    reports_usage: bool = False
    reports_cost: bool = False


def read_about(data: object) -> About:
    """Raises `AgentError` for anything but a server of this protocol."""
    if not isinstance(data, dict) or data.get("protocol") != VERSION:
        raise AgentError(f"the server does not speak version {VERSION} of the protocol", hint="See docs/reference/remote-agents.md.")
    texts = [data.get(name) for name in ("name", "version")]
    if not all(isinstance(text, str) and 0 < len(text) <= 200 and text.isprintable() for text in texts):
        raise AgentError("the server tells no name and version")
    flags = {
        name: data.get(name, default) is True for name, default in (("resumes", True), ("reports_usage", False), ("reports_cost", False))
    }
    return About(str(texts[0]), str(texts[1]), **flags)


def read_session(data: object) -> str:
    """The server's id of a session. Raises `AgentError`."""
    found = data.get("id") if isinstance(data, dict) else None
    if not isinstance(found, str) or not ID.fullmatch(found):
        raise AgentError("the server gave the session no id of 1 to 200 letters, digits, '.', '_', ':' or '-'")
    return found


def events_of(data: object) -> list[dict[str, Any]]:
    """A turn that was answered as one object, as the events that it stands for. Raises `AgentError`."""
    if not isinstance(data, dict) or not isinstance(data.get("text"), str):
        raise AgentError("the server's answer is no object with a text")
    parts: dict[str, list[Any]] = {}
    for name in ("events", "files", "removed"):
        part = data.get(name, [])
        if not isinstance(part, list):
            raise AgentError(f"{name} in the server's answer is no list")
        parts[name] = part
    found = [event for event in parts["events"] if isinstance(event, dict) and event.get("type") != "done"]
    found += [{**file, "type": "file"} for file in parts["files"] if isinstance(file, dict)]
    found += [{"type": "file-removed", "path": path} for path in parts["removed"]]
    if isinstance(data.get("usage"), dict):
        found.append({**data["usage"], "type": "usage"})
    return [*found, {"type": "message", "text": data["text"]}, {"type": "done"}]
