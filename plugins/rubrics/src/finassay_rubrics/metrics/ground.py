"""From a question understood to a derivation: which filings, which of their versions, the quotes, the script.

Finding statements and lines in a filing's text is a family's own work (`Reader`); two families share nothing of that.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from decimal import Decimal, InvalidOperation
from functools import reduce
from typing import Final, Protocol

from attrs import evolve, frozen

from finassay.api.research import Derivation, Desk, Input, Period, Question, Quote, ScriptError
from finassay.api.source import Document, NotThereError, SourceItem
from finassay_rubrics.metrics.ask import Ask, understand
from finassay_rubrics.metrics.ends import other_end
from finassay_rubrics.metrics.formula import (
    Extreme,
    FormulaError,
    Line,
    Mean,
    Node,
    Number,
    Operation,
    Pick,
    evaluate,
    lines,
    mapped,
    outcome,
    size_of,
)
from finassay_rubrics.metrics.script import script
from finassay_rubrics.metrics.table import table, without
from finassay_rubrics.metrics.terms import fold

MAX_FILINGS: Final = 8
"""Filings of one issuer that are read for one question."""
ORIGINAL: Final = "vintage:original"
"""The convention that takes a figure as first reported, not as the latest filing shows it."""
LATEST: Final = "vintage:latest"
"""Its counterpart, which is the default."""

ABSENT: Final = "has no such line"
"""What a family says of a line that a statement does not show; anything else means that there may be one."""
YEAR_END: Final = "fiscal_label:year-end"
"""The convention that names a fiscal year by the calendar year of its end, where the issuer names it otherwise."""


@frozen
class Slice:
    """A part of a page: where it stands, and what it says."""

    page: int | None
    start: int
    end: int
    text: str
    digest: str


@frozen
class Cell:
    """One figure of a statement."""

    line: str
    year: int
    """The issuer's fiscal year."""
    value: Decimal
    """In units, sign as shown."""
    shown: str
    scale: Decimal
    step: Decimal
    """Precision of what is shown, in units."""
    label: str
    row: Slice
    header: Slice
    """Period and scale of the column."""
    end: date | None = None
    basis: str = ""
    """What the fiscal year rests on: `issuer`, `calendar year of end`, `majority of months`."""
    reversed: bool = False
    """Whether a formula takes the negative of what is shown: a charge in brackets."""
    currency: str = "USD"
    """Code of the currency that the statement's head names; the dollar where it names none."""


class Filing(Protocol):
    """A document as a family reads it."""

    @property
    def years(self) -> Sequence[int]:
        """Fiscal years that its annual statements show, newest first; empty where none were found."""
        ...

    def cell(self, line: str, year: int) -> Cell | str:
        """A figure, or why there is none that can be relied on."""
        ...


Reader = Callable[[Document], Filing]


@frozen
class ByYearEnd:
    """A filing whose fiscal years are named by the year of their end; implements `Filing`."""

    filing: Filing

    @property
    def years(self) -> Sequence[int]:
        return sorted({year for own in self.filing.years for year in (own, own + 1)}, reverse=True)

    def cell(self, line: str, year: int) -> Cell | str:
        for own in self.filing.years:
            cell = self.filing.cell(line, own)
            if isinstance(cell, Cell) and cell.end is not None and cell.end.year == year:
                return evolve(cell, year=year, basis="calendar year of end")
        return f"no annual statement shows the year that ended in {year}"


@frozen
class Held:
    """A filing with what it was read from."""

    item: SourceItem
    filing: Filing


@frozen
class Unresolved(Exception):
    """Why a value cannot be grounded."""

    reason: str


def derive(question: Question, desk: Desk, read: Reader) -> Derivation:
    """One value, or None with the reason. Raises `SourceError` where a source fails."""
    try:
        if question.parts:
            return _together(question, desk, read)
        ask, node, cells = _found(question, desk, read)
        if reason := other_end(question.text, [cell.end for _, cell in cells.values()]):
            raise Unresolved(reason)
        return computed(ask, node, cells, desk)
    except FormulaError as error:
        return Derivation(None, reason=str(error))
    except Unresolved as error:
        return Derivation(None, reason=error.reason)


Cells = dict[Line, tuple["Held", Cell]]


