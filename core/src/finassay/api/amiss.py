"""What is wrong with something that a person wrote in a file or on a command line, in plain words.

It reads the errors of a pydantic model, whose own words ("Extra inputs are not permitted") are for programmers, and finds the known names near
the one that was written. Nothing of pydantic is imported here: errors and models are known by their shape.
"""

import difflib
import re
import types
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, Final, Literal, Union, get_args, get_origin

from attrs import frozen

_TAKES: Final[Mapping[str, tuple[str, str]]] = {
    "tuple": ("a list", '["FIRST", "SECOND"]'),
    "list": ("a list", '["FIRST", "SECOND"]'),
    "set": ("a list", '["FIRST", "SECOND"]'),
    "frozen": ("a list", '["FIRST", "SECOND"]'),
    "dict": ("a table", '{"KEY": "VALUE"}'),
    "mapping": ("a table", '{"KEY": "VALUE"}'),
    "model": ("a table", '{"KEY": "VALUE"}'),
    "bool": ("true or false", "true"),
    "int": ("a whole number", "3"),
    "float": ("a number", "0.5"),
    "decimal": ("a number", "0.5"),
    "string": ("a text", '"1"'),
    "date": ("a date", "2019-12-31"),
    "datetime": ("a date with a time", "2019-12-31T16:00:00Z"),
    "path": ("a path", "FOLDER/FILE"),
}
"""Beginning of pydantic's name of an error to what the value is to be, and one as it is typed."""
_OF_TYPE: Final = ("_type", "_parsing", "_from_float", "_attributes_type", "_from_datetime_parsing", "_from_datetime_inexact")
_OWN: Final = ("value_error", "assertion_error")
_SUBJECT: Final = re.compile(
    r"^(?:Value error, |Assertion failed, |(?:Input|String|List|Tuple|Set|Dictionary|Value|Data|Number) (?=should|has|must))"
)
_SECRET: Final = re.compile(r"(?:key|token|secret|password|authorization)$", re.IGNORECASE)
_MAX_SHOWN: Final = 60
_MAX_SAID: Final = 500
_MAX_KNOWN: Final = 40


@frozen
class Amiss:
    """One thing that is wrong."""

    kind: Literal["unknown", "missing", "wrong", "own"]
    """`own`: a rule of the model's own is broken, which says so in a sentence of its own."""
    path: tuple[str, ...]
    """Names and numbers that lead to the value, from outside; of an unknown name to where it was written."""
    said: str
    """Of a wrong value: what it takes, and what it is; begins with a verb unless it is a sentence of the model's own."""
    known: tuple[str, ...] = ()
    """Names that are known where it stands."""
    description: str = ""
    """What the model says that the value is for."""
    example: str = ""
    """A value of the right type, as it is typed; empty where the type is not what is wrong."""

    @property
    def place(self) -> str:
        return ".".join(self.path)

    @property
    def near(self) -> str:
        """The known name that was probably meant; empty if none is near."""
        return nearest(self.path[-1], self.known) if self.kind == "unknown" and self.path else ""

    def line(self, noun: str = "key") -> str:
        """It in one line; `noun` is what a name is in that file."""
        if self.kind == "own":
            return f"{self.place}: {self.said}" if self.path else self.said
        if self.kind == "wrong":
            return f"{self.place} {self.said}" if self.path else self.said
        outer = f"{'.'.join(self.path[:-1])}: " if self.path[1:] else ""
        return outer + (f"unknown {noun} {self.path[-1]!r}" if self.kind == "unknown" else f"{noun} {self.path[-1]!r} is missing")

    @property
    def hint(self) -> str:
        """What to write instead."""
        if self.kind == "unknown":
            return (f"Did you mean {self.near!r}? " if self.near else "") + known_names(self.known)
        told = f"{self.path[-1]}: {self.description.rstrip('.')}." if self.description and self.path else ""
        return " ".join(filter(None, (told, f"For example: {self.example}" if self.example else "")))


def nearest(name: str, known: Sequence[str]) -> str:
    """The known name that was probably meant by another one; empty if none is near."""
    close = difflib.get_close_matches(name, known, n=1) or difflib.get_close_matches(name.lower(), [k.lower() for k in known], n=1)
    return next((k for k in known if close and k.lower() == close[0].lower()), "")


def known_names(known: Sequence[str]) -> str:
    """A sentence that lists what can be written."""
    more = f" and {len(known) - _MAX_KNOWN} more" if len(known) > _MAX_KNOWN else ""
    return f"Known here: {', '.join(known[:_MAX_KNOWN]) or 'no name'}{more}."


