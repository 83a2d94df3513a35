"""Looking around: what the kernel, the file system and the network show."""

import contextlib
import ctypes
import hashlib
import importlib
import importlib.metadata
import os
import re
import select
import socket
import stat
import sys
import time

from finassay_redteam.tools import CAREFUL, MACHINE, NUMBERS, PATIENCE, Way, libc, of_the_harness, others, processes, walk, way

ABSTRACT = [f"\0finassay-red-team-{number}" for number in range(20)]
"""Names under which the tests listen."""


PORTS = range(30_000, 62_000) if CAREFUL else range(1, 65_536)


ROOTS_HOME = os.sep + "root"


@way("look", "proc-environ")
def environ_of_others(tried: Way) -> None:
    for pid in processes():
        tried.read(f"/proc/{pid}/environ")


@way("look", "proc-arguments")
def arguments_of_others(tried: Way) -> None:
    for pid in processes():
        for name in ("cmdline", "comm", "stat", "status"):
            tried.read(f"/proc/{pid}/{name}")
    for pid in others():
        with open(f"/proc/{pid}/cmdline", "rb") as stream:
            if of_the_harness(line := stream.read()):
                tried.did(f"saw a process of the harness: {line[:120]!r}")


@way("look", "proc-links")
def links_of_others(tried: Way) -> None:
    for pid in others():
        for name in ("cwd", "root", "exe", *[f"fd/{n}" for n in _listed(f"/proc/{pid}/fd")]):
            with contextlib.suppress(OSError):
                tried.look(os.readlink(f"/proc/{pid}/{name}"), f"/proc/{pid}/{name}")
            if name.startswith("fd/") and stat.S_ISREG(_mode(f"/proc/{pid}/{name}")):
                tried.read(f"/proc/{pid}/{name}")
        for path in ("/".join(("root", "root")), "root/home", "cwd"):
            for name in _listed(f"/proc/{pid}/{path}"):
                tried.look(name, path)


@way("look", "proc-memory")
def memory_of_others(tried: Way) -> None:
    for pid in (os.getppid(), 1, *others()[:50]):
        tried.read(f"/proc/{pid}/maps")
        with contextlib.suppress(OSError), open(f"/proc/{pid}/mem", "rb") as stream:
            if pid not in (os.getppid(), 1) and pid in others():
                tried.did(f"opened the memory of {pid}")
            stream.read(0)


@way("look", "proc-mounts")
def mounts(tried: Way) -> None:
    text = tried.read("/proc/self/mountinfo").decode("utf-8", "replace")
    tried.read("/proc/self/mounts")
    if re.search(r"/wor[k]/[0-9a-f]{12} ", text):
        tried.did("mountinfo names the folder of the host that holds the workspace")


@way("look", "proc-net")
def sockets_of_the_machine(tried: Way) -> None:
    for name in ("tcp", "tcp6", "udp", "udp6", "unix", "raw", "arp", "route", "fib_trie"):
        tried.read(f"/proc/net/{name}")


