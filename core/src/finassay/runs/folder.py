"""A run's folder on disk.

run.json              what was asked, when, with which versions
tasks/                the tasks
blobs/                delivered bytes by content
sessions/ID/          events.jsonl, sealed.jsonl, gradings/HASH.json, feedback.txt
work/                 where the agents of sessions work
invalid/              sessions that do not count and were run again
sealed/exchanges/     what models were asked and answered
sealed/names.key      from which the names under work/ are made
ledger.jsonl          what models cost

Sealed is what may hold the hidden strategy: tasks/, sealed/, and of each session sealed.jsonl and gradings/. Nobody but the owner can read
it, and nothing of the hidden strategy stands anywhere else until the user says it or `finassay report` writes its page. A key stands
nowhere.
"""

import hashlib
import hmac
import os
import re
import secrets
import shlex
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from attrs import frozen
from filelock import FileLock, Timeout

from finassay.api.errors import InvalidFileError, RunLockedError, UsageError
from finassay.api.task import Task
from finassay.records.blobs import BlobStore
from finassay.records.events import EventLog, SessionState, restore
from finassay.records.files import check_schema, read_json, write_json
from finassay.records.tasks import read_tasks, write_task
from finassay.session.intake import displayed

KIND = "finassay-run"
VERSION = 1


@frozen
class SessionKey:
    """Which session: the agent's alias, the task and the number of the repeat from 1."""

    agent: str
    task: str
    repeat: int

    @property
    def id(self) -> str:
        return f"{self.agent}.{self.task}.{self.repeat}"

    @classmethod
    def parse(cls, text: str) -> "SessionKey":
        """Raises `UsageError` for what is no session id."""
        match = re.fullmatch(r"([^./]+)\.([^./]+)\.([0-9]{1,9})", text)
        if match is None or displayed(text) != text:
            raise UsageError(f"{text!r} is no session id", hint="A session id looks like reference.us-long-only-3.1")
        return cls(match[1], match[2], int(match[3]))


