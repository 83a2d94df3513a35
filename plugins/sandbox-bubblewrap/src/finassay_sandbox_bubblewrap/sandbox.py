"""The sandbox `bubblewrap`."""

import os
import platform
import re
import shutil
import signal
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar, Final

from attrs import frozen
from pydantic import BaseModel, ConfigDict, Field

from finassay.api.errors import SandboxError
from finassay.api.sandbox import BoxSpec, Isolation, Probe
from finassay.records.scratch import Scratch
from finassay_sandbox_bubblewrap.namespace import Namespace
from finassay_sandbox_bubblewrap.view import INSIDE, relays, view
from finassay_sandbox_local import way
from finassay_sandbox_local.calls import DGRAM, INET, INET6, NETLINK, STREAM, UNIX, Sockets, instructions, supported
from finassay_sandbox_local.cgroup import ProcessGroup
from finassay_sandbox_local.limits import limited, own_processes, rlimits
from finassay_sandbox_local.process import BoundedProcess, Supervision
from finassay_sandbox_local.sandbox import make_folder
from finassay_sandbox_local.sweep import end, family

HINT: Final = "On Debian or Ubuntu: apt-get install bubblewrap."
NAMESPACES: Final = "The kernel must allow user namespaces (on Ubuntu see kernel.apparmor_restrict_unprivileged_userns)."
OWN_PROCESSES: Final = 2
"""Processes of bubblewrap itself in every box; the relay is one more."""
SOCKETS: Final = (Sockets(UNIX), Sockets(INET, (STREAM, DGRAM)), Sockets(INET6, (STREAM, DGRAM)), Sockets(NETLINK, (), (0,)))
"""None to the host of a virtual machine, for one, which no namespace keeps apart."""
JOIN: Final = 'echo 0 > "$0/cgroup.procs" && exec "$@"'


class BubblewrapOptions(BaseModel):
    """Settings of the sandbox."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    program: str = Field(default="bwrap", description="Name or path of the bubblewrap program.")
    tmp_bytes: int = Field(default=2 * 2**30, gt=0, description="Size of the private /tmp, and of /dev/shm.")


class BoxedProcess(BoundedProcess):
    """Bubblewrap tells a program's signal as shells do, as an exit code above 128."""

    namespace: Namespace | None = None
    """Of the program; None where bubblewrap told of none, or something stands between it and the harness."""

    def wait(self, seconds: float | None = None) -> int | None:
        code = super().wait(seconds)
        return 128 - code if code is not None and code - 128 in signal.valid_signals() else code


class BubblewrapBox:
    """One workspace in namespaces; every spawned program gets a fresh set of them."""

    def __init__(self, program: str, spec: BoxSpec, tmp_bytes: int) -> None:
        self.workspace, self.inside = spec.workspace, INSIDE
        self.isolation = Isolation(files=True, network=not spec.network, processes=True)
        self._program, self._spec = program, spec
        self._started: list[BoxedProcess] = []
        self._lock = threading.Lock()
        make_folder(spec.workspace / ".home")
        self._scratch = Scratch("box")
        self._own = self._scratch.path
        (self._own / "empty").mkdir()
        (self._own / "nothing").touch()
        (self._own / "passwd").write_text(f"agent:x:{os.getuid()}:{os.getgid()}:agent:{INSIDE}/.home:/bin/sh\n")
        (self._own / "group").write_text(f"agent:x:{os.getgid()}:\n")
        try:
            self._view = view(spec, self._own, tmp_bytes)
        except SandboxError:
            self._scratch.close()
            raise
        self._more = OWN_PROCESSES + relays(spec)
        limit = spec.limits.processes
        self._group = ProcessGroup.create(limit + self._more) if limit is not None and os.geteuid() == 0 else None

    def spawn(
        self, argv: Sequence[str], *, stdin: bytes | None = b"", environment: Mapping[str, str] | None = None, cwd: str = "."
    ) -> BoxedProcess:
        """Start a program in the box. Raises `SandboxError`."""
        if ".." in Path(cwd).parts or Path(cwd).is_absolute():
            raise SandboxError(f"{cwd!r} lies outside the workspace")
        variables = {
            "PATH": "/usr/local/bin:/usr/bin:/bin",
            "HOME": f"{INSIDE}/.home",
            "TMPDIR": "/tmp",
            "LANG": "C.UTF-8",
            **self._spec.environment,
            **(environment or {}),
        }
        told, report = os.pipe()
        described = (*self._describe(cwd, report), report)
        try:
            with self._lock:
                process = BoxedProcess(
                    self._command(argv, described[0]),
                    environment=variables,
                    cwd="/",
                    stdin=stdin,
                    supervision=self._supervision(),
                    pass_fds=described,
                )
                self._started.append(process)
        except SandboxError:
            os.close(told)
            raise
        finally:
            for descriptor in described:
                os.close(descriptor)
        process.namespace = Namespace.told(told, process.pid)
        return process

    def _describe(self, cwd: str, report: int) -> tuple[int, ...]:
        """The box as files that only bubblewrap reads: its arguments can be seen inside, and must not name the host's folders.

        The first holds them; a second, where the machine is known, the filter of system calls that they name. Bubblewrap writes to
        `report` what it started.
        """
        arguments = ["--unshare-all", "--die-with-parent", "--new-session", "--cap-drop", "ALL", "--hostname", "box"]
        arguments += ["--info-fd", str(report)]
        arguments += [*(["--share-net"] if self._spec.network else []), *self._view, "--chdir", os.path.join(INSIDE, cwd)]
        filters = (_memory(instructions(SOCKETS, apart=True)),) if supported() else ()
        for descriptor in filters:
            arguments += ["--seccomp", str(descriptor)]
        return _memory(b"".join(os.fsencode(argument) + b"\0" for argument in arguments)), *filters

    def _command(self, argv: Sequence[str], described: int) -> list[str]:
        limits, by_kernel, relayed = self._spec.limits, None, relays(self._spec)
        if os.geteuid() != 0 and limits.processes is not None:
            by_kernel = limits.processes + relayed + (0 if _counts_by_namespace() else own_processes())
        program = limited(argv, rlimits(limits, by_kernel))
        command = [self._program, "--args", str(described), "--", *(way.command(self._spec.services, program) if relayed else program)]
        return command if self._group is None else ["/bin/sh", "-c", JOIN, str(self._group.path), *command]

    def _supervision(self) -> Supervision | None:
        """Only for root where no control group can be made: then a watch has to bound the number of processes."""
        limit = self._spec.limits.processes
        if limit is None or os.geteuid() != 0 or self._group is not None:
            return None
        return Supervision(limit=limit + self._more)

    def stop(self) -> None:
        """End every program started in the box. The kernel ends a PID namespace whole with its first process. Raises `SandboxError`."""
        with self._lock:
            started, self._started = self._started, []
            for process in started:
                if process.namespace is None or not process.namespace.end():
                    process.halt()  # no fork while we look
                    pids = (process.pid, *family(process.pid))
                    end(lambda pids=pids: pids)  # type: ignore[misc]
                process.kill()

    def close(self) -> None:
        self.stop()
        if self._group is not None:
            self._group.remove()
        self._scratch.close()


