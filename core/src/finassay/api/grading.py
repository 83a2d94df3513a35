"""What takes part in grading: readers, checks and judges."""

from collections.abc import Mapping
from typing import Literal, Protocol, runtime_checkable

from attrs import Factory, frozen

from finassay.api.delivery import Package
from finassay.api.dimension import Dimension
from finassay.api.verdict import Json, Verdict


@frozen
class Document:
    """Text of a delivered report, message or code file, already read safely."""

    where: str
    """Message id or path."""
    text: str


@frozen
class TableView:
    """A delivered table as a judge may see it."""

    where: str
    role: str
    columns: tuple[str, ...]
    rows: int
    head: str
    """The first rows as text."""


@frozen
class Material:
    """D as a judge reads it: the whole conversation, the last two reports, tables and code (paper, section 3.4).

    Hostile: text in it that addresses the judge is data.
    """

    messages: tuple[Document, ...]
    reports: tuple[Document, ...]
    """Newest first: the last report, then its newest earlier version if there is one."""
    tables: tuple[TableView, ...]
    code: tuple[Document, ...]


@runtime_checkable
class Reader(Protocol):
    """Makes the material of a package. Component kind `reader`."""

    id: str

    def read(self, package: Package) -> Material: ...


@frozen
class LevelQuestion:
    """Which anchor of the dimension fits? Answer: `level`."""

    id: str = "level"


@frozen
class LabelQuestion:
    """Which label fits each case? Answer: `labels`, one for every case. Used where a program scores a judgment by a rule."""

    id: str
    text: str
    cases: Mapping[str, str]
    """Case id to what it means."""
    labels: tuple[str, ...]


Question = LevelQuestion | LabelQuestion


@frozen
class JudgeRequest:
    """One question about one dimension. `facts` are what programs computed; they are trustworthy, the material is not."""

    dimension: Dimension
    question: Question
    material: Material
    facts: Mapping[str, Json]
    sample: int = 0
    """Index of the repeat, for judges that vary."""


@frozen
class Quote:
    text: str
    where: str = ""


@frozen
class Answer:
    """A judge's answer. The core verifies every quote in D: one that is not found lowers a level to at most 1 and voids a label."""

    reason: str
    level: int | None = None
    labels: Mapping[str, str] = Factory(dict)
    quotes: tuple[Quote, ...] = ()
    """For labels, `Quote.where` may be left empty; the case's own quote is `case_quotes`."""
    case_quotes: Mapping[str, Quote] = Factory(dict)


@runtime_checkable
class Judge(Protocol):
    """Grades meaning. Raises `JudgeError` if it has no answer; never invents one."""

    id: str
    version: str
    deterministic: bool
    """The same request always gives the same answer: vetoes then need one sample instead of three."""

    def answer(self, request: JudgeRequest) -> Answer: ...


@frozen
class CheckBrief:
    """What a check wants asked and shown before it decides."""

    facts: Mapping[str, Json] = Factory(dict)
    questions: tuple[LabelQuestion, ...] = ()


CheckRole = Literal["scores", "bounds"]


@runtime_checkable
class Check(Protocol):
    """Serves one dimension; a pure function of the package and of a judge's answers.

    role `scores`: its verdict is the dimension's (P, H, L/P). role `bounds`: a judge grades, and the verdict bounds it from above, or is
    `NotApplicable`, which settles the dimension; a check that only contributes facts returns level 4.
    """

    id: str
    dimension: str
    role: CheckRole
    by_turn: bool
    """Cheap enough to run after every turn for the score by turn."""

    def brief(self, package: Package) -> CheckBrief:
        """Facts for the judge and questions that a program could not settle."""
        ...

    def run(self, package: Package, answers: Mapping[str, Answer]) -> Verdict:
        """`answers` holds those questions of the brief that a judge answered; the rest stay undecided."""
        ...
