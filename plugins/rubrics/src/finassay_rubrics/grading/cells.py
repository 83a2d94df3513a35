"""The figure that an answer gives for one cell: a metric, a period, a level, a change or an average."""

import re
from bisect import bisect_left
from collections.abc import Iterable, Mapping
from decimal import Decimal
from itertools import pairwise
from typing import Final

from attrs import Factory, evolve, field, frozen

from finassay_rubrics.grading.compare import can_be
from finassay_rubrics.grading.locate import _results, _sentences, words_of
from finassay_rubrics.grading.numbers import SCALES, Number, UnitKind, numbers
from finassay_rubrics.grading.tables import Table, tables, without_tables
from finassay_rubrics.grading.years import YEAR, years_in, years_of

CHANGE: Final = re.compile(
    r"\b(chang\w*|differenc\w*|delta|growth|grew|increas\w*|decreas\w*|declin\w*|fell|fall\w*|drop\w*|rose|ris\w*|slip\w*|eas(?:ed|es|ing)|lower\w*|higher|improv\w*"
    r"|worsen\w*|widen\w*|narrow\w*|contract\w*|expand\w*|up|down|less|more|added|lost|gain\w*|effect)\b",
    re.IGNORECASE,
)
AVERAGE: Final = re.compile(r"\b(average\w*|mean)\b", re.IGNORECASE)
_ALTERNATIVE: Final = re.compile(
    r"\b(had (?:i|we)|if (?:we|i|one|you)|would (?:be|have)|alternativ\w+|without|exclud\w+|leaving out|left out|instead|on the other|under the other|otherwise)\b",
    re.IGNORECASE,
)
_FROM_TO: Final = re.compile(r"\bfrom\s+$", re.IGNORECASE)
_BY: Final = re.compile(r"\bby\s+(?:about |approximately |around |roughly |some |nearly |just )?$", re.IGNORECASE)
SYNONYMS: Final[dict[str, tuple[str, ...]]] = {
    "leverage": ("net", "debt", "ebitda"),
    "multiple": ("net", "debt", "ebitda"),
    "fcf": ("free", "cash", "flow"),
    "sale": ("revenue",),
    "turnover": ("revenue",),
    "payout": ("dividend", "share"),
    "earning": ("income", "profit"),
    "profit": ("income", "earning"),
    "income": ("profit", "earning"),
    "capex": ("capital", "expenditure", "spending"),
}
"""Words of finance that stand for others, in the stems of `words_of`."""


WINDOW: Final = 400
"""Characters before and after a figure that can speak of it."""
MAX_FIGURES: Final = 60
"""Figures of one sentence that are looked at."""
BETTER: Final = 0.25
"""How much more of the metric a sentence must name than a table's labels to be believed before them."""
UNNAMED: Final = 0.05
"""What a sentence weighs that does not name the metric: an answer to one question often does not repeat it."""


@frozen
class Cell:
    """What a numeric criterion asks for."""

    words: frozenset[str]
    years: tuple[str, ...] = ()
    change: bool = False
    average: bool = False
    entities: frozenset[str] = frozenset()
    """Words of the names of all entities: they name no metric."""
    kind: UnitKind | None = None
    """What kind of quantity it is; None where that is open."""
    own: frozenset[str] = frozenset()
    """Words of the name of the entity that is asked about; empty where there is only one."""
    weights: Mapping[str, float] = Factory(dict)
    """What a word tells: less, the more cells of the rubric have it. A word that is not here counts 1."""

    def share(self, found: Mapping[str, float]) -> float:
        """Share of the metric's words that are found, each as near as `found` says (from 0 to 1)."""
        total = sum(self.weights.get(w, 1.0) for w in self.words)
        return sum(self.weights.get(w, 1.0) * found.get(w, 0.0) for w in self.words) / total if total else 0.0


