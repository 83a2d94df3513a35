"""What a box grants, as `confine` takes it."""

import ctypes
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from attrs import frozen

from finassay.api.errors import SandboxError
from finassay.api.sandbox import BoxSpec
from finassay_sandbox_local import relay
from finassay_sandbox_local.calls import DGRAM, INET, INET6, NETLINK, STREAM, TCP, UNIX, Sockets, instructions

EXECUTE, WRITE_FILE, READ_FILE, READ_DIR = 1, 2, 4, 8
READ: Final = EXECUTE | READ_FILE | READ_DIR
MAKE: Final = 1 << 4 | 1 << 5 | 1 << 7 | 1 << 8 | 1 << 9 | 1 << 10 | 1 << 12
"""Remove folders and files; make folders, files, sockets, pipes and links. Devices are never made."""
ALL_OF_ABI_1: Final = (1 << 13) - 1
REFER, TRUNCATE, IOCTL_DEV, RESOLVE_UNIX = 1 << 13, 1 << 14, 1 << 15, 1 << 16
FOR_FILES: Final = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEV
BIND_TCP, CONNECT_TCP = 1, 2
SCOPES: Final = 3
"""Abstract Unix sockets, and signals."""

CLONE_NEWUSER, CLONE_NEWNET, CLONE_NEWIPC = 0x10000000, 0x40000000, 0x08000000
NOSUID, NODEV, NOEXEC, BIND, REC, PRIVATE = 2, 4, 8, 4096, 16384, 1 << 18

SYSTEM: Final = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
ETC: Final = (
    *("alternatives", "ca-certificates", "ca-certificates.conf", "crypto-policies", "fonts", "group", "ld.so.cache", "ld.so.conf"),
    *("ld.so.conf.d", "localtime", "mime.types", "nsswitch.conf", "passwd", "pki/ca-trust", "pki/tls/certs", "pki/tls/cert.pem"),
    *("protocols", "services", "ssl/cert.pem", "ssl/certs", "ssl/openssl.cnf", "timezone"),
)
"""Of /etc; no folder that may hold a private key."""
ETC_NETWORK: Final = ("hosts", "resolv.conf", "gai.conf")
DEVICES: Final = ("null", "zero", "full", "random", "urandom", "tty")
TELLING: Final = (
    *("kallsyms", "kcore", "key-users", "keys", "kmsg", "kpagecgroup", "kpagecount", "kpageflags", "latency_stats", "modules"),
    *("sched_debug", "slabinfo", "timer_list", "timer_stats", "vmallocinfo"),
)
"""Files of /proc about the whole machine that no agent needs."""
UNCOVERED: Final = {"bin", "boot", "dev", "etc", "lib", "lib32", "lib64", "libx32", "proc", "sbin", "sys", "usr"}
"""Of the root folder: what programs need, and what only tells of the machine."""


@frozen
class Tier:
    """What this kernel lets us do besides Landlock."""

    abi: int
    spaces: bool
    """Namespaces of network, shared memory and mounts."""
    user: bool = False
    """They need a user namespace, because we are not root."""
    hides: bool = False
    """A view of /proc that shows only what the program may trace."""


def abi() -> int:
    """Version of the kernel's Landlock; 0 where there is none."""
    found: int = ctypes.CDLL(None, use_errno=True).syscall(444, None, ctypes.c_size_t(0), 1)
    return max(0, found)


def plan(spec: BoxSpec, tier: Tier, own: Path, cwd: Path, tmp_bytes: int) -> dict[str, Any]:
    """For `confine`. `own` is a folder of ours with an empty folder `empty` and an empty file `nothing`."""
    workspace = spec.workspace.resolve()
    readable = list(_readable(spec, workspace))
    hidden = [path for given in spec.hidden if (path := given.resolve()).exists()]
    granted = [*readable, *(Path(name) for name in SYSTEM)]
    shown = granted if tier.spaces else [part for path in granted for part in beside(path, hidden)]
    covers = list(_covers([workspace, *readable]))  # what is left in them may be listed: modules are looked up by their folder's list
    return {
        "spaces": _spaces(spec, tier),
        "user": tier.user,
        "relay": str(Path(relay.__file__).parent),
        "ways": [(service.port, str(service.socket.resolve())) for service in spec.services] if tier.spaces and not spec.network else [],
        "mounts": _mounts(tier, hidden, own, tmp_bytes) if tier.spaces else [],
        "covers": [(folder, kept, str(workspace), f"mode={mode},size={tmp_bytes}") for folder, kept, mode in covers],
        "cwd": str(cwd),
        **_landlock(spec, tier, workspace, shown, [*granted, *(Path(folder) for folder, _, _ in covers if tier.spaces)]),
        "filter": instructions(_sockets(spec, tier), apart=False, shared_memory=tier.spaces, truncate=tier.abi >= 3),
    }


def _readable(spec: BoxSpec, workspace: Path) -> Iterator[Path]:
    for path in dict.fromkeys(p for given in spec.readable for p in (given.absolute(), given.resolve())):
        if path.exists():
            if workspace.is_relative_to(path.resolve()):
                raise SandboxError(f"{path} cannot be made readable in a box: it would show what lies around the workspace")
            yield path


