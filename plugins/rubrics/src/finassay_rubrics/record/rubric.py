"""The record of a rubric: one JSON file with a schema. `rubric/1` is written; `rubric/draft`, its forerunner, can be read too.

Amounts stand as the source shows them, with unit and scale: 86,392 millions of USD is value 86392, unit `USD`, scale `millions`. Points and
values are decimal texts in JSON, so that no binary fraction creeps in.
"""

from datetime import date, datetime
from decimal import Decimal
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, PlainSerializer, model_validator

SCHEMA = "rubric/1"
Exact = Annotated[Decimal, PlainSerializer(lambda value: f"{value:f}", return_type=str, when_used="json")]
"""A decimal number, stored as its text."""
MAX_DIGITS = 15
"""Significant digits of a value: what a JSON number carries without loss. What is computed is rounded to 12."""

MAX_EXPONENT = 300
"""Powers of ten of a value: what a JSON number carries."""


def _stored(value: Decimal | str) -> int | float | str:
    """A number as a JSON number, words as they are."""
    if isinstance(value, str):
        return value
    return int(value) if value == value.to_integral_value() and abs(value) < 10**MAX_DIGITS else float(value)


def _sound(value: Decimal | str) -> Decimal | str:
    if isinstance(value, Decimal) and (
        not value.is_finite() or abs(value.adjusted()) > MAX_EXPONENT or len(value.normalize().as_tuple().digits) > MAX_DIGITS
    ):
        raise ValueError(f"expected a finite number of at most {MAX_DIGITS} digits")
    return value


Value = Annotated[Decimal | str, AfterValidator(_sound), PlainSerializer(_stored, when_used="json")]
"""An expected value: a JSON number, or words. A number in quotes is words."""
Kind = Literal["numeric", "date", "categorical", "set", "text", "derivation", "prohibited", "format"]
Status = Literal["grounded", "unresolved", "not_applicable"]
"""`not_applicable` is the grounding of what a program checks on the answer alone (format)."""
Gate = Literal["none", "must_pass"]
ANY = "any"
"""Route of what depends on no convention."""


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Tolerance(_Record):
    """What is accepted around an expected value. A band is `abs`, or `rel` of the expected value, whichever is wider."""

    rule: Literal["exact", "stated precision", "band"] = Field(
        description="`stated precision`: the expected value, rounded half-up to the decimals that the answer states, is what it must say."
    )
    abs: Exact = Field(default=Decimal(0), ge=0, description="In the unit and scale of the expected value.")
    rel: Exact = Field(default=Decimal(0), ge=0, description="Share of the expected value.")
    decimals: int | None = Field(default=None, ge=-12, le=12, description="Decimals that must at least be stated; negative counts zeros.")
    inclusive: Literal["both", "lower"] = Field(default="both", description="Which ends of the band belong to it.")
    rounding: str = Field(default="", description="The rule in words.")


class BoundInput(_Record):
    """A number that a script took, and the quote that shows it."""

    name: str
    value: Value = Field(description="In units, scale applied.")
    shown: str = Field(description="The number as the quote shows it.")
    quote_sha256: str = Field(description="Of the quote, which stands among the evidence of the same route.")
    line: str = ""
    period: str = ""


class Evidence(_Record):
    """What a value rests on: a passage of a document, or a script that was run."""

    kind: Literal["source", "script"]
    source: str = Field(default="", description="Id of the source it was opened in.")
    document: str = Field(default="", description="Reference of the document.")
    page: int | None = Field(default=None, description="From 1.")
    start: int | None = Field(default=None, description="First code point of the quote in the page's text.")
    end: int | None = None
    url: str = ""
    publisher: str = ""
    published: date | None = None
    retrieved: datetime | None = None
    quote: str = ""
    quote_match: Literal["exact", "after normalisation", ""] = ""
    quote_sha256: str = ""
    page_sha256: str = ""
    script: str = Field(default="", description="Path beside the rubric.")
    script_sha256: str = ""
    inputs_sha256: str = ""
    stdout_sha256: str = ""
    env: str = ""
    output: str = Field(default="", description="Which value of the script's output, as a path with dots.")
    inputs: tuple[BoundInput, ...] = ()
    period_end: date | None = Field(default=None, description="End of the latest period that the document reports, where it is known.")


class Route(_Record):
    """One accepted value, under one convention."""

    route_id: str = ANY
    topic: str | None = Field(default=None, description="The convention that it is a choice of; None for what depends on none.")
    convention: str = ""
    value: Value = Field(description="A number for numeric criteria, else words.")
    unit: str = ""
    scale: str = Field(default="", description="`thousands`, `millions`, `billions`; empty for units.")
    sign_rule: str = ""
    tolerance: Tolerance | None = None
    period: str = ""
    period_end: date | None = None
    requires: str = Field(default="", description="What an answer must say so that this route can be taken: its yardstick.")
    forms: tuple[str, ...] = Field(default=(), description="Other units or expressions of the same value; conversion is no convention.")
    evidence: tuple[Evidence, ...] = ()


