"""The figure of a cell in an answer's tables, whichever of row and column names metric, year and entity."""

import re
from collections.abc import Iterator
from decimal import Decimal
from typing import Final

from attrs import evolve

from finassay_rubrics.grading.answer import Answer
from finassay_rubrics.grading.cells import Cell, Given
from finassay_rubrics.grading.compare import can_be
from finassay_rubrics.grading.locate import words_of
from finassay_rubrics.grading.numbers import SCALES, Number, numbers
from finassay_rubrics.grading.tables import Table
from finassay_rubrics.grading.vocabulary import AVERAGE, CHANGE, spread
from finassay_rubrics.grading.years import part_in, years_in

MAX_CELLS: Final = 4_000
"""Cells of an answer's tables that are looked at for one figure."""
_UNIT_WORDS: Final = frozenset(
    [
        "usd", "eur", "gbp", "chf", "mn", "bn", "mm", "mio", "mrd", "pct", "ratio", "x", "m", "k", "b", "thousand", "item", "metric", "reported",
        "net", "bp", "bps", "pp", "basis", "point", "time", "day", "note", "source", "q", "h", "period", "line", "at", "of", "as",
    ]
)  # fmt: skip
"""Words of a label that name no other metric."""
_SCALE: Final = re.compile(
    r"(?:\b(?:usd|us\$|in|eur|gbp|chf|jpy|cad|aud)|[$€£¥])\s*(?P<one>thousands?|millions?|billions?|mn|bn|mio|mrd|m|b|k)\b"
    r"|\b(?P<two>mio|mrd|mn|bn|million|billion|thousand)s?\.?\s*(?:usd|us\$|eur|gbp|chf|[$€£])|[$€£'’]\s?0{3}s?\b(?P<three>)|\b(?P<four>millions|billions|thousands)\b",
    re.IGNORECASE,
)


def from_tables(answer: Answer, cell: Cell) -> Given:
    """The figure whose row and column speak most of the cell; of equals the first."""
    best: tuple[float, Given] = (0.0, Given())
    looked = 0
    for table in answer.tables:
        for score, found in _fitting(table, cell, answer):
            if score > best[0]:
                best = (score, found)
        looked += sum(len(row) for row in table.rows)
        if looked > MAX_CELLS:
            break
    return best[1]