def _spaces(spec: BoxSpec, tier: Tier) -> int:
    if not tier.spaces:
        return 0
    return CLONE_NEWIPC | (CLONE_NEWUSER if tier.user else 0) | (0 if spec.network else CLONE_NEWNET)


def _mounts(tier: Tier, hidden: Sequence[Path], own: Path, tmp_bytes: int) -> list[tuple[str, str, str | None, int, str | None]]:
    found: list[tuple[str, str, str | None, int, str | None]] = [
        ("none", "/", None, REC | PRIVATE, None),
        ("tmpfs", "/dev/shm", "tmpfs", NOSUID | NODEV, f"mode=1777,size={tmp_bytes}"),
        ("devpts", "/dev/pts", "devpts", NOSUID | NOEXEC, "newinstance,ptmxmode=0666,mode=0620"),
        ("/dev/pts/ptmx", "/dev/ptmx", None, BIND, None),
    ]
    if tier.hides:
        found.append(("proc", "/proc", "proc", NOSUID | NODEV | NOEXEC, "hidepid=ptraceable"))
    found += [("/dev/null", f"/proc/{name}", None, BIND, None) for name in TELLING if os.path.exists(f"/proc/{name}")]
    return [*found, *((str(own / ("empty" if path.is_dir() else "nothing")), str(path), None, BIND, None) for path in hidden)]


def _covers(kept: Sequence[Path]) -> Iterator[tuple[str, list[str], str]]:
    """Every folder of the root that nothing needs is covered, so that not even a name in it can be asked for. /tmp becomes a private one."""
    for entry in sorted(os.scandir("/"), key=lambda entry: entry.name):
        if entry.is_dir(follow_symlinks=False) and entry.name not in UNCOVERED:
            inside = sorted({str(path) for path in kept if path.is_relative_to(entry.path)})
            if entry.path not in inside:
                yield entry.path, _outermost(inside), "1777" if entry.path == "/tmp" else "755"


def _outermost(paths: Sequence[str]) -> list[str]:
    return [path for path in paths if not any(path != other and Path(path).is_relative_to(other) for other in paths)]


def _landlock(spec: BoxSpec, tier: Tier, workspace: Path, shown: Sequence[Path], granted: Sequence[Path]) -> dict[str, Any]:
    files = (
        ALL_OF_ABI_1
        | (REFER if tier.abi >= 2 else 0)
        | (TRUNCATE if tier.abi >= 3 else 0)
        | (IOCTL_DEV if tier.abi >= 5 else 0)
        | (RESOLVE_UNIX if tier.abi >= 9 else 0)
    )
    paths = [(path, READ) for path in shown]
    paths += [(path, READ_DIR) for path in granted if path not in shown]
    paths += [(Path("/etc", name), READ) for name in (*ETC, *(ETC_NETWORK if spec.network else ()))]
    paths += [(Path("/proc"), READ), (workspace, READ | WRITE_FILE | MAKE | REFER | TRUNCATE)]
    paths += [(Path("/dev", name), READ | WRITE_FILE | TRUNCATE) for name in DEVICES]
    if tier.spaces:
        scratch = READ | WRITE_FILE | MAKE | REFER | TRUNCATE
        paths += [(Path("/tmp"), scratch), (Path("/dev/shm"), scratch)]
        paths += [(Path(name), READ | WRITE_FILE | IOCTL_DEV) for name in ("/dev/pts", "/dev/ptmx", "/dev/tty")]
    by_port = tier.abi >= 4 and not tier.spaces and not spec.network
    network = (BIND_TCP | CONNECT_TCP) if by_port else 0
    return {
        "handled": (files, network, SCOPES)[: 1 if tier.abi < 4 else 2 if tier.abi < 6 else 3],
        "paths": [(str(path), access & files & (files if path.is_dir() else FOR_FILES)) for path, access in paths if path.exists()],
        "ports": [(service.port, CONNECT_TCP) for service in spec.services] if by_port else [],
    }


def _sockets(spec: BoxSpec, tier: Tier) -> list[Sockets]:
    """What may be made. Unix sockets only where Landlock watches over the paths that they connect to."""
    unix = [Sockets(UNIX)] if tier.abi >= 9 else []
    routes = [Sockets(NETLINK, (), (0,))]  # lists the interfaces
    if spec.network or tier.spaces:
        return [Sockets(INET, (STREAM, DGRAM)), Sockets(INET6, (STREAM, DGRAM)), *routes, *unix]
    if spec.services:
        return [Sockets(INET, (STREAM,), (0, TCP)), Sockets(INET6, (STREAM,), (0, TCP)), *routes, *unix]
    return [*routes, *unix]


def beside(folder: Path, hidden: Sequence[Path]) -> Iterator[Path]:
    """Landlock grants whole trees and takes nothing away again: a folder with something hidden in it is granted piece by piece."""
    real = folder.resolve()
    inside = [path for path in hidden if path.is_relative_to(real)]
    if not inside:
        yield folder
    elif real not in inside:
        for entry in sorted(os.scandir(folder), key=lambda entry: entry.name):
            yield from beside(Path(entry.path), inside) if not entry.is_symlink() else ()