def _found(question: Question, desk: Desk, read: Reader) -> tuple[Ask, Node, Cells]:
    """What a question about one issuer asks, and the formula that its filings fill. Raises `Unresolved`, `FormulaError`."""
    convention = question.convention if question.convention not in (ORIGINAL, LATEST, YEAR_END) else ""
    plain = question if convention == question.convention else _without_convention(question)
    ask = understand(plain)
    held = filings(ask, question, desk, read)
    if question.convention == YEAR_END:
        if any(ask.year in one.filing.years for one in held):
            raise Unresolved(f"the issuer itself calls a year FY{ask.year}")
        held = [Held(one.item, ByYearEnd(one.filing)) for one in held]
    return ask, *choose(ask, held, original=question.convention == ORIGINAL)


MAX_PARTS: Final = 12


def _together(question: Question, desk: Desk, read: Reader) -> Derivation:
    """What compares or combines the values of several issuers, by one script over all of their cells. Raises `Unresolved`, `FormulaError`."""
    if not 2 <= len(question.parts) <= MAX_PARTS:
        raise Unresolved(f"compares {len(question.parts)} issuers; 2 to {MAX_PARTS} are read")
    asks, nodes = [], []
    cells: Cells = {}
    for who, part in enumerate(question.parts):
        same = evolve(part, convention=question.convention, convention_text=question.convention_text, documents=question.documents)
        try:
            ask, node, own = _found(same, desk, read)
        except Unresolved as error:
            raise Unresolved(f"{part.entity}: {error.reason}") from error
        asks.append(ask)
        nodes.append(mapped(node, lambda line, who=who: evolve(line, who=who)))  # type: ignore[misc]
        cells |= {evolve(line, who=who): found for line, found in own.items()}
    if len({(ask.kind, ask.times) for ask in asks}) > 1 or asks[0].kind == "words":
        raise Unresolved("compares values of different kinds")
    kind, node = _combined(question, asks[0].kind, nodes)
    label = question.period.asked if question.period else asks[0].label
    whole = evolve(asks[0], kind=kind, formula=node, label=label, decimals=question.decimals)

    def name(line: Line) -> str:
        who = re.sub(r"\W+", "_", fold(question.parts[line.who].entity)).strip("_")[:40]
        return f"{line.id}_{asks[line.who].year + line.offset}_{line.who + 1}_{who}"

    made = computed(whole, node, cells, desk, name)
    return evolve(made, period=Period(label))


def _combined(question: Question, kind: str, nodes: Sequence[Node]) -> tuple[str, Node]:
    """The kind of the value, and its formula."""
    match question.combine:
        case "highest" | "lowest":
            return "words", Pick(tuple(part.entity for part in question.parts), tuple(nodes), question.combine == "highest")
        case "sum":
            return kind, reduce(lambda one, other: Operation("+", one, other), nodes)
        case "mean":
            return kind, Mean(tuple(nodes))
        case "difference" if len(nodes) == 2:
            return "points" if kind == "percent" else kind, size_of(Operation("-", nodes[0], nodes[1]))
        case "ratio" if len(nodes) == 2:
            return "times", Operation("/", nodes[0], nodes[1])
    raise Unresolved(f"nothing is known of {question.combine!r} of {len(nodes)} values")


def _without_convention(question: Question) -> Question:
    return evolve(question, convention="")


# -- filings ----------------------------------------------------------------------------------------------------------

_PARTIAL: Final = re.compile(r"\b(?:10-?q|8-?k|6-?k|earnings|press release|quarterly|proxy|def 14a|q[1-4])\b|(?:^|\D)20\d\dq[1-4]")


def filings(ask: Ask, question: Question, desk: Desk, read: Reader) -> list[Held]:
    """Annual filings of the entity that may show the years asked, newest first. Raises `Unresolved` if there are none."""
    items = _items(ask, desk)
    if question.documents:
        items = [item for item in items if item.reference in question.documents]
    if not items:
        who = " or ".join(ask.entities) or "any issuer that the question names"
        hint = "write the name as its filings do, or give a source or a cutoff that has them"
        raise Unresolved(f"no document of {who} is dated on or before {desk.cutoff} in the sources; {hint}")
    first = min(ask.year + line.offset for line in lines(ask.formula))
    wanted = [item for item in items if _annual(item) and item.published is not None and first <= item.published.year <= ask.year + 4]
    if not wanted:
        there = ", ".join(item.title or item.reference for item in items[:3])
        raise Unresolved(
            f"none of the documents of {items[0].publisher or ask.entities[0]} dated on or before {desk.cutoff} is an annual report for {ask.label}; "
            f"there are {there}{f' and {len(items) - 3} more' if len(items) > 3 else ''}"
        )
    held = []
    for item in wanted[:MAX_FILINGS]:
        try:
            held.append(Held(item, read(desk.open(item.source, item.reference))))
        except NotThereError:
            continue
    return held