def first_amiss(error: Any, model: Any) -> Amiss:
    """The problem of a pydantic `ValidationError` of `model` that is told first: an unknown name, because it also leaves a needed one out."""
    found = [(_place(model, tuple(told["loc"]), told["type"]), told) for told in error.errors()]
    place, told = min(found, key=lambda one: (one[0].of_union, one[1]["type"] != "extra_forbidden", one[1]["type"] != "value_error"))
    if told["type"] == "extra_forbidden":
        return Amiss("unknown", place.path, "", place.siblings)
    if told["type"] == "missing":
        return Amiss("missing", place.path, "", place.siblings, place.description)
    same = [_takes(other["type"]) for at, other in found if at.path == place.path]
    wanted = list(dict.fromkeys(takes for takes in same if takes is not None))
    shown = "" if place.path and _SECRET.search(place.path[-1]) else f", and is {_shown(told['input'])}"
    if wanted and len(wanted) == len(set(same)):  # each of the types that fit there was of no use
        text = " or ".join(what for what, _ in wanted)
        return Amiss("wrong", place.path, f"takes {text}{shown}", place.siblings, place.description, wanted[0][1])
    said = _plain(" ".join(_SUBJECT.sub("", told["msg"]).split()), _MAX_SAID)
    if told["type"] in _OWN:
        return Amiss("own", place.path, said, place.siblings, place.description)
    return Amiss("wrong", place.path, said + shown, place.siblings, place.description)


def _takes(kind: str) -> tuple[str, str] | None:
    return _TAKES.get(kind.split("_")[0]) if kind.endswith(_OF_TYPE) else None


def _shown(value: Any) -> str:
    return _plain(repr(value), _MAX_SHOWN)


def _plain(text: str, most: int) -> str:
    """Text of a file, bounded and with nothing in it that acts on a terminal."""
    text = text if len(text) <= most else text[: most - 1] + "…"
    return text if text.isprintable() else repr(text)[1:-1]


# -- where in a model an error lies -----------------------------------------------------------------------------------


@frozen
class _Place:
    path: tuple[str, ...]
    siblings: tuple[str, ...]
    description: str
    of_union: bool
    """It lies in one of several types that a value may have: perhaps another was meant."""


def _place(model: Any, loc: tuple[str | int, ...], kind: str) -> _Place:
    """Follow an error's location through the types. pydantic puts names of its own into it where a value may have one of several types."""
    path, siblings, description, of_union = [], tuple[str, ...](), "", False
    kinds, tagged = _arms(model)
    for part in loc:
        if tagged and kinds:
            tagged, of_union = False, True  # the name of one of the types, which the person did not write
            kinds = [k for k in kinds if _named(k, part)] or kinds
            continue
        if part == "[key]":
            continue
        inner = [found for k in kinds for found in _inside(k, part)]
        models = [k for k in kinds if hasattr(k, "model_fields")]
        siblings = tuple(dict.fromkeys(name for k in models for name in _names(k)))
        if isinstance(part, str):
            description = next((found.description or "" for k in models if (found := _field(k, part)) is not None), "")
        path.append(_plain(str(part), _MAX_SHOWN))
        arms = [_arms(found) for found in inner]
        kinds, tagged = [k for some, _ in arms for k in some], any(several for _, several in arms)
    if kind != "missing" and kind != "extra_forbidden" and not path:
        siblings = tuple(_names(model)) if hasattr(model, "model_fields") else ()
    return _Place(tuple(path), siblings, description, of_union)


def _arms(kind: Any) -> tuple[list[Any], bool]:
    """The types that a value of a type may have, None left out, and whether there are several."""
    if get_origin(kind) is Annotated:
        return _arms(get_args(kind)[0])
    if get_origin(kind) in (Union, types.UnionType):
        arms = [a for a in get_args(kind) if a is not type(None)]
        return ([x for a in arms for x in _arms(a)[0]], True) if len(arms) > 1 else _arms(arms[0])
    return [kind], False


def _inside(kind: Any, part: str | int) -> Iterator[Any]:
    origin, inner = get_origin(kind), get_args(kind)
    if hasattr(kind, "model_fields"):
        found = _field(kind, part)
        if found is not None:
            yield found.annotation
    elif isinstance(part, int) and inner and isinstance(origin, type) and issubclass(origin, Sequence | set | frozenset):
        fixed = origin is tuple and Ellipsis not in inner
        yield inner[part] if fixed and part < len(inner) else inner[0]
    elif len(inner) == 2 and isinstance(origin, type) and issubclass(origin, Mapping):
        yield inner[1]


def _field(model: Any, part: str | int) -> Any:
    return next((f for name, f in model.model_fields.items() if part in (name, f.alias)), None)


def _names(model: Any) -> list[str]:
    return [f.alias or name for name, f in model.model_fields.items()]


def _named(kind: Any, tag: str | int) -> bool:
    return str(tag) in (getattr(kind, "__name__", ""), str(kind).replace("typing.", ""))
