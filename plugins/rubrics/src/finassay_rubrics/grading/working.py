"""Sums that an answer writes out: whether what stands before the equals sign gives what stands after it.

Only what is a sum of figures through and through is computed: a name in it, or a figure that is not there, leaves it alone.
"""

import math
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from finassay_rubrics.grading.numbers import Number, numbers

if TYPE_CHECKING:
    from finassay_rubrics.grading.answer import Answer

MAX_SUM: Final = 240
"""Characters of a sum."""
MAX_DEPTH: Final = 12
MAX_CONSTANT: Final = 366
"""A whole number without a unit up to it is a count, a hundred percent or the days of a year, and not rounded."""
MAX_OPERANDS: Final = 16
CLOSE: Final = 0.015
"""Relative distance within which a result is that of its sum: operands are rounded."""
POWERS: Final = (0, 2, -2, 3, -3, 6, -6, 9, -9)
"""Powers of ten between a sum and its result: percent, thousands, millions that only one side names."""
_FRACTION: Final = re.compile(r"\^\s*[({]?\s*(\d{1,2})\s*/\s*(\d{1,2})\s*[)}]?")
_EQUALS: Final = re.compile(r"[=≈]\s*(?:about |approximately |roughly |~)?[(+]?$", re.IGNORECASE)
_OPERATOR: Final = re.compile(r"\s*([+*×xX/÷^()−–-])\s*")
_NOISE: Final = re.compile(
    r"(?:[$€£¥₹%]|\b(?:USD|EUR|GBP|CHF|JPY|days?|x|times|per ?cent|percent|million|billion|thousand|mn|bn|m)\b|[\s,])*", re.IGNORECASE
)


def contradicted(answer: "Answer", number: Number) -> str:
    """What the sum before a figure really gives, if that is another figure; empty where there is no sum, or it fits."""
    line = answer.text.rfind("\n", 0, number.start) + 1
    before = answer.text[max(line, number.start - MAX_SUM) : number.start]
    if not _EQUALS.search(before):
        return ""
    parts = re.split(r"[=≈]", before)
    written = parts[-2] if len(parts) >= 2 else ""
    result = computed(re.split(r"[:;]|,\s", written)[-1])
    if result is None or result[0] == 0:
        return ""
    value, slack = result
    given, step = abs(float(number.value)), 10.0**-number.decimals
    fits = any(abs(abs(value) * 10.0**p - given) <= 1.05 * step + slack * 10.0**p + CLOSE * given for p in POWERS)
    return "" if fits else f"{value:.6g}"


def computed(text: str) -> tuple[float, float] | None:
    """(value, how far its operands' rounding can move it) of a sum of at least two figures; None for what is none."""
    plain = _FRACTION.sub(r"^(\1/\2)", text.strip())
    tokens = _tokens(plain)
    operands = [at for at, t in enumerate(tokens or ()) if isinstance(t, tuple)]
    if tokens is None or not 2 <= len(operands) <= MAX_OPERANDS or not any(t in ("/", "*", "+", "-", "^") for t in tokens):
        return None
    values: list[Token] = [t[0] if isinstance(t, tuple) else t for t in tokens]
    value = _value(values)
    if value is None:
        return None
    slack = 0.0
    for at in operands:
        token = tokens[at]
        half = token[1] / 2 if isinstance(token, tuple) else 0.0
        moved = _value([*values[:at], float(values[at]) + half, *values[at + 1 :]])
        slack += abs(moved - value) if moved is not None else 0.0
    return value, slack


def _value(tokens: "Sequence[Token]") -> float | None:
    try:
        value, at = _sum(tokens, 0, 0)
    except (ZeroDivisionError, OverflowError, ValueError, IndexError, TypeError):
        return None
    return value if at == len(tokens) and math.isfinite(value) else None


Token = float | str
"""A figure, an operator or a bracket."""
Written = tuple[float, float]
"""A figure and one unit of its last place."""


def _tokens(text: str) -> list[Written | str] | None:
    found: list[Written | str] = []
    figures = numbers(text)
    starts = {n.start + (text[n.start] == "("): n for n in figures}
    at = 0
    while at < len(text):
        figure = starts.get(at)
        if figure is not None and (figure.value >= 0 or not found or found[-1] in ("(", "+", "-", "*", "/", "^")) and not figure.bracketed:
            exact = figure.kind == "plain" and not figure.decimals and figure.scale is None and abs(figure.value) <= MAX_CONSTANT
            found.append((float(figure.units), 0.0 if exact else 10.0**-figure.decimals * float(figure.scale or 1)))
            at = figure.end
        elif operator := _OPERATOR.match(text, at):
            sign = {"×": "*", "x": "*", "X": "*", "÷": "/", "−": "-", "–": "-"}.get(operator[1], operator[1])
            found.append(sign)
            at = operator.end()
        elif plain := re.compile(r"\d[\d,]*(?:\.\d+)?").match(text, at):
            found.append((float(plain[0].replace(",", "")), 0.0))
            at = plain.end()
        elif noise := _NOISE.match(text, at):
            if noise.end() == at:
                return None
            at = noise.end()
        else:
            return None
    return found


def _sum(tokens: Sequence[Token], at: int, depth: int) -> tuple[float, int]:
    value, at = _product(tokens, at, depth)
    while at < len(tokens) and tokens[at] in ("+", "-"):
        other, following = _product(tokens, at + 1, depth)
        value = value + other if tokens[at] == "+" else value - other
        at = following
    return value, at


def _product(tokens: Sequence[Token], at: int, depth: int) -> tuple[float, int]:
    value, at = _power(tokens, at, depth)
    while at < len(tokens) and tokens[at] in ("*", "/"):
        other, following = _power(tokens, at + 1, depth)
        value = value * other if tokens[at] == "*" else value / other
        at = following
    return value, at


def _power(tokens: Sequence[Token], at: int, depth: int) -> tuple[float, int]:
    base, at = _atom(tokens, at, depth)
    if at < len(tokens) and tokens[at] == "^":
        exponent, at = _power(tokens, at + 1, depth + 1)
        if abs(exponent) > 60 or (base < 0 and exponent != int(exponent)):
            raise ValueError("no power that a sum of money has")
        return float(base**exponent), at
    return base, at


def _atom(tokens: Sequence[Token], at: int, depth: int) -> tuple[float, int]:
    if depth > MAX_DEPTH:
        raise ValueError("too deep")
    token = tokens[at]
    if isinstance(token, float):
        return token, at + 1
    if token == "-":
        value, at = _atom(tokens, at + 1, depth + 1)
        return -value, at
    if token == "(":
        value, at = _sum(tokens, at + 1, depth + 1)
        if tokens[at] != ")":
            raise ValueError("a bracket stays open")
        return value, at + 1
    raise ValueError("no figure")
