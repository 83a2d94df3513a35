"""A control group that bounds the number of processes: what binds root, whom RLIMIT_NPROC does not bind."""

import contextlib
import os
import secrets
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

PREFIX: Final = "finassay-"


class ProcessGroup:
    """One group; everything started in it stays in it, whatever session, parent or environment it takes."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @classmethod
    def create(cls, limit: int) -> "ProcessGroup | None":
        """A fresh group for at most `limit` processes and threads, or None where the machine lets us make none."""
        for parent in _parents():
            _sweep(parent)
            path = parent / f"{PREFIX}{os.getpid()}-{secrets.token_hex(6)}"
            try:
                path.mkdir()
            except OSError:
                continue
            try:
                (path / "pids.max").write_text(str(limit))
                return cls(path)
            except OSError:
                with contextlib.suppress(OSError):
                    path.rmdir()
        return None

    def pids(self) -> list[int]:
        """Processes in the group."""
        try:
            return [int(line) for line in (self.path / "cgroup.procs").read_text().split()]
        except OSError:
            return []

    def remove(self) -> None:
        """Take the empty group away; the kernel may need a moment after the last process."""
        deadline = time.monotonic() + 2
        while self.path.exists():
            try:
                self.path.rmdir()
            except OSError:
                if time.monotonic() > deadline:
                    return
                time.sleep(0.01)


def _parents() -> Iterator[Path]:
    """Folders of the cgroup file system where a group with a process limit may be made, the nearest first."""
    own = {}
    with contextlib.suppress(OSError):
        for line in Path("/proc/self/cgroup").read_text().splitlines():
            _, controllers, path = line.split(":", 2)
            own.update(dict.fromkeys(controllers.split(","), path.lstrip("/")))
    for mount, kind, options in _mounts():
        if kind == "cgroup" and "pids" in options.split(","):
            at = mount / own.get("pids", "")
            yield at if at.is_dir() else mount
        elif kind == "cgroup2":
            at = mount / own.get("", "")
            for folder in (at, *at.parents):
                if not folder.is_relative_to(mount):
                    break
                with contextlib.suppress(OSError):
                    if "pids" in (folder / "cgroup.subtree_control").read_text().split():
                        yield folder


def _mounts() -> Iterator[tuple[Path, str, str]]:
    with contextlib.suppress(OSError):
        for line in Path("/proc/self/mountinfo").read_text().splitlines():
            before, _, after = line.partition(" - ")
            kind, _, options = after.split(" ", 2)
            if kind.startswith("cgroup"):
                yield Path(before.split()[4]), kind, options


def _sweep(parent: Path) -> None:
    """Take away what a harness left that was killed."""
    with contextlib.suppress(OSError):
        for path in parent.glob(f"{PREFIX}*-*"):
            owner = path.name.removeprefix(PREFIX).partition("-")[0]
            if owner.isdigit() and not Path(f"/proc/{owner}").exists():
                with contextlib.suppress(OSError):
                    path.rmdir()