def _memory(data: bytes) -> int:
    """A descriptor at the beginning of a file that is nowhere."""
    descriptor = os.memfd_create("box")
    os.write(descriptor, data)
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor


def _counts_by_namespace() -> bool:
    """Since Linux 5.14 RLIMIT_NPROC counts the processes of a user namespace, not all of the user's."""
    version = re.match(r"(\d+)\.(\d+)", platform.release())
    return version is not None and (int(version[1]), int(version[2])) >= (5, 14)


@frozen
class _Seen:
    """What a program in a box reported of its surroundings."""

    secret: bool
    interfaces: int
    processes: int


class BubblewrapSandbox:
    """Files, network and processes are isolated by the kernel's namespaces."""

    api_version: ClassVar[int] = 1
    description: ClassVar[str] = "namespaces by bubblewrap: an agent sees its workspace and the system's read-only files"
    Options: ClassVar[type[BaseModel]] = BubblewrapOptions
    id = "bubblewrap"
    isolation = Isolation(files=True, network=True, processes=True)

    def __init__(self, options: BubblewrapOptions) -> None:
        self.options = options
        self._probed: Probe | None = None

    def probe(self) -> Probe:
        """Start a program in a box and see that it is confined; the answer is kept."""
        if self._probed is None:
            try:
                self._probed = self._try()
            except (OSError, SandboxError) as error:
                self._probed = Probe(False, f"it cannot be tried: {error}", HINT)
        return self._probed

    def _try(self) -> Probe:
        program = shutil.which(self.options.program)
        if program is None:
            return Probe(False, f"the program {self.options.program!r} was not found", HINT)
        with Scratch("probe") as scratch:
            workspace, secret = scratch.path / "workspace", scratch.path / "secret"
            workspace.mkdir()
            secret.write_text("hidden")
            box = BubblewrapBox(program, BoxSpec(workspace), 2**20)
            try:
                seen = _look(box, secret)
            finally:
                box.close()
            if isinstance(seen, str) or not (workspace / "file").exists():
                return Probe(False, f"it does not start here: {seen}", NAMESPACES)
        for wrong, what in ((seen.secret, "files"), (seen.interfaces > 1, "the network"), (seen.processes > 20, "processes")):
            if wrong:
                return Probe(False, f"it does not confine {what} here", NAMESPACES)
        return Probe(True, f"works ({program})")

    def open(self, spec: BoxSpec) -> BubblewrapBox:
        probe = self.probe()
        if not probe.ok:
            raise SandboxError(probe.detail, hint=probe.hint)
        if not spec.workspace.is_dir():
            raise SandboxError(f"{spec.workspace}: no such folder")
        return BubblewrapBox(shutil.which(self.options.program) or self.options.program, spec, self.options.tmp_bytes)


def _look(box: BubblewrapBox, secret: Path) -> _Seen | str:
    """Start a program that looks around; what it saw, or why it did not start."""
    script = 'echo started > file; test -e "$0" && echo yes || echo no; grep -c : /proc/net/dev; ls -d /proc/[0-9]* | wc -l'
    process = box.spawn(["/bin/sh", "-c", script, str(secret)])
    output = b" ".join(process.lines()).decode("utf-8", "replace").split()
    code = process.wait(10)
    if code != 0 or len(output) != 3:
        reason = process.stderr_tail().strip().splitlines()
        return reason[-1][:300] if reason else f"exit code {code}"
    return _Seen(output[0] == "yes", int(output[1]), int(output[2]))
