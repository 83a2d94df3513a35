"""Kernel keyrings: no namespace of the kernel hides them, so what the user or the harness keeps there (tickets, tokens, passwords of file
systems) would be readable for every program that runs under the same user, in whatever box."""

import ctypes
import platform
import struct
from typing import Final

ENOSYS: Final = 38
_NEEDED: Final = {
    # audit architecture: (add_key, request_key, keyctl)
    "x86_64": ((0xC000003E, (248, 249, 250)), (0x40000003, (286, 287, 288))),
    "aarch64": ((0xC00000B7, (217, 218, 219)), (0x40000028, (309, 310, 311))),
}
"""Of each machine: its own system calls, and those of the 32-bit programs that it can run."""
X32_BIT: Final = 0x40000000
KEYCTL_JOIN_SESSION_KEYRING: Final = 1
_LOAD, _EQUAL, _AND, _RETURN = 0x20, 0x15, 0x54, 0x06
_ALLOW, _ERRNO = 0x7FFF0000, 0x00050000


def without_keyrings(machine: str = "") -> bytes | None:
    """A filter of system calls (classic BPF, as seccomp takes it) under which the keyrings are not there; None for an unknown machine."""
    tables = _NEEDED.get(machine or platform.machine())
    if tables is None:
        return None
    refuse, allow = _instruction(_RETURN, _ERRNO | ENOSYS), _instruction(_RETURN, _ALLOW)
    program = b""
    for architecture, numbers in tables:
        calls = [_instruction(_LOAD, 0), _instruction(_AND, 0xFFFFFFFF ^ X32_BIT)]
        for left, number in enumerate(reversed(numbers)):
            calls.insert(2, _instruction(_EQUAL, number, yes=left + 1))
        body = [*calls, allow, refuse]
        program += _instruction(_LOAD, 4) + _instruction(_EQUAL, architecture, no=len(body)) + b"".join(body)
    return program + allow


def join_own_keyring() -> None:
    """From now on the calling thread, and what it starts, has an empty session keyring of its own. Nothing where the kernel has none."""
    numbers = _NEEDED.get(platform.machine())
    if numbers is not None:
        ctypes.CDLL(None).syscall(numbers[0][1][2], KEYCTL_JOIN_SESSION_KEYRING, None)


def _instruction(code: int, value: int, yes: int = 0, no: int = 0) -> bytes:
    return struct.pack("=HBBI", code, yes, no, value)
