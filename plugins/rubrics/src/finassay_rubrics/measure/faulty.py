"""A researcher that is wrong on purpose, in stated ways: what reviewer and validator catch of it can be counted.

The offline families are hardly ever wrong, so that leaving a check out would show nothing. This one wraps a family and falsifies what it finds, each
question in one way, drawn by digest: the same each time, under every arm of an ablation. It keeps up appearances as far as its fault allows:
quotes are real, scripts are run again on the falsified inputs.
"""

import hashlib
import re
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any, Final

from attrs import define, evolve, field, frozen

from finassay.api.errors import FinassayError
from finassay.api.research import Assignment, Derivation, Desk, Draft, Period, Question, Researcher
from finassay_rubrics.metrics.draft import draft
from finassay_rubrics.metrics.table import Metric, table

THOUSAND: Final = Decimal(1000)
NEIGHBOURS: Final = 8
"""Other metrics that are tried for a neighbouring line."""
_YEAR: Final = re.compile(r"(?:19|20)\d\d")


def previous_year(inner: Researcher, question: Question, honest: Derivation, desk: Desk) -> Derivation | None:
    """The figure of the year before, said to be of the asked one."""
    if question.period is None or not _YEAR.search(question.period.asked):
        return None
    other = inner.derive(evolve(question, text=_earlier(question.text), period=Period(_earlier(question.period.asked))), desk)
    inputs = tuple(evolve(one, period=_claimed(one.period, honest)) for one in other.inputs)
    return evolve(other, period=honest.period, inputs=inputs)


def _earlier(text: str) -> str:
    return _YEAR.sub(lambda match: str(int(match[0]) - 1), text)


def _claimed(period: Period | None, honest: Derivation) -> Period | None:
    known = [one.period for one in honest.inputs if one.period is not None]
    return known[0] if known else period


def wrong_scale(inner: Researcher, question: Question, honest: Derivation, desk: Desk) -> Derivation | None:
    """Thousands taken for millions: in the first input of a ratio, in all of an amount."""
    every = honest.unit == "USD"
    inputs = tuple(
        evolve(one, value=one.value * THOUSAND, scale=one.scale * THOUSAND) if every or number == 0 else one
        for number, one in enumerate(honest.inputs)
    )
    step = honest.step * THOUSAND if honest.step is not None and every else honest.step
    return _computed(evolve(honest, inputs=inputs, step=step), desk, THOUSAND if every else None)


def wrong_sign(inner: Researcher, question: Question, honest: Derivation, desk: Desk) -> Derivation | None:
    """The first input with the other sign."""
    inputs = tuple(evolve(one, value=-one.value) if number == 0 else one for number, one in enumerate(honest.inputs))
    return _computed(evolve(honest, inputs=inputs), desk, Decimal(-1))


def neighbour_line(inner: Researcher, question: Question, honest: Derivation, desk: Desk) -> Derivation | None:
    """The figure of another line or ratio of the same kind, said to be the asked one."""
    metrics = table().metrics
    own = metrics.get(question.metric)
    if own is None or question.period is None:
        return None
    rank = {m.id: hashlib.sha256(f"{own.id} {m.id}".encode()).digest() for m in metrics.values() if _near(own, m)}
    for name in sorted(rank, key=lambda n: rank[n])[:NEIGHBOURS]:
        text = f"States the {metrics[name].names[0]} of {question.period.asked}"
        other = inner.derive(evolve(question, text=text, metric=name, definition="", convention=""), desk)
        if other.value is not None and other.value != honest.value:
            return evolve(other, period=honest.period)
    return None


def _near(own: Metric, other: Metric) -> bool:
    return other.id != own.id and other.unit == own.unit and other.statements[:1] == own.statements[:1]


def typed_figure(inner: Researcher, question: Question, honest: Derivation, desk: Desk) -> Derivation | None:
    """Another figure than the script gave and the quotes show: written from memory."""
    return evolve(honest, value=_off(honest.value)) if isinstance(honest.value, Decimal) else None


