"""The component."""

from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import BaseModel, ConfigDict, Field

from finassay.api.research import Assignment, Derivation, Desk, Draft, Question

if TYPE_CHECKING:
    from finassay.api.source import Document
    from finassay_statements_b.filing import GridFiling


class StatementsBOptions(BaseModel):
    """What can be set."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    remembered: int = Field(default=16, ge=1, le=500, description="Filings that are kept in memory once they were read.")


class StatementsB:
    """Reads filings as token grids that must keep their sums; implements `finassay.api.research.Researcher`."""

    api_version: ClassVar[int] = 1
    description: ClassVar[str] = "reads primary statements of filings as grids that must keep their sums; no model"
    Options: ClassVar[type[BaseModel]] = StatementsBOptions
    id: ClassVar[str] = "statements-b"
    family: ClassVar[str] = "statements-b"
    version: ClassVar[str] = "1"

    def __init__(self, options: StatementsBOptions) -> None:
        self.options = options
        self._read: dict[str, Any] = {}

    def write(self, assignment: Assignment, desk: Desk) -> Draft:
        from finassay_rubrics.metrics.draft import draft

        return draft(assignment, lambda question: self.derive(question, desk))

    def derive(self, question: Question, desk: Desk) -> Derivation:
        from finassay_rubrics.metrics.ground import derive

        return derive(question, desk, self._filing)

    def _filing(self, document: "Document") -> "GridFiling":
        from finassay_statements_b.filing import GridFiling

        found = self._read.get(document.digest)
        if found is None:
            found = GridFiling(document)
            while len(self._read) >= self.options.remembered:
                self._read.pop(next(iter(self._read)))
            self._read[document.digest] = found
        filing: GridFiling = found
        return filing
