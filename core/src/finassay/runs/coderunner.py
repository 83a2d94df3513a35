"""Running delivered code again: a writable copy of the delivered tree, a sandbox without network, bounded in everything."""

import contextlib
import os
import secrets
import shutil
import stat
import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Final

from finassay.api.delivery import RunResult
from finassay.api.sandbox import Box, BoxSpec, Limits, Sandbox
from finassay.records.files import remove_tree
from finassay.runs.interpreter import executable, masked_packages

UNTOUCHED: Final = 1_000_000_000
"""Modification time of the copies, in seconds: a file with another one was written by the code, also if its bytes are the same."""
MAX_OUTPUT: Final = 2**20
"""Bytes of standard output, and of standard error, that are kept."""
MAX_WRITTEN: Final = 500
MAX_WRITTEN_BYTES: Final = 512 * 2**20
MAX_ENTRIES: Final = 50_000
"""Files and folders that are looked at after a run."""
PRIVATE: Final = (".home", ".tmp")
"""Folders that sandboxes make in a workspace."""


class SandboxCodeRunner:
    """Implements `finassay.api.delivery.CodeRunner` on any sandbox.

    `readable` are host folders that the code may read (the interpreter, channels' data), `hidden` what is masked in them (every finassay
    package if it is not given), and `scratch` is where copies lie until `close`. Several threads may call `run` at once.
    """

    def __init__(
        self,
        sandbox: Sandbox,
        readable: tuple[Path, ...],
        environment: Mapping[str, str],
        scratch: Path,
        *,
        hidden: tuple[Path, ...] | None = None,
        limits: Limits = Limits(memory_bytes=4 * 2**30, processes=64, file_bytes=2**30),
    ) -> None:
        self._sandbox, self._readable, self._limits = sandbox, readable, limits
        self._hidden = masked_packages(()) if hidden is None else hidden
        self._environment = {"PYTHONDONTWRITEBYTECODE": "1", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", **environment}
        self._scratch = scratch / f"rerun-{secrets.token_hex(6)}"

    def run(self, files: Mapping[str, Path], argv: tuple[str, ...], *, seconds: float) -> RunResult:
        """Run `argv` (`{python}` stands for the interpreter) in a copy of `files`. Raises `SandboxError` if no box can be opened."""
        workspace = self._copy(files)
        box = self._sandbox.open(BoxSpec(workspace, self._readable, self._hidden, self._environment, network=False, limits=self._limits))
        started = time.monotonic()
        try:
            exit_code, output, errors = _execute(box, tuple(executable() if a == "{python}" else a for a in argv), seconds)
        finally:
            box.close()
        # Only now: nothing of the program runs any more that could change what is looked at.
        return RunResult(exit_code, output, errors, time.monotonic() - started, dict(_written(workspace, files)))

    def _copy(self, files: Mapping[str, Path]) -> Path:
        workspace = self._scratch / secrets.token_hex(8)
        workspace.mkdir(parents=True)
        for relative, source in files.items():
            path = PurePosixPath(relative)
            if path.is_absolute() or ".." in path.parts or path.parts[:1] in [(name,) for name in PRIVATE]:
                continue
            target = workspace / path
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, target)
            os.utime(target, (UNTOUCHED, UNTOUCHED))
        return workspace

    def close(self) -> None:
        """Remove every copy, also what a program made unreadable or too deep."""
        with contextlib.suppress(OSError):
            remove_tree(self._scratch)


def _execute(box: Box, argv: tuple[str, ...], seconds: float) -> tuple[int | None, str, str]:
    process = box.spawn(argv)
    stopped = threading.Event()

    def stop() -> None:
        stopped.set()
        box.stop()

    clock = threading.Timer(seconds, stop)
    clock.daemon = True
    clock.start()
    output = bytearray()
    try:
        for line in process.lines():
            if len(output) < MAX_OUTPUT:
                output += line[: MAX_OUTPUT - len(output)] + b"\n"
        exit_code = process.wait()
    finally:
        clock.cancel()
        clock.join()
    errors = process.stderr_tail()[-MAX_OUTPUT:]
    return None if stopped.is_set() else exit_code, output[:MAX_OUTPUT].decode("utf-8", "replace"), errors


def _written(workspace: Path, given: Mapping[str, Path]) -> Iterator[tuple[str, Path]]:
    """Regular files that were written, also with the bytes that they had, bounded in number and size. Links are not followed."""
    count = total = 0
    for relative, status in _files(workspace):
        path = workspace / relative
        if relative in given and status.st_mtime == UNTOUCHED:
            continue
        count, total = count + 1, total + status.st_size
        if count > MAX_WRITTEN or total > MAX_WRITTEN_BYTES:
            return
        yield relative, path


def _files(workspace: Path) -> Iterator[tuple[str, os.stat_result]]:
    """Relative path and status of the regular files, sorted folder by folder, at most `MAX_ENTRIES` entries in all."""
    pending, left = [""], MAX_ENTRIES
    while pending:
        folder = pending.pop()
        names = []
        try:
            with os.scandir(workspace / folder) as entries:
                for entry in entries:
                    left -= 1
                    if left < 0:
                        return
                    names.append(entry.name)
        except OSError:
            continue
        for name in sorted(names):
            relative = f"{folder}/{name}" if folder else name
            try:
                status = (workspace / relative).lstat()
            except OSError:  # its path is too long
                continue
            if stat.S_ISDIR(status.st_mode) and relative not in PRIVATE:
                pending.append(relative)
            elif stat.S_ISREG(status.st_mode) and status.st_mode & stat.S_IRUSR:
                yield relative, status
