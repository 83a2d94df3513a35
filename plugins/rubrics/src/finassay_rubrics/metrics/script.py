"""The Python of a formula: reads its inputs as JSON from standard input, prints one JSON object, holds no figure of its own."""

from collections.abc import Callable
from typing import Final

from finassay_rubrics.metrics.formula import Growth, Line, Mean, Node, Number, Operation
from finassay_rubrics.metrics.table import table

_HEAD: Final = """import json
import sys
from decimal import Decimal

x = {name: Decimal(text) for name, text in json.load(sys.stdin).items()}


def mean(values):
    return sum(values, Decimal()) / len(values)


def growth(first, last, steps):
    if not first > Decimal() or (len(steps) > 1 and not last > Decimal()):
        raise SystemExit("growth from or to a value that is not positive")
    return (last / first) ** (1 / Decimal(len(steps))) - 1 if len(steps) > 1 else last / first - 1


"""


def script(node: Node, name: Callable[[Line], str], times: str = "") -> str:
    """Python that prints `{"value": "…"}` for a formula.

    `name` gives the input's name of a line and year; `times` is a factor at the end (`100` for percent). Inputs are decimal text in units.
    """
    value = _code(node, name)
    if times:
        value = f"{times} * ({value})"
    return f'{_HEAD}value = {value}\nprint(json.dumps({{"value": str(value)}}))\n'


def _code(node: Node, name: Callable[[Line], str]) -> str:
    match node:
        case Number(value):
            return f'Decimal("{value}")' if value != int(value) else str(int(value))
        case Line():
            text = f'x["{name(node)}"]'
            return f"abs({text})" if table().lines[node.id].magnitude else text
        case Operation(op, left, right):
            return f"({_code(left, name)} {op} {_code(right, name)})"
        case Mean(values):
            return f"mean([{', '.join(_code(value, name) for value in values)}])"
        case Growth(first, last, steps):
            labels = ", ".join(f'"year {"i" * place}"' for place in range(1, steps + 1))
            return f"growth({_code(first, name)}, {_code(last, name)}, ({labels},))"
