"""Values that a person states, grounded as a writer's are: quotes looked up in their documents, scripts run in the sandbox over quoted numbers."""

import ast
import re
from collections.abc import Callable, Sequence
from decimal import Decimal, InvalidOperation
from typing import Final

from finassay.api.errors import FinassayError, UsageError
from finassay.api.research import Derivation, Desk, Input, Quote, Script, ScriptError
from finassay.api.source import Document
from finassay_rubrics.generate.checking import POWER, shows
from finassay_rubrics.generate.criteria import evidence_of, inputs_of, stored_value, tolerance_for
from finassay_rubrics.generate.decisions import Decision, StatedInput, refuse_misfit
from finassay_rubrics.generate.drafts import stops_all
from finassay_rubrics.generate.scripts import canonical
from finassay_rubrics.record.quotes import located
from finassay_rubrics.record.rubric import ANY, Criterion, Route

Keep = Callable[[str, str], None]
"""Writes a file beside the rubric: its name and its text."""
FRAME: Final = """import json
import sys
from decimal import Decimal

x = {{name: Decimal(text) for name, text in json.load(sys.stdin).items()}}
value = {}
print(json.dumps({{"value": str(value)}}))
"""
_FIGURE: Final = re.compile(r"[(\-–−$€£¥\s]*(?P<number>\d[\d,]*(?:\.\d+)?|\.\d+)\s*[)%]*")
_OPERATORS: Final = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/"}


def stated_route(criterion: Criterion, decision: Decision, desk: Desk, keep: Keep) -> Route:
    """The one route that a person's value gives a criterion. Raises `UsageError` where it does not stand on what it is said to stand on."""
    refuse_misfit(criterion.id, decision)
    base = criterion.expected[0] if criterion.expected else Route(value="", period=criterion.period)
    derivation = _computed(criterion, decision, desk) if decision.computed else _quoted(decision, base, desk)
    value, scale = (derivation.value, decision.scale or base.scale) if not decision.computed else stored_value(derivation)
    assert value is not None
    numeric = isinstance(value, Decimal)
    if decision.computed:
        _refuse_other(decision, value, scale)
        _keep_script(criterion, derivation, keep)
    unit = derivation.unit or base.unit
    if numeric and not unit:
        raise UsageError(f"the value for {criterion.id} needs a unit", hint="USD, percent, times, USD/share, …")
    period = decision.period or base.period or criterion.period
    if numeric and not period:
        raise UsageError(f"the value for {criterion.id} needs a period", hint="FY2023, say: what the value belongs to.")
    same = base.tolerance is not None and unit == base.unit and scale == base.scale
    return base.model_copy(
        update={
            "route_id": ANY,
            "topic": None,
            "convention": "",
            "value": value,
            "unit": unit if numeric else "",
            "scale": scale if numeric else "",
            "sign_rule": _sign_rule(unit, value),
            "tolerance": (base.tolerance if same else tolerance_for(derivation, None)) if numeric else None,
            "period": period,
            "evidence": evidence_of(derivation),
        }
    )


def _sign_rule(unit: str, value: Decimal | str) -> str:
    if not isinstance(value, Decimal):
        return ""
    return "size: compare absolute value" if unit == "percentage points" else "negative" if value < 0 else "positive"


# -- quoted -----------------------------------------------------------------------------------------------------------


def _quoted(decision: Decision, base: Route, desk: Desk) -> Derivation:
    quote = _quote(desk, decision.document, decision.page, decision.quote)
    value = decision.value
    if not isinstance(value, Decimal):
        return Derivation(value, quotes=(quote,))
    if not shows(quote.text, value):
        raise UsageError(f"the quote {quote.text[:60]!r} does not show {value:f}")
    scale = Decimal(10) ** POWER[decision.scale or base.scale]
    taken = Input("value", value * scale, 0, f"{value:f}", scale)  # tells in which scale it is kept: half of its last digit is accepted
    step = Decimal(1).scaleb(int(value.as_tuple().exponent)) * scale
    return Derivation(value, decision.unit or base.unit, quotes=(quote,), inputs=(taken,), step=step)


def _quote(desk: Desk, reference: str, page: int | None, words: str) -> Quote:
    document = _opened(reference, desk)
    for one in document.pages:
        if page not in (None, one.number):
            continue
        place = located(one.text, words)
        if place is not None:
            start, end = place
            text = one.text[start:end]
            return Quote(document.item.source, document.item.reference, one.number, start, end, text, one.digest, document.item.published)
    where = reference if page is None else f"page {page} of {reference}"
    raise UsageError(f"the quote {words[:60]!r} does not stand in {where}", hint="Copy the words from the document as the source shows it.")


def _opened(reference: str, desk: Desk) -> Document:
    sources = getattr(desk, "sources", {})
    for source in sources:
        try:
            return desk.open(str(source), reference)
        except FinassayError as error:
            if stops_all(error):
                raise
    raise UsageError(f"{reference} is not there as of the cutoff", hint="It is in no source that is given, undated, or later.")


# -- computed ---------------------------------------------------------------------------------------------------------


