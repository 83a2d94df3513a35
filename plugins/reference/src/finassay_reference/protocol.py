"""What the program tells the harness: one JSON object a line on standard output."""

import itertools
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

_ids: Iterator[int] = itertools.count(1)
MAX_OUTPUT = 4000


def emit(event: str, **fields: Any) -> None:
    """One line of the protocol of finassay-cli-kit."""
    sys.stdout.write(json.dumps({"type": event, **fields}) + "\n")
    sys.stdout.flush()


def say(text: str) -> None:
    emit("message", text=text)


def run_script(script: Path, workspace: Path) -> str:
    """Run a delivered script and log the call and its result. Returns its output.

    Raises `RuntimeError` with the end of its output if it fails.
    """
    call = f"c{next(_ids)}"
    shown = script.relative_to(workspace).as_posix()
    emit("tool-call", id=call, name="run_command", input={"command": f"python {shown}"})
    done = subprocess.run([sys.executable, str(script)], cwd=workspace, capture_output=True, text=True, check=False)
    output = (done.stdout + done.stderr)[-MAX_OUTPUT:]
    emit("tool-result", id=call, output=output, is_error=done.returncode != 0, exit_code=done.returncode)
    if done.returncode:
        raise RuntimeError(output.strip().splitlines()[-1] if output.strip() else f"{shown} ended with code {done.returncode}")
    return output


def write_file(path: Path, text: str, workspace: Path) -> None:
    """Write a file and log it."""
    call = f"c{next(_ids)}"
    emit("tool-call", id=call, name="write_file", input={"path": path.relative_to(workspace).as_posix(), "content": text})
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    emit("tool-result", id=call, output=f"{len(text.encode())} bytes", is_error=False, exit_code=None)
