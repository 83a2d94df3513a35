"""What every detector of a role uses: the context, and what a table is called and dated by."""

import re
from collections.abc import Iterator

import pandas as pd
from attrs import frozen

from finassay_checks.model import Role, RoleTable
from finassay_checks.roles.shape import Column, Shape
from finassay_checks.roles.vocabulary import FILL_DATES, SIGNAL_DATES


@frozen
class Context:
    """What deciding needs besides the table."""

    timezone: str
    known: frozenset[str]


Found = Iterator[RoleTable]


def made(role: Role, shape: Shape, columns: dict[str, str], frame: pd.DataFrame, *reasons: str) -> Found:
    if len(frame):
        yield RoleTable(role, shape.table, columns, tuple(reasons), frame)


def name_of(column: Column | None) -> str | None:
    return column.name if column is not None else None


def stem_of(shape: Shape) -> str:
    """The sheet or key if it has a name, else the file name without suffix: what hints are read from."""
    path, _, label = shape.table.where.partition("#")
    sheet = re.sub(r"!\d+$", "", label)
    if sheet and not re.fullmatch(r"table\d+|Sheet ?\d*", sheet):
        return sheet
    return path.rsplit("/", 1)[-1].rsplit(".", 1)[0]


def dates_of(shape: Shape) -> tuple[Column | None, Column | None]:
    """(fill or only date, signal date) of a table."""
    signal = shape.find(SIGNAL_DATES, "date")
    fill = shape.find([k for k in FILL_DATES if k], "date")
    rest = [c for c in shape.of("date") if c is not signal and c is not fill]
    if fill is None:
        fill = next(iter(rest), None)
    if fill is None and signal is not None:
        return signal, None
    return fill, signal
