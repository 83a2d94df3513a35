"""Scripts that compute expected values: looked at before they run, run in the sandbox, and run again when a rubric is checked.

A script with typed-in figures grounds nothing: numbers come in as JSON on standard input, each bound to a quote, and of the constants in the code
only a few belong to formulas and not to filings.
"""

import ast
import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Final, Protocol

from attrs import frozen

from finassay.api.delivery import RunResult
from finassay.api.research import Script, ScriptError
from finassay.api.verdict import Json
from finassay.records.scratch import Scratch

CONSTANTS: Final = (0, 1, 2, 4, 12, 100, 360, 365, 10_000, 0.5)
"""Numbers that a formula may hold: shares, averages, days, months, quarters, percent, basis points."""
MODULES: Final = ("json", "sys", "decimal", "fractions", "math", "statistics")
REFUSED: Final = frozenset(
    [
        "open",
        "exec",
        "eval",
        "compile",
        "__import__",
        "input",
        "breakpoint",
        "globals",
        "locals",
        "vars",
        "getattr",
        "setattr",
        "delattr",
        "help",
        "exit",
        "quit",
        "memoryview",
    ]
)
MAX_CODE: Final = 20_000
MAX_INPUTS: Final = 1_000_000
MAX_OUTPUT: Final = 200_000
SECONDS: Final = 20.0
_RUN: Final = "import sys, runpy; sys.stdin = open('inputs.json', encoding='utf-8'); runpy.run_path('script.py', run_name='__main__')"


class Runs(Protocol):
    """Runs a program over files, in a sandbox without network: `finassay.runs.coderunner.SandboxCodeRunner`."""

    def run(self, files: Mapping[str, Path], argv: tuple[str, ...], *, seconds: float) -> RunResult: ...


def script_problems(code: str) -> list[str]:
    """What keeps a script from being evidence: figures of its own, reaching outside, or no Python. Empty if nothing does."""
    if len(code) > MAX_CODE:
        return [f"is longer than {MAX_CODE:,} characters"]
    try:
        tree = ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        return [f"is no Python: {error}"[:300]]
    return list(dict.fromkeys(problem for node in ast.walk(tree) for problem in _problems(node)))


def _problems(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.Constant(value=bool()):
            return
        case ast.Constant(value=int() | float() | complex() as number) if number not in CONSTANTS:
            yield f"line {node.lineno}: holds the figure {number}, which no quote shows"
        case ast.Constant(value=str() as text) if any(c.isdigit() for c in text) and _is_figure(text):
            yield f"line {node.lineno}: holds the figure {text!r}, which no quote shows"
        case ast.Import(names=names):
            yield from (f"line {node.lineno}: imports {n.name}" for n in names if n.name not in MODULES)
        case ast.ImportFrom(module=module, level=level):
            if level or module not in MODULES:
                yield f"line {node.lineno}: imports {module}"
        case ast.Name(id=name) if name in REFUSED:
            yield f"line {node.lineno}: uses {name}"
        case ast.Attribute(attr=attribute) if attribute.startswith("__"):
            yield f"line {node.lineno}: uses {attribute}"
        case _:
            return


def _is_figure(text: str) -> bool:
    try:
        return float(text.replace(",", "")) not in CONSTANTS
    except ValueError:
        return False


@frozen
class ScriptRunner:
    """Runs scripts. `seconds` bounds each, and with the sandbox everything else."""

    runs: Runs
    seconds: float = SECONDS

    def run(self, code: str, inputs: Mapping[str, Json]) -> Script:
        """The script with its output and digests. Raises `ScriptError`."""
        problems = script_problems(code)
        if problems:
            raise ScriptError(f"the script {problems[0]}")
        given = canonical(inputs)
        if len(given) > MAX_INPUTS:
            raise ScriptError("the script's inputs are too large")
        with Scratch("script") as scratch:
            script, data = scratch.path / "script.py", scratch.path / "inputs.json"
            script.write_text(code, encoding="utf-8")
            data.write_bytes(given)
            argv = ("{python}", "-I", "-S", "-c", _RUN)
            result = self.runs.run({"script.py": script, "inputs.json": data}, argv, seconds=self.seconds)
        return _script(code, result, self.seconds)


def _script(code: str, result: RunResult, seconds: float) -> Script:
    if result.exit_code is None:
        raise ScriptError(f"the script ran longer than {seconds:g} s")
    if result.exit_code != 0:
        last = (result.stderr.strip().splitlines() or ["without a word"])[-1]
        raise ScriptError(f"the script failed with exit code {result.exit_code}: {last}"[:500])
    if result.written:
        raise ScriptError(f"the script wrote {min(result.written)}"[:300])
    if len(result.stdout) > MAX_OUTPUT:
        raise ScriptError("the script printed too much")
    try:
        output = json.loads(result.stdout)
    except (ValueError, RecursionError) as error:
        raise ScriptError(f"the script printed no JSON: {error}"[:300]) from error
    if not isinstance(output, dict):
        raise ScriptError("the script printed no JSON object")
    return Script(code, digest(code.encode()), output, digest(canonical(output)))


def again(script: Script, inputs: Mapping[str, Json], runner: Callable[[str, Mapping[str, Json]], Script]) -> str:
    """Why a script no longer gives what it gave; empty if it does. Never raises."""
    try:
        now = runner(script.code, inputs)
    except ScriptError as error:
        return str(error)
    if now.digest != script.digest:
        return "the script is another one now"
    return "" if now.output_digest == script.output_digest else "the script gives another output now"


def canonical(value: object) -> bytes:
    """JSON with sorted keys, without spaces."""
    return json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"), default=str).encode()


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


__all__ = ["ScriptRunner", "again", "canonical", "digest", "script_problems"]