def _annual(item: SourceItem) -> bool:
    texts = (item.title, item.reference, item.meta.get("form", ""))
    return not any(_PARTIAL.search(re.sub(r"_", " ", fold(text))) for text in texts)


def _items(ask: Ask, desk: Desk) -> list[SourceItem]:
    """Documents of the first entity that has any; the publisher must bear the name."""
    for name in ask.entities:
        found = [item for item in desk.find(name) if item.published is not None and _bears(item, name)]
        publishers = {fold(item.publisher) for item in found if item.publisher}
        if len(publishers) > 1:
            exact = [item for item in found if fold(item.publisher) == fold(name)]
            if not exact:
                raise Unresolved(f"{name!r} may be any of {', '.join(sorted(publishers))}")
            found = exact
        if found:
            return sorted(found, key=lambda item: (item.published or date.min, item.reference), reverse=True)
    return []


def _bears(item: SourceItem, name: str) -> bool:
    """Whether the publisher's name holds every word of the name asked for, or one is the other's initials."""
    words, own = _words(name), _words(item.publisher or item.title)
    return bool(words) and (words <= own or own == {_initials(name)} or words == {_initials(item.publisher)})


def _initials(name: str) -> str:
    found = re.findall(r"[a-z0-9]+", fold(name))
    return "".join(word[0] for word in found if word in _words(name)) if len(found) > 1 else ""


def _words(text: str) -> set[str]:
    return {
        word
        for word in re.findall(r"[a-z0-9]+", fold(text))
        if word not in ("inc", "corp", "corporation", "co", "company", "plc", "ltd", "the")
    }


# -- versions ---------------------------------------------------------------------------------------------------------


def choose(ask: Ask, held: Sequence[Held], original: bool = False) -> tuple[Node, dict[Line, tuple[Held, Cell]]]:
    """The formula that the filings can fill, and its cells. Raises `Unresolved`.

    The latest filing that shows everything is taken; `original` takes the first one instead. Where no filing shows everything, cells of several
    are combined, if those agree on what they both show.
    """
    if not any(one.filing.years for one in held):
        raise Unresolved(f"no primary statements were found in {', '.join(one.item.title for one in held[:3])}")
    order = sorted(
        (one for one in held if one.filing.years),
        key=lambda one: (one.filing.years[0], one.item.published or date.min),
        reverse=not original,
    )
    if original:
        order = [one for one in order if one.filing.years[0] >= ask.year]
    reasons: dict[Line, str] = {}
    for one in order:
        filled = _filled(ask, [one], reasons)
        if filled is not None:
            return filled
    filled = _filled(ask, order, reasons)
    if filled is None:
        told = dict.fromkeys(f"{_words_of(line)} of FY{ask.year + line.offset}: {reason}" for line, reason in reasons.items())
        raise Unresolved(f"{'; '.join(told)} (read: {', '.join(one.item.title for one in order[:3]) or 'none'})"[:600])
    _agree(ask, filled[1], order)
    return filled


def _words_of(line: Line) -> str:
    return table().lines[line.id].names[0]


def _filled(ask: Ask, order: Sequence[Held], reasons: dict[Line, str]) -> tuple[Node, dict[Line, tuple[Held, Cell]]] | None:
    node = ask.formula
    for _ in range(3):
        cells: dict[Line, tuple[Held, Cell]] = {}
        missing = set()
        for line in lines(node):
            found = _first(line, ask.year, order, reasons)
            if found is None:
                missing.add(line.id)
            else:
                cells[line] = found
        if not missing:
            return node, cells
        unclear = {line.id for line, reason in reasons.items() if line.id in missing and ABSENT not in reason}
        other = without(node, frozenset(missing - {id for id in unclear if table().lines[id].otherwise == Number(Decimal(0))}))
        if other == node:
            return None
        node = other
    return None


def _first(line: Line, base: int, order: Sequence[Held], reasons: dict[Line, str]) -> tuple[Held, Cell] | None:
    for one in order:
        if base + line.offset not in one.filing.years:
            reasons.setdefault(line, "no annual statement shows that year")
            continue
        cell = one.filing.cell(line.id, base + line.offset)
        if isinstance(cell, Cell):
            return one, cell
        reasons[line] = cell
    return None


def _agree(ask: Ask, cells: Mapping[Line, tuple[Held, Cell]], order: Sequence[Held]) -> None:
    """Refuse to mix versions: what another filing in use also shows must be the same."""
    used = {id(one) for one, _ in cells.values()}
    for line, (_, cell) in cells.items():
        for other in order:
            if id(other) in used and ask.year + line.offset in other.filing.years:
                again = other.filing.cell(line.id, ask.year + line.offset)
                if isinstance(again, Cell) and again.value != cell.value:
                    raise Unresolved(f"{line.id} of FY{cell.year} was restated, and no one filing shows all that is needed")


