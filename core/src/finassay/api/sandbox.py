"""Where an agent's processes run."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Protocol, runtime_checkable

from attrs import Factory, frozen


@frozen
class Limits:
    """Resource limits of every process in a box; None leaves the machine's own."""

    memory_bytes: int | None = 8 * 2**30
    reserved_bytes: int = 0
    """Added to `memory_bytes` where a sandbox can only limit the address space of a process, not what it uses."""
    processes: int | None = 256
    file_bytes: int | None = 4 * 2**30


@frozen
class Service:
    """A server of the harness that a box's processes may talk to, at `127.0.0.1:port` as they see it.

    Where a sandbox takes the network away it leads that address to `socket`; elsewhere `port` is the machine's own and nothing is needed.
    """

    name: str
    port: int
    socket: Path
    """Unix socket of the same server, on the host. Its folder holds nothing else."""


@frozen
class BoxSpec:
    """What a box may see. Everything not named is out of sight where the sandbox isolates."""

    workspace: Path
    """Host folder, the only writable place besides a private temporary folder. HOME is `.home` in it, so that an agent's own memory
    of the session lasts from turn to turn and goes with the session."""
    readable: tuple[Path, ...] = ()
    """Host folders that are visible, read-only, at their own paths."""
    hidden: tuple[Path, ...] = ()
    """Folders and files under `readable` ones that are masked by empty ones: evaluation code and grammars that are installed beside an agent."""
    environment: Mapping[str, str] = Factory(dict)
    """The whole environment of its processes, besides PATH, HOME, TMPDIR and LANG, which the sandbox sets."""
    network: bool = False
    services: tuple[Service, ...] = ()
    """What is reachable besides, also without a network."""
    limits: Limits = Limits()


@frozen
class Isolation:
    """What a sandbox really isolates; stands on every result."""

    files: bool
    network: bool
    processes: bool


@frozen
class Probe:
    """Whether a sandbox works on this machine."""

    ok: bool
    detail: str
    hint: str = ""


class BoxProcess(Protocol):
    """A program running in a box. Output is bounded by the reader, not by the process."""

    def write(self, data: bytes) -> None:
        """Hand more to the standard input of a program that was started with `stdin=None`; returns when it is written.

        Raises `SandboxError` once the program is gone, and where the sandbox can tell also when it has closed its input.
        """
        ...

    def close_input(self) -> None:
        """End its standard input. Harmless when repeated."""
        ...

    def lines(self) -> Iterator[bytes]:
        """Lines of standard output as they come, without their line ends, each cut at `MAX_LINE_BYTES`; ends with the program."""
        ...

    def wait(self, seconds: float | None = None) -> int | None:
        """Exit code, negative for a signal; None if it still runs after `seconds`."""
        ...

    def stderr_tail(self) -> str:
        """The last few kilobytes of standard error."""
        ...


MAX_LINE_BYTES = 8 * 2**20


class Box(Protocol):
    """One sandbox instance around one workspace."""

    workspace: Path
    """Host path."""
    inside: str
    """The workspace's path as the processes see it."""
    isolation: Isolation

    def spawn(
        self, argv: Sequence[str], *, stdin: bytes | None = b"", environment: Mapping[str, str] | None = None, cwd: str = "."
    ) -> BoxProcess:
        """Start a program; `stdin` is written and closed, None leaves it open for `write`. Raises `SandboxError` if it cannot start."""
        ...

    def stop(self) -> None:
        """End every process ever started in the box, with all descendants, and wait until they are gone. The box stays usable."""
        ...

    def close(self) -> None:
        """`stop`, then remove what the sandbox itself made (never the workspace)."""
        ...


@runtime_checkable
class Sandbox(Protocol):
    """Opens boxes. Capabilities are what `probe` and `isolation` say, not promises."""

    id: str
    isolation: Isolation

    def probe(self) -> Probe:
        """Try it for real: start a program in a box and see that it is confined. Never raises."""
        ...

    def open(self, spec: BoxSpec) -> Box:
        """A box ready to start programs. Raises `SandboxError`."""
        ...
