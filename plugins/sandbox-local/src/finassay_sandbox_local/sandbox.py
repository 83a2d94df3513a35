"""The sandbox `local`."""

import contextlib
import hashlib
import os
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar, Final

from pydantic import BaseModel, ConfigDict

from finassay.api.errors import SandboxError
from finassay.api.sandbox import BoxSpec, Isolation, Probe
from finassay_sandbox_local.cgroup import ProcessGroup
from finassay_sandbox_local.limits import own_processes, rlimits
from finassay_sandbox_local.process import BoundedProcess, Supervision
from finassay_sandbox_local.sweep import end, family, marked

MARKER: Final = "FINASSAY_BOX"
STOP_SECONDS: Final = 5.0


class LocalOptions(BaseModel):
    """Nothing to set."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class LocalBox:
    """Processes of one workspace, told apart by their supervisors, by a marker in their environment and, for root, by a control group."""

    isolation = Isolation(files=False, network=False, processes=False)

    def __init__(self, spec: BoxSpec) -> None:
        self.workspace = spec.workspace.resolve()
        self.inside = str(self.workspace)
        self._spec = spec
        self._started: list[BoundedProcess] = []
        self._lock = threading.Lock()
        # The same for every box of this workspace, so that the next one finds what a killed harness left running.
        self._marker = f"{MARKER}={hashlib.sha256(os.fsencode(self.workspace)).hexdigest()[:24]}"
        end(lambda: marked(self._marker))
        for name in (".home", ".tmp"):
            make_folder(self.workspace / name)
        limit = spec.limits.processes
        self._group = ProcessGroup.create(limit) if limit is not None and os.geteuid() == 0 else None

    def _supervision(self) -> Supervision:
        """Root is bounded by a control group or, where none can be made, by the supervisor's watch; everybody else by the kernel."""
        limit = self._spec.limits.processes
        root = os.geteuid() == 0
        by_kernel = None if root or limit is None else limit + own_processes()
        return Supervision(
            rlimits(self._spec.limits, by_kernel),
            cgroup=self._group.path if self._group else None,
            limit=limit if root and self._group is None else None,
        )

    def spawn(
        self, argv: Sequence[str], *, stdin: bytes | None = b"", environment: Mapping[str, str] | None = None, cwd: str = "."
    ) -> BoundedProcess:
        """Start a program in the workspace. Raises `SandboxError`."""
        return self.start(argv, stdin=stdin, environment=environment or {}, folder=self.folder(cwd))

    def folder(self, cwd: str) -> Path:
        """Where a program starts. Raises `SandboxError` for a place outside the workspace."""
        folder = (self.workspace / cwd).resolve()
        if not folder.is_relative_to(self.workspace):
            raise SandboxError(f"{cwd!r} lies outside the workspace")
        return folder

    def start(
        self, argv: Sequence[str], *, stdin: bytes | None, environment: Mapping[str, str], folder: Path, pass_fds: Sequence[int] = ()
    ) -> BoundedProcess:
        """Start a command under supervision, with the box's environment."""
        name, _, value = self._marker.partition("=")
        variables = {
            "PATH": "/usr/local/bin:/usr/bin:/bin",
            "HOME": str(self.workspace / ".home"),
            "TMPDIR": str(self.workspace / ".tmp"),
            "LANG": "C.UTF-8",
            **self._spec.environment,
            **environment,
            name: value,
        }
        with self._lock:
            process = BoundedProcess(
                argv, environment=variables, cwd=folder, stdin=stdin, supervision=self._supervision(), pass_fds=pass_fds
            )
            self._started.append(process)
        return process

    def stop(self) -> None:
        """End every process ever started here, detached ones too. Raises `SandboxError` if one cannot be ended."""
        with self._lock:
            started, self._started = self._started, []
            if self._group is not None:
                end(self._group.pids)
            for process in started:
                if not process.terminate(STOP_SECONDS):
                    end(lambda supervisor=process.pid: list(family(supervisor)))  # type: ignore[misc]
                process.kill()
            end(lambda: marked(self._marker))

    def close(self) -> None:
        self.stop()
        if self._group is not None:
            self._group.remove()


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


def make_folder(path: Path) -> None:
    """A real folder at `path`; what an earlier turn put there instead is taken away. Raises `SandboxError`."""
    with contextlib.suppress(OSError):
        if path.is_symlink() or (path.exists() and not path.is_dir()):
            path.unlink()
    try:
        path.mkdir(exist_ok=True)
    except OSError as error:
        raise SandboxError(f"{path.name} in the workspace cannot be made: {error.strerror}") from error
