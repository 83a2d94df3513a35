"""What waits for a person, and what a person decided: files beside the rubric, `queue/ITEM.json` and `queue/ITEM.decision.json`.

`settling.py` takes decisions into a rubric, `stated.py` grounds the values that they state.
"""

import re
from collections.abc import Iterator
from decimal import Decimal
from typing import Any, Final, Literal

from attrs import frozen
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from finassay.api.amiss import first_amiss
from finassay.api.errors import InvalidFileError, UsageError
from finassay_rubrics.generate.checking import shows
from finassay_rubrics.generate.folder import RubricFolder
from finassay_rubrics.record.rubric import Rubric, Value

PERSON: Final = "person"
ENDING: Final = ".decision.json"
WHOLE: Final = "whole-rubric"
HOW: Final = "`finassay rubric queue FOLDER ITEM` shows what such a file may hold"
MAX_SCRIPT: Final = 20_000
MAX_STATED: Final = 40
"""Numbers that a computed value may take."""
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_NUMBER: Final = re.compile(r"[-+]?(?:\d{1,3}(?:,\d{3})+|\d{1,15})(?:\.\d{1,15})?")
Scale = Literal["", "thousands", "millions", "billions"]


class StatedInput(BaseModel):
    """A number that a computed value takes, and the words of a document that show it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str = Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]{0,59}$", description="What the script or formula calls it.")
    shown: str = Field(min_length=1, max_length=60, description="The number as the quote shows it: `2,248.3`; `(102.3)` is negative.")
    scale: Scale = Field(default="", description="What the document says it counts in; empty for units.")
    document: str = Field(min_length=1, max_length=500, description="Reference of the document.")
    page: int | None = None
    quote: str = Field(min_length=1, max_length=5000, description="The words of the document, as they stand there.")


class Decision(BaseModel):
    """A person's word on one item. A value is quoted (`value`, `document`, `quote`) or computed (`formula` or `script`, with `inputs`)."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    decision: Literal["accept", "value", "drop"] = Field(
        description="`accept` what waits as it is; state another `value`, with what shows it; `drop` the criterion, which then earns nothing."
    )
    by: str = Field(min_length=1, max_length=100, description="Who decided.")
    reason: str = Field(default="", max_length=1000)
    value: Value | None = Field(
        default=None, description="In the scale stated: a number, or words. Of a computed value it may be left out."
    )
    unit: str = Field(default="", max_length=40)
    scale: Scale = ""
    period: str = Field(default="", max_length=60, description="What the value belongs to: `FY2023`; the criterion's own if left out.")
    document: str = Field(default="", max_length=500, description="Reference of the document that shows it.")
    page: int | None = None
    quote: str = Field(default="", max_length=5000, description="The words of the document, as they stand there.")
    formula: str = Field(default="", max_length=2000, description="Arithmetic over the inputs' names: `profit / revenue * 100`.")
    script: str = Field(
        default="",
        max_length=MAX_SCRIPT,
        description='Python that reads its inputs as JSON from standard input, texts in units, and prints `{"value": …}`; it holds no figure.',
    )
    inputs: tuple[StatedInput, ...] = Field(default=(), max_length=MAX_STATED, description="The numbers that formula or script take.")

    @property
    def computed(self) -> bool:
        return bool(self.script.strip() or self.formula.strip())

    @field_validator("value", mode="before")
    @classmethod
    def _read(cls, value: Any) -> Any:
        """A number in quotes, as people write it, is a number."""
        return Decimal(value.strip().replace(",", "")) if isinstance(value, str) and _NUMBER.fullmatch(value.strip()) else value

    @model_validator(mode="after")
    def _is_whole(self) -> "Decision":
        if not self.by.strip():
            raise ValueError("by says who decides; it stands in the rubric")
        if isinstance(self.value, Decimal) and not self.value.is_finite():
            raise ValueError("expected a finite number")
        if self.decision != "value":
            if self.value is not None or self.computed or self.inputs or self.quote:
                raise ValueError(f"a value does not go with {self.decision}; with one the decision is `value`")
            return self
        if self.script.strip() and self.formula.strip():
            raise ValueError("formula and script: expected one of them")
        if self.computed:
            self._computed_whole()
        elif self.inputs:
            raise ValueError("inputs need a formula or a script that takes them")
        elif self.value is None or not self.document or not self.quote.strip():
            raise ValueError(
                "a value needs value, document and quote, or formula or script with inputs: who reads the rubric must look it up"
            )
        return self

    def _computed_whole(self) -> None:
        names = [one.name for one in self.inputs]
        if not names:
            raise ValueError("a computed value needs inputs, each with the quote that shows it")
        if len(set(names)) < len(names):
            raise ValueError(f"two inputs are called {next(n for n in names if names.count(n) > 1)!r}")
        if self.document or self.quote:
            raise ValueError("a computed value has its documents and quotes with its inputs")


@frozen
class Waiting:
    """Something that waits for a person."""

    item: str
    why: tuple[str, ...]
    about: dict[str, Any]

    def data(self) -> dict[str, Any]:
        return {"item": self.item, "why": list(self.why), **self.about}


@frozen
class Said:
    """What lies in a decision's file: a decision, or what is wrong with the file."""

    decision: Decision | None = None
    wrong: str = ""
    """On one line, with what to do; empty where nothing is."""


