"""What is wrong with an option of a component, in the words of whoever typed it."""

import shlex
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from finassay.api.amiss import first_amiss, known_names, nearest

if TYPE_CHECKING:  # listing components does not need pydantic
    from pydantic import BaseModel, ValidationError

_NAMED_BY_KIND: Final = frozenset(("simulator", "judge", "sandbox", "gateway"))
_TYPED: Final = frozenset((*_NAMED_BY_KIND, "agent", "model"))
"""Kinds whose options can be given on a command line; those of others stand in files."""


def option_problem(
    error: "ValidationError", options: "type[BaseModel]", kind: str, name: str, beside: Sequence[str] = ()
) -> tuple[str, str]:
    """The first problem in one line, and a hint with an example or the known options.

    `name` is what a person calls the component; `beside` are names that may stand beside its options where they are written.
    """
    amiss = first_amiss(error, options)
    known = (*amiss.known, *beside) if len(amiss.path) == 1 else amiss.known
    listed = f"Its options: {', '.join(known) or 'none'}." if len(amiss.path) < 2 else known_names(known)
    if amiss.kind == "unknown":
        close = nearest(amiss.path[-1], known)
        return f"has no option {amiss.place!r}", (f"Did you mean {close!r}? " if close else "") + listed
    described = f" ({amiss.place}: {amiss.description.rstrip('.')})" if amiss.description else ""
    if amiss.kind == "missing":
        return f"needs the option {amiss.place!r}", _example(kind, name, amiss.path, "VALUE") + described
    said = f"option {amiss.place!r}{':' if amiss.kind == 'own' else ''} {amiss.said}" if amiss.path else amiss.said
    if amiss.example:
        return said, _example(kind, name, amiss.path, amiss.example) + described
    return said, described.strip(" ()") or listed


def _example(kind: str, name: str, path: Sequence[str], value: str) -> str:
    """An option as it stands on a command line; only the type where it cannot stand there."""
    if len(path) != 1 or kind not in _TYPED:
        return f"For example: {value}"
    owner = "" if kind == "model" else f"{kind}." if kind in _NAMED_BY_KIND else f"{name}."
    return "For example: -o " + shlex.quote(f"{owner}{path[0]}={value}")
