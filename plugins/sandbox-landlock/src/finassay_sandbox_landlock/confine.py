"""Confines itself, then becomes the program: `python -I -S confine.py DESCRIPTOR PROGRAM ARGUMENT…`.

DESCRIPTOR is a file with a marshalled dict, made by `plan`. Whatever cannot be done ends the start with exit code 126: a program runs confined as
was said, or not at all. The order matters: the relay needs the host's view of the files, mounting needs what is given up afterwards, and the
filter comes last because it forbids the rest.

Started by path with every program of a box, in a fresh interpreter; hence only modules that load fast.
"""

import _signal  # type: ignore[import-not-found]
import ctypes
import marshal
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

FAILED = 126
PR_SET_SECCOMP, PR_CAPBSET_DROP, PR_SET_NO_NEW_PRIVS, PR_CAP_AMBIENT = 22, 24, 38, 47
PR_CAP_AMBIENT_CLEAR_ALL, SECCOMP_MODE_FILTER, CAPABILITY_VERSION = 4, 2, 0x20080522
CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446
RULE_PATH, RULE_PORT = 1, 2
MS_RDONLY, MS_REMOUNT, MS_BIND, MS_REC = 1, 32, 4096, 16384
MS_KEPT = 2 | 4 | 8 | 1024 | 2048
"""No set-user-id, no devices, no programs, and what is noted of readings: as in `statvfs`."""
libc = ctypes.CDLL(None, use_errno=True)


def call(what: str, result: int) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
    return result


def unshare(flags: int, user: bool) -> None:
    """New namespaces; without privileges inside a new user namespace, in which the user stays who it is."""
    uid, gid = os.getuid(), os.getgid()
    call("namespaces", libc.unshare(ctypes.c_int(flags)))
    if user:
        for name, text in (("setgroups", "deny"), ("uid_map", f"{uid} {uid} 1"), ("gid_map", f"{gid} {gid} 1")):
            with open(f"/proc/self/{name}", "w") as stream:
                stream.write(text)


def mount(source: str, target: str, kind: str | None, flags: int, data: str | None) -> None:
    texts = [text if text is None else os.fsencode(text) for text in (source, target, kind, data)]
    call(f"mount on {target}", libc.mount(texts[0], texts[1], texts[2], ctypes.c_ulong(flags), texts[3]))


def cover(folder: str, kept: list[str], written: str, data: str) -> None:
    """An empty folder in memory in place of one of the machine's, with what is kept of it at its own place, read-only but for one."""
    held = [(path, os.open(path, os.O_PATH), os.path.isdir(path)) for path in kept]
    mount("tmpfs", folder, "tmpfs", 2 | 4, data)  # no set-user-id, no devices
    for path, descriptor, is_folder in held:
        os.makedirs(path if is_folder else os.path.dirname(path), exist_ok=True)
        if not is_folder:
            os.close(os.open(path, os.O_CREAT | os.O_WRONLY))
        mount(f"/proc/self/fd/{descriptor}", path, None, MS_BIND | MS_REC, None)
        if path != written:
            had = os.statvfs(path).f_flag & MS_KEPT  # which a user namespace must not take away
            mount("none", path, None, MS_REMOUNT | MS_BIND | MS_RDONLY | had, None)
        os.close(descriptor)


def drop_capabilities() -> None:
    libc.prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0)
    number = 0
    while libc.prctl(PR_CAPBSET_DROP, number, 0, 0, 0) == 0:
        number += 1
    header, data = (ctypes.c_uint32 * 2)(CAPABILITY_VERSION, 0), (ctypes.c_uint32 * 6)()
    call("capabilities", libc.capset(header, data))


def ruleset(handled: tuple[int, ...], paths: list[tuple[str, int]], ports: list[tuple[int, int]]) -> int:
    attribute = (ctypes.c_uint64 * len(handled))(*handled)
    rules = call("Landlock", libc.syscall(CREATE_RULESET, attribute, ctypes.c_size_t(ctypes.sizeof(attribute)), 0))
    for path, access in paths:
        try:
            descriptor = os.open(path, os.O_PATH)
        except OSError:
            continue  # gone meanwhile: nothing to grant
        rule = access.to_bytes(8, sys.byteorder) + descriptor.to_bytes(4, sys.byteorder)
        call(f"Landlock: {path}", libc.syscall(ADD_RULE, rules, RULE_PATH, rule, 0))
        os.close(descriptor)
    for port, access in ports:
        rule = access.to_bytes(8, sys.byteorder) + port.to_bytes(8, sys.byteorder)
        call("Landlock: port", libc.syscall(ADD_RULE, rules, RULE_PORT, rule, 0))
    return rules


def install(instructions: bytes) -> None:
    """The seccomp filter: `struct sock_fprog` is a length and a pointer."""

    class Program(ctypes.Structure):
        _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_char_p))

    program = Program(len(instructions) // 8, instructions)
    call("seccomp", libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.byref(program), 0, 0))


def confine(plan: "dict[str, Any]") -> None:
    if plan["spaces"]:
        unshare(plan["spaces"], plan["user"])
        sys.path.insert(0, plan["relay"])
        import relay  # type: ignore[import-not-found]

        relay.bring_up()
        if plan["ways"]:
            servers = [(relay.listen(port), path) for port, path in plan["ways"]]
            relay.leave_behind({server.fileno(): (server, path) for server, path in servers})
    if plan["mounts"]:
        unshare(0x20000, False)
        for arguments in plan["mounts"]:
            mount(*arguments)
        for arguments in plan["covers"]:
            cover(*arguments)
        os.chdir(plan["cwd"])
    rules = ruleset(plan["handled"], plan["paths"], plan["ports"])
    drop_capabilities()
    call("no new privileges", libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
    call("Landlock", libc.syscall(RESTRICT_SELF, rules, 0))
    os.close(rules)
    install(plan["filter"])


def main(descriptor: int, argv: list[str]) -> int:
    try:
        with open(descriptor, "rb") as stream:
            confine(marshal.loads(stream.read()))
    except OSError as error:
        os.write(2, f"the program cannot be confined: {error}\n".encode("utf-8", "replace"))
        return FAILED
    for number in (_signal.SIGPIPE, _signal.SIGXFSZ):  # which Python ignores, and what is ignored stays so
        _signal.signal(number, _signal.SIG_DFL)
    try:
        os.execvp(argv[0], argv)
    except OSError as error:
        os.write(2, f"{argv[0]}: {error.strerror}\n".encode("utf-8", "replace"))
    return 127


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), sys.argv[2:]))
