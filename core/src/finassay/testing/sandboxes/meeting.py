"""Where programs in a box and processes of the machine might meet: by process ids, memory, messages, privileges and settings."""

import ctypes
import os
import signal
import socket
import time

from finassay.testing.sandboxes.boxes import SECRET, SandboxSubject, ask, isolates, lives, opened, require, victim

IPC_RMID, IPC_CREAT = 0, 0o1000


@isolates("processes", "hides-processes", "the arguments of a command say what it does, to whom, and sometimes with which key")
def _hides(subject: SandboxSubject) -> None:
    with victim() as pid, opened(subject) as box:
        code = "answer = [[read(f'/proc/{n}/cmdline'), read(f'/proc/{n}/comm')] for n in {*numbered(), *map(str, range(max(1, V['pid'] - 50), V['pid'] + 50))}]"
        seen = str(ask(box, code, pid=pid))
        require(SECRET not in seen, "reads the arguments of a process of the host")
        require(str(box.workspace) not in seen, "a process in the box names the workspace's path on the host")


@isolates("files|processes", "hides-environments", "keys are handed on in environments")
def _environments(subject: SandboxSubject) -> None:
    with victim() as pid, opened(subject) as box:
        code = "answer = [read(f'/proc/{n}/environ') for n in {*numbered(), str(V['pid']), str(os.getppid())}]"
        require(SECRET not in str(ask(box, code, pid=pid)), "reads the environment of a process of the host")


@isolates("files|processes", "hides-open-files", "folders, open files and memory maps of other processes")
def _open_files(subject: SandboxSubject) -> None:
    with victim() as pid, opened(subject) as box:
        code = """
def link(path):
    try: return os.readlink(path)
    except OSError: return ""
answer = []
for n in {*numbered(), str(V["pid"])}:
    if n != str(os.getpid()):
        answer += [link(f"/proc/{n}/{w}") for w in ("cwd", "exe", "root")] + [link(f"/proc/{n}/fd/{d}") for d in listed(f"/proc/{n}/fd")]
        answer += [read(f"/proc/{n}/maps")[:100], read(f"/proc/{n}/mountinfo") if n == str(V["pid"]) else ""]
pid = V["pid"]
answer = [text for text in answer if "held" in text or "conform-" in text]"""
        seen = ask(box, code, pid=pid)
        require(not any("held" in text for text in seen), f"sees {seen}"[:300])


@isolates("files|processes", "hides-memory", "the memory of the harness holds every key")
def _memory(subject: SandboxSubject) -> None:
    with victim() as pid, opened(subject) as box:
        code = """
local, remote = ctypes.create_string_buffer(8), None
class Vector(ctypes.Structure): _fields_ = [("base", ctypes.c_void_p), ("length", ctypes.c_size_t)]
here, there = Vector(ctypes.cast(local, ctypes.c_void_p), 8), Vector(0x400000, 8)
answer = []
for pid in (V["pid"], V["harness"]):
    for request in (16, 0x4206):  # attach, seize
        if libc.ptrace(request, pid, None, None) == 0: answer.append(["traces", pid])
    if done(lambda: os.close(os.open(f"/proc/{pid}/mem", os.O_RDONLY))): answer.append(["mem", pid])
    answer += [[name, pid] for name in ("maps", "auxv", "syscall", "stack", "smaps") if read(f"/proc/{pid}/{name}", 1)]
    ctypes.set_errno(0)
    if libc.process_vm_readv(pid, ctypes.byref(here), 1, ctypes.byref(there), 1, 0) >= 0 or ctypes.get_errno() == 14: answer.append(["reads", pid])"""
        seen = ask(box, code, pid=pid, harness=os.getpid())
        require(not seen, f"{seen}")
        require(lives(pid), "the other process was stopped by it")


@isolates("processes", "signals-nobody-else", "an agent that ends the harness, or another session, decides its own grade")
def _signals(subject: SandboxSubject) -> None:
    with victim() as pid, opened(subject) as box:
        code = """
answer = []
for number in (0, 18, 15, 9):
    for target in (V["pid"], -V["group"]):
        if done(os.kill, target, number): answer.append([target, number])
try: answer += [["pidfd"]] if done(signal.pidfd_send_signal, os.pidfd_open(V["pid"]), 9) else []
except OSError: pass"""
        seen = ask(box, f"import signal\n{code}", pid=pid, group=pid)
        time.sleep(0.1)
        require(lives(pid), f"a process of the host was killed ({seen})")