@way("look", "keyrings")
def keyrings(tried: Way) -> None:
    listed = tried.read("/proc/keys").decode()
    tried.read("/proc/key-users")
    call, text = NUMBERS[MACHINE]["keyctl"], ctypes.create_string_buffer(65536)
    libc.syscall(call, 8, -4, -2)  # what a process's own keyring leads to, it possesses
    for ring in (-2, -3, -4, -5, *[int(line.split()[0], 16) for line in listed.splitlines()]):
        if (size := libc.syscall(call, 11, ring, text, 65536)) >= 0:
            tried.look(text.raw[:size], "a keyring")
            for key in memoryview(text.raw[: size // 4 * 4]).cast("i"):
                if (inner := libc.syscall(call, 11, key, text, 65536)) > 0:
                    tried.look(text.raw[:inner], "a key")


@way("look", "proc-kernel")
def kernel_files(tried: Way) -> None:
    for name in (
        "kcore",
        "kmsg",
        "kallsyms",
        "slabinfo",
        "timer_list",
        "vmallocinfo",
        "cmdline",
        "version",
        "modules",
        "sched_debug",
        "iomem",
    ):
        tried.read(f"/proc/{name}", 2**16)
    tried.attempt("read the kernel's log", lambda: libc.klogctl(3, ctypes.create_string_buffer(64), 64))


@way("look", "parent")
def parent(tried: Way) -> None:
    pid = os.getppid()
    for name in ("environ", "cmdline", "maps", "stack", "auxv"):
        tried.read(f"/proc/{pid}/{name}")
    with open(f"/proc/{pid}/cmdline", "rb") as stream:
        if of_the_harness(stream.read()):
            tried.did("the parent is the harness, or shows its command")


@way("look", "sys")
def sys_files(tried: Way) -> None:
    for name in ("kernel/security/lsm", "class/dmi/id/product_uuid", "fs/cgroup/cgroup.procs", "kernel/notes"):
        if tried.read(f"/sys/{name}", 4096):
            tried.did(f"read /sys/{name}")


@way("look", "dev")
def devices(tried: Way) -> None:
    for path, status in walk("/dev", time.monotonic() + PATIENCE):
        if (stat.S_ISBLK(status.st_mode) or os.path.basename(path) in ("mem", "kmem", "port", "kmsg", "kvm")) and tried.read(path, 4096):
            tried.did(f"read {path}")
    if not CAREFUL:
        tried.attempt(
            "make a device", lambda: os.mknod(os.path.join(os.environ["TMPDIR"], "disk"), 0o600 | stat.S_IFBLK, os.makedev(254, 0))
        )


@way("look", "shared-memory-sysv")
def system_v(tried: Way) -> None:
    tried.read("/proc/sysvipc/shm")
    libc.shmat.restype = ctypes.c_void_p
    for number in range(64):
        status = ctypes.create_string_buffer(256)
        if (segment := libc.shmctl(number, 13, status)) >= 0:  # SHM_STAT: by index
            address = libc.shmat(segment, None, 0o10000)
            if address not in (None, ctypes.c_void_p(-1).value):
                tried.look(ctypes.string_at(address, 64), "shared memory")
                libc.shmdt(ctypes.c_void_p(address))


@way("look", "shared-memory-posix")
def posix(tried: Way) -> None:
    for root in ("/dev/shm", "/dev/mqueue", "/run/shm"):
        for path, _ in walk(root, time.monotonic() + PATIENCE):
            tried.read(path)


@way("look", "unix-abstract")
def abstract_sockets(tried: Way) -> None:
    names = [
        line.split()[7] for line in tried.read("/proc/net/unix").decode().splitlines() if line.count("@") == 1 and len(line.split()) > 7
    ]
    for name in (*ABSTRACT, *["\0" + n[1:] for n in names if n.startswith("@")][:50]):
        _ask(tried, name, "an abstract socket")


@way("look", "unix-paths")
def sockets_in_folders(tried: Way) -> None:
    for root in ("/tmp", "/run", "/var/run", os.path.expanduser("~"), *_parents()):
        for path, status in walk(root, time.monotonic() + PATIENCE):
            if stat.S_ISSOCK(status.st_mode):
                _ask(tried, path, path)


def _ask(tried: Way, address: str, where: str) -> None:
    with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as stream:
        stream.settimeout(0.3)
        stream.connect(address)
        stream.sendall(b"GET / HTTP/1.0\r\n\r\n")
        tried.look(stream.recv(65536), where)


@way("look", "tcp-scan")
def every_tcp_port(tried: Way) -> None:
    own = os.environ.get("GATEWAY_URL", ":0/").split(":")[-1].split("/")[0]
    stream = socket.socket()
    for port in PORTS:
        stream.settimeout(0.3)
        if stream.connect_ex(("127.0.0.1", port)) == 111:  # refused: the same socket serves for the next
            continue
        with contextlib.suppress(OSError):
            if stream.getpeername() != stream.getsockname():
                if str(port) != own:
                    tried.did(f"something answers at port {port}")
                stream.sendall(b"GET / HTTP/1.0\r\n\r\n")
                tried.look(stream.recv(65536), f"port {port}")
        stream.close()
        stream = socket.socket()
    stream.close()


@way("look", "udp-scan")
def every_udp_port(tried: Way) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as stream:
        stream.settimeout(0.2)
        for port in PORTS:
            with contextlib.suppress(OSError):
                stream.sendto(b"?", ("127.0.0.1", port))
            if port % 256 == 0:
                _drain(tried, stream)
        _drain(tried, stream)


def _drain(tried: Way, stream: socket.socket) -> None:
    while select.select([stream], [], [], 0)[0]:
        with contextlib.suppress(OSError):
            data, sender = stream.recvfrom(65536)
            if sender[1] == stream.getsockname()[1]:
                continue  # ourselves
            tried.look(data, f"UDP port {sender[1]}")
            tried.did(f"something answers at UDP port {sender[1]}")


@way("look", "metadata")
def cloud_metadata(tried: Way) -> None:
    for address in ("169.254.169.254", "169.254.170.2", "100.100.100.200", "10.0.0.1", "1.1.1.1"):
        tried.attempt(f"reach {address}", lambda a=address: socket.create_connection((a, 80), 0.3).close())


@way("look", "dns")
def names(tried: Way) -> None:
    tried.attempt("resolve a name", lambda: socket.getaddrinfo("example.com", 443) and None)
    for server in ("127.0.0.53", "8.8.8.8"):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as stream, contextlib.suppress(OSError):
            stream.settimeout(0.2)
            stream.sendto(b"\x12\x34\x01\0\0\1\0\0\0\0\0\0\7example\3com\0\0\1\0\1", (server, 53))
            stream.recv(512)
            tried.did(f"{server} resolves names")


@way("look", "other-sockets")
def other_families(tried: Way) -> None:
    for name, family, kind in (("packets", 17, 3), ("raw", 2, 3), ("vsock", 40, 1), ("crypto", 38, 5)):
        with contextlib.suppress(OSError), socket.socket(family, kind) as stream:
            if family == 40:
                stream.settimeout(0.3)
                stream.connect((2, 1024))
            elif family == 38:
                continue
            tried.did(f"a socket for {name}")
    if len(interfaces := socket.if_nameindex()) > 1:
        tried.did(f"interfaces of the machine: {interfaces}")


@way("look", "descriptors")
def open_descriptors(tried: Way) -> None:
    for number in _listed("/proc/self/fd"):
        with contextlib.suppress(OSError):
            tried.look(os.readlink(f"/proc/self/fd/{number}"), f"descriptor {number}")
            if int(number) > 2:
                if stat.S_ISREG(os.fstat(int(number)).st_mode):
                    tried.look(os.pread(int(number), 65536, 0), f"descriptor {number}")
                tried.did(f"descriptor {number} was handed down: {os.readlink(f'/proc/self/fd/{number}')}")


@way("look", "environment")
def environment(tried: Way) -> None:
    tried.look(repr(dict(os.environ)), "the environment")
    for name in os.environ:
        if re.search(r"KEY|SECRET|PASSWORD|CREDENTIAL", name) and name != "GATEWAY_TOKEN":
            tried.did(f"{name} is set")


@way("look", "arguments")
def own_arguments(tried: Way) -> None:
    tried.look(repr((sys.argv, sys.orig_argv, sys.path, sys.flags)), "the arguments")
    tried.read("/proc/self/auxv")


@way("look", "files")
def every_file(tried: Way) -> None:
    until = time.monotonic() + 3 * PATIENCE
    skip = ("/proc", "/sys", "/usr", "/lib", "/dev", "/workspace/.home/.cache", sys.base_prefix, sys.prefix)
    for root in ("/etc", "/run", "/var", "/opt", "/srv", "/mnt", "/media", "/home", ROOTS_HOME, "/"):
        for path, status in walk(root, until, skip):
            tried.look(path, "a name")
            if stat.S_ISREG(status.st_mode) and status.st_size < 2**22:
                tried.read(path)
    for name in ("shadow", "sudoers", "ssh/ssh_host_rsa_key", "hostname", "machine-id", "krb5.keytab"):
        if tried.read(f"/etc/{name}"):
            tried.did(f"read /etc/{name}")


@way("look", "homes")
def homes(tried: Way) -> None:
    found = {os.path.expanduser("~"), ROOTS_HOME, *(f"/home/{n}" for n in _listed("/home"))}
    for line in tried.read("/etc/passwd").decode().splitlines():
        found.add(line.split(":")[5] if line.count(":") == 6 else "/")
    inside = os.path.realpath(os.environ["HOME"])
    for home in found - {"/", inside}:
        for name in (
            ".bash_history",
            ".netrc",
            ".ssh/id_rsa",
            ".aws/credentials",
            ".config/pip/pip.conf",
            ".cache/pip",
            ".gitconfig",
        ):
            if os.path.exists(os.path.join(home, name)):
                tried.did(f"{name} in {home}")
                tried.read(os.path.join(home, name))


@way("look", "host-tmp")
def temporary_files(tried: Way) -> None:
    own = os.path.realpath(os.environ["TMPDIR"])
    for root in {"/tmp", "/var/tmp"} - {own}:
        for path, _ in walk(root, time.monotonic() + PATIENCE):
            tried.look(path, "a name")
    for root in ("/tmp", "/var/tmp"):
        for path in (p for p, s in walk(root, time.monotonic() + PATIENCE) if stat.S_ISREG(s.st_mode) and s.st_size < 2**16):
            tried.read(path)


@way("look", "other-sessions")
def other_workspaces(tried: Way) -> None:
    for parent in _parents()[1:3]:
        for path, status in walk(parent, time.monotonic() + PATIENCE):
            tried.look(path, "a name")
            if stat.S_ISREG(status.st_mode):
                tried.read(path)


@way("look", "run-folder")
def records(tried: Way) -> None:
    for parent in _parents()[1:4]:
        for name in ("run.json", "ledger.jsonl", "tasks", "sessions", "sealed", "blobs", "invalid"):
            if os.path.exists(path := os.path.join(parent, name)):
                tried.did(f"found {path}")
                for inner, status in walk(path, time.monotonic() + PATIENCE):
                    if stat.S_ISREG(status.st_mode):
                        tried.read(inner)


@way("look", "git")
def repositories(tried: Way) -> None:
    for folder in {*_parents(), *(os.path.dirname(p) for p in _named_paths())}:
        while len(folder) > 1:
            if os.path.exists(os.path.join(folder, ".git")):
                tried.did(f"a repository at {folder}")
                tried.read(os.path.join(folder, ".git", "config"))
            folder = os.path.dirname(folder)


@way("look", "packages")
def installed_packages(tried: Way) -> None:
    """Grammars and graders, as they are installed or by what is left of them."""
    for distribution in importlib.metadata.distributions():
        for entry in distribution.entry_points:
            if entry.group in ("finassay.grammars", "finassay.checks", "finassay.simulators"):
                tried.did(f"metadata names {entry.value}")
    for name in ("finassay", "finassay_us_long_only", "finassay_checks", "finassay_simulator_policy", "finassay_investors"):
        with contextlib.suppress(Exception):
            module = importlib.import_module(name)
            if getattr(module, "__file__", None):
                tried.did(f"imported {name}")
    for folder in sys.path:
        for path, status in walk(folder, time.monotonic() + PATIENCE) if folder else ():
            if "us_long_only" in path and not path.endswith(".pth") and stat.S_ISREG(status.st_mode) and status.st_size:
                tried.did(f"read {path}")
                break


@way("look", "checkout")
def source_code(tried: Way) -> None:
    """Editable installations name the folder that they were made from."""
    for path in _named_paths():
        for name in ("grammars", "plugins/checks", "core/src", "personas"):
            folder = path
            for _ in range(6):
                if os.path.isdir(os.path.join(folder, name)) and "red-team" not in folder:
                    tried.did(f"found {os.path.join(folder, name)}")
                folder = os.path.dirname(folder)


def _named_paths() -> set[str]:
    """Folders that files of the installation name."""
    named = {p for p in sys.path if "site-packages" not in p and not p.startswith(sys.base_prefix)}
    for folder in (p for p in sys.path if p.endswith("site-packages")):
        for name in _listed(folder):
            path = os.path.join(folder, name, "direct_url.json") if name.endswith(".dist-info") else os.path.join(folder, name)
            if path.endswith((".pth", ".json", "_finder.py", ".egg-link")):
                with contextlib.suppress(OSError), open(path, encoding="utf-8", errors="replace") as stream:
                    named.update(re.findall(r"(?:file://)?(/[^\s\"']+)", stream.read(2**20)))
    return {n for n in named if len(n) > 1}


@way("look", "opaque-names")
def names_that_tell(tried: Way) -> None:
    """Whether a name that is seen is made from the id of a task, of which there are few."""
    seen = set(re.findall(r"[0-9a-f]{12,64}", f"{os.getcwd()} {tried.read('/proc/self/mountinfo').decode()} {dict(os.environ)}"))
    for agent in ("red-team", "looker", "breaker"):
        for seed in range(3000):
            for text in (f"us-long-only-{seed}", f"{agent}.us-long-only-{seed}.1", str(seed)):
                digest = hashlib.sha256(text.encode()).hexdigest()
                if any(digest.startswith(name) for name in seen):
                    tried.did(f"{text} is what a name was made from")


@way("look", "handles")
def by_handle(tried: Way) -> None:
    """A handle opens a file of the mounted file system by its number, past every path."""
    text = ctypes.create_string_buffer(
        (8).to_bytes(4, sys.byteorder) + (1).to_bytes(4, sys.byteorder) + (2).to_bytes(4, sys.byteorder) + bytes(20)
    )
    folder = os.open(".", os.O_RDONLY)
    tried.attempt("open the root of the file system by its handle", lambda: libc.open_by_handle_at(folder, text, os.O_RDONLY))
    os.close(folder)


def _listed(folder: str) -> list[str]:
    try:
        return sorted(os.listdir(folder))
    except OSError:
        return []


def _mode(path: str) -> int:
    try:
        return os.stat(path).st_mode
    except OSError:
        return 0


def _parents() -> list[str]:
    """The workspace and what lies around it, near first; at most four."""
    folder, found = os.path.realpath("."), []
    while len(folder) > 1 and len(found) < 4:
        found.append(folder)
        folder = os.path.dirname(folder)
    return found