@frozen
class Given:
    """What an answer gives for a cell."""

    figures: tuple[Number, ...] = ()
    """The main figure and other forms of the same value."""
    alternatives: tuple[Number, ...] = ()
    """Figures that the answer labels as those of another convention or assumption."""
    rivals: tuple[Number, ...] = ()
    """Other final figures for the same cell."""
    quote: str = ""
    how: str = ""
    named: float = 0.0
    """How much of the metric the surroundings name, from 0 to 1."""


@frozen
class Sentence:
    """A sentence of the prose."""

    start: int
    text: str
    numbers: tuple[Number, ...]
    results: tuple[Number, ...]
    """Those of them that are no operands."""
    words: frozenset[str]

    def about(self, entities: frozenset[str]) -> frozenset[str]:
        """Its words, and what they stand for, without the names of entities."""
        return _spread(self.words - entities)


@frozen
class Answer:
    """An answer taken apart."""

    text: str
    ignore: frozenset[str] = frozenset()
    tables: tuple[Table, ...] = field(init=False)
    prose: str = field(init=False)
    sentences: tuple["Sentence", ...] = field(init=False)

    @tables.default
    def _find_tables(self) -> tuple[Table, ...]:
        return tuple(tables(self.text))

    @prose.default
    def _cut_prose(self) -> str:
        return without_tables(self.text, self.tables)

    @sentences.default
    def _split(self) -> tuple["Sentence", ...]:
        figures = numbers(self.prose, self.ignore)
        places = [n.start for n in figures]
        found, start = [], 0
        for line in self.prose.splitlines(keepends=True):
            for offset, text in _sentences(line):
                begin = start + offset
                own = figures[bisect_left(places, begin) : bisect_left(places, begin + len(text))]
                if text.strip():
                    found.append(Sentence(begin, text, tuple(own), tuple(_results(text, begin, own)), words_of(text)))
            start += len(line)
        return tuple(found)


def cell_of(text: str, period: str, entities: Iterable[str] = (), *, change: bool | None = None) -> Cell:
    """The cell of a criterion's text, `States fiscal 2022 net revenue`, and its route's period."""
    names = {w.lower() for entity in entities for w in re.findall(r"\w+", entity)}
    verbs = {"state", "state's", "name", "size", "show", "compute", "report", "add", "mention"}
    words = frozenset(w for w in words_of(text, names) if w not in verbs and not CHANGE.fullmatch(w) and not AVERAGE.fullmatch(w))
    moves = bool(CHANGE.search(text)) if change is None else change
    own = years_in(text)
    years = tuple(dict.fromkeys(own or years_in(period)))
    average = bool(AVERAGE.search(text))
    return Cell(words, () if average or moves or ".." in period else years, moves, average, frozenset(names))


def given(answer: Answer, cell: Cell) -> Given:
    """The figure for a cell: a table's cell, then sentences. Nothing where there is none."""
    from_table = _from_tables(answer, cell)
    from_prose = _from_prose(answer, cell)
    if from_prose.figures and from_prose.named > from_table.named + BETTER:
        return from_prose
    if from_table.figures:
        rivals = tuple(n for n in from_prose.figures if n.units != from_table.figures[0].units) if from_prose.how == "paired" else ()
        return evolve(from_table, rivals=rivals)
    if from_prose.figures:
        return from_prose
    return Given()


# -- tables -----------------------------------------------------------------------------------------------------------

_UNIT_WORDS: Final = frozenset(
    ["usd", "eur", "gbp", "mn", "bn", "mm", "pct", "ratio", "x", "m", "k", "b", "thousand", "item", "metric", "reported", "net"]
)
"""Words of a label that name no other metric."""


def _from_tables(answer: Answer, cell: Cell) -> Given:
    best: tuple[float, Given] = (0.0, Given())
    for table in answer.tables:
        for score, found in _table_cells(table, cell, answer.ignore):
            if score > best[0]:
                best = (score, found)
    return best[1]