def _fitting(table: Table, cell: Cell, answer: Answer) -> Iterator[tuple[float, Given]]:
    caption = answer.text[max(0, table.start - 200) : table.start].rstrip().rpartition("\n")[2]
    corner = f"{caption if head_scale(caption) and not years_in(caption) else ''} {table.head[0] if table.head else ''}".strip()
    section = above = ""
    for row in table.rows[: MAX_CELLS // max(1, len(table.head))]:
        if row[0].text and not any(c.text for c in row[1:]):
            section = row[0].text
            continue
        above = row[0].text or above
        label = f"{section} {row[0].text or above}".strip()
        for column in range(1, len(row)):
            head = table.head[column] if column < len(table.head) else ""
            text = row[column].text
            if not any(c.isdigit() for c in text):
                label = f"{label} {text}".strip()  # a period or an entity in a column of its own
                continue
            fit = _fits(label, head, corner, cell, len(row))
            if fit > 0 and (found := _figure(text, row[column].start, f"{label} {head}", corner, cell, answer)):
                named = cell.share(dict.fromkeys(spread(words_of(f"{label} {head}", cell.entities)), 1.0))
                main, hedges = found
                yield (
                    fit,
                    Given((main,), hedges=hedges, quote=f"{label} | {head}: {text}", how="table", named=named, label=f"{label} {head}"),
                )
            elif years_in(text) and not numbers(text, answer.ignore):
                label = f"{label} {text}".strip()


def _fits(label: str, head: str, corner: str, cell: Cell, columns: int) -> float:
    said = f"{label} {head}"
    changes = bool(CHANGE.search(said))
    averages = bool(AVERAGE.search(said))
    if cell.change != changes or (averages and cell.average is False) or (cell.average and not averages and columns > 2):
        return 0.0
    part = part_in(head) or part_in(label)
    if part != cell.part and (part or (cell.part and years_in(said, cell.calendar))):
        return 0.0
    names = frozenset(w.lower() for w in re.findall(r"\w+", said))
    if cell.own and names & cell.entities and not names & cell.own:
        return 0.0
    words = words_of(said, cell.entities)
    own, wanted = spread(words), spread(cell.words)
    if not own & wanted:
        return 0.0
    dated = _dated(said, corner, cell, columns)
    return dated + _matched(words, own, wanted, cell) if dated > 0 else 0.0


def _matched(words: frozenset[str], own: frozenset[str], wanted: frozenset[str], cell: Cell) -> float:
    """Words that label and head share with the cell, less those that they have besides."""
    shared = sum(2 * cell.weights.get(w, 0.5) for w in own & wanted)
    strange = sum(
        1 for w in words - wanted - _UNIT_WORDS if not CHANGE.fullmatch(w) and not AVERAGE.fullmatch(w) and not spread((w,)) & wanted
    )
    return max(0.1, shared - 0.75 * strange)


def _dated(said: str, corner: str, cell: Cell, columns: int) -> float:
    years = years_in(said, cell.calendar) or years_in(corner, cell.calendar)
    if cell.years and years:
        return 1.0 if set(cell.years) & set(years) else 0.0
    if cell.average or cell.change:
        return 1.0
    return 0.5 if columns == 2 or not cell.years else 0.3


_HEDGE: Final = re.compile(r"^[\s)]*(?:or|to|-|–|/|~|and|,)\s*[$€£]?\s*$", re.IGNORECASE)


def _figure(text: str, start: int, label: str, corner: str, cell: Cell, answer: Answer) -> tuple[Number, tuple[Number, ...]] | None:
    """The figure of a table's cell with the unit and scale of its row or head, and figures beside it; negative in brackets."""
    own = numbers(text, answer.ignore, lengths=answer.lengths)
    if not own or len(own) > 4:
        return None
    fitting = [n for n in (_completed(one, label, corner, cell) for one in own) if cell.kind is None or can_be(n, cell.kind)]
    if not fitting:
        return None
    main = fitting[0]
    hedges = [n for n in fitting[1:2] if n.kind == main.kind and _HEDGE.match(text[main.end : n.start])]
    placed = [evolve(n, start=n.start + start, end=n.end + start) for n in (main, *hedges)]
    return placed[0], tuple(placed[1:])


def _completed(number: Number, label: str, corner: str, cell: Cell) -> Number:
    if number.bracketed and number.value > 0:
        number = evolve(number, value=-number.value)
    if number.kind in ("plain", "amount") and number.scale is None:
        if number.kind == "plain" and re.search(r"%|percent|\bpct\b", label, re.IGNORECASE):
            number = evolve(number, kind="percent")
        elif number.kind == "plain" and re.search(r"\bx\b|times|multiple", label, re.IGNORECASE):
            number = evolve(number, kind="times")
        elif number.kind == "plain" and re.search(r"\bbps?\b|basis points", label, re.IGNORECASE):
            number = evolve(number, kind="basis points")
        elif number.kind == "plain" and re.search(r"\bcents\b|¢", label, re.IGNORECASE):
            number = evolve(number, kind="amount", scale=Decimal("0.01"))
        elif cell.kind in (None, "amount") and (scale := head_scale(label) or head_scale(corner)):
            number = evolve(number, kind="amount", scale=scale)
    return number


def head_scale(head: str) -> Decimal | None:
    """The scale that a label states: `USD millions`, `in thousands`, `$'000`, `Mio. EUR`; none for what is per share or a ratio."""
    if re.search(r"\bper (?:\w+ )?share\b|\bratio\b|\bmargin\b", head, re.IGNORECASE):
        return None
    found = _SCALE.search(head)
    if found is None:
        return None
    word = found["one"] or found["two"] or found["four"]
    return Decimal(10) ** SCALES[word.lower()] if word else Decimal(1000)
