"""The figure of a cell in an answer's tables, whichever of row and column names metric, year and entity."""

import re
from collections.abc import Iterator
from decimal import Decimal
from itertools import islice
from typing import Final

from attrs import evolve, frozen

from finassay_rubrics.grading.answer import Answer
from finassay_rubrics.grading.cells import Cell, Given, at_in
from finassay_rubrics.grading.compare import can_be, plausible
from finassay_rubrics.grading.corrections import taken_back
from finassay_rubrics.grading.headings import above
from finassay_rubrics.grading.locate import words_of
from finassay_rubrics.grading.names import Names, names_of
from finassay_rubrics.grading.numbers import SCALES, Number, numbers
from finassay_rubrics.grading.tables import Table
from finassay_rubrics.grading.vocabulary import AVERAGE, CHANGE, spread
from finassay_rubrics.grading.whose import metrics_in, of_another
from finassay_rubrics.grading.years import Calendar, part_in, years_in

MAX_LABEL: Final = 400
MAX_CELLS: Final = 2_000
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


@frozen
class Entry:
    """A cell of a table that holds a figure, with what its labels say."""

    table: Table
    label: str
    head: str
    corner: str
    caption: str
    """The line above the table."""
    text: str
    start: int
    columns: int
    words: frozenset[str]
    spread: frozenset[str]
    names: frozenset[str]
    years: frozenset[str]
    part: str
    at: str
    changes: bool
    averages: bool


def from_tables(answer: Answer, cell: Cell) -> Given:
    """The figure whose row and column speak most of the cell; of equals the first."""
    best: tuple[float, Given] = (0.0, Given())
    wanted, begins = spread(cell.words), taken_back(answer, cell)
    for entry in entries_of(answer, cell.entities, cell.calendar):
        fit = _fits(entry, cell, wanted) if entry.start >= begins else 0.0
        if fit > best[0] and not _of_stranger(entry, cell, answer) and (found := _figure(entry, cell, answer)):
            main, hedges = found
            named = cell.share(dict.fromkeys(cell.heard(entry.spread), 1.0))
            quote = f"{entry.label} | {entry.head}: {entry.text}"
            best = (fit, Given((main,), hedges=hedges, quote=quote, how="table", named=named, label=f"{entry.label} {entry.head}"))
    return best[1]


def entries_of(answer: Answer, entities: frozenset[str], calendar: Calendar) -> list[Entry]:
    """The cells with figures of all tables, read once for each way of naming fiscal years."""
    key = ("entries", entities, calendar)
    if key not in answer.kept:
        found: list[Entry] = []
        for table in answer.tables:
            found += islice(_entries(table, answer, entities, calendar), max(0, MAX_CELLS - len(found)))
        answer.kept[key] = found
    return answer.kept[key]


def _entries(table: Table, answer: Answer, entities: frozenset[str], calendar: Calendar) -> Iterator[Entry]:
    caption = answer.text[max(0, table.start - 200) : table.start].rstrip().rpartition("\n")[2]
    corner = f"{caption if head_scale(caption) and not years_in(caption) else ''} {table.head[0] if table.head else ''}".strip()
    section = above = ""
    heads = _whole_heads(table.head)
    for row in table.rows:
        if row[0].text and not any(c.text for c in row[1:]):
            section = row[0].text
            continue
        above = row[0].text or above
        label = f"{section} {row[0].text or above}".strip()
        for column in range(1, len(row)):
            head = heads[column] if column < len(heads) else ""
            text = row[column].text
            if not any(c.isdigit() for c in text) or (years_in(text) and not numbers(text, answer.ignore)):
                label = f"{label} {text}".strip()[:MAX_LABEL]  # a period or an entity in a column of its own
            else:
                labels = (label[:MAX_LABEL], head[:MAX_LABEL], corner, caption)
                yield _entry(table, labels, text, row[column].start, len(row), entities, calendar)


def _only(years: list[str]) -> list[str]:
    return years if len(set(years)) == 1 else []


def _whole_heads(heads: tuple[str, ...]) -> list[str]:
    """Heads, those of a year alone with the metric of the head before them: `EBITDA margin 2019 | 2020 | 2021 | Average`."""
    found: list[str] = []
    metric = ""
    for place, head in enumerate(heads):
        bare = not words_of(AVERAGE.sub(" ", head)) - _UNIT_WORDS - _TIMES
        if place and not bare:
            metric = _without_years(head) if years_in(head) and not CHANGE.search(head) else ""
        more = bool(metric) and bare and bool(years_in(head) or AVERAGE.search(head))
        found.append(f"{metric} {head}" if more else head)
    return found


def _without_years(head: str) -> str:
    return re.sub(r"\b(?:FY\s?)?(?:(?:19|20)\d\d|['’]\d\d)\b", " ", head, flags=re.IGNORECASE).strip()