def _table_cells(table: Table, cell: Cell, ignore: frozenset[str]) -> list[tuple[float, Given]]:
    """Every figure of a table that fits a cell by its row's label and its column's head, whichever of them names metric, year and entity."""
    found = []
    corner = table.head[0] if table.head else ""
    for row in table.rows:
        label = row[0].text
        for column in range(1, len(row)):
            head = table.head[column] if column < len(table.head) else ""
            fit = _fits(label, head, corner, cell, len(row))
            if fit > 0 and (figure := _figure(row[column].text, row[column].start, f"{label} {head}", corner, cell, ignore)):
                named = cell.share(dict.fromkeys(_spread(words_of(f"{label} {head}", cell.entities)), 1.0))
                found.append((fit, Given((figure,), quote=f"{label} | {head}: {row[column].text}", how="table", named=named)))
    return found


def _fits(label: str, head: str, corner: str, cell: Cell, columns: int) -> float:
    said = f"{label} {head}"
    changes = bool(CHANGE.search(said))
    averages = bool(AVERAGE.search(said))
    if cell.change != changes or (averages and not cell.average) or (cell.average and not averages and columns > 2):
        return 0.0
    names = frozenset(w.lower() for w in re.findall(r"\w+", said))
    if cell.own and names & cell.entities and not names & cell.own:
        return 0.0
    words = words_of(said, cell.entities)
    own, wanted = _spread(words), _spread(cell.words)
    if not own & wanted:
        return 0.0
    dated = _dated(said, corner, cell, columns)
    return dated + _matched(words, own, wanted, cell) if dated > 0 else 0.0


def _matched(words: frozenset[str], own: frozenset[str], wanted: frozenset[str], cell: Cell) -> float:
    """Words that label and head share with the cell, less those that they have besides."""
    shared = sum(2 * cell.weights.get(w, 0.5) for w in own & wanted)
    strange = sum(1 for w in words - wanted - _UNIT_WORDS if not CHANGE.fullmatch(w) and not AVERAGE.fullmatch(w))
    return max(0.1, shared - 0.75 * strange)


def _dated(said: str, corner: str, cell: Cell, columns: int) -> float:
    years = years_in(said) or years_in(corner)
    if cell.years and years:
        return 1.0 if set(cell.years) & set(years) else 0.0
    if cell.average or cell.change:
        return 1.0
    return 0.5 if columns == 2 or not cell.years else 0.3


def _figure(text: str, start: int, label: str, corner: str, cell: Cell, ignore: frozenset[str]) -> Number | None:
    """The figure of a table's cell with the unit and scale of its row or head; negative in brackets."""
    own = numbers(text, ignore)
    if len(own) != 1:
        return None
    number = evolve(own[0], start=own[0].start + start, end=own[0].end + start)
    if number.bracketed and number.value > 0:
        number = evolve(number, value=-number.value)
    if number.kind in ("plain", "amount") and number.scale is None:
        if number.kind == "plain" and re.search(r"%|percent|\bpct\b", label, re.IGNORECASE):
            number = evolve(number, kind="percent")
        elif number.kind == "plain" and re.search(r"\bx\b|times|multiple", label, re.IGNORECASE):
            number = evolve(number, kind="times")
        elif cell.kind in (None, "amount") and (scale := _head_scale(label) or _head_scale(corner)):
            number = evolve(number, kind="amount", scale=scale)
    return number


def _spread(words: Iterable[str]) -> frozenset[str]:
    """Words with those that they stand for."""
    return frozenset(w for word in words for w in (word, *SYNONYMS.get(word, ())))


def _head_scale(head: str) -> Decimal | None:
    if re.search(r"\bper share\b|\bratio\b|\bmargin\b", head, re.IGNORECASE):
        return None
    found = re.search(
        r"\b(?:usd|us\$|in|eur|gbp)\s*(thousands?|millions?|billions?|mn|bn|m|b|k)\b|[$€£]\s*(thousands?|millions?|billions?|mn|bn|m|b|k)\b",
        head,
        re.IGNORECASE,
    )
    return Decimal(10) ** SCALES[(found[1] or found[2]).lower()] if found else None


