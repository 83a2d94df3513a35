"""The sandboxes `docker` and `podman`."""

import contextlib
import hashlib
import os
import re
import secrets
import shutil
import socket
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Final

from pydantic import BaseModel, ConfigDict, Field

from finassay.api.errors import SandboxError
from finassay.api.sandbox import BoxSpec, Isolation, Probe
from finassay.records.scratch import Scratch
from finassay_sandbox_container import leash
from finassay_sandbox_container.engine import Engine
from finassay_sandbox_container.process import ContainerProcess
from finassay_sandbox_local import way
from finassay_sandbox_local.sandbox import make_folder
from finassay_sandbox_local.way import AT

INSIDE: Final = "/workspace"
OWNER, WORKSPACE = "org.finassay.owner", "org.finassay.workspace"
UNTRIED: Final = "this client was tried against servers that speak the engine's protocol, not yet against a real engine"
PINNED: Final = re.compile(r"(?:[^@\s]+@)?sha256:[0-9a-f]{64}")


class ContainerOptions(BaseModel):
    """Settings of the sandbox."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    image: str = Field(default="", description="The system that agents run in, by its digest: NAME@sha256:… or the id of a local image.")
    socket: str = Field(default="", description="Path of the engine's Unix socket; empty for its usual places.")
    python: str = Field(
        default="python3",
        description="Python of the image (3.9 or newer), which ends a container with the harness and leads to the harness's servers.",
    )
    tmp_bytes: int = Field(default=2 * 2**30, gt=0, description="Size of the private /tmp, and of /dev/shm.")
    user: str = Field(default="", description="UID:GID that programs run as; empty for those of whoever runs finassay.")
    userns: str = Field(default="", description="User namespace mode of the engine, such as `keep-id` for Podman without root.")
    cpus: float = Field(default=0.0, ge=0, description="Processors that one program may use; 0 for all.")


class ContainerBox:
    """One workspace; every program gets a container of its own around it."""

    inside = INSIDE

    def __init__(self, engine: Engine, spec: BoxSpec, options: ContainerOptions) -> None:
        self.workspace = spec.workspace.resolve()
        self.isolation = Isolation(files=True, network=not spec.network, processes=True)
        self._engine, self._spec, self._options = engine, spec, options
        self._started: list[ContainerProcess] = []
        self._held: list[socket.socket] = []
        self._lock = threading.Lock()
        self._label = hashlib.sha256(os.fsencode(self.workspace)).hexdigest()[:24]
        make_folder(self.workspace / ".home")
        self._scratch = Scratch("box")
        self._own = self._scratch.path
        try:
            (self._own / "empty").mkdir()
            (self._own / "nothing").touch()
            (self._own / "leash").mkdir()
            shutil.copyfile(str(leash.__file__), self._own / "leash.py")
            self._listening = _listen(self._own / "leash" / "s")
            self._binds = list(_binds(spec, self.workspace, self._own))
            self._sweep()
        except SandboxError:
            self._listening.close()
            self._scratch.close()
            raise

    def _sweep(self) -> None:
        """Remove what a harness left that was killed: of this workspace, and of every process that is no more."""
        for container, labels in self._engine.labelled(OWNER):
            if labels.get(WORKSPACE) == self._label or not _lives(labels.get(OWNER, "")):
                self._engine.remove(container)

    def spawn(
        self, argv: Sequence[str], *, stdin: bytes | None = b"", environment: Mapping[str, str] | None = None, cwd: str = "."
    ) -> ContainerProcess:
        """Start a program in a container of its own. Raises `SandboxError`."""
        if ".." in Path(cwd).parts or Path(cwd).is_absolute():
            raise SandboxError(f"{cwd!r} lies outside the workspace")
        with self._lock:
            self._hold()
            container = self._engine.create(self.config(argv, environment or {}, cwd))
            try:
                process = ContainerProcess(self._engine, container, stdin)
            except SandboxError:
                self._engine.remove(container)
                raise
            self._started.append(process)
        return process

    def _hold(self) -> None:
        """Take in the leashes that connected, so that there is room for more; those of containers that ended are let go."""
        with contextlib.suppress(BlockingIOError):
            while True:
                self._held.append(self._listening.accept()[0])
        self._held = [held for held in self._held if not _ended(held)]

    def config(self, argv: Sequence[str], environment: Mapping[str, str], cwd: str) -> dict[str, Any]:
        """A container as the engine's API takes it."""
        spec, options = self._spec, self._options
        variables = {
            "PATH": "/usr/local/bin:/usr/bin:/bin",
            "HOME": f"{INSIDE}/.home",
            "TMPDIR": "/tmp",
            "LANG": "C.UTF-8",
            **spec.environment,
            **environment,
        }
        command = way.command(spec.services, argv, options.python) if spec.services else list(argv)
        command = [options.python, "-I", "-S", f"{AT}/leash.py", f"{AT}/leash/s", *command]
        return {
            "Image": options.image,
            "Entrypoint": [],
            "Cmd": command,
            "Env": [f"{name}={value}" for name, value in variables.items()],
            "WorkingDir": os.path.normpath(os.path.join(INSIDE, cwd)),
            "User": options.user or f"{os.getuid()}:{os.getgid()}",
            "Hostname": "box",
            **dict.fromkeys(("AttachStdin", "AttachStdout", "AttachStderr", "OpenStdin", "StdinOnce"), True),
            "Tty": False,
            "Labels": {OWNER: _owner(), WORKSPACE: self._label},
            "HostConfig": self._host_config(),
        }

    def _host_config(self) -> dict[str, Any]:
        spec, options, limits = self._spec, self._options, self._spec.limits
        scratch = f"rw,nosuid,nodev,exec,mode=1777,size={options.tmp_bytes}"
        ulimits = [{"Name": "core", "Soft": 0, "Hard": 0}]
        if limits.file_bytes is not None:
            ulimits.append({"Name": "fsize", "Soft": limits.file_bytes, "Hard": limits.file_bytes})
        return {
            "Mounts": self._binds,
            "NetworkMode": "bridge" if spec.network else "none",
            "IpcMode": "private",
            "ReadonlyRootfs": True,
            "Tmpfs": {"/tmp": scratch, "/var/tmp": scratch},
            "ShmSize": options.tmp_bytes,
            "CapDrop": ["ALL"],
            "SecurityOpt": ["no-new-privileges"],
            "Ulimits": ulimits,
            "Init": False,  # the leash is the first process
            "AutoRemove": False,
            "LogConfig": {"Type": "none"},
            "RestartPolicy": {"Name": "no"},
            **({} if limits.memory_bytes is None else {"Memory": limits.memory_bytes, "MemorySwap": limits.memory_bytes}),
            # The leash counts, and so does the relay.
            **({} if limits.processes is None else {"PidsLimit": limits.processes + 1 + bool(spec.services)}),
            **({} if not options.cpus else {"NanoCpus": int(options.cpus * 1e9)}),
            **({} if not options.userns else {"UsernsMode": options.userns}),
        }

    def stop(self) -> None:
        """Remove every container of the box; the kernel ends what runs in one with its first process. Raises `SandboxError`."""
        with self._lock:
            started, self._started = self._started, []
            for process in started:
                process.remove()
            for container, _ in self._engine.labelled(f"{WORKSPACE}={self._label}"):
                self._engine.remove(container)
            self._hold_none()

    def _hold_none(self) -> None:
        for held in self._held:
            held.close()
        self._held = []

    def close(self) -> None:
        self.stop()
        self._listening.close()
        self._scratch.close()