@isolates("processes", "signals-not-all", "a signal to every process that one may signal")
def _all(subject: SandboxSubject) -> None:
    with victim() as pid, opened(subject) as box:
        process = box.spawn(["/bin/sh", "-c", f"kill -{int(signal.SIGCONT)} -1; echo sent"])
        list(process.lines())
        require(lives(pid), "a process of the host was ended")
        code = "import signal\nfor n in (signal.SIGUSR1,): done(os.kill, -1, n)\nanswer = None"
        box.spawn(["/bin/sh", "-c", "trap '' USR1; kill -USR1 -1"]).wait(20)
        time.sleep(0.2)
        require(lives(pid), f"a signal to all reached a process of the host ({code[:0]})")


@isolates("processes", "changes-no-other-process", "limits, priority and processors of another process: a limit on its time ends it")
def _limits(subject: SandboxSubject) -> None:
    with victim() as pid, opened(subject) as box:
        before = (os.getpriority(os.PRIO_PROCESS, pid), os.sched_getaffinity(pid), _limit_of(pid))
        code = """
import resource
answer = [done(os.setpriority, os.PRIO_PROCESS, V["pid"], 7), done(os.sched_setaffinity, V["pid"], {0}), done(os.setpriority, os.PRIO_USER, 0, 3)]
answer += [done(resource.prlimit, V["pid"], resource.RLIMIT_NOFILE, (7, 7)), done(lambda: open(f"/proc/{V['pid']}/oom_score_adj", "w").write("1000"))]"""
        ask(box, code, pid=pid)
        after = (os.getpriority(os.PRIO_PROCESS, pid), os.sched_getaffinity(pid), _limit_of(pid))
        require(before == after, f"priority, processors and open files were {before}, are {after}")


def _limit_of(pid: int) -> str:
    with open(f"/proc/{pid}/limits", encoding="utf-8") as stream, open(f"/proc/{pid}/oom_score_adj", encoding="utf-8") as score:
        return next(line for line in stream if line.startswith("Max open files")).split()[3] + score.read().strip()


@isolates("files|processes", "no-shared-memory", "System V's segments have a number instead of a path")
def _segments(subject: SandboxSubject) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    libc.shmat.restype = ctypes.c_void_p
    key = 0x46494E00 ^ os.getpid()
    segment = libc.shmget(key, 4096, IPC_CREAT | 0o666)
    if segment < 0:
        return  # this kernel has none
    try:
        at = libc.shmat(segment, None, 0)
        ctypes.memmove(at, SECRET.encode(), len(SECRET))
        libc.shmdt(ctypes.c_void_p(at))
        with opened(subject) as box:
            code = """
libc.shmat.restype = ctypes.c_void_p
answer = [read("/proc/sysvipc/shm")]
for number in {V["segment"], libc.shmget(V["key"], 4096, 0)}:
    at = libc.shmat(number, None, 0o10000) if number >= 0 else None
    if at not in (None, 2**64 - 1): answer.append(ctypes.string_at(at, 40).decode("latin-1"))"""
            require(SECRET not in str(ask(box, code, segment=segment, key=key)), "reads a segment of the host")
    finally:
        libc.shmctl(segment, IPC_RMID, None)


@isolates("files|processes", "no-shared-messages", "semaphores and message queues, of System V and POSIX")
def _messages(subject: SandboxSubject) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    key, name = 0x46494E00 ^ os.getpid(), f"/finassay-conformance-{os.getpid()}"
    queue, semaphores = libc.msgget(key, IPC_CREAT | 0o666), libc.semget(key, 1, IPC_CREAT | 0o666)
    posix = getattr(libc, "mq_open", None)
    opened_queue = posix(name.encode(), os.O_RDWR | os.O_CREAT, 0o666, None) if posix else -1
    try:
        with opened(subject) as box:
            code = """
answer = [what for what, number in (("queue", libc.msgget(V["key"], 0)), ("semaphores", libc.semget(V["key"], 1, 0))) if number >= 0]
if hasattr(libc, "mq_open") and libc.mq_open(V["name"].encode(), os.O_RDWR) >= 0: answer.append("POSIX queue")"""
            seen = ask(box, code, key=key, name=name)
            require(not seen, f"opens the host's {seen}")
    finally:
        if queue >= 0:
            libc.msgctl(queue, IPC_RMID, None)
        if semaphores >= 0:
            libc.semctl(semaphores, 0, IPC_RMID)
        if opened_queue >= 0:
            libc.mq_close(opened_queue)
            libc.mq_unlink(name.encode())


