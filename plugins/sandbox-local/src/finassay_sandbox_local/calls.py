"""A seccomp filter of system calls that no agent needs, for what neither namespaces nor Landlock reach."""

import platform
import struct
from collections.abc import Iterator, Sequence
from typing import Final

from attrs import frozen

ALLOW, KILL, ERRNO = 0x7FFF0000, 0x80000000, 0x00050000
EPERM, ENOSYS, EAFNOSUPPORT = 1, 38, 97
LOAD, AND, EQUAL, ABOVE, ANY, RETURN = 0x20, 0x54, 0x15, 0x35, 0x45, 0x06
UNIX, INET, INET6, NETLINK = 1, 2, 10, 16
STREAM, DGRAM, SEQPACKET = 1, 2, 5
TCP: Final = 6
NEW_NAMESPACES: Final = 0x7E020000
MSG_FASTOPEN: Final = 0x20000000

MACHINES: Final = {"x86_64": (0xC000003E, 0), "aarch64": (0xC00000B7, 1)}
"""Name to the kernel's number of the architecture, and the column of the tables."""
KEYRINGS: Final = {"add_key": (248, 217), "request_key": (249, 218), "keyctl": (250, 219)}
"""What the kernel keeps for a user; no namespace hides it."""
DENIED: Final = {
    "bpf": (321, 280),
    "userfaultfd": (323, 282),
    "perf_event_open": (298, 241),
    "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),  # it makes sockets past any filter
    "name_to_handle_at": (303, 264),
    "open_by_handle_at": (304, 265),
    "unshare": (272, 97),
    "setns": (308, 268),
    "chroot": (161, 51),
    "pivot_root": (155, 41),
    "mount": (165, 40),
    "umount2": (166, 39),
    "open_tree": (428, 428),
    "move_mount": (429, 429),
    "fsopen": (430, 430),
    "fsmount": (432, 432),
    "mount_setattr": (442, 442),
    "kexec_load": (246, 104),
    "kexec_file_load": (320, 294),
    "init_module": (175, 105),
    "finit_module": (313, 273),
}
SHARED_MEMORY: Final = {
    "shmget": (29, 194),
    "shmat": (30, 196),
    "shmctl": (31, 195),
    "semget": (64, 190),
    "semop": (65, 193),
    "semctl": (66, 191),
    "semtimedop": (220, 192),
    "msgget": (68, 186),
    "msgsnd": (69, 189),
    "msgrcv": (70, 188),
    "msgctl": (71, 187),
    "mq_open": (240, 180),
    "mq_unlink": (241, 181),
}
"""Means of System V and POSIX by which processes meet; for where they have no namespace of their own."""
OWN_ONLY: Final = {
    "prlimit64": (302, 261),
    "sched_setaffinity": (203, 122),
    "sched_setscheduler": (144, 119),
    "sched_setparam": (142, 118),
    "sched_setattr": (314, 274),
}
"""Change another process of the same user, whose id is the first argument: a limit on the harness's processor time would end it."""
OWN_ONLY_SECOND: Final = {"setpriority": (141, 140), "ioprio_set": (251, 30)}
ALL_OF_A_USER: Final = (2, 3)
"""First argument of those two, in the one or the other counting."""
CLONE3, CLONE = (435, 435), (56, 220)
SOCKET, SOCKETPAIR = (41, 198), (53, 199)
SENDS: Final = {(44, 206): 3, (46, 211): 2, (307, 269): 3}
"""Calls that may connect by sending (`MSG_FASTOPEN`), which Landlock does not see, and which argument holds their flags."""
FCNTL, IOCTL, TRUNCATE = (72, 25), (16, 29), (76, 45)
FCNTL_DENIED: Final = (8, 15)
"""Who receives a file's signals."""
IOCTL_DENIED: Final = (0x5412, 0x541C, 0x8901, 0x8902)
"""Typing into a terminal, two ways; who receives a socket's signals, two ways."""


@frozen
class Sockets:
    """A family of sockets that may be made, of these types and protocols; none named is any."""

    family: int
    types: tuple[int, ...] = ()
    protocols: tuple[int, ...] = ()


