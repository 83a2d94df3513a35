"""What waits for a person, and what a person decided: files beside the rubric, `queue/ITEM.json` and `queue/ITEM.decision.json`."""

import re
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any, Final, Literal

from attrs import frozen
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from finassay.api.amiss import first_amiss
from finassay.api.errors import FinassayError, InvalidFileError, UsageError
from finassay.api.research import Derivation, Desk
from finassay.api.source import Document
from finassay_rubrics.generate.checking import shows
from finassay_rubrics.generate.criteria import tolerance_for
from finassay_rubrics.generate.folder import RubricFolder
from finassay_rubrics.record.quotes import found_on, quote_digest
from finassay_rubrics.record.rubric import ANY, Criterion, Evidence, Review, Route, Value

PERSON: Final = "person"
ENDING: Final = ".decision.json"
WHOLE: Final = "whole-rubric"
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


class Decision(BaseModel):
    """A person's word on one item."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    decision: Literal["accept", "value", "drop"] = Field(
        description="`accept` what waits as it is; state another `value`, with the quote that shows it; `drop` the criterion, which then earns nothing."
    )
    by: str = Field(min_length=1, max_length=100, description="Who decided.")
    reason: str = Field(default="", max_length=1000)
    value: Value | None = Field(default=None, description="In the scale stated: a number, or words.")
    unit: str = ""
    scale: Literal["", "thousands", "millions", "billions"] = ""
    document: str = Field(default="", description="Reference of the document that shows it.")
    page: int | None = None
    quote: str = Field(default="", max_length=5000, description="The words of the document, as they stand there.")

    @model_validator(mode="after")
    def _is_whole(self) -> "Decision":
        if self.decision == "value" and (self.value is None or not self.document or not self.quote.strip()):
            raise ValueError("a value needs value, document and quote: who reads the rubric must be able to look it up")
        if isinstance(self.value, Decimal) and not self.value.is_finite():
            raise ValueError("expected a finite number")
        return self


@frozen
class Waiting:
    """Something that waits for a person."""

    item: str
    why: tuple[str, ...]
    about: dict[str, Any]

    def data(self) -> dict[str, Any]:
        return {"item": self.item, "why": list(self.why), **self.about}


def decision_of(folder: RubricFolder, item: str) -> Decision | None:
    """What a person decided about an item; None where nobody did. Raises `InvalidFileError`."""
    name = f"queue/{item}{ENDING}"
    if not _NAME.fullmatch(item) or not folder.has(name):
        return None
    try:
        return Decision.model_validate(folder.read(name))
    except ValidationError as error:
        amiss = first_amiss(error, Decision)
        raise InvalidFileError(f"{folder.root / name}: {amiss.line()}", hint=amiss.hint) from error


def decide(folder: RubricFolder, item: str, decision: Decision) -> None:
    """Leave a person's word. Raises `UsageError` for an item that there is not, and for a number that its quote does not show."""
    _refuse_unshown(decision)
    known = {str(one["item"]) for one in folder.queued()}
    inside = {str(c.get("id")) for one in folder.queued() for c in one.get("criteria", ()) if isinstance(c, dict)}
    if item not in known | inside:
        raise UsageError(
            f"nothing of the name {item!r} waits in {folder.root}", hint=f"What waits: {', '.join(sorted(known)) or 'nothing'}."
        )
    folder.write(f"queue/{item}{ENDING}", decision.model_dump(mode="json"))


def _refuse_unshown(decision: Decision) -> None:
    """What `check` would call a fault is refused where a person can still mend it."""
    if decision.decision == "value" and isinstance(decision.value, Decimal) and not shows(decision.quote, decision.value):
        raise UsageError(
            f"the quote {decision.quote[:60]!r} does not show {decision.value:f}",
            hint="Quote the words that hold the number, in whole: who reads the rubric must be able to look it up.",
        )