# -- value ------------------------------------------------------------------------------------------------------------


def computed(
    ask: Ask, node: Node, cells: Mapping[Line, tuple[Held, Cell]], desk: Desk, name: Callable[[Line], str] | None = None
) -> Derivation:
    """The derivation of a filled formula, by a script run at the desk. Raises `Unresolved` where it cannot be computed.

    `name` gives the script's input of a line, where the base year does not tell it.
    """
    called = name or (lambda line: _name(line, ask.year))
    quotes: dict[Quote, int] = {}
    inputs = []
    for line in lines(node):
        one, cell = cells[line]
        place = quotes.setdefault(_quote(one.item, cell.row), len(quotes))
        quotes.setdefault(_quote(one.item, cell.header), len(quotes))
        inputs.append(Input(called(line), cell.value, place, cell.shown, cell.scale, _period(cell), line.id))
    reversed = frozenset(line for line, (_, cell) in cells.items() if cell.reversed)
    code = script(node, called, ask.times, reversed)
    try:
        done = desk.run(code, {one.name: str(one.value) for one in inputs})
        own = outcome(node, {line: _sized(line, cell) for line, (_, cell) in cells.items()})
        shown = str(done.output.get("value"))
        value = shown if isinstance(own, str) else Decimal(shown)
    except (ScriptError, ArithmeticError, InvalidOperation) as error:
        raise Unresolved(f"cannot be computed: {error}"[:300]) from error
    if not _alike(value, own * 100 if ask.times and isinstance(own, Decimal) else own):
        raise Unresolved("the script's value is not the formula's")
    period = _period_of(ask, node, cells)
    return Derivation(
        value,
        _unit(ask, [cell for _, cell in cells.values()]),
        period,
        tuple(quotes),
        tuple(inputs),
        done,
        max(cell.step for _, cell in cells.values()),
    )


def _period_of(ask: Ask, node: Node, cells: Mapping[Line, tuple[Held, Cell]]) -> Period:
    """The period of a value: of the year that has the most or the least, where that is asked."""
    offset, label = 0, ask.label
    if isinstance(node, Extreme) and ask.mode == "extreme":
        sized = {line: _sized(line, cell) for line, (_, cell) in cells.items()}
        values = [evaluate(value, sized) for value in node.values]
        offset = ask.years[values.index(max(values) if node.most else min(values))] - ask.year
        label = f"FY{ask.year + offset}"
    ends = [cell for line, (_, cell) in cells.items() if line.offset == offset]
    return _period(ends[0], label) if ends else Period(label)


def _unit(ask: Ask, cells: Sequence[Cell]) -> str:
    """The unit of a value, amounts in the currency of the statements. Raises `Unresolved` where dollars are asked and others shown, or several."""
    currencies = sorted({cell.currency for cell in cells if not cell.line.startswith("shares_")})
    if len(currencies) > 1:
        raise Unresolved(f"the statements are in several currencies: {', '.join(currencies)}")
    if not currencies or not ask.unit.startswith("USD") or currencies == ["USD"]:
        return ask.unit
    if ask.dollars:
        raise Unresolved(f"asks for US dollars, and the statements are in {currencies[0]}")
    return ask.unit.replace("USD", currencies[0])


def _alike(value: Decimal | str, own: Decimal | str) -> bool:
    if isinstance(value, str) or isinstance(own, str):
        return value == own
    return abs(value - own) <= abs(own) * Decimal("1e-12")


def _sized(line: Line, cell: Cell) -> Decimal:
    return abs(cell.value) if table().lines[line.id].magnitude else -cell.value if cell.reversed else cell.value


def _name(line: Line, base: int) -> str:
    return f"{line.id}_{base + line.offset}"


def _quote(item: SourceItem, part: Slice) -> Quote:
    return Quote(item.source, item.reference, part.page, part.start, part.end, part.text, part.digest, item.published)


def _period(cell: Cell, asked: str = "") -> Period:
    basis = cell.basis
    if basis == "calendar year of end":
        return Period(asked or f"FY{cell.year}", cell.end, label=f"FY{cell.year}", basis="calendar year of end")
    if basis == "majority of months":
        return Period(asked or f"FY{cell.year}", cell.end, label=f"FY{cell.year}", basis="majority of months")
    return Period(asked or f"FY{cell.year}", cell.end, label=f"FY{cell.year}", basis="issuer")
