"""Running delivered code again: a writable copy of the delivered tree, a sandbox without network, bounded in everything."""

import secrets
import shutil
import sys
import threading
import time
from collections.abc import Mapping
from pathlib import Path

from finassay.api.delivery import RunResult
from finassay.api.sandbox import Box, BoxSpec, Limits, Sandbox

MAX_OUTPUT = 2**20
MAX_WRITTEN = 500
MAX_WRITTEN_BYTES = 512 * 2**20


class SandboxCodeRunner:
    """Implements `finassay.api.delivery.CodeRunner` on any sandbox.

    `readable` are host folders that the code may read (the interpreter, channels' data), `scratch` is where copies lie until `close`.
    """

    def __init__(
        self,
        sandbox: Sandbox,
        readable: tuple[Path, ...],
        environment: Mapping[str, str],
        scratch: Path,
        *,
        hidden: tuple[Path, ...] = (),
        limits: Limits = Limits(memory_bytes=4 * 2**30, processes=64, file_bytes=2**30),
    ) -> None:
        self._sandbox, self._readable, self._scratch, self._limits, self._hidden = sandbox, readable, scratch, limits, hidden
        self._environment = {"PYTHONDONTWRITEBYTECODE": "1", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", **environment}

    def run(self, files: Mapping[str, Path], argv: tuple[str, ...], *, seconds: float) -> RunResult:
        """Run `argv` (`{python}` stands for the interpreter) in a copy of `files`. Raises `SandboxError` if no box can be opened."""
        workspace = self._copy(files)
        box = self._sandbox.open(BoxSpec(workspace, self._readable, self._hidden, self._environment, network=False, limits=self._limits))
        try:
            started = time.monotonic()
            exit_code, output, errors = self._execute(box, tuple(sys.executable if a == "{python}" else a for a in argv), seconds)
            return RunResult(exit_code, output, errors, time.monotonic() - started, _written(workspace, files))
        finally:
            box.close()

    def _copy(self, files: Mapping[str, Path]) -> Path:
        workspace = self._scratch / secrets.token_hex(8)
        workspace.mkdir(parents=True)
        for relative, source in files.items():
            target = workspace / relative
            if not target.resolve().is_relative_to(workspace.resolve()):
                continue
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, target)
        return workspace

    def _execute(self, box: Box, argv: tuple[str, ...], seconds: float) -> tuple[int | None, str, str]:
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
            exit_code = process.wait(10)
        finally:
            clock.cancel()
        return None if stopped.is_set() else exit_code, output.decode("utf-8", "replace"), process.stderr_tail()

    def close(self) -> None:
        """Remove every copy."""
        shutil.rmtree(self._scratch, ignore_errors=True)


def _written(workspace: Path, given: Mapping[str, Path]) -> dict[str, Path]:
    """Regular files that were written or changed, bounded in number and size; links are not followed."""
    found: dict[str, Path] = {}
    total = 0
    for path in sorted(workspace.rglob("*")):
        if path.is_symlink() or not path.is_file():
            continue
        relative = path.relative_to(workspace).as_posix()
        if relative.startswith((".home/", ".tmp/")) or relative == ".finassay-box":
            continue
        size = path.stat().st_size
        if relative in given and size == given[relative].stat().st_size and path.read_bytes() == given[relative].read_bytes():
            continue
        total += size
        if len(found) >= MAX_WRITTEN or total > MAX_WRITTEN_BYTES:
            break
        found[relative] = path
    return found
