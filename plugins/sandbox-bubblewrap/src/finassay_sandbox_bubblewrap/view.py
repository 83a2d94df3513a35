"""What a box shows of the machine, as arguments for bubblewrap."""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from finassay.api.errors import SandboxError
from finassay.api.sandbox import BoxSpec
from finassay_sandbox_local import way

INSIDE: Final = "/workspace"
SYSTEM: Final = ("/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
ETC: Final = (
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
    "pki/ca-trust",
    "pki/tls/certs",
    "pki/tls/cert.pem",
    "protocols",
    "services",
    "ssl/cert.pem",
    "ssl/certs",
    "ssl/openssl.cnf",
    "timezone",
)
"""Of /etc; no folder that may hold a private key."""
ETC_NETWORK: Final = ("hosts", "resolv.conf", "gai.conf")
KERNEL: Final = ("acpi", "asound", "bus", "driver", "fs", "irq", "scsi", "sys")
"""Folders of /proc that set the machine. The kernel lets root's user id write there without any capability: `kernel/core_pattern`, say,
names a program that runs outside every box."""
KEYS: Final = ("key-users", "keys")
TELLING: Final = (
    *KEYS,
    *("kallsyms", "kcore", "kmsg", "kpagecgroup", "kpagecount", "kpageflags", "latency_stats", "modules"),
    *("sched_debug", "slabinfo", "timer_list", "timer_stats", "vmallocinfo"),
)
"""Files of /proc about the whole machine, the names of keys in keyrings among them, that no agent needs."""


def view(spec: BoxSpec, own: Path, tmp_bytes: int) -> list[str]:
    """Mounts of a box. `own` holds `empty`, `nothing`, `passwd` and `group`. Raises `SandboxError` for a folder that would show too much."""
    workspace = spec.workspace.resolve()
    relayed = relays(spec)
    files = way.interpreter_files() if relayed else ()
    shown = visible((*spec.readable, *files), workspace)
    return [
        *("--ro-bind", "/usr", "/usr"),
        *_system(),
        *_etc(own, network=spec.network),
        *("--proc", "/proc", *_kernel(own), "--dev", "/dev"),
        *("--size", str(tmp_bytes), "--perms", "1777", "--tmpfs", "/tmp"),
        *("--size", str(tmp_bytes), "--perms", "1777", "--tmpfs", "/dev/shm"),
        *("--dir", "/run", "--symlink", "../tmp", "/var/tmp"),
        *(argument for path in shown for argument in _shown(path, shown)),
        *("--bind", str(workspace), INSIDE),
        *(argument for path in masked(_hidden(spec), shown) for argument in ("--ro-bind", str(own / _empty(path)), str(path))),
        *(argument for path, at in (way.mounts(spec.services, own) if relayed else ()) for argument in ("--ro-bind", str(path), at)),
        *("--remount-ro", "/dev", "--remount-ro", "/"),
    ]


def relays(spec: BoxSpec) -> bool:
    """Whether programs need a way to the harness's servers, because the network that has them is taken away."""
    return bool(spec.services) and not spec.network


def _hidden(spec: BoxSpec) -> list[Path]:
    """What was named, and packages that would be seen only because the relay's interpreter lies beside them."""
    named = [path.resolve() for path in (*spec.readable, Path("/usr"))]
    beside = [p for p in way.site_packages() if not any(p.resolve().is_relative_to(path) for path in named)] if relays(spec) else []
    return [*spec.hidden, *beside]


def _system() -> Iterator[str]:
    for name in SYSTEM:
        path = Path(name)
        if path.is_symlink():
            yield from ("--symlink", os.readlink(path), name)
        elif path.is_dir():
            yield from ("--ro-bind", name, name)


def _kernel(own: Path, proc: Path = Path("/proc")) -> Iterator[str]:
    """What of /proc is shown read-only, and what is masked: bubblewrap itself leaves most of it to the permissions of the files.

    For everybody but root these are enough, except that the names of keys are there for all to read.
    """
    root = os.geteuid() == 0
    for entry in sorted(os.scandir(proc), key=lambda e: e.name):
        if entry.name in (TELLING if root else KEYS):
            yield from ("--ro-bind", str(own / "nothing"), f"/proc/{entry.name}")
        elif root and (entry.name in KERNEL or (entry.is_file(follow_symlinks=False) and entry.stat().st_mode & 0o222)):
            yield from ("--ro-bind", str(proc / entry.name), f"/proc/{entry.name}")


def _etc(own: Path, *, network: bool) -> Iterator[str]:
    for name in (*ETC, *(ETC_NETWORK if network else ())):
        yield from ("--ro-bind-try", f"/etc/{name}", f"/etc/{name}")
    for name in ("passwd", "group"):
        yield from ("--ro-bind", str(own / name), f"/etc/{name}")


def visible(readable: Sequence[Path], workspace: Path) -> list[Path]:
    """Readable paths, outer ones first, each also at the place that its links lead to."""
    found: list[Path] = []
    for path in sorted({p for given in readable for p in (given.absolute(), given.resolve())}, key=lambda p: (len(p.parts), p)):
        if not path.exists() or path.is_relative_to("/usr"):
            continue
        if workspace.is_relative_to(path.resolve()) or Path("/usr").is_relative_to(path.resolve()):
            raise SandboxError(
                f"{path} cannot be made readable in a box: it would show what lies around the workspace or the whole machine"
            )
        if not any(path.is_relative_to(other) for other in found):
            found.append(path)
    return found


def _shown(path: Path, shown: Sequence[Path]) -> tuple[str, ...]:
    """A link to what is shown anyway stays a link: every mount makes the start of a program slower."""
    if _leads(path, shown):
        return ("--symlink", str(path.resolve()), str(path))
    return ("--ro-bind", str(path), str(path))


def _leads(path: Path, shown: Sequence[Path]) -> bool:
    return path.is_symlink() and any(path.resolve().is_relative_to(other) for other in shown if not other.is_symlink())


def _empty(path: Path) -> str:
    """What to show instead."""
    return "empty" if path.is_dir() else "nothing"


def masked(hidden: Sequence[Path], shown: Sequence[Path]) -> list[Path]:
    """Every path in the box at which a hidden folder or file would be seen."""
    places: dict[Path, None] = {}
    for folder in hidden:
        real = folder.resolve()
        for root in (Path("/usr"), *(path for path in shown if not _leads(path, shown))):
            if real.exists() and real.is_relative_to(root.resolve()):
                places[root / real.relative_to(root.resolve())] = None
    return list(places)