def _entry(
    table: Table, labels: tuple[str, str, str, str], text: str, start: int, columns: int, entities: frozenset[str], calendar: Calendar
) -> Entry:
    label, head, corner, caption = labels
    said = f"{label} {head}"
    words = words_of(said, entities)
    return Entry(
        table,
        label,
        head,
        corner,
        caption,
        text,
        start,
        columns,
        words,
        spread(words | words_of(corner, entities)),
        frozenset(w.lower() for w in re.findall(r"\w+", said)),
        frozenset(years_in(said, calendar) or years_in(corner, calendar) or _only(years_in(caption, calendar))),
        part_in(head) or part_in(label),
        at_in(label),
        bool(CHANGE.search(said)),
        bool(AVERAGE.search(said)),
    )


def _fits(entry: Entry, cell: Cell, wanted: frozenset[str]) -> float:
    own = cell.heard(entry.spread)
    if entry.caption and not own & cell.weights.keys() and not metrics_in(f"{entry.label} {entry.head}"):
        own |= cell.heard(words_of(entry.caption, cell.entities))  # a table of companies and years, its metric above it
    if (
        not own & wanted
        or _CANDIDATES.search(f"{entry.label} {entry.head} {entry.caption}")
        or of_another(f"{entry.label} {entry.head}", cell.metrics)
    ):
        return 0.0
    if (
        cell.change != entry.changes
        or (entry.averages and cell.average is False)
        or (cell.average and not entry.averages and entry.columns > 2)
    ):
        return 0.0
    if entry.part != cell.part and (entry.part or (cell.part and entry.years)):
        return 0.0
    if entry.at and cell.at and entry.at != cell.at:
        return 0.0
    if cell.own and entry.names & cell.entities and not entry.names & cell.own:
        return 0.0
    if cell.of_year and entry.years and cell.of_year not in entry.years:
        return 0.0
    dated = _dated(entry.years, cell, entry.columns)
    return dated + _matched(entry.words, own, wanted, cell) + 0.3 * (entry.at == cell.at != "") if dated > 0 else 0.0


def not_its_own(answer: Answer, cell: Cell, at: int) -> bool:
    """Whether the figure at a place stands in a table as another company's or metric's, or as one of several candidates."""
    entry = next((e for e in entries_of(answer, cell.entities, cell.calendar) if e.start <= at < e.start + len(e.text)), None)
    if entry is None:
        return False
    label = f"{entry.label} {entry.head}"
    return bool(_CANDIDATES.search(f"{label} {entry.caption}")) or of_another(label, cell.metrics) or _of_stranger(entry, cell, answer)


def _of_stranger(entry: Entry, cell: Cell, answer: Answer) -> bool:
    """Whether a table's cell belongs to a company that nobody asked about: its row or column names one, or stands beside that of the asked one."""
    names = names_of(answer, cell.asked, cell.known)
    if not names.own:
        return False
    if entry.names & names.own:
        return False
    if entry.names & names.others:
        return True
    rows, heads = _axes(answer, entry.table, names)
    if (heads and _is_name(entry.head, cell)) or (rows and _is_name(entry.label, cell)):
        return True
    if cell.own and not entry.names & cell.entities and above(answer, entry.table.start, (cell.own, cell.entities - cell.own)) == 1:
        return True
    return bool(names.others) and above(answer, entry.table.start, (names.own, names.others)) == 1


def _axes(answer: Answer, table: Table, names: Names) -> tuple[bool, bool]:
    """Whether the asked company is named among the rows and among the heads of a table."""
    key = ("axes", table.start, names)
    kept: list[tuple[bool, bool]] = answer.kept.get(key, [])
    if not kept:
        labels = " ".join(cell.text for row in table.rows[:200] for cell in row[:2] if not any(c.isdigit() for c in cell.text))
        heads = " ".join(table.head[1:])
        rows = _COMPANIES.match(table.head[0] if table.head else "") is not None
        kept = answer.kept[key] = [(rows or bool(_names_in(labels) & names.own), bool(_names_in(heads) & names.own))]
    return kept[0]


_COMPANIES: Final = re.compile(r"^\W*(?:compan(?:y|ies)|banks?|issuers?|firms?|peers?|tickers?|entit(?:y|ies)|names?)\W*$", re.IGNORECASE)
"""The head of a column of companies."""


def _names_in(text: str) -> frozenset[str]:
    return frozenset(w.lower() for w in re.findall(r"\w+", text))


def _is_name(label: str, cell: Cell) -> bool:
    """Whether a label names neither a metric nor a period nor a unit, but something else: a company, an industry."""
    telling = words_of(AVERAGE.sub(" ", CHANGE.sub(" ", label))) - _UNIT_WORDS - _TIMES
    return bool(telling) and not spread(telling) & cell.weights.keys() and not metrics_in(label) and not cell.heard(telling) & cell.words