def _binds(spec: BoxSpec, workspace: Path, own: Path) -> Iterator[dict[str, Any]]:
    yield _bind(workspace, INSIDE, writable=True)
    shown: list[Path] = []
    for path in sorted({p for given in spec.readable for p in (given.absolute(), given.resolve())}, key=lambda p: (len(p.parts), p)):
        if path.exists() and not any(path.is_relative_to(other) for other in shown):
            if workspace.is_relative_to(path.resolve()):
                raise SandboxError(f"{path} cannot be made readable in a box: it would show what lies around the workspace")
            shown.append(path)
            yield _bind(path.resolve(), str(path))
    for real in (given.resolve() for given in spec.hidden):
        for root in shown:
            if real.exists() and real.is_relative_to(root.resolve()):
                yield _bind(own / ("empty" if real.is_dir() else "nothing"), str(root / real.relative_to(root.resolve())))
    yield _bind(own / "leash.py", f"{AT}/leash.py")
    yield _bind(own / "leash", f"{AT}/leash")
    if spec.services:
        for source, target in way.mounts(spec.services, own):
            yield _bind(source, target)


def _bind(source: Path, target: str, *, writable: bool = False) -> dict[str, Any]:
    return {
        "Type": "bind",
        "Source": str(source),
        "Target": target,
        "ReadOnly": not writable,
        "BindOptions": {"Propagation": "rprivate"},
    }


def _listen(path: Path) -> socket.socket:
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(str(path))
    listening.listen(1024)
    listening.setblocking(False)
    return listening


def _ended(held: socket.socket) -> bool:
    """Whether the other side is gone; it never says anything."""
    held.setblocking(False)
    try:
        over = not held.recv(1)
    except BlockingIOError:
        return False
    except OSError:
        over = True
    if over:
        held.close()
    return over


