"""Arithmetic over statement lines: formulas of the table and of queries as small trees."""

import re
from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from typing import Final

from attrs import evolve, frozen

from finassay.api.errors import FinassayError

CONSTANTS: Final = frozenset(Decimal(text) for text in ("0", "0.5", "1", "2", "4", "12", "100", "360", "365"))
"""The only numbers that a formula may hold: every other figure must be quoted from a source."""


class FormulaError(FinassayError):
    """A formula cannot be read, names an unknown line or holds a figure of its own; the message says which."""


@frozen
class Number:
    """A constant."""

    value: Decimal


@frozen
class Line:
    """A statement line, so many years after the base year: 0 the base year, -1 the year before."""

    id: str
    offset: int = 0
    who: int = 0
    """Place of the issuer among several that are compared."""


@frozen
class Operation:
    """`left op right`; op is one of + - * /."""

    op: str
    left: "Node"
    right: "Node"


@frozen
class Mean:
    """The arithmetic mean of several values."""

    values: tuple["Node", ...]


@frozen
class Growth:
    """Compound growth a year from `first` to `last` over a number of yearly steps, as a share."""

    first: "Node"
    last: "Node"
    steps: int


@frozen
class Sign:
    """Which way a value lies: a word for one above zero, below it, and at it."""

    value: "Node"
    above: str
    below: str
    level: str


@frozen
class Pick:
    """The label of the largest of several values, or of the smallest."""

    labels: tuple[str, ...]
    values: tuple["Node", ...]
    most: bool


@frozen
class Extreme:
    """The largest of several values, or the smallest."""

    values: tuple["Node", ...]
    most: bool


Node = Number | Line | Operation | Mean | Growth | Sign | Pick | Extreme

_TOKEN = re.compile(r"\s*(?:(\d+(?:\.\d+)?)|([a-z][a-z0-9_]*)(?:@(-?\d+))?|([-+*/()]))")


def parse(text: str) -> Node:
    """The tree of a formula in the table's notation. Raises `FormulaError`."""
    tokens: list[tuple[str, str, int]] = []
    place = 0
    while text[place:].strip():
        match = _TOKEN.match(text, place)
        if match is None:
            raise FormulaError(f"formula {text!r}: cannot read {text[place : place + 20]!r}")
        number, name, offset, sign = match.groups()
        kind = "number" if number else "name" if name else sign
        tokens.append((kind, number or name or sign, int(offset or 0)))
        place = match.end()
    return _Reader(text, tokens).whole()


class _Reader:
    """Recursive descent over a formula's tokens."""

    def __init__(self, text: str, tokens: list[tuple[str, str, int]]) -> None:
        self.text, self.tokens, self.place = text, tokens, 0

    def whole(self) -> Node:
        node = self.sum()
        if self.place < len(self.tokens):
            raise FormulaError(f"formula {self.text!r}: {self.tokens[self.place][1]!r} is out of place")
        return node

    def next(self) -> str:
        return self.tokens[self.place][0] if self.place < len(self.tokens) else ""

    def take(self) -> tuple[str, str, int]:
        if self.place >= len(self.tokens):
            raise FormulaError(f"formula {self.text!r} ends too soon")
        self.place += 1
        return self.tokens[self.place - 1]

    def sum(self) -> Node:
        node = self.product()
        while self.next() in ("+", "-"):
            op = self.take()[0]
            node = Operation(op, node, self.product())
        return node

    def product(self) -> Node:
        node = self.atom()
        while self.next() in ("*", "/"):
            op = self.take()[0]
            node = Operation(op, node, self.atom())
        return node

    def atom(self) -> Node:
        kind, text, offset = self.take()
        if kind == "number":
            return constant(text)
        if kind == "(":
            return self.closed()
        if kind != "name":
            raise FormulaError(f"formula {self.text!r}: {text!r} is out of place")
        if self.next() != "(":
            return Line(text, offset)
        self.take()
        inner = self.closed()
        if text == "avg":
            return average(inner)
        if text == "chg":
            return Operation("-", inner, shifted(inner, -1))
        raise FormulaError(f"formula {self.text!r}: there is no function {text!r}")

    def closed(self) -> Node:
        node = self.sum()
        if self.take()[0] != ")":
            raise FormulaError(f"formula {self.text!r}: a bracket is not closed")
        return node