def _computed(criterion: Criterion, decision: Decision, desk: Desk) -> Derivation:
    quotes: list[Quote] = []
    inputs: list[Input] = []
    steps: list[Decimal] = []
    for one in decision.inputs:
        quote = _quote(desk, one.document, one.page, one.quote)
        if quote not in quotes:
            quotes.append(quote)
        value, step = _number(one, quote)
        steps.append(step)
        inputs.append(Input(one.name, value, quotes.index(quote), one.shown, Decimal(10) ** POWER[one.scale], line=one.name))
    bare = Derivation(None, decision.unit, quotes=tuple(quotes), inputs=tuple(inputs), step=max(steps))
    code = decision.script if decision.script.strip() else script_of(decision.formula, [one.name for one in inputs])
    try:
        script = desk.run(code, dict(inputs_of(bare)))
    except ScriptError as error:
        raise UsageError(
            f"the computation for {criterion.id}: {error}", hint="See docs/howto/generate-a-rubric.md for one that runs."
        ) from error
    unit = decision.unit or (criterion.expected[0].unit if criterion.expected else "")
    return Derivation(_result(script), unit, None, bare.quotes, bare.inputs, script, bare.step)


def _number(one: StatedInput, quote: Quote) -> tuple[Decimal, Decimal]:
    """An input's value and the step of what is shown, both in units."""
    if one.shown.strip() in ("-", "–", "—"):
        return Decimal(0), Decimal(10) ** POWER[one.scale]
    match = _FIGURE.fullmatch(one.shown.strip())
    if match is None:
        raise UsageError(f"input {one.name}: {one.shown!r} is no number", hint="Give it as the quote shows it: `2,248.3` or `(102.3)`.")
    if not re.search(rf"(?<![\d.,]){re.escape(one.shown.strip())}(?![\d]|[.,]\d)", quote.text):
        raise UsageError(
            f"input {one.name}: the quote {quote.text[:60]!r} does not show {one.shown}", hint="Quote the words that hold the number."
        )
    number = Decimal(match["number"].replace(",", ""))
    scale = Decimal(10) ** POWER[one.scale]
    step = Decimal(1).scaleb(int(number.as_tuple().exponent)) * scale
    return (-number if any(c in "(-–−" for c in one.shown) else number) * scale, step


def script_of(formula: str, names: Sequence[str]) -> str:
    """Python for a formula over named inputs: + - * / , parentheses, abs. Raises `UsageError` for anything else."""
    try:
        tree = ast.parse(formula.strip(), mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise UsageError(f"the formula {formula[:60]!r} cannot be read", hint="Names of inputs with + - * / and parentheses.") from error
    return FRAME.format(_code(tree.body, names))


def _code(node: ast.AST, names: Sequence[str]) -> str:
    match node:
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
            return f"({_code(left, names)} {_OPERATORS[type(op)]} {_code(right, names)})"
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return f"(-{_code(operand, names)})"
        case ast.Call(func=ast.Name(id="abs"), args=[one], keywords=[]):
            return f"abs({_code(one, names)})"
        case ast.Constant(value=int() | float() as number) if not isinstance(number, bool):
            return f'Decimal("{number}")'
        case ast.Name(id=name) if name in names:
            return f'x["{name}"]'
        case ast.Name(id=name):
            raise UsageError(f"the formula names {name!r}, which is no input", hint=f"Inputs: {', '.join(names)}.")
        case _:
            raise UsageError(
                f"the formula holds {ast.unparse(node)[:60]!r}",
                hint="Names of inputs with + - * / , parentheses and abs; else give a script.",
            )


def _result(script: Script) -> Decimal | str:
    value = script.output.get("value")
    if value is None or isinstance(value, bool | dict | list):
        raise UsageError('the script prints no "value"', hint='It prints one JSON object: {"value": "13.3"}.')
    try:
        number = Decimal(str(value))
    except InvalidOperation:
        return str(value)
    if not number.is_finite():
        raise UsageError(f"the script gives {value}, which is no number")
    return number


def _refuse_other(decision: Decision, value: Decimal | str, scale: str) -> None:
    """A value that is stated besides must be what is computed, as precisely as it is stated."""
    said = decision.value
    if said is None:
        return
    if isinstance(said, Decimal) and isinstance(value, Decimal):
        got = value.scaleb(POWER[scale] - POWER[decision.scale or scale])
        if abs(got - said) <= Decimal(5).scaleb(int(said.as_tuple().exponent) - 1):
            return
        raise UsageError(f"the computation gives {got:.12g}, not {said:f}", hint="Leave the value out, or mend formula and inputs.")
    if str(said).strip() != str(value).strip():
        raise UsageError(f"the computation gives {str(value)[:60]}, not {str(said)[:60]}")


def _keep_script(criterion: Criterion, derivation: Derivation, keep: Keep) -> None:
    assert derivation.script is not None
    name = f"scripts/{derivation.script.digest[:16]}"
    keep(f"{name}.py", derivation.script.code)
    keep(f"{name}.{criterion.id}.{ANY}.in.json", canonical(inputs_of(derivation)).decode() + "\n")


__all__ = ["Keep", "script_of", "stated_route"]
