"""The 45 dimensions, read once from `dimensions.toml` beside this module."""

import tomllib
from functools import cache
from importlib.resources import files
from typing import Any, Final

from finassay.api.dimension import Dimension, JudgedBy

CATEGORIES: Final = ("data", "strategy", "backtest", "assessment", "experience", "cost", "transparency")
SCORED_CATEGORIES: Final = CATEGORIES[:5]
"""K of equation (3); the other two are reported only."""

DIMENSIONS: tuple[Dimension, ...]


@cache
def _load() -> tuple[Dimension, ...]:
    rows = tomllib.loads(files(__package__).joinpath("dimensions.toml").read_text(encoding="utf-8"))["dimension"]
    found = tuple(Dimension(**{**row, "judged_by": JudgedBy(row["judged_by"]), "anchors": tuple(row["anchors"])}) for row in rows)
    for one in found:
        if (one.veto is not None) != bool(one.to_pass):
            raise ValueError(f"dimension {one.id}: a veto needs `to_pass`, and nothing else has it")
    return found


def dimension(dimension_id: str) -> Dimension:
    """The dimension of that id. Raises `KeyError`."""
    for found in _load():
        if found.id == dimension_id:
            return found
    raise KeyError(dimension_id)


def __getattr__(name: str) -> Any:
    """`DIMENSIONS` is read when it is first asked for, so that importing the module costs nothing."""
    if name == "DIMENSIONS":
        return _load()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
