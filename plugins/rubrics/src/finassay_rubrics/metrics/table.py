"""The table of metrics and lines."""

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Any, Final

from attrs import evolve, frozen

from finassay_rubrics.metrics.formula import FormulaError, Line, Node, lines, mapped, parse

UNITS: Final = {"amount": "USD", "percent": "percent", "times": "times", "days": "days", "per_share": "USD/share", "count": "count"}
"""Kind of a metric's unit to the unit of its values."""
DECIMALS: Final = {"amount": 0, "percent": 1, "times": 2, "days": 2, "per_share": 2, "count": 0}
"""Decimals that are shown where none are asked."""


@frozen
class LineItem:
    """A line of a primary statement."""

    id: str
    statement: str
    """`income`, `balance` or `cash`."""
    names: tuple[str, ...]
    magnitude: bool = False
    """Whether its size counts: statements show it with or without brackets."""
    otherwise: Node | None = None
    """The formula where a statement has no such line."""

    @property
    def unit(self) -> str:
        return "per_share" if self.id.startswith("eps_") else "count" if self.id.startswith("shares_") else "amount"


@frozen
class Route:
    """One accepted reading of a convention."""

    topic: str
    route: str
    convention: str
    formula: Node


@frozen
class Metric:
    """A metric with its definition. The first route is the metric's own formula."""

    id: str
    names: tuple[str, ...]
    unit: str
    """One of `UNITS`."""
    formula: Node
    routes: tuple[Route, ...] = ()

    @property
    def statements(self) -> tuple[str, ...]:
        """The statements that it takes lines of."""
        return tuple(dict.fromkeys(table().lines[line.id].statement for line in lines(self.formula)))

    def by(self, convention: str) -> Node:
        """The formula of `TOPIC:ROUTE`; its own for an empty one. Raises `FormulaError` if it has no such route."""
        if not convention:
            return self.formula
        for route in self.routes:
            if f"{route.topic}:{route.route}" == convention:
                return route.formula
        raise FormulaError(f"{self.id} has no convention {convention}")


@frozen
class Table:
    """All metrics by id, every line among them, and all lines."""

    metrics: Mapping[str, Metric]
    lines: Mapping[str, LineItem]


@cache
def table() -> Table:
    """The packaged table. Raises `FormulaError` if it does not hold together."""
    folder = resources.files("finassay_rubrics.metrics")
    items = {id: _line(id, raw) for id, raw in tomllib.loads((folder / "lines.toml").read_text("utf-8")).items()}
    metrics = {id: Metric(id, item.names, item.unit, Line(id)) for id, item in items.items()}
    for raw in tomllib.loads((folder / "metrics.toml").read_text("utf-8"))["metric"]:
        metric = _metric(raw)
        unknown = [
            line.id for node in (metric.formula, *(r.formula for r in metric.routes)) for line in lines(node) if line.id not in items
        ]
        if unknown or metric.id in metrics or metric.unit not in UNITS:
            raise FormulaError(f"metric {metric.id}: unknown lines {unknown}, its id twice, or unit {metric.unit!r}")
        metrics[metric.id] = metric
    return Table(metrics, items)


def _line(id: str, raw: Mapping[str, Any]) -> LineItem:
    otherwise = parse(raw["else"]) if "else" in raw else None
    return LineItem(id, raw["statement"], tuple(raw["names"]), raw.get("sign") == "magnitude", otherwise)


def _metric(raw: Mapping[str, Any]) -> Metric:
    formula = parse(raw["formula"])
    routes = tuple(Route(r["topic"], r["route"], r["convention"], parse(r["formula"])) for r in raw.get("routes", ()))
    if "topic" in raw:
        routes = (Route(raw["topic"], raw["route"], raw["convention"], formula), *routes)
    return Metric(raw["id"], tuple(raw["names"]), raw["unit"], formula, routes)


def without(node: Node, missing: frozenset[str]) -> Node:
    """The formula with lines that a statement does not show replaced by what they are made of, where the table says so."""
    found = table().lines

    def change(line: Line) -> Node:
        other = found[line.id].otherwise if line.id in missing else None
        return line if other is None else mapped(other, lambda part: evolve(part, offset=part.offset + line.offset, who=line.who))

    return mapped(node, change)
