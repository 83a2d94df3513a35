"""Arithmetic of usage, where unknown is not zero."""

import math
from collections.abc import Callable, Mapping
from typing import Any

from attrs import fields

from finassay.api.usage import Usage


def add(first: Usage, second: Usage) -> Usage:
    """Sum of two usages; unknown and known is the known."""
    return _join(first, second, lambda a, b: b if a is None else a if b is None else a + b)


def since(total: Usage, before: Usage) -> Usage:
    """What a running total grew by. One that fell was begun anew and counts whole."""
    return _join(total, before, lambda a, b: a if a is None or b is None or a < b else a - b)


def latest(new: Usage, old: Usage) -> Usage:
    """The newer of two running totals, value by value."""
    return _join(new, old, lambda a, b: b if a is None else a)


def usage_of(data: Mapping[str, Any]) -> Usage:
    """The counts under `Usage`'s names; what is missing, or no finite count from 0 up, stays unknown."""
    values: dict[str, Any] = {}
    for item in fields(Usage):
        value: Any = data.get(item.name)
        if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value) and 0 <= value < 1e15:
            values[item.name] = float(value) if item.name == "cost_usd" else int(value)
    return Usage(**values)


def _join(first: Usage, second: Usage, join: Callable[[Any, Any], Any]) -> Usage:
    return Usage(**{f.name: join(getattr(first, f.name), getattr(second, f.name)) for f in fields(Usage)})