# -- sentences --------------------------------------------------------------------------------------------------------

_MOVED: Final = re.compile(
    rf"(?:{CHANGE.pattern})\s*(?:of|by|:|was|is|amounts? to|came to)?\s*(?:about |approximately |around |roughly |some |nearly |just |only )?\(?$",
    re.IGNORECASE,
)
"""What stands before the size of a move: `down`, `a decline of`, `fell by`."""


def _from_prose(answer: Answer, cell: Cell) -> Given:
    """The figure whose surroundings speak most of the cell; of equals the last. A sentence without the metric goes by the one before."""
    best: tuple[float, Given] = (0.0, Given())
    alternatives: list[Number] = []
    topic: frozenset[str] = frozenset()
    year: str | None = None
    wanted = _spread(cell.words)
    for one in answer.sentences:
        said = one.about(cell.entities)
        for weight, chosen in _ranked(one, cell, topic, year):
            first = chosen.figures[0]
            if _ALTERNATIVE.search(_before(one.text, first.start - one.start, 300)) and not cell.change:
                alternatives.append(first)
            elif weight >= best[0]:
                best = (weight, evolve(chosen, quote=one.text.strip()[:400]))
        topic = said if said & wanted else topic
        year = next(reversed(years_in(one.text)), year)
    return evolve(best[1], alternatives=tuple(alternatives))


def _ranked(one: Sentence, cell: Cell, topic: frozenset[str], before: str | None) -> list[tuple[float, Given]]:
    """The figures of a sentence that can be the cell's, with what speaks for each, the best last. `before` is the year that was spoken of last."""
    figures = [n for n in one.results[:MAX_FIGURES] if cell.kind is None or _can_be(n, cell.kind)]
    dated = dict(zip([n.start for n in one.results[:MAX_FIGURES]], years_of(one.text, one.start, one.results[:MAX_FIGURES]), strict=True))
    found = []
    for number in figures:
        moved = _is_move(one, number, cell)
        if moved != cell.change or (not moved and _is_average(one.text, one.start, number) != cell.average):
            continue
        year = dated[number.start]
        if cell.years and year is not None and year not in cell.years:
            continue
        if cell.years and year is None and len(figures) == 2 and _FROM_TO.search(_before(one.text, figures[0].start - one.start)):
            continue
        named = cell.share(_near(one, number, topic, cell))
        entity = _of_entity(one, number, cell)
        if entity < 0:
            continue
        paired = cell.average or bool(cell.years and year is not None)
        inherited = not paired and before in cell.years
        weight = max(named, UNNAMED) * (1 + 0.5 * paired + 0.4 * inherited + 0.5 * entity)
        forms = _other_forms(one, number, cell)
        found.append((weight, Given((number, *forms), how="paired" if paired else "sentence", named=named)))
    return sorted(found, key=lambda f: (f[0], -f[1].figures[0].start if not cell.average else 0))


def _can_be(number: Number, kind: UnitKind) -> bool:
    if kind == "plain":
        return number.kind == "plain"
    return can_be(number, kind) and not (kind == "times" and number.kind == "days")


def _near(one: Sentence, number: Number, topic: frozenset[str], cell: Cell) -> dict[str, float]:
    """How near each word of the metric stands to a figure: in the text that leads to it, in what follows it, elsewhere, or in the topic."""
    at, end = number.start - one.start, number.end - one.start
    place = bisect_left(one.numbers, number.start, key=lambda n: n.start)
    ends = bisect_left(one.results, number.start, key=lambda n: n.start)  # operands part nothing
    left = one.results[ends - 1].end - one.start if ends else 0
    right = one.numbers[place + 1].start - one.start if place + 1 < len(one.numbers) else len(one.text)
    parts = (
        (one.text[max(left, at - WINDOW) : at], 1.0),
        (re.split(r"[,;(]|\band\b|\bagainst\b", one.text[end : min(right, end + WINDOW)])[0], 0.9),
        (one.text[max(0, left - WINDOW) : left], 0.6),
        (one.text[right : right + WINDOW], 0.35),
    )
    near: dict[str, float] = {}
    for text, weight in parts:
        for word in _spread(words_of(text, cell.entities)):
            near[word] = max(near.get(word, 0.0), weight)
    other = any(w not in cell.words and cell.weights.get(w, 0.0) >= 0.5 for w in one.words)
    for word in () if other else topic:  # a sentence that names another metric has its own topic
        near[word] = max(near.get(word, 0.0), 0.55)
    return near


