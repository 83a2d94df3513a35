"""What is wrong with an option of a component, in the words of whoever typed it."""

import difflib
import shlex
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:  # listing components does not need pydantic
    from pydantic import BaseModel, ValidationError

_EXAMPLES: Final[Mapping[str, tuple[str, str]]] = {
    "tuple": ("a list", '["FIRST", "SECOND"]'),
    "list": ("a list", '["FIRST", "SECOND"]'),
    "dict": ("a table", '{"KEY": "VALUE"}'),
    "bool": ("true or false", "true"),
    "int": ("a whole number", "3"),
    "float": ("a number", "0.5"),
    "string": ("a text", '"1"'),
}
"""Beginning of pydantic's name of an error to what the option takes, and a value as it is typed."""
_NAMED_BY_KIND: Final = frozenset(("simulator", "judge", "sandbox", "gateway"))
_MAX_SHOWN: Final = 60


def option_problem(error: "ValidationError", options: "type[BaseModel]", kind: str, name: str) -> tuple[str, str]:
    """The first problem in one line, and a hint with an example or the known options; `name` is what a person calls the component."""
    told = error.errors()
    first = next((one for one in told if one["type"] == "extra_forbidden"), told[0])  # a slip of the pen also leaves a needed one out
    where = ".".join(map(str, first["loc"]))
    known = f"Its options: {', '.join(options.model_fields) or 'none'}."
    if first["type"] == "extra_forbidden":
        close = difflib.get_close_matches(where, list(options.model_fields), n=1)
        return f"has no option {where!r}", (f"Did you mean {close[0]!r}? " if close else "") + known
    described = _described(options, where)
    if first["type"] == "missing":
        return f"needs the option {where!r}", f"For example: {_typed(kind, name, where, 'VALUE')}{described}"
    takes = _EXAMPLES.get(first["type"].split("_")[0]) if first["type"].endswith(("_type", "_parsing", "_from_float")) else None
    if takes is None:
        said = first["msg"].removeprefix("Value error, ").removeprefix("Input ")
        return f"option {where!r} {said}, and is {_shown(first['input'])}" if where else said, described.strip(" ()") or known
    return (
        f"option {where!r} takes {takes[0]}, and is {_shown(first['input'])}",
        f"For example: {_typed(kind, name, where, takes[1])}{described}",
    )


def _described(options: "type[BaseModel]", where: str) -> str:
    field = options.model_fields.get(where)
    return f" ({where}: {field.description.rstrip('.')})" if field is not None and field.description else ""


def _typed(kind: str, name: str, where: str, value: str) -> str:
    """As it stands on a command line."""
    owner = "" if kind == "model" else f"{kind}." if kind in _NAMED_BY_KIND else f"{name}."
    return "-o " + shlex.quote(f"{owner}{where}={value}")


def _shown(value: Any) -> str:
    said = repr(value)
    return said if len(said) <= _MAX_SHOWN else said[: _MAX_SHOWN - 1] + "…"
