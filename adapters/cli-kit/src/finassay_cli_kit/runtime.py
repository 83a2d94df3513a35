"""A Python for the agent's shell, with the data libraries that are installed beside finassay."""

import json
import os
import shutil
import subprocess
from functools import cache
from pathlib import Path
from typing import Final

from attrs import frozen

import finassay.runs.interpreter
from finassay.api.errors import UsageError
from finassay.runs.interpreter import executable, interpreter_folders

NONE: Final = "none"
SYSTEM_PATH: Final = "/usr/local/bin:/usr/bin:/bin"
"""PATH of a box."""
_ASK: Final = (
    "import json, runpy, sys; parts = runpy.run_path(sys.argv[1]); print(json.dumps([str(p) for p in parts['interpreter_folders']()]))"
)
_ASK_SECONDS: Final = 30.0


@frozen
class PythonRuntime:
    """What a box needs so that `python` and `python3` in it are a certain interpreter."""

    readable: tuple[Path, ...] = ()
    path: str = ""
    """Folder for the front of PATH; empty where nothing is put there."""

    @property
    def environment(self) -> dict[str, str]:
        """PATH with the interpreter in front; empty where the box's own PATH stays."""
        return {"PATH": f"{self.path}:{SYSTEM_PATH}"} if self.path else {}


def python_runtime(choice: str = "") -> PythonRuntime:
    """The interpreter that runs finassay, or the one at `choice` (Python 3.9 or newer); nothing for `none`.

    What is installed there can be imported in the box; the core masks finassay's own packages. Raises `UsageError` for an interpreter that
    does not start.
    """
    if choice == NONE:
        return PythonRuntime()
    if not choice:
        return PythonRuntime(interpreter_folders(), str(Path(executable()).parent))
    return _other(os.path.expanduser(choice))


@cache
def _other(choice: str) -> PythonRuntime:
    found = shutil.which(choice)
    if found is None:
        raise UsageError(f"the Python {choice!r} was not found")
    command = [found, "-I", "-c", _ASK, str(finassay.runs.interpreter.__file__)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_ASK_SECONDS, stdin=subprocess.DEVNULL, check=True)
        folders = tuple(Path(path) for path in json.loads(done.stdout))
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        raise UsageError(f"{choice} is no Python that can be used: {error}") from error
    return PythonRuntime(folders, str(Path(found).absolute().parent))
