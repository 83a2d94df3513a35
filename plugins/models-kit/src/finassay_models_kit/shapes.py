"""Whether a value has the shape that a vendor's SDK declares with typed dictionaries: the SDKs send whatever they are given."""

import collections.abc
import types
import typing
from typing import Any, Literal, Union, get_args, get_origin

_WRAPPERS = (typing.Required, typing.NotRequired, typing.Annotated)


def misfits(value: Any, shape: Any, where: str = "$") -> list[str]:
    """What does not fit, a line each: unknown and missing keys, other types, other literals. Empty if all fits."""
    origin, inner = get_origin(shape), get_args(shape)
    if origin in _WRAPPERS:
        return misfits(value, inner[0], where)
    if origin in (Union, types.UnionType):
        return min((misfits(value, one, where) for one in inner), key=len)
    if origin is Literal:
        return [] if value in inner else [f"{where}: {value!r} is none of {inner}"]
    if hasattr(shape, "__required_keys__"):  # whichever library's TypedDict it is
        return _misfits_of_keys(value, shape, where)
    if origin in (dict, collections.abc.Mapping):
        return [] if isinstance(value, dict) else [f"{where}: no object"]
    if isinstance(origin, type) and (issubclass(origin, collections.abc.Iterable) or "Sequence" in origin.__name__):
        if not isinstance(value, list | tuple):
            return [f"{where}: no list"]
        return [line for number, one in enumerate(value) for line in misfits(one, inner[0], f"{where}[{number}]")]
    plain = {float: (int, float), type(None): (type(None),), None: (type(None),)}.get(shape, (shape,))
    known = shape not in (Any, object) and all(isinstance(one, type) for one in plain)
    return [f"{where}: {value!r} is no {shape}"] if known and not isinstance(value, plain) else []


def _misfits_of_keys(value: Any, shape: Any, where: str) -> list[str]:
    if not isinstance(value, dict):
        return [f"{where}: no {shape.__name__}"]
    hints = typing.get_type_hints(shape)
    lines = [f"{where}.{key}: {shape.__name__} has no such key" for key in value if key not in hints]
    lines += [f"{where}.{key}: {shape.__name__} needs it" for key in shape.__required_keys__ if key not in value]
    return lines + [line for key, one in value.items() if key in hints for line in misfits(one, hints[key], f"{where}.{key}")]
