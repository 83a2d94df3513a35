"""Looks at the whole rubric: what a global reviewer is, and what it finds."""

from typing import Any, Final, Literal, Protocol, get_args

from attrs import asdict, frozen

from finassay_rubrics.record.rubric import Rubric

Kind = Literal["redundancy", "double counting", "missing", "missing principle", "wording", "contradiction"]
KINDS: Final[tuple[str, ...]] = get_args(Kind)
"""`missing`: something is asked that nothing tests. `missing principle`: a principle that the task calls for is realized by no criterion."""


@frozen
class Finding:
    """One thing that is wrong with the whole."""

    kind: str
    """Of `KINDS`."""
    obligation: str
    """The one that is to mend it."""
    criterion: str
    """The one that is to be changed; empty where something is missing."""
    words: str
    """What is wrong, and with which other criteria, on one line."""

    @property
    def told(self) -> str:
        """For the writer, and for a person."""
        where = f"criterion {self.criterion}" if self.criterion else f"obligation {self.obligation}"
        return f"global review, {self.kind}: {where}: {self.words}"


@frozen
class Look:
    """What a look at the whole gave."""

    findings: tuple[Finding, ...]
    returned: tuple[tuple[str, ...], ...] = ()
    """What was wrong with the reviewer's own replies, a tuple for each that was sent back."""
    failed: str = ""
    """Why there is no look, where there is none: the reviewer gave nothing that holds."""

    def data(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_data(cls, data: dict[str, Any]) -> "Look":
        """Raises `KeyError`, `TypeError`."""
        found = tuple(Finding(**one) for one in data["findings"])
        return cls(found, tuple(tuple(map(str, one)) for one in data["returned"]), str(data["failed"]))


class GlobalReviewer(Protocol):
    """Looks at a whole rubric. Of another family than its writer."""

    @property
    def id(self) -> str: ...
    @property
    def family(self) -> str: ...

    def shown(self, rubric: Rubric) -> dict[str, Any]:
        """What it would be shown, as JSON data: looks at the same are one look."""
        ...

    def look(self, rubric: Rubric) -> Look:
        """Raises `ProviderError`, `BudgetError`."""
        ...
