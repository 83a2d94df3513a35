"""Boxes for checks, and programs that look around in them."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from attrs import frozen

from finassay.api.errors import SandboxError
from finassay.api.sandbox import Box, BoxSpec, Limits, Sandbox, Service
from finassay.runs.interpreter import interpreter_folders
from finassay.testing.result import Level, conformance, require

SECRET: Final = "FINASSAY-CONFORMANCE-SECRET"
WAIT_SECONDS: Final = 60.0

PRELUDE: Final = """
import ctypes, errno, json, os, socket, sys, time
V = json.loads(sys.argv[1])
libc = ctypes.CDLL(None, use_errno=True)
def done(call, *arguments, **named):
    try:
        call(*arguments, **named)
    except OSError:
        return False
    return True
def read(path, size=65536):
    try:
        with open(path, "rb") as stream:
            return stream.read(size).decode("utf-8", "replace")
    except OSError:
        return ""
def listed(path):
    try:
        return sorted(os.listdir(path))
    except OSError:
        return []
def numbered():
    return [name for name in listed("/proc") if name.isdigit()]
"""


@frozen
class SandboxSubject:
    sandbox: Sandbox


Check = Callable[[SandboxSubject], None]
PARTS: Final = {"files": "files", "network": "the network", "processes": "processes"}


def runs(name: str, reason: str, *, level: Level = "must") -> Callable[[Check], Check]:
    """Declare what every box must do."""
    return conformance("sandbox", name, reason, level=level)


def isolates(part: str, name: str, reason: str, *, level: Level = "must") -> Callable[[Check], Check]:
    """Declare what a box must keep from its programs, if the sandbox claims to isolate that part, or one of two (`files|processes`)."""
    parts = part.split("|")

    def applies(subject: SandboxSubject) -> bool:
        return any(getattr(subject.sandbox.isolation, one) for one in parts)

    named = " nor ".join(PARTS[one] for one in parts)
    return conformance(
        "sandbox",
        name,
        reason,
        level=level,
        applies=applies,
        otherwise=f"NOT ISOLATED: it claims to isolate neither {named}"
        if len(parts) > 1
        else f"NOT ISOLATED: it does not claim to isolate {named}",
    )


@contextmanager
def scratch() -> Iterator[Path]:
    """A folder of the host beside the workspaces, that no box may see."""
    folder = Path(tempfile.mkdtemp(prefix="conform-")).resolve()
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def opened(subject: SandboxSubject, limits: Limits = Limits(), **spec: Any) -> Iterator[Box]:
    """A box around a workspace of its own."""
    with scratch() as folder:
        workspace = folder / "workspace"
        workspace.mkdir()
        readable = (*interpreter_folders(), *spec.pop("readable", ()))
        box = subject.sandbox.open(BoxSpec(workspace, readable, limits=limits, **spec))
        try:
            yield box
        finally:
            box.close()


_PYTHONS: dict[type[Box], str] = {}


def python(box: Box) -> str:
    """An interpreter that the box has: this one, or where a box brings its own system, that one's."""
    if type(box) not in _PYTHONS:
        for name in (sys.executable, "python3", "python"):
            try:
                process = box.spawn([name, "-c", "print('here')"])
            except SandboxError:
                continue
            if list(process.lines()) == [b"here"] and process.wait(WAIT_SECONDS) == 0:
                _PYTHONS[type(box)] = name
                break
        else:
            require(False, f"no Python starts in the box: {process.stderr_tail()[-300:]}")
    return _PYTHONS[type(box)]


def ask(box: Box, code: str, **values: Any) -> Any:
    """What a program in the box leaves in its variable `answer`. It finds `values` in `V`."""
    process = box.spawn([python(box), "-c", f"{PRELUDE}\n{code}\nprint('\\nANSWER ' + json.dumps(answer))", json.dumps(values)])
    lines = list(process.lines())
    code_number = process.wait(WAIT_SECONDS)
    found = [line for line in lines if line.startswith(b"ANSWER ")]
    require(found and code_number == 0, f"the program failed ({code_number}): {process.stderr_tail()[-500:]}")
    return json.loads(found[-1].removeprefix(b"ANSWER "))


def until(condition: Callable[[], Any], seconds: float = 10.0) -> bool:
    """Whether it comes true in time."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if condition():
            return True
        time.sleep(0.02)
    return bool(condition())


@contextmanager
def victim(*, environment: Mapping[str, str] | None = None) -> Iterator[int]:
    """A process of the host, of the same user, with the secret among its arguments, in its environment and in a file that it holds open."""
    code = "import sys, time; f = open(sys.argv[2]); print('up', flush=True); time.sleep(300)"
    with scratch() as folder:
        (folder / "held").write_text(SECRET)
        process = subprocess.Popen(
            [sys.executable, "-c", code, SECRET, str(folder / "held")],
            env={"PATH": os.defpath, "SECRET": SECRET, **(environment or {})},
            stdout=subprocess.PIPE,
            cwd=folder,
        )
        try:
            assert process.stdout is not None
            process.stdout.readline()
            yield process.pid
        finally:
            process.kill()
            process.wait()
            assert process.stdout is not None
            process.stdout.close()


def lives(pid: int) -> bool:
    """Whether a process of the host runs; a zombie does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[0] not in (b"Z", b"X")
    except (OSError, IndexError):
        return False


__all__ = [
    "SECRET",
    "SandboxSubject",
    "Service",
    "ask",
    "isolates",
    "lives",
    "opened",
    "python",
    "require",
    "runs",
    "scratch",
    "until",
    "victim",
]
