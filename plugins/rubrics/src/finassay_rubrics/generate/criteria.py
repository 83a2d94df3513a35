"""From a writer's draft to criteria of the record: evidence with digests, tolerances by rule, points to come."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any, Final

from finassay.api.research import Derivation, Draft, DraftCriterion, DraftRoute, Quote
from finassay_rubrics.generate.scripts import canonical, digest
from finassay_rubrics.record.quotes import quote_digest
from finassay_rubrics.record.rubric import ANY, BoundInput, Criterion, Evidence, Route, Tolerance

SCALES: Final = {Decimal(1_000): "thousands", Decimal(1_000_000): "millions", Decimal(1_000_000_000): "billions"}
SIGNIFICANT: Final = 12
"""Digits of a computed value that are kept."""
CHANGES: Final = ("percentage points",)


def tolerance_for(derivation: Derivation, decimals: int | None, *, per_share: bool = False) -> Tolerance:
    """The default tolerance of a value (rulings, 1.13 and 1.14), in the unit and scale in which it is stored."""
    unit, copied = derivation.unit, derivation.script is None or len(derivation.inputs) == 1
    if per_share or unit.endswith("/share"):
        return Tolerance(rule="band", abs=Decimal("0.005"), rounding="half a cent")
    if unit in ("percent", "percentage points"):
        shown = 1 if decimals is None else decimals
        half = Decimal(5).scaleb(-shown - 1)
        return Tolerance(
            rule="stated precision", abs=half, decimals=shown, rounding=f"rounded half-up to the decimals stated; at least {shown}"
        )
    if unit in ("times", "days"):
        shown = 2 if decimals is None else decimals
        half = Decimal(5).scaleb(-shown - 1)
        return Tolerance(
            rule="stated precision",
            abs=half,
            rel=Decimal("0.001"),
            decimals=shown,
            rounding=f"rounded half-up to the decimals stated; at least {shown}",
        )
    if unit == "count":
        return Tolerance(rule="exact", rounding="exact")
    halves = 1 if copied else max(1, len(derivation.inputs))
    step = (derivation.step or Decimal(1)) / _scale(derivation)
    return Tolerance(
        rule="stated precision",
        abs=Decimal(f"{(step * halves / 2).normalize():f}"),
        rounding="half-up at the precision stated",
    )


def _scale(derivation: Derivation) -> Decimal:
    """In what an amount is stored: the scale of its source, where all inputs have one. 1 for units."""
    unit = derivation.unit
    if unit in ("percent", "percentage points", "times", "days", "count", "") or unit.endswith("/share"):
        return Decimal(1)
    scales = {one.scale for one in derivation.inputs} or {derivation.step or Decimal(1)}
    scale = scales.pop() if len(scales) == 1 else Decimal(1)
    return scale if scale in SCALES else Decimal(1)


def stored_value(derivation: Derivation) -> tuple[Decimal | str, str]:
    """The value in the scale of its source, with the scale's name."""
    value = derivation.value
    if not isinstance(value, Decimal):
        return str(value), ""
    scale = _scale(derivation)
    return _rounded(value / scale), SCALES.get(scale, "")


def _rounded(value: Decimal) -> Decimal:
    """At most 12 significant digits, without an exponent."""
    if not value:
        return Decimal(0)
    places = SIGNIFICANT - value.adjusted() - 1
    kept = round(value, places) if places >= 0 else value.quantize(Decimal(1).scaleb(-places))
    return Decimal(f"{kept.normalize():f}")


def criteria_of(draft: Draft, obligation: str, folder_of_scripts: str = "scripts") -> tuple[Criterion, ...]:
    """The record's criteria, without points."""
    return tuple(_criterion(one, obligation, folder_of_scripts) for one in draft.criteria)