class Review(_Record):
    """What a reviewer found for one route of a criterion."""

    reviewer: str
    family: str
    route_id: str = ANY
    verdict: Literal["agrees", "differs", "not found", "not asked"]
    value: Value | None = None
    difference: Exact | None = None
    seen_quotes: bool = Field(default=False, description="Whether it was the second look, with the quotes.")
    evidence: tuple[Evidence, ...] = ()
    reason: str = ""


class Criterion(_Record):
    """One claim, one test."""

    id: str
    obligation_id: str
    text: str
    kind: Kind
    principles: tuple[str, ...] = ()
    bindings: tuple[str, ...] = ()
    points: Exact = Field(default=Decimal(0), ge=0)
    gate: Gate = "none"
    polarity: Literal["positive", "negative"] = "positive"
    optional: bool = False
    expected: tuple[Route, ...] = ()
    status: Status = "grounded"
    scope: Literal["answer", "trajectory", "file"] = "answer"
    review: tuple[Review, ...] = ()
    metric: str = Field(
        default="", description="Id in the table of metrics. With entity and period it names the cell that a number belongs to."
    )
    entity: str = ""
    period: str = ""
    depends_on: tuple[str, ...] = Field(
        default=(), description="Criteria whose values this one is computed from: one fault is charged once."
    )
    strict: bool = Field(default=False, description="Whether a value that follows from the answer's own wrong inputs stays unmet.")
    discriminating: bool = Field(default=False, description="Whether its routes can be told apart.")
    merged_routes: tuple[str, ...] = ()
    anchors: tuple[str, ...] = ()
    checked_by: str = Field(default="", description="Program that checks it, for format.")
    reason: str = Field(default="", description="Why it is unresolved, or why only one route holds.")
    notes: str = ""


class Obligation(_Record):
    """One thing that the query asks for."""

    id: str
    what: str
    spans: tuple[str, ...] = Field(min_length=1, description="Bindings that it stands on.")
    frozen: Exact = Field(description="Points before research.")
    points: Exact = Field(description="Points after composition.")
    graded: bool = Field(default=True, description="False where nothing in it could be grounded: its points leave the denominator.")


class Move(_Record):
    """Points that composition moved."""

    source: str = Field(alias="from")
    target: str = Field(alias="to")
    points: Exact = Field(gt=0)
    ground: Literal["parts", "difficulty", "formality", "overlap", "unresolved", ""] = ""
    reason: str = Field(min_length=1)
    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)


class Topic(_Record):
    """A convention with the closed list of its routes, in order."""

    id: str
    routes: tuple[str, ...]
    forbidden: tuple[tuple[str, str], ...] = Field(default=(), description="(this route, TOPIC:ROUTE) that cannot be combined.")
    gate_mixed: bool = Field(default=False, description="Whether mixing its routes fails the answer.")


class Rubric(_Record):
    """A whole rubric."""

    schema_: Literal["rubric/1"] = Field(default="rubric/1", alias="schema")
    query: str
    cutoff: date = Field(description="Inclusive.")
    obligations: tuple[Obligation, ...]
    criteria: tuple[Criterion, ...]
    topics: tuple[Topic, ...] = ()
    moves: tuple[Move, ...] = ()
    context_digest: str = ""
    budget_digest: str = ""
    guidance: tuple[str, ...] = Field(default=(), description="Packs with their versions.")
    writer: dict[str, Any] = Field(default_factory=dict)
    reviewer: dict[str, Any] = Field(default_factory=dict)
    versions: dict[str, str] = Field(default_factory=dict)
    status: Literal["final", "queued", "draft"] = "draft"
    queued: tuple[str, ...] = Field(default=(), description="Why a person must look at it.")
    content_digest: str = ""
    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)

    @model_validator(mode="after")
    def _ids_are_unique(self) -> "Rubric":
        for what, ids in (("obligation", [o.id for o in self.obligations]), ("criterion", [c.id for c in self.criteria])):
            twice = {i for i in ids if ids.count(i) > 1}
            if twice:
                raise ValueError(f"{what} {min(twice)!r} stands twice")
        unknown = {c.obligation_id for c in self.criteria} - {o.id for o in self.obligations}
        if unknown:
            raise ValueError(f"criteria of obligation {min(unknown)!r}, which there is not")
        return self

    def criterion(self, id: str) -> Criterion:
        """Raises `KeyError`."""
        for one in self.criteria:
            if one.id == id:
                return one
        raise KeyError(id)