def constant(text: str) -> Number:
    """A number that a formula may hold. Raises `FormulaError` for any other."""
    if Decimal(text) not in CONSTANTS:
        raise FormulaError(f"a formula may not hold the figure {text}: figures come from sources")
    return Number(Decimal(text))


def average(node: Node) -> Node:
    """The mean of a value and that of the year before."""
    return Mean((shifted(node, -1), node))


def mapped(node: Node, change: Callable[[Line], Node]) -> Node:
    """The tree with every line replaced."""
    match node:
        case Line():
            return change(node)
        case Operation(op, left, right):
            return Operation(op, mapped(left, change), mapped(right, change))
        case Mean(values):
            return Mean(tuple(mapped(value, change) for value in values))
        case Growth(first, last, steps):
            return Growth(mapped(first, change), mapped(last, change), steps)
        case Sign(value, above, below, level):
            return Sign(mapped(value, change), above, below, level)
        case Pick(labels, values, most):
            return Pick(labels, tuple(mapped(value, change) for value in values), most)
        case Extreme(values, most):
            return Extreme(tuple(mapped(value, change) for value in values), most)
    return node


def shifted(node: Node, years: int) -> Node:
    """The same formula so many years later (negative: earlier)."""
    return mapped(node, lambda line: evolve(line, offset=line.offset + years))


def lines(node: Node) -> tuple[Line, ...]:
    """Every line with its year that a formula takes, each once, in order."""
    return tuple(dict.fromkeys(_lines(node)))


def _lines(node: Node) -> Iterator[Line]:
    match node:
        case Line():
            yield node
        case Operation(_, left, right):
            yield from _lines(left)
            yield from _lines(right)
        case Mean(values) | Pick(_, values, _) | Extreme(values, _):
            for value in values:
                yield from _lines(value)
        case Sign(value, _, _, _):
            yield from _lines(value)
        case Growth(first, last, _):
            yield from _lines(first)
            yield from _lines(last)


def size_of(node: Node) -> Node:
    """The value without its sign."""
    return Extreme((node, Operation("-", Number(Decimal(0)), node)), most=True)


def evaluate(node: Node, values: Mapping[Line, Decimal]) -> Decimal:
    """The value in this process, for comparisons; what is kept comes from the script. Raises `ArithmeticError`, `KeyError`."""
    match node:
        case Number(value):
            return value
        case Line():
            return values[node]
        case Mean(parts):
            return sum((evaluate(part, values) for part in parts), Decimal(0)) / len(parts)
        case Extreme(parts, most):
            return (max if most else min)(evaluate(part, values) for part in parts)
        case Growth(first, last, steps):
            start, end = evaluate(first, values), evaluate(last, values)
            if start <= 0 or (steps > 1 and end <= 0):
                raise ArithmeticError("growth from or to a value that is not positive")
            return (end / start) ** (Decimal(1) / steps) - 1 if steps > 1 else end / start - 1
        case Operation(op, left, right):
            a, b = evaluate(left, values), evaluate(right, values)
            return a + b if op == "+" else a - b if op == "-" else a * b if op == "*" else a / b
        case Sign() | Pick():
            raise ArithmeticError("a word is no figure")


def outcome(node: Node, values: Mapping[Line, Decimal]) -> Decimal | str:
    """The value, or the word that a `Sign` or `Pick` comes to. Raises as `evaluate`; `ArithmeticError` too where two are the most."""
    match node:
        case Sign(value, above, below, level):
            found = evaluate(value, values)
            return above if found > 0 else below if found < 0 else level
        case Pick(labels, parts, most):
            figures = [evaluate(part, values) for part in parts]
            best = max(figures) if most else min(figures)
            if figures.count(best) > 1:
                raise ArithmeticError("several are equal")
            return labels[figures.index(best)]
    return evaluate(node, values)