def _owner() -> str:
    return f"{os.getpid()}-{_born(os.getpid())}"


def _born(pid: int) -> str:
    """When a process started, in the kernel's ticks; ids are given out again. Empty if there is none."""
    try:
        return Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[19].decode()
    except (OSError, IndexError):
        return ""


def _lives(owner: str) -> bool:
    pid, _, born = owner.partition("-")
    return pid.isdigit() and _born(int(pid)) == born != ""


class _ContainerSandbox:
    api_version: ClassVar[int] = 1
    description: ClassVar[str] = ""
    Options: ClassVar[type[BaseModel]] = ContainerOptions
    id: ClassVar[str] = ""
    PLACES: ClassVar[tuple[str, ...]] = ()
    """Where the engine's socket usually is, the likeliest first."""
    isolation = Isolation(files=True, network=True, processes=True)

    def __init__(self, options: ContainerOptions) -> None:
        self.options = options
        self._engine: Engine | None = None
        self._probed: Probe | None = None

    def probe(self) -> Probe:
        """Start a program in a container and see that it is confined; the answer is kept."""
        if self._probed is None:
            try:
                self._probed = self._try()
            except (OSError, SandboxError) as error:
                self._probed = Probe(False, f"it does not work here: {error}", f"Is {self.id} running? Note: {UNTRIED}.")
        return self._probed

    def _try(self) -> Probe:
        if not PINNED.fullmatch(self.options.image):
            what = "no image is named" if not self.options.image else f"the image {self.options.image!r} is not named by its digest"
            return Probe(False, what, "Set the option `image` to NAME@sha256:… of a system in which your agents run.")
        paths = [Path(os.path.expandvars(name)) for name in ([self.options.socket] if self.options.socket else self.PLACES)]
        found = next((path for path in paths if path.is_socket()), None)
        if found is None:
            return Probe(False, f"no engine listens at {', '.join(map(str, paths))}", f"Start {self.id}, or set the option `socket`.")
        engine = Engine(found)
        version = engine.version()
        if not engine.has_image(self.options.image):
            return Probe(False, f"the image {self.options.image} is not there", f"{self.id} pull {self.options.image}")
        with Scratch("probe") as scratch:
            wrong = _look(engine, scratch.path, self.options)
        if wrong:
            return Probe(False, wrong, f"Note: {UNTRIED}.")
        self._engine = engine
        return Probe(True, f"works ({self.id} {str(version.get('Version', '?'))[:40]}; {UNTRIED})")

    def open(self, spec: BoxSpec) -> ContainerBox:
        probe = self.probe()
        if self._engine is None:
            raise SandboxError(probe.detail, hint=probe.hint)
        if not spec.workspace.is_dir():
            raise SandboxError(f"{spec.workspace}: no such folder")
        return ContainerBox(self._engine, spec, self.options)


LOOK: Final = 'echo started > file; test -e "$0" && echo files; test "$(grep -c : /proc/net/dev)" -gt 1 && echo network; kill -0 "$1" 2>/dev/null && echo processes; exit 0'


def _look(engine: Engine, folder: Path, options: ContainerOptions) -> str:
    """What is wrong with a box, or nothing."""
    workspace, secret = folder / "workspace", folder / f"secret-{secrets.token_hex(4)}"
    workspace.mkdir()
    secret.write_text("hidden")
    box = ContainerBox(engine, BoxSpec(workspace), options)
    try:
        process = box.spawn(["/bin/sh", "-c", LOOK, str(secret), str(os.getpid())])
        said = [line.decode("utf-8", "replace") for line in process.lines()]
        code = process.wait(60)
        if code != 0 or not (workspace / "file").exists():
            return f"a program does not start: {process.stderr_tail().strip()[-300:] or f'exit code {code}'}"
        return f"it does not confine {', '.join(said)} here"[:300] if said else ""
    finally:
        box.close()


class DockerSandbox(_ContainerSandbox):
    """Containers of Docker."""

    description: ClassVar[str] = "containers of Docker: an agent sees an image, its workspace and nothing of the machine"
    id: ClassVar[str] = "docker"
    PLACES: ClassVar[tuple[str, ...]] = ("/var/run/docker.sock", "$XDG_RUNTIME_DIR/docker.sock")


class PodmanSandbox(_ContainerSandbox):
    """Containers of Podman."""

    description: ClassVar[str] = "containers of Podman: an agent sees an image, its workspace and nothing of the machine"
    id: ClassVar[str] = "podman"
    PLACES: ClassVar[tuple[str, ...]] = ("$XDG_RUNTIME_DIR/podman/podman.sock", "/run/podman/podman.sock")