class RunFolder:
    """Paths and records of one run."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.blobs = BlobStore(root / "blobs")
        self._names = b""

    def is_sealed(self, path: Path) -> bool:
        """Whether a path in the run may hold what is hidden from agents and from whoever reads the open records."""
        parts = path.relative_to(self.root).parts
        if parts[:1] in (("tasks",), ("sealed",)):
            return True
        return parts[:1] in (("sessions",), ("invalid",)) and len(parts) > 2 and parts[2] in ("sealed.jsonl", "gradings")

    @property
    def manifest_path(self) -> Path:
        return self.root / "run.json"

    def exists(self) -> bool:
        return self.manifest_path.is_file()

    def manifest(self) -> dict[str, Any]:
        """What `run.json` holds. Raises `InvalidFileError`."""
        if self.root.is_dir() and not self.manifest_path.exists():
            raise InvalidFileError(
                f"{self.root}: is no run folder: it has no run.json", hint="Make one: finassay run --out " + shlex.quote(str(self.root))
            )
        return check_schema(read_json(self.manifest_path, "a run"), self.manifest_path, kind=KIND, version=VERSION)

    def write_manifest(self, manifest: dict[str, Any]) -> None:
        write_json(self.manifest_path, {"kind": KIND, "schema_version": VERSION, **manifest})

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Held while a program writes the run. Raises `RunLockedError` if another one does."""
        self.root.mkdir(parents=True, exist_ok=True)
        lock = FileLock(self.root / ".lock")
        try:
            lock.acquire(timeout=0)
        except Timeout:
            raise RunLockedError(
                f"{self.root}: another program is writing this run", hint="Wait for it, or choose another --out."
            ) from None
        try:
            yield
        finally:
            lock.release()

    # -- tasks ------------------------------------------------------------------------------------------------------

    def write_tasks(self, tasks: tuple[Task, ...]) -> None:
        """Copy tasks into the run. A task of the same id must be the same task: raises `UsageError`."""
        for task in tasks:
            path = self.task_path(task.id)
            if path.exists():
                if read_tasks(path)[0] != task:
                    raise UsageError(f"{self.root}: already holds another task {task.id!r}", hint="Choose another --out for other tasks.")
            else:
                write_task(path, task)

    def task_path(self, task: str) -> Path:
        return self.root / "tasks" / f"{task}.json"

    def tasks(self) -> dict[str, Task]:
        return {task.id: task for task in read_tasks(self.root / "tasks")}

    # -- sessions ---------------------------------------------------------------------------------------------------

    def session_path(self, key: SessionKey) -> Path:
        return self.root / "sessions" / key.id

    def workspace(self, key: SessionKey) -> Path:
        """Where the agent of a session works. An agent can see the name, so it tells neither task nor seed.

        Without a key of the run's own it would: there are few ids of tasks, and an agent could try them all.
        """
        return self.root / "work" / hmac.new(self._naming_key(), key.id.encode(), hashlib.sha256).hexdigest()[:12]

    def _naming_key(self) -> bytes:
        if not self._names:
            path = self.root / "sealed" / "names.key"
            if not path.exists():
                path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
                made = path.with_name(f"names.{secrets.token_hex(8)}")  # whole before it has its name: sessions begin at the same time
                with open(os.open(made, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as stream:
                    stream.write(secrets.token_bytes(32))
                with suppress(FileExistsError):
                    os.link(made, path)
                made.unlink()
            self._names = path.read_bytes()
        return self._names

    def sessions(self) -> list[SessionKey]:
        """Every recorded session, sorted; what else lies beside them is told by `strays`."""
        return sorted((key for _, key in self._entries() if key), key=lambda k: (k.agent, len(k.task), k.task, k.repeat))

    def strays(self) -> list[Path]:
        """What lies among the sessions and is none: its name is no session id, or it is no folder."""
        return sorted(path for path, key in self._entries() if key is None)

    def _entries(self) -> list[tuple[Path, SessionKey | None]]:
        root = self.root / "sessions"
        found: list[tuple[Path, SessionKey | None]] = []
        for path in root.iterdir() if root.is_dir() else ():
            try:
                found.append((path, SessionKey.parse(path.name) if path.is_dir() else None))
            except UsageError:
                found.append((path, None))
        return found

    def find(self, text: str) -> SessionKey:
        """The session of that id, or the only one whose id starts with it. Raises `UsageError`."""
        found = [k for k in self.sessions() if k.id == text] or [k for k in self.sessions() if k.id.startswith(text)]
        if len(found) == 1:
            return found[0]
        known = ", ".join(k.id for k in (found or self.sessions())[:8])
        raise UsageError(f"{text!r} is {'more than one' if found else 'no'} session of {self.root}", hint=f"For example: {known}.")

    def events(self, key: SessionKey) -> tuple[EventLog, EventLog]:
        """The open log and the sealed one."""
        path = self.session_path(key)
        return EventLog(path / "events.jsonl"), EventLog(path / "sealed.jsonl", mode=0o600)

    def state(self, key: SessionKey) -> SessionState:
        """What was recorded of a session. Raises `InvalidFileError`."""
        return restore(*self.events(key))

    def record_digest(self, key: SessionKey) -> str:
        """SHA-256 of both logs: what a grading was made from. Another digest means that the record is another one now."""
        digest = hashlib.sha256()
        for log in self.events(key):
            data = log.path.read_bytes() if log.path.exists() else b""
            digest.update(f"{log.path.name} {len(data)}\n".encode() + data)
        return digest.hexdigest()

    def set_aside(self, key: SessionKey, reason: str) -> Path:
        """Move a session that does not count out of the way; returns where it is kept."""
        number = 1
        while (target := self.root / "invalid" / f"{key.id}-{number}-{reason}").exists():
            number += 1
        target.parent.mkdir(parents=True, exist_ok=True)
        self.session_path(key).rename(target)
        if (workspace := self.workspace(key)).exists():
            with suppress(OSError):
                workspace.chmod(0o700)  # its agent may have locked it, and a locked folder cannot be moved
            workspace.rename(target / "workspace")
        return target

    def times_set_aside(self, key: SessionKey) -> int:
        root = self.root / "invalid"
        return sum(1 for p in root.iterdir() if p.name.startswith(f"{key.id}-")) if root.is_dir() else 0
