"""Programs that are Python modules of an installed distribution."""

from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path

from attrs import frozen

from finassay.api.errors import AgentError
from finassay.runs.interpreter import executable, interpreter_folders


@frozen
class PythonProgram:
    """How a module is run in a box by the interpreter that runs finassay, and what it must be able to read."""

    argv: tuple[str, ...]
    readable: tuple[Path, ...]
    environment: Mapping[str, str]


def python_program(module: str, *arguments: str) -> PythonProgram:
    """`python -m module arguments` with the folders and variables it needs, also where the module is installed in place (editable).

    Raises `AgentError` if the module's package is not installed.
    """
    top = module.partition(".")[0]
    spec = find_spec(top)
    if spec is None or spec.origin is None:
        raise AgentError(f"the package {top!r} is not installed")
    package = Path(spec.origin).parent if spec.submodule_search_locations else Path(spec.origin)
    folders = interpreter_folders()
    installed = any(package.is_relative_to(folder) for folder in folders)
    # -P keeps the working folder off the module path: what an agent writes there must not replace a module of its own program.
    return PythonProgram(
        argv=(executable(), "-P", "-m", module, *arguments),
        readable=folders if installed else (*folders, package),
        environment={} if installed else {"PYTHONPATH": str(package.parent)},
    )
