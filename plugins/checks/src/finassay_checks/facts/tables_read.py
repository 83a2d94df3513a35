"""Fact `tables_read`: every role that a delivered table plays, with its columns and the reasons, and whether it is the one that counts."""

from collections.abc import Mapping
from typing import Literal

from attrs import frozen

from finassay.api.delivery import Package
from finassay_checks.delivered import read_delivery
from finassay_checks.reading.text import shown

MAX_COLUMNS = 300


@frozen
class TableRead:
    """One table in one role: canonical to delivered columns, why the role fits, and for the chosen one why it was chosen."""

    where: str
    role: str
    columns: Mapping[str, str]
    reasons: tuple[str, ...]
    rows: int
    used: bool
    ambiguous: bool

    @property
    def status(self) -> Literal["found", "ambiguous", "other"]:
        """Whether it is the one that counts in its role, one of several that fit equally well, or neither."""
        return "found" if self.used else "ambiguous" if self.ambiguous else "other"


def tables_read(package: Package) -> tuple[TableRead, ...]:
    """Use as `package.fact(tables_read)`."""
    delivered = package.fact(read_delivery)
    made = []
    for candidate in delivered.role_tables:
        choice = delivered.choices.get(candidate.role)
        used = choice is not None and choice.chosen is candidate
        reasons = (*candidate.reasons, *(choice.reasons if used and choice is not None else ()))
        columns = {shown(str(k), 60): shown(str(v), 80) for k, v in list(candidate.columns.items())[:MAX_COLUMNS]}
        ambiguous = not used and choice is not None and choice.status == "ambiguous" and candidate in choice.candidates
        made.append(TableRead(candidate.table.where, candidate.role, columns, reasons, len(candidate.table.frame), used, ambiguous))
    return tuple(made)
