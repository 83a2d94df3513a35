"""The sandbox `bubblewrap`."""

import os
import shutil
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import ClassVar

from pydantic import BaseModel, ConfigDict, Field

from finassay.api.errors import SandboxError
from finassay.api.sandbox import BoxSpec, Isolation, Limits, Probe
from finassay_sandbox_local.process import BoundedProcess, ProcessWatch, descendants, end, limited

INSIDE = "/workspace"
SYSTEM = ("/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
ETC = (
    "alternatives",
    "ca-certificates",
    "ca-certificates.conf",
    "crypto-policies",
    "fonts",
    "ld.so.cache",
    "ld.so.conf",
    "ld.so.conf.d",
    "localtime",
    "mime.types",
    "nsswitch.conf",
    "pki",
    "protocols",
    "services",
    "ssl",
    "timezone",
)
ETC_NETWORK = ("hosts", "resolv.conf", "gai.conf")
HINT = "On Debian or Ubuntu: apt-get install bubblewrap."


class BubblewrapOptions(BaseModel):
    """Settings of the sandbox."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    program: str = Field(default="bwrap", description="Name or path of the bubblewrap program.")
    tmp_bytes: int = Field(default=2 * 2**30, gt=0, description="Size of the private /tmp.")


class BubblewrapBox:
    """One workspace in namespaces of its own; every spawned program gets a fresh set of them."""

    isolation = Isolation(files=True, network=True, processes=True)

    def __init__(self, program: str, spec: BoxSpec, tmp_bytes: int) -> None:
        self.workspace, self.inside = spec.workspace, INSIDE
        self._program, self._spec, self._tmp_bytes = program, spec, tmp_bytes
        self.isolation = Isolation(files=True, network=not spec.network, processes=True)
        self._started: list[tuple[BoundedProcess, ProcessWatch | None]] = []
        self._lock = threading.Lock()
        self._own = Path(tempfile.mkdtemp(prefix="finassay-box-"))
        (self._own / "empty").mkdir()
        (self._own / "passwd").write_text(f"agent:x:{os.getuid()}:{os.getgid()}:agent:{INSIDE}/.home:/bin/sh\n")
        (self._own / "group").write_text(f"agent:x:{os.getgid()}:\n")
        (spec.workspace / ".home").mkdir(exist_ok=True)

    def _command(self, argv: Sequence[str], environment: Mapping[str, str], cwd: str) -> list[str]:
        command = [
            self._program,
            "--unshare-all",
            "--die-with-parent",
            "--new-session",
            "--clearenv",
            "--cap-drop",
            "ALL",
            "--hostname",
            "box",
        ]
        if self._spec.network:
            command.append("--share-net")
        command += ["--ro-bind", "/usr", "/usr", *self._system(), *self._etc()]
        command += ["--proc", "/proc", "--dev", "/dev", "--size", str(self._tmp_bytes), "--tmpfs", "/tmp", "--tmpfs", "/run"]
        for path in self._visible():
            command += ["--ro-bind", str(path), str(path)]
        command += ["--bind", str(self.workspace), INSIDE]
        for path in self._spec.hidden:
            if path.exists():
                command += ["--ro-bind", str(self._own / "empty"), str(path)]
        for name, value in environment.items():
            command += ["--setenv", name, value]
        command += ["--remount-ro", "/"]
        return [*command, "--chdir", f"{INSIDE}/{cwd}" if cwd != "." else INSIDE, "--", *limited(argv, self._spec.limits)]

    def _system(self) -> Iterator[str]:
        for name in SYSTEM:
            path = Path(name)
            if path.is_symlink():
                yield from ("--symlink", os.readlink(path), name)
            elif path.is_dir():
                yield from ("--ro-bind", name, name)

    def _etc(self) -> Iterator[str]:
        for name in (*ETC, *(ETC_NETWORK if self._spec.network else ())):
            yield from ("--ro-bind-try", f"/etc/{name}", f"/etc/{name}")
        for name in ("passwd", "group"):
            yield from ("--ro-bind", str(self._own / name), f"/etc/{name}")

    def _visible(self) -> list[Path]:
        """Readable folders, outer ones first, each also at the place its links lead to."""
        found: list[Path] = []
        for path in sorted({p for given in self._spec.readable for p in (given, given.resolve())}, key=lambda p: len(p.parts)):
            inside_system = path.is_relative_to("/usr") or any(path.is_relative_to(other) for other in found)
            if path.exists() and not inside_system:
                found.append(path)
        return found

    def spawn(
        self, argv: Sequence[str], *, stdin: bytes = b"", environment: Mapping[str, str] | None = None, cwd: str = "."
    ) -> BoundedProcess:
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
        process = BoundedProcess(self._command(argv, variables, cwd), environment={"PATH": "/usr/bin:/bin"}, cwd="/", stdin=stdin)
        watch = self._watch(process)
        with self._lock:
            self._started.append((process, watch))
        return process

    def _watch(self, process: BoundedProcess) -> ProcessWatch | None:
        """The kernel's limit does not bind root; a watch does. bubblewrap itself counts for two."""
        limit = self._spec.limits.processes
        if limit is None or os.geteuid() != 0:
            return None
        return ProcessWatch(limit + 2, lambda: len(descendants([process.pid])), lambda: self._end(process))

    @staticmethod
    def _end(process: BoundedProcess) -> None:
        """Kill bubblewrap and what is below it; the first process of the PID namespace takes the rest along."""
        below = descendants([process.pid])
        end(lambda: [pid for pid in below if Path(f"/proc/{pid}").exists()])
        process.kill()

    def stop(self) -> None:
        """End every program started in the box, with everything that it started."""
        with self._lock:
            started, self._started = self._started, []
        for process, watch in started:
            if watch is not None:
                watch.close()
            self._end(process)

    def close(self) -> None:
        self.stop()
        shutil.rmtree(self._own, ignore_errors=True)


class BubblewrapSandbox:
    """Files, network and processes are isolated by the kernel's namespaces."""

    api_version: ClassVar[int] = 1
    description: ClassVar[str] = "namespaces by bubblewrap: an agent sees its workspace and the system's read-only files"
    Options: ClassVar[type[BaseModel]] = BubblewrapOptions
    id = "bubblewrap"
    isolation = BubblewrapBox.isolation

    def __init__(self, options: BubblewrapOptions) -> None:
        self.options = options
        self._probed: Probe | None = None

    def probe(self) -> Probe:
        """Start a program in a box and see that it is confined; the answer is kept."""
        if self._probed is None:
            self._probed = self._try()
        return self._probed

    def _try(self) -> Probe:
        program = shutil.which(self.options.program)
        if program is None:
            return Probe(False, f"the program {self.options.program!r} was not found", HINT)
        with tempfile.TemporaryDirectory(prefix="finassay-probe-") as folder:
            workspace, secret = Path(folder) / "workspace", Path(folder) / "secret"
            workspace.mkdir()
            secret.write_text("hidden")
            box = BubblewrapBox(program, BoxSpec(workspace, limits=Limits(None, None, None)), 2**20)
            try:
                process = box.spawn(["/bin/sh", "-c", f"test -e {secret} && echo seen; echo started > file; echo $$"])
                output = b" ".join(process.lines()).decode("utf-8", "replace")
                code = process.wait(10)
            except SandboxError as error:
                return Probe(False, str(error), HINT)
            finally:
                box.close()
            if code != 0 or not (workspace / "file").exists():
                reason = process.stderr_tail().strip().splitlines()
                return Probe(
                    False,
                    f"it does not start here: {reason[-1] if reason else f'exit code {code}'}",
                    "The kernel must allow user namespaces.",
                )
            if "seen" in output:
                return Probe(False, "it does not confine files here")
        return Probe(True, f"works ({program})")

    def open(self, spec: BoxSpec) -> BubblewrapBox:
        probe = self.probe()
        if not probe.ok:
            raise SandboxError(probe.detail, hint=probe.hint)
        if not spec.workspace.is_dir():
            raise SandboxError(f"{spec.workspace}: no such folder")
        return BubblewrapBox(shutil.which(self.options.program) or self.options.program, spec, self.options.tmp_bytes)