class _Code:
    def __init__(self, column: int) -> None:
        self.column = column
        self.lines: list[tuple[int, int, int, int]] = []

    def add(self, code: int, value: int, true: int = 0, false: int = 0) -> None:
        self.lines.append((code, true, false, value))

    def argument(self, number: int) -> None:
        """Load its lower half, which is all that the kernel looks at for what is asked here."""
        self.add(LOAD, 16 + 8 * number)

    def case(self, number: Sequence[int], body: "_Code") -> None:
        """For one system call; the body returns, or falls through to allowing."""
        body.add(RETURN, ALLOW)
        self.add(EQUAL, number[self.column], 0, len(body.lines))
        self.lines += body.lines

    def body(self) -> "_Code":
        return _Code(self.column)

    def deny(self, errno: int = EPERM) -> "_Code":
        self.add(RETURN, ERRNO | errno)
        return self

    def deny_values(self, argument: int, values: Sequence[int]) -> "_Code":
        self.argument(argument)
        for value in values:
            self.add(EQUAL, value, 0, 1)
            self.deny()
        return self

    def deny_bits(self, argument: int, bits: int) -> "_Code":
        self.argument(argument)
        self.add(ANY, bits, 0, 1)
        return self.deny()

    def deny_others(self, argument: int) -> "_Code":
        self.argument(argument)
        self.add(EQUAL, 0, 1, 0)
        return self.deny()

    def only(self, allowed: Sequence[Sockets]) -> "_Code":
        for sockets in allowed:
            checks = [(1, 0xF, sockets.types), (2, 0xFFFFFFFF, sockets.protocols)]
            rest = list(_member(0, 0xFFFFFFFF, (sockets.family,)))
            parts = [rest, *(list(_member(argument, mask, values)) for argument, mask, values in checks if values)]
            after = sum(len(part) for part in parts) + 1
            for part in parts:
                after -= len(part)
                self.lines += [
                    (code, true, after if code == EQUAL and false == SKIP else false, value) for code, true, false, value in part
                ]
            self.add(RETURN, ALLOW)
        return self.deny(EAFNOSUPPORT)


SKIP: Final = 255


def _member(argument: int, mask: int, values: Sequence[int]) -> Iterator[tuple[int, int, int, int]]:
    """Falls through where the argument is one of the values; else jumps over what follows, by how much is set later."""
    yield (LOAD, 0, 0, 16 + 8 * argument)
    if mask != 0xFFFFFFFF:
        yield (AND, 0, 0, mask)
    for left, value in zip(range(len(values) - 1, -1, -1), values, strict=True):
        yield (EQUAL, left, SKIP if left == 0 else 0, value)


def supported() -> bool:
    """Whether the tables have this machine's architecture."""
    return platform.machine() in MACHINES


def instructions(sockets: Sequence[Sockets], *, apart: bool, shared_memory: bool = True, truncate: bool = True) -> bytes:
    """The filter as the kernel takes it; `supported` says where it can be made.

    `apart`: programs have namespaces of their own for processes, mounts and network; else the calls by which they would reach others are denied
    as well. `shared_memory`: leave System V's and POSIX's alone. `truncate`: something else watches over it.
    """
    architecture, column = MACHINES[platform.machine()]
    code = _Code(column)
    code.add(LOAD, 4)
    code.add(EQUAL, architecture, 1, 0)
    code.add(RETURN, KILL)  # the numbers of another architecture mean something else
    code.add(LOAD, 0)
    if column == 0:
        code.add(ABOVE, 0x40000000, 0, 1)  # nor those of x32
        code.add(RETURN, ERRNO | ENOSYS)
    for number in KEYRINGS.values():
        code.case(number, code.body().deny(ENOSYS))
    for number in (*DENIED.values(), *(() if shared_memory else SHARED_MEMORY.values()), *(() if truncate else (TRUNCATE,))):
        code.case(number, code.body().deny())
    code.case(IOCTL, code.body().deny_values(1, IOCTL_DENIED))
    code.case(CLONE3, code.body().deny(ENOSYS))  # its flags lie where a filter cannot look; the C library then uses `clone`
    code.case(CLONE, code.body().deny_bits(0, NEW_NAMESPACES))
    code.case(SOCKET, code.body().only(sockets))
    if not apart:
        _deny_others(code)
    code.add(RETURN, ALLOW)
    return b"".join(struct.pack("HBBI", line[0], line[1], line[2], line[3]) for line in code.lines)


def _deny_others(code: _Code) -> None:
    for number in OWN_ONLY.values():
        code.case(number, code.body().deny_others(0))
    for number in OWN_ONLY_SECOND.values():
        code.case(number, code.body().deny_values(0, ALL_OF_A_USER).deny_others(1))
    for number, flags in SENDS.items():
        code.case(number, code.body().deny_bits(flags, MSG_FASTOPEN))
    code.case(FCNTL, code.body().deny_values(1, FCNTL_DENIED))
    # Not of datagrams: one end of such a pair can send to any path.
    code.case(SOCKETPAIR, code.body().only([Sockets(UNIX, (STREAM, SEQPACKET))]))
