"""Conventions that a query states in words, `counting short-term investments as cash`: they bind a metric's formula, or leave it unresolved.

A formula that is not the one asked for would be a figure that looks right and is wrong, so what is stated and not understood is refused.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from typing import Final, Literal

from attrs import frozen

from finassay_rubrics.metrics.formula import Line, Mean, Node, Number, Operation, lines, mapped
from finassay_rubrics.metrics.table import table
from finassay_rubrics.metrics.terms import fold, names_in
from finassay_rubrics.metrics.when import AskError

Kind = Literal["count", "exclude", "include", "average", "end"]
_UNTIL: Final = r"(?P<what>[^.;:?!()]{2,80}?)"
_STOP: Final = r"(?=\s*(?:$|[.;:?!()]|,\s+(?!(?:and|or)\s|net\b)|\b(?:for|in|at|as of|over|during|between|and (?:what|how|say|compare|show|state|give|compute|explain|which)|is|was|were)\b))"
_AS: Final = r"(?P<whole>(?:total\s+|part\s+of\s+)?(?:cash(?: and cash equivalents)?|(?:financial\s+|total\s+)?debt|borrowings|equity|capex|capital expenditures?|current assets|current liabilities|revenue|cogs|cost of goods sold))\b"
_PATTERNS: Final[tuple[tuple[Kind, re.Pattern[str]], ...]] = (
    (
        "count",
        re.compile(
            rf"\b(?:count|treat|consider|regard|class(?:ify)?|take|include)(?:s|ing|ed|ifying|ified)?\s+{_UNTIL},?\s+(?:as|in|within|with|to be|among|towards?)\s+(?:an?\s+|the\s+)?{_AS}"
        ),
    ),
    (
        "count",
        re.compile(
            rf"\b(?:with|where|when|if)\s+{_UNTIL}\s+(?:is\s+|are\s+)?(?:counted|treated|considered|regarded|classified|included|taken)\s+(?:as|in|within|among)\s+(?:an?\s+|the\s+)?{_AS}"
        ),
    ),
    (
        "average",
        re.compile(
            r"\b(?:us(?:e|ing)|based\s+on|on(?:\s+the\s+basis\s+of)?|with|over|from|tak(?:e|ing))\s+(?:the\s+|an?\s+)?(?:two[- ]point\s+)?(?:average|mean)(?:\s+of)?\s+(?P<what>balances?(?:\s+sheet\s+(?:figures|values|amounts))?|[a-z][a-z&' -]{2,40}?)"
            + _STOP
        ),
    ),
    (
        "end",
        re.compile(
            r"\b(?:us(?:e|ing)|based\s+on|on(?:\s+the\s+basis\s+of)?|with|over|from|tak(?:e|ing))\s+(?:the\s+|an?\s+)?(?:year[- ]end|end[- ]of[- ](?:the[- ])?year|period[- ]end|ending|closing)\s+(?P<what>balances?(?:\s+sheet\s+(?:figures|values|amounts))?|figures|values|[a-z][a-z&' -]{2,40}?)"
            + _STOP
        ),
    ),
    (
        "exclude",
        re.compile(
            rf"\b(?:excluding|exclude|excl\.?|leaving\s+out|leave\s+out|not\s+counting|ignoring|stripping\s+out)\s+{_UNTIL}" + _STOP
        ),
    ),
    ("exclude", re.compile(rf"\b(?:when|if|with)\s+{_UNTIL}\s+(?:is\s+|are\s+)?(?:excluded|left\s+out|stripped\s+out)\b")),
    ("include", re.compile(rf"\b(?:including|incl\.?)\s+{_UNTIL}" + _STOP)),
)
_SCOPE: Final = re.compile(
    r"\b(?:for|from|of|on|only)\s+(?P<what>continuing\s+operations)(?:\s+(?:only|alone))?|(?P<only>continuing\s+operations)\s+(?:only|alone)|\b(?:on\s+a\s+)?(?P<shares>diluted|basic)\s+(?:basis|shares?)\b"
)
_DISCONTINUED: Final = re.compile(r"(?:the\s+)?(?:results?\s+of\s+|effects?\s+of\s+)?discontinued\s+operations?")
_MINORITY: Final = re.compile(r"(?:the\s+)?(?:non-?controlling|minority)\s+interests?")
_NOT_FIGURES: Final = re.compile(
    r"\b(?:table|explanation|reasons?|comments?|sources?|footnotes?|notes|calculation|workings?|formula|assumptions?|units?|years?|period|page|name|line\b|both|each|all|any|only|filings?|reports?|statements?|quotes?|citations?|steps)\b"
)
"""What is to be included in an answer, not in a figure."""
DEBT: Final = ("long_term_debt", "short_term_debt", "short_term_borrowings", "current_portion")
WHOLES: Final = {
    "cash": ("cash",),
    "debt": DEBT,
    "borrowings": DEBT,
    "equity": ("equity", "equity_total"),
    "capex": ("capex",),
    "current assets": ("current_assets",),
    "current liabilities": ("current_liabilities",),
    "revenue": ("revenue",),
    "cost": ("cogs",),
}
"""What something can be counted as, and the lines that stand for it."""
PARTS: Final = {
    "total_assets": frozenset(
        ["goodwill", "intangibles", "cash", "short_term_investments", "inventory", "receivables", "ppe_net", "current_assets"]
    ),
    "current_assets": frozenset(["cash", "short_term_investments", "inventory", "receivables"]),
    "current_liabilities": frozenset(["accounts_payable", *DEBT[1:]]),
    "total_liabilities": frozenset(["current_liabilities", "accounts_payable", *DEBT]),
    "equity": frozenset(["goodwill", "intangibles"]),
    "equity_total": frozenset(["goodwill", "intangibles"]),
}
"""The lines that a line holds, or that are customarily taken from it."""


@frozen
class Stated:
    """A convention that a query states."""

    kind: Kind | Literal["scope"]
    start: int
    end: int
    what: str
    """Folded: what is counted, left out, averaged; `balances` for all of them."""
    whole: str = ""
    """What it is counted as, as in `WHOLES`."""


def stated(folded: str) -> list[Stated]:
    """The conventions of folded text, in order; none within another."""
    found: list[Stated] = []
    for kind, pattern in _PATTERNS:
        for match in pattern.finditer(folded):
            what = re.sub(r"^(?:the|any|all|its|their)\s+", "", match["what"].strip(" ,"))
            whole = _whole(match["whole"]) if kind == "count" else ""
            if _is_one(kind, what) and all(match.end() <= one.start or one.end <= match.start() for one in found):
                found.append(Stated(kind, match.start(), match.end(), what, whole))
    for match in _SCOPE.finditer(folded):
        if all(match.end() <= one.start or one.end <= match.start() for one in found):
            found.append(Stated("scope", match.start(), match.end(), match["what"] or match["only"] or match["shares"]))
    return sorted(found, key=lambda one: one.start)


def _whole(text: str) -> str:
    return next(name for name in (*WHOLES, "capital expenditure") if name in text).replace("capital expenditure", "capex")


def _is_one(kind: Kind, what: str) -> bool:
    if kind in ("average", "end"):
        named = _named(what)
        return what.startswith(("balance", "figure", "value")) or (bool(named) and all(_balances(id) for id in named))
    return not (kind == "include" and (_NOT_FIGURES.search(what) or not what))


def _balances(id: str) -> bool:
    item = table().lines.get(id)
    return item is not None and item.statement == "balance"


def _named(what: str) -> list[str]:
    """Ids of the metrics that a list names, `goodwill and intangible assets`; empty where any of its parts is none of the table."""
    found = []
    for part in re.split(r"\s*,\s*(?:and\s+|or\s+)?|\s+and\s+|\s+or\s+|\s*&\s*(?=[a-z]{4})", what):
        plain = re.sub(r"^(?:the|any|all|its|their|total)\s+", "", part.strip())
        if plain in WHOLES and WHOLES[plain][0] in table().lines and plain not in ("debt", "borrowings", "cost"):
            found.append(WHOLES[plain][0])
            continue
        names = names_in(plain)
        if len(names) != 1 or names[0].start or names[0].end != len(plain):
            return []
        found.append(names[0].id)
    return found


def without_stated(folded: str) -> tuple[str, list[Stated]]:
    """Folded text with its conventions blanked, as long as before, and what they are."""
    found = stated(folded)
    for one in found:
        if one.kind != "scope":
            folded = folded[: one.start] + " " * (one.end - one.start) + folded[one.end :]
    return folded, found


def bound(node: Node, conventions: Sequence[Stated]) -> Node:
    """The formula under the conventions. Raises `AskError` for one that bears on it and cannot be followed."""
    for one in conventions:
        node = _BINDS[one.kind](node, one)
    return node


# -- each kind --------------------------------------------------------------------------------------------------------


def _count(node: Node, one: Stated) -> Node:
    held = [line.id for line in lines(node)]
    wholes = [id for id in WHOLES[one.whole] if id in held]
    if not wholes:
        return node
    ids = _lines_of(one)
    taken = {id for id in ids if id in held or id in WHOLES[one.whole] or any(id in PARTS.get(whole, ()) for whole in wholes)}
    added = [id for id in ids if id not in taken]
    first = wholes[0]
    return mapped(node, lambda line: _with(line, added, "+") if line.id == first else line)


def _with(line: Line, ids: Sequence[str], op: str) -> Node:
    node: Node = line
    for id in ids:
        node = Operation(op, node, Line(id, line.offset))
    return node


def _lines_of(one: Stated) -> list[str]:
    """The lines that a convention names. Raises `AskError` for what is no line of the table."""
    ids = _named(one.what)
    if not ids or any(id not in table().lines for id in ids):
        said = f"counts {one.what!r} as {one.whole}" if one.kind == "count" else f"{one.kind}s {one.what!r}"
        raise AskError(
            f"the query {said}, which is no line of the primary statements that is read here; another formula would be another figure"
        )
    return ids


def _exclude(node: Node, one: Stated) -> Node:
    if _DISCONTINUED.fullmatch(one.what):
        return _continuing(node)
    if _MINORITY.fullmatch(one.what):
        return _swapped(node, {"net_income_total": "net_income", "equity_total": "equity"})
    for id in _lines_of(one):
        held = {line.id for line in lines(node)}
        wholes = [whole for whole in held if id in PARTS.get(whole, ())]
        if id in held and (left := _dropped(node, id)) is not None:
            node = left
        elif id not in held and len(wholes) == 1:
            whole = wholes[0]
            node = mapped(node, _less(whole, id))
        elif id in held or wholes or not _apart(id, held):
            raise AskError(f"the query leaves out {one.what!r}, and what is left of the formula cannot be told")
    return node


def _less(whole: str, id: str) -> Callable[[Line], Node]:
    return lambda line: _with(line, (id,), "-") if line.id == whole else line


def _apart(id: str, held: set[str]) -> bool:
    """Whether a line of the balance sheet is left out of what no line of the balance sheet is part of: it does not bear on it."""
    return _balances(id) and not any(_balances(one) for one in held)


def _dropped(node: Node, id: str) -> Node | None:
    """The formula without a term that is added or subtracted; None where it is more than a term."""
    zero = Number(Decimal(0))
    match node:
        case Line():
            return zero if node.id == id else node
        case Operation(op, left, right) if op in "+-":
            one, two = _dropped(left, id), _dropped(right, id)
            return (
                None
                if one is None or two is None
                else one
                if two == zero
                else two
                if one == zero and op == "+"
                else Operation(op, one, two)
            )
        case Operation(op, left, right):
            one, two = _dropped(left, id), _dropped(right, id)
            return None if one in (None, zero) or two in (None, zero) or one is None or two is None else Operation(op, one, two)
        case Mean(values):
            parts = [_dropped(value, id) for value in values]
            return None if any(part is None or part == zero for part in parts) else Mean(tuple(part for part in parts if part is not None))
    return None if any(line.id == id for line in lines(node)) else node


def _include(node: Node, one: Stated) -> Node:
    if _DISCONTINUED.fullmatch(one.what):
        return _swapped(node, {"net_income_continuing": "net_income"})
    if _MINORITY.fullmatch(one.what):
        return _swapped(node, {"net_income": "net_income_total", "equity": "equity_total"})
    held = {line.id for line in lines(node)}
    ids = _lines_of(one)
    if all(id in held or any(id in PARTS.get(whole, ()) for whole in held) or _apart(id, held) for id in ids):
        return node
    raise AskError(f"the query includes {one.what!r}, and where it goes in the formula cannot be told")


def _continuing(node: Node) -> Node:
    if any(line.id == "net_income_total" for line in lines(node)):
        raise AskError("the query wants continuing operations alone, and the formula takes net income with noncontrolling interests")
    return _swapped(node, {"net_income": "net_income_continuing"})


def _scope(node: Node, one: Stated) -> Node:
    if one.what.startswith("continuing"):
        return _continuing(node)
    other = {"basic": "diluted", "diluted": "basic"}[one.what]
    return _swapped(node, {f"eps_{other}": f"eps_{one.what}", f"shares_{other}": f"shares_{one.what}"})


def _swapped(node: Node, ids: dict[str, str]) -> Node:
    return mapped(node, lambda line: Line(ids[line.id], line.offset) if ids.get(line.id, "") in table().lines else line)


def _average(node: Node, one: Stated) -> Node:
    own = set(_named(one.what))
    return _balanced(node, lambda line: Mean((Line(line.id, line.offset - 1), line)) if _meant(line, own) else line)


def _end(node: Node, one: Stated) -> Node:
    own = set(_named(one.what))
    return _balanced(
        node, lambda line: line, lambda values: values[-1] if all(_meant(line, own) for v in values for line in lines(v)) else Mean(values)
    )


def _meant(line: Line, own: set[str]) -> bool:
    return _balances(line.id) and (not own or line.id in own)


def _balanced(node: Node, change: Callable[[Line], Node], mean: Callable[[tuple[Node, ...]], Node] = Mean) -> Node:
    """The formula with its lines changed that stand in no average, and its averages."""
    match node:
        case Line():
            return change(node)
        case Operation(op, left, right):
            return Operation(op, _balanced(left, change, mean), _balanced(right, change, mean))
        case Mean(values):
            return mean(values)
    return node


_BINDS: Final[dict[str, Callable[[Node, Stated], Node]]] = {
    "count": _count,
    "exclude": _exclude,
    "include": _include,
    "average": _average,
    "end": _end,
    "scope": _scope,
}


# -- of one metric of a query -----------------------------------------------------------------------------------------

_SENTENCE: Final = re.compile(r"[.?!;](?:\s+|$)")


def words_for(query: str, ids: Sequence[str]) -> str:
    """The query's own words for the conventions that bear on a figure of these metrics, for the text of its criterion; empty for none.

    A convention is stated of the metrics of its sentence, of all where its sentence names none; what is left out, or included, of the one before.
    """
    folded = fold(query)
    formulas = [table().metrics[id].formula for id in ids if id in table().metrics]
    own = [one for one in stated(folded) if _is_of(folded, one, ids) and any(_bears(one, formula) for formula in formulas)]
    told = (" ".join(query[one.start : one.end].split()).strip(" ,") for one in own)
    return ") (".join(dict.fromkeys(told))


def _is_of(folded: str, one: Stated, ids: Sequence[str]) -> bool:
    begin, end = next(span for span in _sentences(folded) if span[0] <= one.start < span[1])
    blank = folded[begin : one.start] + " " * (one.end - one.start) + folded[one.end : end]
    names = names_in(blank)
    if not names:
        return True
    before = [name for name in names if name.end <= one.start - begin]
    if one.kind in ("exclude", "include") and before:
        names = [name for name in before if name.end == before[-1].end]
    return not ids or any(name.id in ids for name in names)


def _sentences(folded: str) -> Iterator[tuple[int, int]]:
    start = 0
    for end in [*(m.end() for m in _SENTENCE.finditer(folded)), len(folded) + 1]:
        yield start, end
        start = end


def _bears(one: Stated, formula: Node) -> bool:
    """Whether a convention changes a formula, or cannot be followed in it."""
    try:
        return bound(formula, [one]) != formula or _holds(one, formula)
    except AskError:
        return True


def _holds(one: Stated, formula: Node) -> bool:
    """Whether the formula follows the convention already, so that it is worth telling: a line that it names stands in it."""
    held = {line.id for line in lines(formula)}
    return any(id in held for id in _named(one.what)) or (one.kind in ("average", "end") and any(_balances(id) for id in held))
