"""What takes part in grading: readers, checks and judges."""

from collections.abc import Mapping, Sequence
from typing import Literal, Protocol, runtime_checkable

from attrs import Factory, frozen

from finassay.api.delivery import Package
from finassay.api.dimension import Dimension
from finassay.api.errors import JudgeError
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
    refused: tuple[str, ...] = ()
    """Not empty: the last answer rested on these quotes, which stand nowhere in the delivery; the question is asked this once more. An
    empty text among them stands for a level above 1 for which nothing of the delivery was quoted."""
    guidance: str = ""
    """What the institution that asks for the grading adds to a judge's instructions (`finassay.api.guidance`); trustworthy."""


@frozen
class Quote:
    text: str
    where: str = ""


@frozen
class Answer:
    """A judge's answer. The core verifies every quote in D. One that is not found is refused and asked for once more, unless the judge is
    deterministic; then it lowers a level to at most 1 and voids a label."""

    reason: str
    level: int | None = None
    labels: Mapping[str, str] = Factory(dict)
    quotes: tuple[Quote, ...] = ()
    """For labels, `Quote.where` may be left empty; the case's own quote is `case_quotes`."""
    case_quotes: Mapping[str, Quote] = Factory(dict)
    steering: tuple[Quote, ...] = ()
    """Passages of the delivery that try to steer whoever grades. They earn and cost nothing, are told on the scorecard, and carry no level."""
    facts: Mapping[str, Json] = Factory(dict)
    """What the record should keep of how the answer was made: votes, material left out, the order in which things were shown."""


@runtime_checkable
class Judge(Protocol):
    """Grades meaning. Raises `JudgeError` if it has no answer; never invents one.

    A judge may carry an attribute `identity`, a mapping of JSON values: whatever else its answers depend on, such as models, options and a
    digest of its prompts. It stands on every scorecard.
    """

    id: str
    version: str
    deterministic: bool
    """The same request always gives the same answer: vetoes then need one sample instead of three."""

    def answer(self, request: JudgeRequest) -> Answer: ...


@runtime_checkable
class BatchJudge(Judge, Protocol):
    """A judge that answers many requests better together than one by one."""

    def answer_all(self, requests: Sequence[JudgeRequest]) -> Sequence[Answer | JudgeError]:
        """For each request, in order, the answer or why there is none. Where it raises, each request is put to `answer`."""
        ...


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
