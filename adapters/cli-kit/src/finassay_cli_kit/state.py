"""What the kit keeps of a session, in the program's home. That folder is the agent's to write, so nothing there is trusted."""

import contextlib
import json
import os
import re
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from attrs import asdict, frozen

from finassay.api.usage import Usage
from finassay_cli_kit.home import HOME, opened_folder
from finassay_cli_kit.usage import usage_of

FOLDERS: Final = (HOME, ".finassay-kit")
MAX_STATE: Final = 65_536
MAX_TRANSCRIPT: Final = 64 * 2**20
"""Bytes of raw output kept of a session."""
SESSION_ID: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,199}")


@frozen
class Resume:
    """What the next turn's command needs."""

    session: str | None = None
    """The program's own id of the conversation."""
    total: Usage = Usage()
    """Its running totals after the last turn."""


class StateFolder:
    """Reads and writes below a workspace without ever following a link out of it."""

    def __init__(self, workspace: Path) -> None:
        self._workspace = workspace

    def load(self) -> Resume:
        """The saved state; an empty one if there is none that can be believed."""
        with contextlib.suppress(OSError, ValueError, RecursionError), self._open("resume.json", os.O_RDONLY) as descriptor:
            data = json.loads(os.read(descriptor, MAX_STATE))
            if isinstance(data, dict):
                session = data.get("session")
                total = data.get("total")
                valid = isinstance(session, str) and SESSION_ID.fullmatch(session)
                return Resume(session if valid else None, usage_of(total) if isinstance(total, dict) else Usage())
        return Resume()

    def save(self, resume: Resume) -> None:
        """Keep the state if the folder allows it; an agent that spoils its own home only loses its own memory."""
        session = resume.session if resume.session and SESSION_ID.fullmatch(resume.session) else None
        data = json.dumps({"session": session, "total": asdict(resume.total)}).encode()
        with contextlib.suppress(OSError), self._open("resume.json", os.O_WRONLY | os.O_CREAT) as descriptor:
            os.ftruncate(descriptor, 0)
            os.write(descriptor, data)

    @contextlib.contextmanager
    def transcript(self) -> Iterator[Callable[[bytes], None]]:
        """A function that appends a line of raw output, as long as there is room."""
        with contextlib.ExitStack() as stack:
            try:
                descriptor = stack.enter_context(self._open("transcript.jsonl", os.O_WRONLY | os.O_CREAT | os.O_APPEND))
                left = MAX_TRANSCRIPT - os.fstat(descriptor).st_size
            except OSError:
                descriptor, left = -1, 0

            def write(line: bytes) -> None:
                nonlocal left
                if len(line) < left:
                    with contextlib.suppress(OSError):
                        left -= os.write(descriptor, line + b"\n")

            yield write

    @contextlib.contextmanager
    def _open(self, name: str, flags: int) -> Iterator[int]:
        with opened_folder(self._workspace, FOLDERS) as folder:
            descriptor = os.open(name, flags | os.O_NOFOLLOW | os.O_NONBLOCK, 0o600, dir_fd=folder)
            try:
                status = os.fstat(descriptor)
                if not stat.S_ISREG(status.st_mode) or status.st_nlink != 1:
                    raise OSError(f"{name} is not a file of its own")
                yield descriptor
            finally:
                os.close(descriptor)