def said_of(folder: RubricFolder, item: str) -> Said:
    """What a person said of an item. A file that cannot be read decides nothing, and says why; it stops nothing else."""
    if not _NAME.fullmatch(item) or not folder.has(f"queue/{item}{ENDING}"):
        return Said()
    try:
        return Said(Decision.model_validate(folder.read(f"queue/{item}{ENDING}")))
    except ValidationError as error:
        amiss = first_amiss(error, Decision)
        return Said(wrong=_wrong(item, amiss.line(), amiss.hint or HOW))
    except InvalidFileError as error:
        return Said(wrong=_wrong(item, str(error).removeprefix(f"{folder.root / 'queue' / item}{ENDING}: "), HOW))


def _wrong(item: str, line: str, hint: str) -> str:
    return f"queue/{item}{ENDING} is not taken: {' '.join(line.split())} (hint: {hint.rstrip('.')})"[:600]


def refused(item: str, error: UsageError | ValueError) -> str:
    """Why a decision that can be read cannot be carried out, on one line."""
    return _wrong(item, str(error), getattr(error, "hint", "") or HOW)


def decision_of(folder: RubricFolder, item: str) -> Decision | None:
    """What a person decided about an item; None where nobody did, or in no file that can be read."""
    return said_of(folder, item).decision


def decided_items(folder: RubricFolder) -> Iterator[str]:
    """Every item that a decision's file names, whether or not there is such an item."""
    for path in sorted((folder.root / "queue").glob(f"*{ENDING}")):
        if not path.name.startswith("."):
            yield path.name.removesuffix(ENDING)


def items_of(folder: RubricFolder) -> dict[str, dict[str, Any]]:
    """Everything that can be decided, by the name that a decision's file takes, with the queue's entry that it stands in.

    An entry has its own name, those of its criteria, and that of its obligation. What does not wait can be decided too: it has an entry
    without a reason.
    """
    entries = folder.queued()
    found: dict[str, dict[str, Any]] = {}
    for one in entries:
        found.setdefault(str(one["item"]), one)
    for one in entries:
        for criterion in one.get("criteria", ()):
            if isinstance(criterion, dict):
                found.setdefault(str(criterion.get("id")), one)
    for one in entries:
        if one.get("obligation_id"):
            found.setdefault(str(one["obligation_id"]), one)
    for one in _not_waiting(folder):
        found.setdefault(one["item"], one)
    return found


def _not_waiting(folder: RubricFolder) -> Iterator[dict[str, Any]]:
    """Entries of a rubric's obligations and criteria; none before there is a rubric, or where its file is none."""
    data = folder.read("rubric.json") if folder.has("rubric.json") else {}
    try:
        rubric = Rubric.model_validate(data)
    except ValidationError:
        return
    for owner in rubric.obligations:
        own = [c.model_dump(mode="json", by_alias=True) for c in rubric.criteria if c.obligation_id == owner.id]
        about = {"query": rubric.query, "cutoff": f"{rubric.cutoff}", "obligation": owner.what, "obligation_id": owner.id}
        about |= {"points": f"{owner.points:f}", "drafts": f"drafts/{owner.id}/"}
        for item, criteria in ((owner.id, own), *((str(c["id"]), [c]) for c in own)):
            yield {"item": item, "why": [], **about, "criteria": criteria}


def item_named(folder: RubricFolder, given: str) -> str:
    """The item that a person means, who may have typed its file's name, or other capitals. Raises `UsageError` for one that there is not."""
    name = given.replace("\\", "/").rpartition("/")[2]
    name = next((name.removesuffix(end) for end in (ENDING, ".json") if name.endswith(end)), name)
    known = items_of(folder)
    found = [name] if name in known else [one for one in known if one.casefold() == name.casefold()]
    if len(found) != 1:
        waits = ", ".join(str(one["item"]) for one in folder.queued())
        raise UsageError(
            f"nothing of the name {given!r} waits in {folder.root}, or can be decided there", hint=f"What waits: {waits or 'nothing'}."
        )
    return found[0]


def decide(folder: RubricFolder, item: str, decision: Decision) -> str:
    """Leave a person's word; the item that it is of. Raises `UsageError` for an item that there is not, and what cannot be of any."""
    name = item_named(folder, item)
    refuse_misfit(name, decision)
    folder.write(f"queue/{name}{ENDING}", decision.model_dump(mode="json", exclude_defaults=True))
    return name


def refuse_misfit(item: str, decision: Decision) -> None:
    """Raises `UsageError` for what `check` would call a fault, while a person can still mend it, and for what cannot be said of the whole."""
    if item == WHOLE and decision.decision != "accept":
        raise UsageError(f"{WHOLE} can be accepted, and nothing else", hint="A value is stated for a criterion; a criterion is dropped.")
    if decision.decision != "value" or decision.computed or not isinstance(decision.value, Decimal):
        return
    if not shows(decision.quote, decision.value):
        raise UsageError(
            f"the quote {decision.quote[:60]!r} does not show {decision.value:f}",
            hint="Quote the words that hold the number, in whole: who reads the rubric must be able to look it up.",
        )


__all__ = [
    "HOW",
    "PERSON",
    "WHOLE",
    "Decision",
    "Said",
    "StatedInput",
    "Waiting",
    "decide",
    "decided_items",
    "decision_of",
    "item_named",
    "items_of",
    "refuse_misfit",
    "refused",
    "said_of",
]
