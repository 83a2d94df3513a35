"""The Python of a formula: reads its inputs as JSON from standard input, prints one JSON object, holds no figure of its own."""

from collections.abc import Callable
from typing import Final

from finassay_rubrics.metrics.formula import Extreme, Growth, Line, Mean, Node, Number, Operation, Pick, Sign
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


def sign(value, above, below, level):
    return above if value > 0 else below if value < 0 else level


def pick(figures, best):
    found = [name for name in figures if figures[name] == best(figures.values())]
    if len(found) > 1:
        raise SystemExit("several are equal")
    return found[0]


"""


def script(node: Node, name: Callable[[Line], str], times: str = "", reversed: frozenset[Line] = frozenset()) -> str:
    """Python that prints `{"value": "…"}` for a formula.

    `name` gives the input's name of a line and year; `times` is a factor at the end (`100` for percent); lines of `reversed` are shown with
    the other sign than the formula takes them with. Inputs are decimal text in units.
    """

    def taken(line: Line) -> str:
        text = f'x["{name(line)}"]'
        return f"abs({text})" if table().lines[line.id].magnitude else f"(-{text})" if line in reversed else text

    value = _code(node, taken)
    if times:
        value = f"{times} * ({value})"
    return f'{_HEAD}value = {value}\nprint(json.dumps({{"value": str(value)}}))\n'


def _code(node: Node, taken: Callable[[Line], str]) -> str:
    match node:
        case Number(value):
            return f'Decimal("{value}")' if value != int(value) else str(int(value))
        case Line():
            return taken(node)
        case Operation(op, left, right):
            return f"({_code(left, taken)} {op} {_code(right, taken)})"
        case Mean(values):
            return f"mean([{', '.join(_code(value, taken) for value in values)}])"
        case Extreme(values, most):
            return f"{'max' if most else 'min'}([{', '.join(_code(value, taken) for value in values)}])"
        case Growth(first, last, steps):
            labels = ", ".join(f'"year {"i" * place}"' for place in range(1, steps + 1))
            return f"growth({_code(first, taken)}, {_code(last, taken)}, ({labels},))"
        case Sign(value, above, below, level):
            return f"sign({_code(value, taken)}, {above!r}, {below!r}, {level!r})"
        case Pick(names, values, most):
            figures = ", ".join(f"{name!r}: {_code(value, taken)}" for name, value in zip(names, values, strict=True))
            return f"pick({{{figures}}}, {'max' if most else 'min'})"
