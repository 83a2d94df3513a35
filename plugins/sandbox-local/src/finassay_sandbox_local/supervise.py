"""Stands between the harness and one program of a box, in a process of its own: `python -I -S supervise.py CONFIG PROGRAM ARGUMENT…`.

It adopts whatever the program leaves behind, so that a detached process stays findable below it; it ends everything when the harness
dies, however the harness dies; and it tells the program's exit status over a pipe, because it outlives the program as long as something
is left. CONFIG is JSON: `status` (descriptor), `parent` (process id of the harness), `rlimits` ([[resource, value], …]), `cgroup` (folder
that the program joins, or null) and `limit` (number of processes above which everything is ended, or null).

Imports nothing but the standard library: it is started by path, in a fresh interpreter.
"""

import contextlib
import ctypes
import json
import os
import resource
import signal
import sys
import time
from typing import Any

PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36
TICK = 0.02


def family(root: int) -> dict[int, int]:
    """Every living process below `root` and its process group, from one pass over /proc; a zombie does not live but may have children."""
    children: dict[int, list[int]] = {}
    groups = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            with contextlib.suppress(OSError, ValueError, IndexError), open(f"/proc/{name}/stat", "rb") as stream:
                state, parent, group = stream.read().rpartition(b")")[2].split()[:3]
                children.setdefault(int(parent), []).append(int(name))
                if state not in (b"Z", b"X"):
                    groups[int(name)] = int(group)
    found, pending = {}, list(children.get(root, ()))
    while pending:
        pid = pending.pop()
        pending += children.get(pid, ())
        if pid in groups:
            found[pid] = groups[pid]
    return found


def newest() -> int:
    """The process id that was given out last: its growth bounds how many processes can have been started."""
    with open("/proc/loadavg", "rb") as stream:
        return int(stream.read().split()[-1])


class Supervisor:
    """Runs one program and everything that comes of it."""

    def __init__(self, config: dict[str, Any], argv: list[str]) -> None:
        self.config, self.argv = config, argv
        self.main = 0
        self.ending = False

    def run(self) -> int:
        libc = ctypes.CDLL(None, use_errno=True)
        signal.signal(signal.SIGTERM, lambda *_: self.end())
        libc.prctl(PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
        libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        if os.getppid() != self.config["parent"]:
            return 1
        limit = self.config["limit"]
        if limit is not None:
            # A watch that gets no turn watches nothing. What it starts does not inherit this.
            with contextlib.suppress(OSError):
                os.sched_setscheduler(0, os.SCHED_FIFO | os.SCHED_RESET_ON_FORK, os.sched_param(1))
        self.main = os.fork()
        if self.main == 0:
            self.become_the_program()
        if self.ending:
            self.end()
        quiet = os.open(os.devnull, os.O_RDWR)
        for descriptor in range(3):
            os.dup2(quiet, descriptor)
        return self.watch(limit) if limit is not None else self.reap()

    def become_the_program(self) -> None:
        try:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            signal.signal(signal.SIGPIPE, signal.SIG_DFL)
            os.setsid()
            if self.config["cgroup"] is not None:
                with open(os.path.join(self.config["cgroup"], "cgroup.procs"), "w") as stream:
                    stream.write("0")
            for number, value in self.config["rlimits"]:
                resource.setrlimit(number, (value, value))
            os.set_inheritable(self.config["status"], False)
            os.execvp(self.argv[0], self.argv)
        except OSError as error:
            os.write(2, f"{self.argv[0]}: {error.strerror}\n".encode("utf-8", "replace"))
        os._exit(127)

    def reap(self) -> int:
        """Wait for everything, adopted processes too."""
        while True:
            try:
                self.ended(*os.waitpid(-1, 0))
            except ChildProcessError:
                return 0

    def watch(self, limit: int) -> int:
        """The same, looking how many there are. Only a growth that could exceed the limit is worth the full count."""
        known, mark = 1, newest()
        while True:
            try:
                while (found := os.waitpid(-1, os.WNOHANG))[0]:
                    self.ended(*found)
            except ChildProcessError:
                return 0
            now = newest()
            if now < mark or known + now - mark > limit:
                known, mark = len(family(os.getpid())), now
                if known > limit:
                    self.end()
            time.sleep(TICK)

    def ended(self, pid: int, status: int) -> None:
        if pid == self.main:
            with contextlib.suppress(OSError):
                os.write(self.config["status"], f"{os.waitstatus_to_exitcode(status)}\n".encode())

    def end(self) -> None:
        """SIGKILL what is below, again until nothing is.

        Whole process groups first: the kernel lets no fork of a group slip away, while a list of processes is old when it is read.
        """
        self.ending = True
        while found := family(os.getpid()):
            for group in set(found.values()) - {os.getpgrp()}:
                with contextlib.suppress(OSError):
                    os.killpg(group, signal.SIGKILL)
            for pid in found:
                with contextlib.suppress(OSError):
                    os.kill(pid, signal.SIGKILL)
            with contextlib.suppress(ChildProcessError):
                while (gone := os.waitpid(-1, os.WNOHANG))[0]:
                    self.ended(*gone)


if __name__ == "__main__":
    sys.exit(Supervisor(json.loads(sys.argv[1]), sys.argv[2:]).run())
