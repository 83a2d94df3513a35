"""Between the frozen attrs words of `finassay.api` and JSON: one structural conversion for all of them.

Reading is strict: a missing or unknown key, or a value of another type, is an `InvalidFileError` that names the place.
"""

import math
import types
import typing
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date
from enum import Enum
from functools import cache
from pathlib import Path
from typing import Any, Literal, TypeVar, Union, cast, get_args, get_origin, get_type_hints

import attrs

from finassay.api.amiss import nearest
from finassay.api.errors import InvalidFileError

T = TypeVar("T")


@cache
def _names(kind: type) -> tuple[str, ...] | None:
    """Names of the stored fields of an attrs class; None for any other."""
    return tuple(f.name for f in attrs.fields(kind) if not f.name.startswith("_")) if attrs.has(kind) else None


def to_json(value: Any) -> Any:
    """Plain JSON of an attrs object, tuple, mapping, enum or date. Raises `TypeError` for anything else that JSON cannot hold."""
    kind = type(value)
    if kind is str or kind is int or kind is float or kind is bool or value is None:
        return value
    names = _names(kind)  # type: ignore[arg-type]
    if names is not None:
        return {name: to_json(getattr(value, name)) for name in names}
    if isinstance(value, list | tuple):
        return [to_json(item) for item in value]
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Mapping):
        return {str(key): to_json(item) for key, item in value.items()}
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, set | frozenset):
        return sorted(to_json(item) for item in value)
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, str | int | float | bool):
        return value
    if hasattr(value, "item"):  # numpy scalars in facts
        return to_json(value.item())
    raise TypeError(f"{kind.__name__} cannot be stored as JSON")


Reader = Callable[[Any, str], Any]
"""Takes JSON and the place it stands in; gives the object."""


def from_json(kind: type[T], data: Any, place: str = "") -> T:
    """An object of `kind` from what `to_json` gave. `place` is named in errors."""
    return cast(T, _reader(cast(Any, kind))(data, place))


@cache
def _reader(kind: Any) -> Reader:
    """How values of a type are read, worked out once for each type."""
    origin, inner = get_origin(kind), get_args(kind)
    if kind is Any:
        return lambda data, place: data
    if origin in (Union, types.UnionType):
        return _union_reader(inner)
    if origin is Literal:
        return _choice_reader(inner)
    if origin in (tuple, Sequence):
        return _list_reader(_reader(inner[0]), tuple)
    if origin is frozenset:
        return _list_reader(_reader(inner[0]), frozenset)
    if origin in (dict, Mapping, typing.Mapping) or kind is dict:
        return _mapping_reader(_reader(inner[1] if inner else Any))
    if attrs.has(kind):
        return _attrs_reader(kind)
    if isinstance(kind, type) and issubclass(kind, Enum):
        return _enum_reader(kind)
    return _SCALARS[kind]


def _union_reader(choices: tuple[Any, ...]) -> Reader:
    optional = type(None) in choices
    readers = [_reader(choice) for choice in choices if choice is not type(None)]

    def read(data: Any, place: str) -> Any:
        if data is None and optional:
            return None
        errors = []
        for reader in readers:
            try:
                return reader(data, place)
            except InvalidFileError as error:
                errors.append(error)
        raise errors[0]

    return read


def _choice_reader(choices: tuple[Any, ...]) -> Reader:
    def read(data: Any, place: str) -> Any:
        if data not in choices:
            raise InvalidFileError(f"{place}: {data!r} is none of {', '.join(map(str, choices))}")
        return data

    return read


def _list_reader(inner: Reader, gather: Callable[[Iterator[Any]], Any]) -> Reader:
    def read(data: Any, place: str) -> Any:
        if not isinstance(data, list):
            raise _wrong(place, "a list", data)
        return gather(inner(item, f"{place}[{i}]") for i, item in enumerate(data))

    return read


def _mapping_reader(inner: Reader) -> Reader:
    def read(data: Any, place: str) -> Any:
        if not isinstance(data, dict):
            raise _wrong(place, "an object", data)
        return {key: inner(item, f"{place}.{key}") for key, item in data.items()}

    return read


def _enum_reader(kind: type[Enum]) -> Reader:
    def read(data: Any, place: str) -> Any:
        try:
            return kind(data)
        except ValueError:
            raise InvalidFileError(f"{place}: {data!r} is none of {', '.join(str(m.value) for m in kind)}") from None

    return read


def _attrs_reader(kind: Any) -> Reader:
    hints = get_type_hints(kind)
    stored = [f for f in attrs.fields(kind) if not f.name.startswith("_")]
    fields = {f.name: _reader(hints[f.name]) for f in stored}
    needed = [f.name for f in stored if f.default is attrs.NOTHING]

    def read(data: Any, place: str) -> Any:
        if not isinstance(data, dict):
            raise _wrong(place, f"an object ({kind.__name__})", data)
        if not data.keys() <= fields.keys():
            unknown = min(data.keys() - fields.keys())
            close = nearest(unknown, tuple(fields))
            meant = f" (did you mean {close!r}?)" if close else ""
            raise InvalidFileError(f"{place}: unknown key {unknown!r}{meant}; known are {', '.join(sorted(fields))}")
        for name in needed:
            if name not in data:
                raise InvalidFileError(f"{place}: {name!r} is missing")
        return kind(**{name: fields[name](value, f"{place}.{name}") for name, value in data.items()})

    return read


def _read_date(data: Any, place: str) -> date:
    try:
        return date.fromisoformat(data)
    except (TypeError, ValueError):
        raise _wrong(place, "a date such as 2019-12-31", data) from None


def _read_float(data: Any, place: str) -> float:
    if (type(data) is not float and type(data) is not int) or not math.isfinite(data):
        raise _wrong(place, "a finite number", data)
    return float(data)


def _exactly(kind: type) -> Reader:
    def read(data: Any, place: str) -> Any:
        if type(data) is not kind:
            raise _wrong(place, _WORDS[kind], data)
        return data

    return read


_WORDS = {str: "a text", int: "a whole number", bool: "true or false"}
_SCALARS: dict[Any, Reader] = {str: _exactly(str), int: _exactly(int), bool: _exactly(bool), float: _read_float, date: _read_date}


def _wrong(place: str, expected: str, data: Any) -> InvalidFileError:
    shown = repr(data)
    return InvalidFileError(f"{place}: expected {expected}, found {shown[:60]}{'…' if len(shown) > 60 else ''}")
