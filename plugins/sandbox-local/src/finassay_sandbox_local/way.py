"""A way to the harness's servers out of a box that has no network: what must be shown in it, and the command that starts a program with it."""

import os
import shutil
import sys
import sysconfig
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from finassay.api.errors import SandboxError
from finassay.api.sandbox import Service
from finassay_sandbox_local import relay

AT: Final = "/run/finassay"
"""Folder in the box."""


def mounts(services: Sequence[Service], own: Path) -> list[tuple[Path, str]]:
    """(host path, path in the box) of each socket's folder and of the relay, of which a copy is put into `own`: a box can see what path of
    the host is mounted. Read-only will do for all: connecting is not writing.

    Raises `SandboxError` where a socket is not the only thing in its folder, because all of the folder would be shown.
    """
    copy = own / "relay.py"
    shutil.copyfile(str(relay.__file__), copy)
    found = [(copy, f"{AT}/relay.py")]
    for number, service in enumerate(services):
        folder = service.socket.parent.resolve()
        try:
            others = sorted(set(os.listdir(folder)) - {service.socket.name})
        except OSError as error:
            raise SandboxError(f"the folder of the service {service.name!r} cannot be read: {error.strerror}") from error
        if others:
            raise SandboxError(f"the folder of the service {service.name!r} holds more than its socket")
        found.append((folder, f"{AT}/{number}"))
    return found


def command(services: Sequence[Service], argv: Sequence[str], python: str | None = None) -> list[str]:
    """`argv` started by the relay, with this interpreter or with another that the box has."""
    ways = [part for number, service in enumerate(services) for part in (str(service.port), f"{AT}/{number}/{service.socket.name}")]
    return [python or interpreter(), "-I", "-S", f"{AT}/relay.py", *ways, "--", *argv]


def interpreter() -> str:
    """The real interpreter, past every link and virtual environment."""
    return os.path.realpath(getattr(sys, "_base_executable", sys.executable))


def interpreter_files() -> tuple[Path, ...]:
    """All that it needs for the standard library: itself, the library's folders, and the shared library that it is linked with."""
    library = Path(str(sysconfig.get_config_var("LIBDIR") or ""), str(sysconfig.get_config_var("INSTSONAME") or ""))
    paths = [Path(interpreter()), *(Path(sysconfig.get_path(name, vars=_base())).resolve() for name in ("stdlib", "platstdlib"))]
    if library.is_file():
        paths += [library, library.resolve()]
    return tuple(dict.fromkeys(paths))


def _base() -> dict[str, str]:
    return {"base": sys.base_prefix, "platbase": sys.base_exec_prefix}


def site_packages() -> tuple[Path, ...]:
    """What lies in the library's folders besides it: somebody's packages, which nobody named."""
    return tuple(path for folder in interpreter_files() for name in ("site-packages", "dist-packages") if (path := folder / name).is_dir())
