"""What the kernel bounds."""

import contextlib
import os
import resource
import shutil
from collections.abc import Sequence
from typing import Final

from finassay.api.errors import SandboxError
from finassay.api.sandbox import Limits

NAMES: Final = {resource.RLIMIT_AS: "as", resource.RLIMIT_FSIZE: "fsize", resource.RLIMIT_CORE: "core", resource.RLIMIT_NPROC: "nproc"}


def rlimits(limits: Limits, processes: int | None) -> list[tuple[int, int]]:
    """(resource, value) of every limit, none above what the harness itself may have. `processes` is in the kernel's counting."""
    wanted = {
        resource.RLIMIT_AS: None if limits.memory_bytes is None else limits.memory_bytes + limits.reserved_bytes,
        resource.RLIMIT_FSIZE: limits.file_bytes,
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_NPROC: processes,
    }
    found = []
    for number, value in wanted.items():
        if value is not None:
            hard = resource.getrlimit(number)[1]
            found.append((number, value if hard == resource.RLIM_INFINITY else min(value, hard)))
    return found


def limited(argv: Sequence[str], wanted: Sequence[tuple[int, int]]) -> list[str]:
    """The command that starts `argv` under limits, for where no helper of ours can run. Raises `SandboxError` without `prlimit`."""
    program = shutil.which("prlimit", path="/usr/bin:/bin")
    if program is None:
        raise SandboxError("the program 'prlimit' was not found", hint="It is part of util-linux.")
    return [program, *(f"--{NAMES[number]}={value}" for number, value in wanted), "--", *argv]


def own_processes() -> int:
    """Processes and threads of this user: the kernel's limit counts all of them together."""
    uid, count = os.getuid(), 0
    for name in os.listdir("/proc"):
        if name.isdigit():
            with contextlib.suppress(OSError):
                if os.stat(f"/proc/{name}").st_uid == uid:
                    count += len(os.listdir(f"/proc/{name}/task"))
    return count
