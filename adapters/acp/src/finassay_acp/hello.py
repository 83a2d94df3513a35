"""What a program says of itself when the protocol begins; nothing is spent."""

import json
import os
import subprocess
import tempfile
import threading
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final

from attrs import frozen

HELLO_SECONDS: Final = 20.0
MAX_HELLO: Final = 2**20


@frozen
class Hello:
    """The answer to `initialize`."""

    name: str = ""
    """Name and version; empty where the program tells none."""
    problem: str = ""
    """Why there was no answer."""


def greet(argv: tuple[str, ...], environment: Mapping[str, str], files: Mapping[str, str]) -> Hello:
    """Start the program with an empty home and hear its answer to `initialize`; remembered for the same program. Never raises."""
    stamps = tuple(path.stat().st_mtime_ns for path in map(Path, argv) if path.is_file())
    return _greet(argv, tuple(sorted(environment.items())), tuple(sorted(files.items())), stamps)


@cache
def _greet(
    argv: tuple[str, ...], environment: tuple[tuple[str, str], ...], files: tuple[tuple[str, str], ...], stamps: tuple[int, ...]
) -> Hello:
    with tempfile.TemporaryDirectory(prefix="finassay-acp-", ignore_cleanup_errors=True) as home:
        for name, text in files:
            path = Path(home, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        variables = {"HOME": home, "PATH": os.environ.get("PATH", os.defpath), "LANG": "C.UTF-8", "TERM": "dumb", **dict(environment)}
        try:
            return _ask(argv, variables, home)
        except OSError as error:
            return Hello(problem=f"it does not start: {error.strerror or error}")


def _ask(argv: tuple[str, ...], variables: Mapping[str, str], home: str) -> Hello:
    request = {
        "jsonrpc": "2.0",
        "id": 0,
        "method": "initialize",
        "params": {"protocolVersion": 1, "clientCapabilities": {}, "clientInfo": {"name": "finassay", "version": "1"}},
    }
    with subprocess.Popen(
        argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=variables, cwd=home, start_new_session=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        clock = threading.Timer(HELLO_SECONDS, _end, [process])
        clock.daemon = True
        clock.start()
        try:
            process.stdin.write(json.dumps(request).encode() + b"\n")
            process.stdin.flush()
            while line := process.stdout.readline(MAX_HELLO):
                if (answer := _answer(line)) is not None:
                    return _read(answer)
        except OSError:
            pass
        finally:
            clock.cancel()
            _end(process)
    return Hello(problem=f"it gave no answer to initialize within {HELLO_SECONDS:g} s")


def _answer(line: bytes) -> dict[str, Any] | None:
    try:
        message = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return message if isinstance(message, dict) and message.get("id") == 0 and "method" not in message else None


def _read(message: dict[str, Any]) -> Hello:
    from acp.schema import InitializeResponse
    from pydantic import ValidationError

    try:
        told = InitializeResponse.model_validate(message.get("result"))
    except ValidationError:
        return Hello(problem="its answer to initialize is none of the protocol")
    info = told.agent_info
    return Hello(" ".join(f"{info.name} {info.version}".split())[:100] if info is not None else "")


def _end(process: "subprocess.Popen[bytes]") -> None:
    """End the program with its children."""
    try:
        os.killpg(process.pid, 9)
    except ProcessLookupError:
        process.kill()