def decided(criterion: Criterion, decision: Decision, desk: Desk) -> Criterion:
    """The criterion as a person left it. Raises `UsageError` where a quote does not stand in its document."""
    said = f"{decision.by}: {decision.reason}" if decision.reason else decision.by
    if decision.decision == "drop":
        return criterion.model_copy(
            update={"status": "unresolved", "expected": (), "gate": "none", "optional": True, "reason": f"dropped by {said}"}
        )
    if decision.decision == "accept":
        reviews = tuple(_review(r, said) for r in criterion.expected)
        return criterion.model_copy(update={"review": (*criterion.review, *reviews), "notes": _noted(criterion, f"accepted by {said}")})
    route = _stated(criterion, decision, desk)
    kind = criterion.kind if isinstance(route.value, Decimal) == (criterion.kind == "numeric") else (
        "numeric" if isinstance(route.value, Decimal) else "text"
    )  # fmt: skip
    return criterion.model_copy(
        update={
            "kind": kind,
            "status": "grounded",
            "expected": (route,),
            "review": (*criterion.review, _review(route, said)),
            "reason": "",
            "notes": _noted(criterion, f"value by {said}"),
        }
    )


def with_decisions(
    folder: RubricFolder, criteria: Sequence[Criterion], waiting: Sequence[Waiting], desk: Desk
) -> tuple[tuple[Criterion, ...], tuple[Waiting, ...]]:
    """Criteria and what waits, with what a person decided meanwhile. Raises as `decision_of` and `decided`."""
    proposed = {w.item: Criterion.model_validate(c) for w in waiting for c in w.about["criteria"] if c["id"] == w.item}
    changed: dict[str, Criterion] = {}
    for criterion in criteria:
        decision = decision_of(folder, criterion.id)
        if decision is not None:
            changed[criterion.id] = decided(proposed.get(criterion.id, criterion), decision, desk)
    settled = {w.item for w in waiting if w.item in changed or decision_of(folder, w.item) is not None}
    left = tuple(w for w in waiting if w.item not in settled and not (changed and _of_these(w, changed)))
    return tuple(changed.get(c.id, c) for c in criteria), left


def _of_these(waiting: Waiting, changed: Mapping[str, Criterion]) -> bool:
    """Whether a person decided on every criterion that something waits with."""
    ids = [c["id"] for c in waiting.about.get("criteria", ())]
    return bool(ids) and all(i in changed for i in ids)


def _stated(criterion: Criterion, decision: Decision, desk: Desk) -> Route:
    _refuse_unshown(decision)
    base = criterion.expected[0] if criterion.expected else Route(value="", period=criterion.period)
    assert decision.value is not None
    numeric = isinstance(decision.value, Decimal)
    unit = decision.unit or base.unit
    if numeric and not unit:
        raise UsageError(f"the value for {criterion.id} needs a unit")
    tolerance = base.tolerance if base.tolerance and unit == base.unit else tolerance_for(Derivation(Decimal(0), unit), None)
    return base.model_copy(
        update={
            "route_id": ANY,
            "topic": None,
            "convention": "",
            "value": decision.value,
            "unit": unit if numeric else "",
            "scale": decision.scale or base.scale if numeric else "",
            "sign_rule": base.sign_rule,
            "tolerance": tolerance if numeric else None,
            "evidence": (_shown(decision, desk),),
        }
    )


def _shown(decision: Decision, desk: Desk) -> Evidence:
    document = _opened(decision.document, desk)
    for page in document.pages:
        if decision.page not in (None, page.number) or not found_on(page.text, decision.quote):
            continue
        start = page.text.find(decision.quote)
        return Evidence(
            kind="source",
            source=document.item.source,
            document=document.item.reference,
            page=page.number,
            start=start if start >= 0 else None,
            end=start + len(decision.quote) if start >= 0 else None,
            published=document.item.published,
            quote=decision.quote,
            quote_match="exact" if start >= 0 else "after normalisation",
            quote_sha256=quote_digest(decision.quote),
            page_sha256=page.digest,
        )
    raise UsageError(f"the quote {decision.quote[:60]!r} does not stand in {decision.document}")


def _opened(reference: str, desk: Desk) -> Document:
    sources = getattr(desk, "sources", {})
    for source in sources:
        try:
            return desk.open(str(source), reference)
        except FinassayError as error:
            if error.retry:
                raise
    raise UsageError(f"{reference} is not there as of the cutoff")


def _review(route: Route, said: str) -> Review:
    return Review(reviewer=PERSON, family=PERSON, route_id=route.route_id, verdict="agrees", value=route.value, reason=said)


def _noted(criterion: Criterion, words: str) -> str:
    return "; ".join(filter(None, (criterion.notes, words)))[:2000]


__all__ = ["Decision", "Waiting", "decide", "decided", "decision_of", "with_decisions"]