@isolates("files|processes", "no-new-privileges", "a program with the set-user-id bit must not make an agent more than it was")
def _privileges(subject: SandboxSubject) -> None:
    with opened(subject) as box:
        status = dict(line.split(":\t", 1) for line in ask(box, "answer = read('/proc/self/status')").splitlines() if ":\t" in line)
        require(status.get("NoNewPrivs", "1").strip() == "1", "new privileges can be had by starting a program")


@isolates("files|processes", "no-capabilities", "root's powers, one by one; root's name alone is none of them")
def _capabilities(subject: SandboxSubject) -> None:
    with opened(subject) as box:
        code = """
held = {}
for line in read("/proc/self/status").splitlines():
    if line.startswith("Cap"): held[line.split(":")[0]] = int(line.split(":")[1], 16)
import subprocess
answer = [held, subprocess.run(["/bin/sh", "-c", "grep CapEff /proc/self/status"], capture_output=True, text=True).stdout.split(":")[1].strip()]"""
        held, child = ask(box, code)
        powers = {name: value for name, value in held.items() if name != "CapBnd" and value}
        require(not powers and int(child, 16) == 0, f"has {powers}, a child {child}")


@isolates(
    "files|processes", "no-namespaces", "in a namespace of its own a program is root again, before more of the kernel", level="should"
)
def _namespaces(subject: SandboxSubject) -> None:
    with opened(subject) as box:
        code = """
answer = []
for name, flag in (("user", 0x10000000), ("mount", 0x20000), ("network", 0x40000000), ("pid", 0x20000000), ("user and mount", 0x10020000)):
    pid = os.fork()
    if pid == 0: os._exit(libc.unshare(flag) & 1)
    if os.waitpid(pid, 0)[1] == 0: answer.append(name)"""
        seen = ask(box, code)
        require(not seen, f"makes namespaces: {', '.join(seen)}")


@isolates("files|processes", "no-kernel-doors", "parts of the kernel by which boxes were left before", level="should")
def _doors(subject: SandboxSubject) -> None:
    numbers = {
        "x86_64": {"bpf": 321, "userfaultfd": 323, "io_uring_setup": 425, "perf_event_open": 298},
        "aarch64": {"bpf": 280, "userfaultfd": 282, "io_uring_setup": 425, "perf_event_open": 241},
    }
    with opened(subject) as box:
        code = """
buffer = ctypes.create_string_buffer(256)
answer = []
arguments = {"bpf": (0, buffer, 32), "userfaultfd": (1,), "io_uring_setup": (4, buffer), "perf_event_open": (buffer, 0, -1, -1, 0)}
for name, number in V["numbers"].items():
    ctypes.set_errno(0)
    if libc.syscall(number, *arguments[name]) >= 0 or ctypes.get_errno() not in (1, 13, 38): answer.append(name)"""
        seen = ask(box, code, numbers=numbers.get(os.uname().machine, {}))
        require(not seen, f"can call {', '.join(seen)}")


@isolates("files|processes", "machine-keeps-name-and-time", "the clock and the name are everybody's")
def _machine(subject: SandboxSubject) -> None:
    before = socket.gethostname()
    with opened(subject) as box:
        code = "answer = [done(socket.sethostname, 'agent'), done(time.clock_settime, time.CLOCK_REALTIME, time.time())]"
        seen = ask(box, code)
    require(socket.gethostname() == before, f"the machine is now called {socket.gethostname()}")
    require(not seen[1], "it can set the clock")


@isolates("processes", "hides-host-paths", "what is mounted from where tells a path, which tells a name", level="should")
def _paths(subject: SandboxSubject) -> None:
    with opened(subject) as box:
        require(
            str(box.workspace) not in ask(box, "answer = read('/proc/self/mountinfo', 2**20)"),
            "mountinfo names the workspace's path on the host",
        )