def _criterion(draft: DraftCriterion, obligation: str, folder: str) -> Criterion:
    question = draft.question
    grounded = [r for r in draft.routes if r.derivation.value is not None]
    reasons = [draft.reason, *(f"{r.topic}:{r.route}: {r.derivation.reason}" for r in draft.routes if r.derivation.value is None)]
    status = "not_applicable" if draft.kind == "format" else "grounded" if grounded or draft.kind == "prohibited" else "unresolved"
    decimals = question.decimals if question else None
    return Criterion(
        id=draft.id,
        obligation_id=obligation,
        text=draft.text,
        kind=draft.kind,
        principles=draft.principles,
        bindings=draft.bindings,
        gate="must_pass" if draft.must_pass and not draft.depends_on and status == "grounded" else "none",
        polarity="negative" if draft.kind == "prohibited" else "positive",
        optional=draft.optional,
        expected=tuple(_route(r, decimals, folder) for r in grounded),
        status=status,  # type: ignore[arg-type]
        metric=question.metric if question else "",
        entity=question.entity if question else "",
        period=question.period.asked if question and question.period else "",
        depends_on=draft.depends_on,
        discriminating=len({str(r.derivation.value) for r in grounded}) > 1,
        checked_by="finassay-rubrics format" if draft.kind == "format" else "",
        reason="; ".join(dict.fromkeys(r for r in reasons if r)),
    )


def _route(draft: DraftRoute, decimals: int | None, folder: str) -> Route:
    derivation = draft.derivation
    value, scale = stored_value(derivation)
    period = derivation.period
    numeric = isinstance(value, Decimal)
    moves = derivation.unit in CHANGES
    return Route(
        route_id=draft.route or ANY,
        topic=draft.topic or None,
        convention=draft.convention,
        value=value,
        unit=derivation.unit,
        scale=scale,
        sign_rule=("size: compare absolute value" if moves else "negative" if value < 0 else "positive") if numeric else "",  # type: ignore[operator]
        tolerance=tolerance_for(derivation, decimals) if numeric else None,
        period=period.asked or period.label if period else "",
        period_end=period.end if period else None,
        evidence=evidence_of(derivation, folder),
    )


def evidence_of(derivation: Derivation, folder: str = "scripts") -> tuple[Evidence, ...]:
    """Quotes as they stand, and the script with the inputs that it took."""
    found = [_quoted(quote) for quote in derivation.quotes]
    script = derivation.script
    if script is not None:
        found.append(
            Evidence(
                kind="script",
                script=f"{folder}/{script.digest[:16]}.py",
                script_sha256=script.digest,
                inputs_sha256=digest(canonical(inputs_of(derivation))),
                stdout_sha256=script.output_digest,
                env="python, standard library only, isolated, in the sandbox",
                output="value",
                inputs=tuple(
                    BoundInput(
                        name=one.name,
                        value=one.value,
                        shown=one.shown,
                        quote_sha256=quote_digest(derivation.quotes[one.quote].text),
                        line=one.line,
                        period=one.period.asked if one.period else "",
                    )
                    for one in derivation.inputs
                ),
            )
        )
    return tuple(found)


def inputs_of(derivation: Derivation) -> dict[str, str]:
    """What a derivation's script is given."""
    return {one.name: str(one.value) for one in derivation.inputs}


def _quoted(quote: Quote) -> Evidence:
    return Evidence(
        kind="source",
        source=quote.source,
        document=quote.reference,
        page=quote.page,
        start=quote.start,
        end=quote.end,
        published=quote.published,
        quote=quote.text,
        quote_match="exact",
        quote_sha256=quote_digest(quote.text),
        page_sha256=quote.page_digest,
    )


def plain(draft: Draft) -> dict[str, Any]:
    """A draft as JSON, for whoever reads how a rubric came to be."""
    from finassay.records.convert import to_json

    def stored(value: Any) -> Any:
        if isinstance(value, Decimal):
            return str(value)
        if isinstance(value, Mapping):
            return {str(k): stored(v) for k, v in value.items()}
        if isinstance(value, tuple | list):
            return [stored(v) for v in value]
        if hasattr(value, "__attrs_attrs__"):
            return {a.name: stored(getattr(value, a.name)) for a in value.__attrs_attrs__}
        return to_json(value)

    result: dict[str, Any] = stored(draft)
    return result
