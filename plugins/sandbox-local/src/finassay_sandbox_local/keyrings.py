"""Kernel keyrings: no namespace of the kernel hides them, so what the user or the harness keeps there (tickets, tokens, passwords of file
systems) would be readable for every program that runs under the same user. Where a box filters system calls (`calls`) they are gone."""

import ctypes
import platform
from typing import Final

from finassay_sandbox_local.calls import KEYRINGS, MACHINES

KEYCTL_JOIN_SESSION_KEYRING: Final = 1


def join_own_keyring() -> None:
    """From now on the calling thread, and what it starts, has an empty session keyring of its own. Nothing where the kernel has none."""
    machine = MACHINES.get(platform.machine())
    if machine is not None:
        ctypes.CDLL(None).syscall(KEYRINGS["keyctl"][machine[1]], KEYCTL_JOIN_SESSION_KEYRING, None)
