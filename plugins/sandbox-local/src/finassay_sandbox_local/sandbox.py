"""The sandbox `local`."""

import contextlib
import os
import secrets
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar

from pydantic import BaseModel, ConfigDict

from finassay.api.errors import SandboxError
from finassay.api.sandbox import BoxSpec, Isolation, Probe
from finassay_sandbox_local.process import BoundedProcess, ProcessWatch, end, limited, marked

MARKER = "FINASSAY_BOX"
LEFT_BEHIND = ".finassay-box"


class LocalOptions(BaseModel):
    """Nothing to set."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class LocalBox:
    """Processes of one workspace, told apart by a marker in their environment."""

    isolation = Isolation(files=False, network=False, processes=False)

    def __init__(self, spec: BoxSpec) -> None:
        self.workspace = spec.workspace
        self.inside = str(spec.workspace)
        self._spec = spec
        self._started: list[tuple[BoundedProcess, ProcessWatch | None]] = []
        self._lock = threading.Lock()
        self._note = spec.workspace / LEFT_BEHIND
        self._end_left_behind()
        self._marker = secrets.token_hex(12)
        self._note.write_text(self._marker)
        (spec.workspace / ".home").mkdir(exist_ok=True)
        (spec.workspace / ".tmp").mkdir(exist_ok=True)

    def _end_left_behind(self) -> None:
        """What a killed harness left running in this workspace."""
        with contextlib.suppress(OSError):
            old = self._note.read_text()[:64]
            if old:
                end(lambda: marked(f"{MARKER}={old}"))

    def _pids(self) -> list[int]:
        return marked(f"{MARKER}={self._marker}")

    def spawn(
        self, argv: Sequence[str], *, stdin: bytes = b"", environment: Mapping[str, str] | None = None, cwd: str = "."
    ) -> BoundedProcess:
        """Start a program in the workspace. Raises `SandboxError`."""
        folder = (self.workspace / cwd).resolve()
        if not folder.is_relative_to(self.workspace.resolve()):
            raise SandboxError(f"{cwd!r} lies outside the workspace")
        variables = {
            "PATH": "/usr/local/bin:/usr/bin:/bin",
            "HOME": str(self.workspace / ".home"),
            "TMPDIR": str(self.workspace / ".tmp"),
            "LANG": "C.UTF-8",
            **self._spec.environment,
            **(environment or {}),
            MARKER: self._marker,
        }
        process = BoundedProcess(limited(argv, self._spec.limits), environment=variables, cwd=folder, stdin=stdin)
        limit = self._spec.limits.processes
        watch = ProcessWatch(limit, lambda: len(self._pids()), self.stop) if limit is not None and os.geteuid() == 0 else None
        with self._lock:
            self._started.append((process, watch))
        return process

    def stop(self) -> None:
        """End every process ever started here, detached ones too."""
        with self._lock:
            started, self._started = self._started, []
        for _, watch in started:
            if watch is not None:
                watch.close()
        end(self._pids)
        for process, _ in started:
            process.kill()

    def close(self) -> None:
        self.stop()
        self._note.unlink(missing_ok=True)


class LocalSandbox:
    """No isolation: limits, a clean environment, and processes that can be ended."""

    api_version: ClassVar[int] = 1
    description: ClassVar[str] = "processes on this machine with limits, without isolation"
    Options: ClassVar[type[BaseModel]] = LocalOptions
    id = "local"
    isolation = LocalBox.isolation

    def __init__(self, options: LocalOptions) -> None:
        self.options = options

    def probe(self) -> Probe:
        if not Path("/proc/self/environ").exists():
            return Probe(False, "there is no /proc, which it needs to end detached processes", "Use a Linux machine.")
        return Probe(True, "works; isolates nothing: agents can read what you can read")

    def open(self, spec: BoxSpec) -> LocalBox:
        if not spec.workspace.is_dir():
            raise SandboxError(f"{spec.workspace}: no such folder")
        return LocalBox(spec)
