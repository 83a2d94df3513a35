"""Lines of a statement, found by the words of labels and the subtotals that they stand between."""

import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import resources
from typing import Any, Final

from attrs import frozen

from finassay_rubrics.metrics.table import table
from finassay_statements_b.table import GridRow

_ALWAYS: Final = frozenset(("the", "of", "and", "net", "&", "see", "note", "less", "for"))


@frozen
class Rule:
    """Words that a label must, may and must not have."""

    need: tuple[str, ...]
    may: frozenset[str]
    never: frozenset[str]
    open: bool

    def fits(self, words: Sequence[str]) -> bool:
        have = set(words)
        if not set(self.need) <= have or have & self.never:
            return False
        return self.open or have <= {*self.need, *self.may, *_ALWAYS}


@frozen
class LineRules:
    """How a line is found. `after` and `before` are lines that it stands between, empty for open ends."""

    id: str
    rules: tuple[Rule, ...]
    after: str
    before: str
    only: str
    strict: bool


@cache
def line_rules() -> Mapping[str, LineRules]:
    """The packaged rules by line."""
    raw = tomllib.loads((resources.files("finassay_statements_b") / "lines.toml").read_text("utf-8"))
    return {id: _rules(id, one) for id, one in raw.items()}


def _rules(id: str, raw: Mapping[str, Any]) -> LineRules:
    rules = tuple(
        Rule(tuple(r["need"].split()), frozenset(r.get("may", "").split()), frozenset(r.get("not", "").split()), r.get("any", False))
        for r in raw["rules"]
    )
    after, before = raw["zone"]
    return LineRules(id, rules, after, before, raw.get("only", ""), raw.get("strict", False))


_PER_SHARE: Final = frozenset(("per", "share"))
_MERE: Final = frozenset(("basic", "diluted", "total", "and"))


def _statement(line: str) -> str:
    item = table().lines.get(line)
    return item.statement if item else ""


def _words(row: GridRow) -> tuple[str, ...]:
    """A row's words; a mere `Basic` or `Total` means what the heading above says, as do rows under `per share - diluted`."""
    above, own = set(row.above), set(row.words)
    if not row.words or own <= _MERE:
        return (*row.above, *row.words) if row.words else ()
    if above >= _PER_SHARE and own >= {"net", "income"} and own <= {"net", "income", "loss", *_MERE}:
        return (*row.above, *row.words)
    kind = above & {"basic", "diluted"}
    if not above >= _PER_SHARE or len(kind) != 1:
        return row.words
    if own >= {"share", "outstanding"} and own & {"average", "weighted-average"}:
        return (*kind, *row.words)
    return (*row.above, *row.words) if "net" in own and own & {"income", "earning", "loss"} else row.words


_ZONE_LINES: Final = {"tax": "income_tax", "net": "net_income_total"}


class Finder:
    """Finds lines among a statement's rows."""

    def __init__(self, rows: Sequence[GridRow]) -> None:
        self.rows = rows
        self._known: dict[str, list[int]] = {}

    def places(self, line: str) -> list[int]:
        """Places of the rows that fit the first rule that any row fits, in the zone of the line."""
        if line not in self._known:
            self._known[line] = []  # a line whose zone leads back to itself stays open there
            self._known[line] = self._find(line_rules()[line])
        return self._known[line]

    def found(self, line: str) -> list[GridRow]:
        return [self.rows[place] for place in self.places(line)]

    def _find(self, rules: LineRules) -> list[int]:
        low, high = self._edge(rules.after, -1), self._edge(rules.before, len(self.rows))
        for rule in rules.rules:
            each = rules.id.startswith(("eps_", "shares_")) or _statement(rules.id) != "income"
            fits = [
                place
                for place in range(low + 1, high)
                if rule.fits(_words(self.rows[place])) and (each or not set(self.rows[place].above) >= _PER_SHARE)
            ]
            if fits:
                return fits
        return []

    def _edge(self, name: str, otherwise: int) -> int:
        found = self.places(_ZONE_LINES.get(name, name)) if name else []
        return found[0] if found else otherwise