def invented_quote(inner: Researcher, question: Question, honest: Derivation, desk: Desk) -> Derivation | None:
    """A quote that stands nowhere, with a figure to match."""
    if not honest.inputs or not honest.quotes:
        return None
    first = honest.inputs[0]
    digit = re.search(r"[1-9]", first.shown)
    if digit is None:
        return None
    shown = first.shown[: digit.start()] + str(int(digit[0]) % 9 + 1) + first.shown[digit.end() :]
    value = (_plain(shown) * first.scale).copy_sign(first.value)
    quotes = list(honest.quotes)
    quotes[first.quote] = evolve(quotes[first.quote], text=quotes[first.quote].text.replace(first.shown, shown))
    inputs = (evolve(first, shown=shown, value=value), *honest.inputs[1:])
    return _computed(evolve(honest, quotes=tuple(quotes), inputs=inputs), desk, value / first.value if first.value else None)


def _plain(shown: str) -> Decimal:
    return Decimal("".join(c for c in shown if c.isdigit() or c == ".").strip(".") or "0")


def _off(value: Decimal) -> Decimal:
    return value * Decimal("1.1") if value else Decimal(1)


def _computed(falsified: Derivation, desk: Desk, factor: Decimal | None) -> Derivation | None:
    """With the value that its script gives on the falsified inputs; without a script, the value by the factor."""
    if falsified.script is None:
        return evolve(falsified, value=falsified.value * factor) if factor is not None and isinstance(falsified.value, Decimal) else None
    try:
        ran = desk.run(falsified.script.code, {one.name: str(one.value) for one in falsified.inputs})
        return evolve(falsified, script=ran, value=Decimal(str(ran.output.get("value"))))
    except (FinassayError, ArithmeticError):
        return None


Fault = Callable[[Researcher, Question, Derivation, Desk], Derivation | None]
FAULTS: Final[Mapping[str, Fault]] = {
    "previous year": previous_year,
    "wrong scale": wrong_scale,
    "wrong sign": wrong_sign,
    "neighbour line": neighbour_line,
    "typed figure": typed_figure,
    "invented quote": invented_quote,
}


@frozen
class Falsified:
    """One fault that was made."""

    question: str
    kind: str
    honest: Decimal
    value: Decimal


@define
class Faulty:
    """Implements `finassay.api.research.Researcher`: an offline family with faults.

    `repairs`: whether it looks again, and is right, once something came back; else it insists.
    """

    inner: Researcher
    kinds: tuple[str, ...] = tuple(FAULTS)
    every: int = 1
    """Every so many questions is falsified."""
    seed: int = 0
    repairs: bool = False
    made: dict[str, Falsified] = field(factory=dict)

    id: str = field(init=False)
    family: str = field(init=False)
    version: str = field(init=False)

    def __attrs_post_init__(self) -> None:
        self.id, self.family = f"faulty-{self.inner.id}", self.inner.family
        told: tuple[Any, ...] = (self.inner.version, self.kinds, self.every, self.seed, self.repairs)
        self.version = hashlib.sha256(repr(told).encode()).hexdigest()[:12]

    def write(self, assignment: Assignment, desk: Desk) -> Draft:
        """What the family would write, of falsified values."""
        mends = self.repairs and bool(assignment.returned)
        derive = self.inner.derive if mends else self.derive
        return draft(assignment, lambda question: derive(question, desk))

    def derive(self, question: Question, desk: Desk) -> Derivation:
        """A falsified value where this question's turn has come and its fault can be made; else the honest one."""
        honest = self.inner.derive(question, desk)
        kind = self._kind(question)
        if not kind or not isinstance(honest.value, Decimal):
            return honest
        false = FAULTS[kind](self.inner, question, honest, desk)
        if false is None or not isinstance(false.value, Decimal) or false.value == honest.value:
            return honest
        self.made.setdefault(_key(question), Falsified(_key(question), kind, honest.value, false.value))
        return false

    def _kind(self, question: Question) -> str:
        """By the question alone, not by its convention: all routes of one criterion are wrong in one way."""
        drawn = int.from_bytes(hashlib.sha256(f"{self.seed} {_key(question)}".encode()).digest()[:6])
        return self.kinds[drawn // self.every % len(self.kinds)] if drawn % self.every == 0 else ""


def _key(question: Question) -> str:
    return f"{question.entity} {question.metric} {question.period.asked if question.period else ''} {question.text}"
