"""Researchers: who finds values in sources. One writes a rubric's criteria, another of a different family derives every value again."""

from collections.abc import Mapping, Sequence
from datetime import date
from decimal import Decimal
from typing import Literal, Protocol, runtime_checkable

from attrs import Factory, frozen

from finassay.api.errors import FinassayError
from finassay.api.source import Document, Passage, SourceItem
from finassay.api.verdict import Json


class ScriptError(FinassayError):
    """A script failed, ran too long, wrote outside its folder or reached for the network; the message says which."""


@frozen
class Period:
    """A period or day that a value belongs to. A statement's columns are told apart by `end`, never by a year alone."""

    asked: str
    """As the query says it: `FY2017`, `fiscal 2022`."""
    end: date | None = None
    start: date | None = None
    """None for a day, as of which a balance stands."""
    label: str = ""
    """The issuer's own."""
    basis: Literal["issuer", "calendar year of end", "majority of months", ""] = ""
    weeks: int | None = None


@frozen
class Quote:
    """A passage of a document: an exact slice of a page."""

    source: str
    reference: str
    page: int | None
    start: int
    """First code point in the page's text."""
    end: int
    text: str
    page_digest: str
    published: date | None = None


@frozen
class Input:
    """A number that a calculation takes, as a quote shows it."""

    name: str
    value: Decimal
    """In units, scale applied: 86,392 in millions is 86392000000."""
    quote: int
    """Place of the quote that shows it among those of the derivation."""
    shown: str
    """The number's text in the quote."""
    scale: Decimal = Decimal(1)
    period: Period | None = None
    line: str = ""
    """Id of the statement line, or the label in the filing."""


@frozen
class Script:
    """Python that prints one JSON object. It reads its inputs as JSON from standard input and holds no figures of its own."""

    code: str
    digest: str = ""
    output: Mapping[str, Json] = Factory(dict)
    output_digest: str = ""


@frozen
class Derivation:
    """A value with what it rests on, or why there is none."""

    value: Decimal | str | None
    """In units for amounts; percent as 5.1 for 5.1 %; None where it cannot be grounded."""
    unit: str = ""
    """`USD`, `percent`, `percentage points`, `times`, `days`, `USD/share`, `count`, empty for words."""
    period: Period | None = None
    quotes: tuple[Quote, ...] = ()
    inputs: tuple[Input, ...] = ()
    script: Script | None = None
    step: Decimal | None = None
    """The precision of what was read, in units: 1,000,000 for a statement in millions."""
    reason: str = ""
    """Why it stays unresolved."""


@frozen
class Question:
    """One value to find. Holds nothing of how anybody else found it, and no value."""

    id: str
    text: str
    metric: str = ""
    """Id in the table of metrics; empty for what is none."""
    definition: str = ""
    """As the query defines it, if it does."""
    entity: str = ""
    period: Period | None = None
    convention: str = ""
    """`TOPIC:ROUTE` whose value is wanted; empty for the only one."""
    convention_text: str = ""
    """The convention in words."""
    unit: str = ""
    decimals: int | None = None
    documents: tuple[str, ...] = ()
    """References of documents that may be used; any if it is empty."""
    instructions: str = ""
    """What guidance packs tell whoever derives values."""
    parts: tuple["Question", ...] = ()
    """Questions of one issuer each whose values this one compares or combines, in order; empty for a single value."""
    combine: Literal["", "highest", "lowest", "difference", "sum", "mean", "ratio"] = ""
    """What is wanted of the parts: the entity of the one with the highest or lowest value, the size of the difference of two, the sum, the
    mean, the first over the second."""


class Desk(Protocol):
    """What a researcher works with. Everything asked is recorded; nothing after the cutoff is there."""

    cutoff: date

    def search(self, query: str, limit: int = 10) -> Sequence[Passage]: ...
    def find(self, query: str, limit: int = 50) -> Sequence[SourceItem]: ...
    def open(self, source: str, reference: str) -> Document: ...

    def run(self, code: str, inputs: Mapping[str, Json]) -> Script:
        """Run a script in the sandbox, without network, bounded. Raises `ScriptError`."""
        ...


@frozen
class Assignment:
    """What a writer gets for one obligation. It sees no points and no answer."""

    obligation: str
    what: str
    context: Mapping[str, Json]
    """The contextualized query: signature, bindings, cutoff."""
    criteria: tuple[str, ...] = ()
    """Atomic criteria of the bank's task that belong here, value-free; empty where none matched."""
    principles: tuple[str, ...] = ()
    """`ID title: statement`."""
    instructions: str = ""
    conventions: Mapping[str, tuple[str, ...]] = Factory(dict)
    bindings: tuple[str, ...] = ()
    """Ids of the context's bindings that the obligation stands on."""
    returned: tuple[str, ...] = ()
    """Why the last draft came back: violations, and values that the reviewer did not find."""
    draft: Mapping[str, Json] = Factory(dict)
    """The last draft as JSON, if one came back: a `Draft` with its fields."""


@frozen
class DraftRoute:
    """One accepted value of a criterion."""

    route: str
    topic: str
    convention: str
    derivation: Derivation


@frozen
class DraftCriterion:
    """A criterion as a writer proposes it."""

    id: str
    text: str
    kind: Literal["numeric", "date", "categorical", "set", "text", "derivation", "prohibited", "format"]
    principles: tuple[str, ...]
    bindings: tuple[str, ...]
    routes: tuple[DraftRoute, ...] = ()
    question: Question | None = None
    """What a reviewer is asked, for a criterion with a value."""
    must_pass: bool = False
    optional: bool = False
    depends_on: tuple[str, ...] = ()
    reason: str = ""
    """Why it stays unresolved, if it does."""


@frozen
class Draft:
    """What a writer hands in for an obligation."""

    criteria: tuple[DraftCriterion, ...]
    notes: str = ""


@runtime_checkable
class Researcher(Protocol):
    """Writes criteria, and derives values. Two that check each other must be of different families: no code or model in common."""

    id: str
    family: str
    version: str

    def write(self, assignment: Assignment, desk: Desk) -> Draft:
        """Criteria of one obligation, with grounded values. Raises `ProviderError`, `BudgetError`, `SourceError`."""
        ...

    def derive(self, question: Question, desk: Desk) -> Derivation:
        """One value, found afresh. Raises as `write`."""
        ...