def _of_entity(one: Sentence, number: Number, cell: Cell) -> int:
    """1 where the figure is said of the entity, -1 where of another one, 0 where nothing is said or asked."""
    if not cell.own:
        return 0
    at, end = number.start - one.start, number.end - one.start
    after = re.match(r"\s*(?:\(|for|at|of|by|,)?\s*([\w&’'-]+)", one.text[end:])
    following = re.sub(r"['’]s$", "", after[1]).lower() if after and re.match(r"\s*(?:\(|for|at|of|by)", one.text[end:]) else ""
    if following in cell.entities:
        return 1 if following in cell.own else -1
    named = [
        w for w in (re.sub(r"['’]s$", "", w).lower() for w in re.findall(r"[\w&’'-]+", _before(one.text, at, WINDOW))) if w in cell.entities
    ]
    if not named:
        return 0
    return 1 if named[-1] in cell.own else -1


def _is_move(one: Sentence, number: Number, cell: Cell) -> bool:
    """Whether a figure is the size of a change, not a level."""
    if number.kind in ("points", "basis points"):
        return cell.kind not in ("points", "basis points") or cell.change
    before = _before(one.text, number.start - one.start, 60)
    if cell.change:
        if any(n.kind in ("points", "basis points") for n in one.numbers) and cell.kind in ("points", "basis points"):
            return False
        return bool(_BY.search(before) or _MOVED.search(before) or re.search(rf"(?:{CHANGE.pattern})[^.;]*$", before, re.IGNORECASE))
    return bool(_BY.search(before)) and bool(CHANGE.search(_before(one.text, number.start - one.start + WINDOW // 2, WINDOW)))


def _other_forms(one: Sentence, number: Number, cell: Cell) -> list[Number]:
    """The same move in another unit: `0.7 percentage points (72 basis points)`."""
    if not cell.change:
        return []
    kinds = ("points", "basis points", number.kind, "plain")
    return [n for n in one.results if n is not number and n.kind in kinds and 0 < n.start - number.end < 25]


def _before(sentence: str, at: int, characters: int = 40) -> str:
    """What stands just before a place."""
    return sentence[max(0, at - characters) : at]


def from_to(answer: Answer, cell: Cell) -> tuple[Number, Number] | None:
    """(earlier, later) figure of a sentence `… from a to b`, without years."""
    wanted = _spread(cell.words)
    for one in answer.sentences:
        begin, sentence = one.start, one.text
        if not one.about(cell.entities) & wanted:
            continue
        for first, second in pairwise(one.numbers[:MAX_FIGURES]):
            between = sentence[first.end - begin : second.start - begin]
            if _FROM_TO.search(_before(sentence, first.start - begin)) and re.fullmatch(r"\s*to\s*", between):
                return first, second
    return None


def _is_average(sentence: str, begin: int, number: Number) -> bool:
    """Whether a figure is told to be an average; what stands in brackets before it is a remark."""
    before = re.sub(r"\([^()\d]*\)", " ", _before(sentence, number.start - begin, 200))
    last = next(reversed(list(AVERAGE.finditer(before))), None)
    if last is None:
        return False
    between = before[last.end() :]
    return not re.search(r"[.;]|,(?!\s*(?:or|i\.e))", between) and not YEAR.search(between)
