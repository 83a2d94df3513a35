"""What a check or a judge says about one dimension. Never a bare number."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Literal

from attrs import Factory, frozen

Json = Any
"""A value that JSON can hold."""


class EvidenceKind(StrEnum):
    QUOTE = "quote"
    """`text` stands verbatim (whitespace-normalised) in `where`."""
    ROWS = "rows"
    """Rows of a table: `where` names the file, `rows` the rows or dates."""
    VALUE = "value"
    """A recomputed value: `expected` by the program, `found` in the delivery."""
    NOTE = "note"
    """Anything else a person needs to see the point with their own eyes."""


@frozen
class Evidence:
    kind: EvidenceKind
    text: str
    where: str = ""
    """A message id (`a3`), a path relative to the delivery, or `path#sheet`."""
    rows: tuple[str, ...] = ()
    expected: str = ""
    found: str = ""


class Source(StrEnum):
    """Who graded."""

    PROGRAM = "P"
    JUDGE = "L"
    HYBRID = "H"
    MEASURED = "measured"


@frozen
class Scored:
    """A level from 0 to 4 with its evidence. Vetoes, caps of categories and totals are computed from it by the core."""

    level: int
    source: Source
    by: str
    """Id of the check or judge."""
    reason: str
    evidence: tuple[Evidence, ...] = ()
    raw_level: int | None = None
    """The judge's grade before a program bounded it, where they differ."""
    unverified: tuple[str, ...] = ()
    """Strategy items or audit checks that nobody could decide; not empty means that the grading is incomplete."""
    facts: Mapping[str, Json] = Factory(dict)
    """Numbers behind the level, for tables: shares, counts, recomputed metrics.

    A fact `unread`, a list of {"file", "reason"}, names delivered files that could not be looked into. They are told beside the files and
    to the agent, so a reason must say nothing of the strategy. A fact `tables`, a list of {"where", "role", "columns", "reasons", "used",
    "ambiguous"}, says how delivered tables were read.
    """

    def __attrs_post_init__(self) -> None:
        if not 0 <= self.level <= 4:
            raise ValueError(f"level {self.level} is not between 0 and 4")


@frozen
class Measured:
    """Values of a dimension that is reported and never scored (cost). `None` means unknown, never zero."""

    values: Mapping[str, float | str | None]
    by: str


@frozen
class NotApplicable:
    """The dimension does not apply to this session; it leaves J_k and its veto passes."""

    reason: str
    by: str = ""


UnscoredReason = Literal[
    "no check installed", "check crashed", "judge unavailable", "judge unparsed", "judges disagree", "evidence missing", "not graded"
]


@frozen
class Unscored:
    """No verdict: never a zero and never a pass. The grading is incomplete."""

    reason: UnscoredReason
    detail: str = ""
    by: str = ""


Verdict = Scored | Measured | NotApplicable | Unscored