_TIMES: Final = frozenset(
    ["yr", "actual", "reported", "current", "prior", "previous", "latest", "ttm", "ltm", "quarter", "result", "comment"]
)


def _matched(words: frozenset[str], own: frozenset[str], wanted: frozenset[str], cell: Cell) -> float:
    """Words that label and head share with the cell, less those that they have besides."""
    shared = sum(2 * cell.weights.get(w, 0.5) for w in own & wanted)
    strange = sum(
        1 for w in words - wanted - _UNIT_WORDS if not CHANGE.fullmatch(w) and not AVERAGE.fullmatch(w) and not cell.heard((w,)) & wanted
    )
    return max(0.1, shared - 0.75 * strange)


def _dated(years: frozenset[str], cell: Cell, columns: int) -> float:
    if cell.years and years:
        return 1.0 if years.intersection(cell.years) else 0.0
    if cell.average or cell.change:
        return 1.0
    return 0.5 if columns == 2 or not cell.years else 0.3


_CANDIDATES: Final = re.compile(
    r"\b(?:candidates?|possible (?:values?|figures?|answers?|amounts?|results?|readings?)|possibilit(?:y|ies)|guesses|could be|one of (?:these|the following)|any of)\b",
    re.IGNORECASE,
)
"""What says of a table that its figures are none yet."""
_HEDGE: Final = re.compile(r"^[\s)]*(?:or|to|-|–|/|~|and|,)\s*[$€£]?\s*$", re.IGNORECASE)


def _figure(entry: Entry, cell: Cell, answer: Answer) -> tuple[Number, tuple[Number, ...]] | None:
    """The figure of a table's cell with the unit and scale of its row or head, and figures beside it; negative in brackets."""
    text, start, label, corner = entry.text[:MAX_LABEL], entry.start, f"{entry.label} {entry.head}", entry.corner
    own = numbers(text, answer.ignore, lengths=answer.lengths)
    if not own or len(own) > 4:
        return None
    said = [_completed(one, label, corner, cell) for one in own]
    fitting = [
        n
        for n in (n if n.scale else evolve(scaled(evolve(n, start=start), "", cell, answer), start=n.start) for n in said)
        if cell.kind is None or (can_be(n, cell.kind) and plausible(n, cell.kind))
    ]
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
        elif (
            cell.kind in (None, "amount")
            and not _PER_SHARE.search(label)
            and not cell.words & _PER_UNIT
            and (scale := head_scale(label) or head_scale(corner))
        ):
            number = evolve(number, kind="amount", scale=scale)
    return number


_ALL: Final = re.compile(
    r"\b(?:all|the|these)?\s*(?:figures|amounts|numbers|values|dollar amounts)\s+(?:\w+\s+){0,3}?in\s+(?:(?:USD|US\$|U\.S\.|EUR|GBP|CHF|JPY|[$€£])\s?)?"
    r"(?P<word>thousands|millions|billions)\b",
    re.IGNORECASE,
)
_ASIDE: Final = re.compile(r"\((?P<note>[^()\d]{2,60})\)")
_PER_SHARE: Final = re.compile(
    r"\bEPS\b|\bper (?:\w+ )?(?:share|unit|ounce|barrel|ton|gallon)\b|/\s?(?:share|oz|bbl|gal|t)\b", re.IGNORECASE
)
_PER_UNIT: Final = frozenset(["per", "eps", "price"])


def scaled(number: Number, before: str, cell: Cell, answer: Answer) -> Number:
    """A bare figure in the scale that its sentence, `(in thousands)`, or the answer states before it, once for all."""
    if number.kind not in ("plain", "amount") or number.scale is not None or cell.kind not in (None, "amount") or cell.words & _PER_UNIT:
        return number
    notes = (head_scale(m["note"]) for m in reversed(list(_ASIDE.finditer(before))))
    scale = next((s for s in notes if s is not None), None) or stated_scale(answer, number.start)
    return number if scale is None else evolve(number, kind="amount", scale=scale)


def stated_scale(answer: Answer, at: int) -> Decimal | None:
    """What an answer states of all its figures before a place: `All figures in thousands of USD.`"""
    if "scales" not in answer.kept:
        answer.kept["scales"] = [(m.end(), Decimal(10) ** SCALES[m["word"].lower()]) for m in _ALL.finditer(answer.text)]
    told = [scale for end, scale in answer.kept["scales"] if end <= at]
    return told[-1] if told else None


def head_scale(head: str) -> Decimal | None:
    """The scale that a label states: `USD millions`, `in thousands`, `$'000`, `Mio. EUR`; none for what is per share or a ratio."""
    if re.search(r"\bper (?:\w+ )?share\b|\bratio\b|\bmargin\b", head, re.IGNORECASE):
        return None
    found = _SCALE.search(head)
    if found is None:
        return None
    word = found["one"] or found["two"] or found["four"]
    return Decimal(10) ** SCALES[word.lower()] if word else Decimal(1000)
