"""Between the frozen attrs words of `finassay.api` and JSON: one structural conversion for all of them.

Reading is strict: a missing or unknown key, or a value of another type, is an `InvalidFileError` that names the place.
"""

import types
import typing
from collections.abc import Mapping
from datetime import date
from enum import Enum
from functools import cache
from pathlib import Path
from typing import Any, Literal, TypeVar, Union, cast, get_args, get_origin, get_type_hints

import attrs

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


@cache
def _fields(kind: type) -> dict[str, tuple[Any, bool]]:
    """Stored field to its type and whether it must be given."""
    hints = get_type_hints(kind)
    return {f.name: (hints[f.name], f.default is attrs.NOTHING) for f in attrs.fields(kind) if not f.name.startswith("_")}


def from_json(kind: type[T], data: Any, place: str = "") -> T:
    """An object of `kind` from what `to_json` gave. `place` is named in errors."""
    return cast(T, _read(kind, data, place))


def _read(kind: Any, data: Any, place: str) -> Any:
    if type(data) is kind and kind in (str, int, bool):
        return data
    if kind is Any:
        return data
    origin = get_origin(kind)
    if origin in (Union, types.UnionType):
        return _read_union(get_args(kind), data, place)
    if origin is Literal:
        if data not in get_args(kind):
            raise InvalidFileError(f"{place}: {data!r} is none of {', '.join(map(str, get_args(kind)))}")
        return data
    if origin is tuple:
        if not isinstance(data, list):
            raise _wrong(place, "a list", data)
        return tuple(_read(get_args(kind)[0], item, f"{place}[{i}]") for i, item in enumerate(data))
    if origin is frozenset:
        return frozenset(_read(get_args(kind)[0], item, f"{place}[{i}]") for i, item in enumerate(data))
    if origin in (dict, Mapping, typing.Mapping) or kind is dict:
        if not isinstance(data, dict):
            raise _wrong(place, "an object", data)
        inner = get_args(kind)[1] if get_args(kind) else Any
        return {key: _read(inner, item, f"{place}.{key}") for key, item in data.items()}
    return _read_plain(kind, data, place)


def _read_union(choices: tuple[Any, ...], data: Any, place: str) -> Any:
    if data is None and type(None) in choices:
        return None
    errors = []
    for choice in choices:
        if choice is type(None):
            continue
        try:
            return _read(choice, data, place)
        except InvalidFileError as error:
            errors.append(error)
    raise errors[0] if errors else _wrong(place, "nothing", data)


def _read_plain(kind: Any, data: Any, place: str) -> Any:
    if attrs.has(kind):
        return _read_attrs(kind, data, place)
    if isinstance(kind, type) and issubclass(kind, Enum):
        try:
            return kind(data)
        except ValueError:
            raise InvalidFileError(f"{place}: {data!r} is none of {', '.join(str(m.value) for m in kind)}") from None
    if kind is date:
        try:
            return date.fromisoformat(data)
        except (TypeError, ValueError):
            raise _wrong(place, "a date such as 2019-12-31", data) from None
    if kind is float and isinstance(data, int | float) and not isinstance(data, bool):
        return float(data)
    if kind is int and isinstance(data, int) and not isinstance(data, bool):
        return data
    if kind in (str, bool) and isinstance(data, kind):
        return data
    raise _wrong(place, kind.__name__, data)


def _read_attrs(kind: Any, data: Any, place: str) -> Any:
    if not isinstance(data, dict):
        raise _wrong(place, f"an object ({kind.__name__})", data)
    fields = _fields(kind)
    unknown = data.keys() - fields.keys()
    if unknown:
        raise InvalidFileError(f"{place}: unknown key {min(unknown)!r}; known are {', '.join(sorted(fields))}")
    missing = [name for name, (_, needed) in fields.items() if needed and name not in data]
    if missing:
        raise InvalidFileError(f"{place}: {missing[0]!r} is missing")
    return kind(**{name: _read(hint, data[name], f"{place}.{name}") for name, (hint, _) in fields.items() if name in data})


def _wrong(place: str, expected: str, data: Any) -> InvalidFileError:
    shown = repr(data)
    return InvalidFileError(f"{place}: expected {expected}, found {shown[:60]}{'…' if len(shown) > 60 else ''}")
