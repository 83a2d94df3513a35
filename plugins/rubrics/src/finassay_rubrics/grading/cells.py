"""The figure that an answer gives for one cell: a metric, a period, a level, a change or an average."""

import re
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from decimal import Decimal
from itertools import pairwise
from typing import Final

from attrs import evolve, field, frozen

from finassay_rubrics.grading.locate import Located, Target, _results, _sentences, locate, words_of
from finassay_rubrics.grading.numbers import SCALES, Number, numbers
from finassay_rubrics.grading.tables import Table, tables, without_tables

CHANGE: Final = re.compile(
    r"\b(chang\w*|differenc\w*|delta|growth|grew|increas\w*|decreas\w*|declin\w*|fell|fall\w*|drop\w*|rose|ris\w*|slip\w*|eas(?:ed|es|ing)|lower\w*|higher|improv\w*"
    r"|worsen\w*|widen\w*|narrow\w*|contract\w*|expand\w*|up|down|less|more|added|lost|gain\w*|effect)\b",
    re.IGNORECASE,
)
AVERAGE: Final = re.compile(r"\b(average\w*|mean)\b", re.IGNORECASE)
_YEAR: Final = re.compile(r"(?<!\d)((?:19|20)\d\d)(?!\d)")
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


MAX_FIGURES: Final = 200
"""Figures of one sentence that are looked at."""
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
    own = _YEAR.findall(text)
    years = tuple(dict.fromkeys(own or _YEAR.findall(period)))
    average = bool(AVERAGE.search(text))
    return Cell(words, () if average or moves or ".." in period else years, moves, average, frozenset(names))


def given(answer: Answer, cell: Cell) -> Given:
    """The figure for a cell: a table's cell, then sentences. Nothing where there is none."""
    from_table = _from_tables(answer, cell)
    from_prose = _from_prose(answer, cell)
    if from_table.figures:
        rivals = tuple(n for n in from_prose.figures if n.units != from_table.figures[0].units) if from_prose.how == "paired" else ()
        return evolve(from_table, rivals=rivals)
    if from_prose.figures:
        return from_prose
    return Given()


# -- tables -----------------------------------------------------------------------------------------------------------


def _from_tables(answer: Answer, cell: Cell) -> Given:
    best: tuple[float, Given] = (0.0, Given())
    for table in answer.tables:
        for score, found in _table_cells(table, cell, answer.ignore):
            if score > best[0]:
                best = (score, found)
    return best[1]


def _table_cells(table: Table, cell: Cell, ignore: frozenset[str]) -> list[tuple[float, Given]]:
    found = []
    for row in table.rows:
        label = row[0].text
        score = _label_score(label, cell)
        if score <= 0 or (cell.change != bool(CHANGE.search(label)) and not _change_column(table, cell)):
            continue
        for column in range(1, len(row)):
            fits = _column_fits(table.head[column] if column < len(table.head) else "", cell, len(row))
            if fits and (figure := _figure(table, row[column].text, row[column].start, label, ignore)):
                found.append((score + fits, Given((figure,), quote=f"{label} | {row[column].text}", how="table")))
    return found


def _change_column(table: Table, cell: Cell) -> bool:
    return cell.change and any(CHANGE.search(h) for h in table.head[1:])


def _label_score(label: str, cell: Cell) -> float:
    """Words that a row's label shares with the cell, less those that it has besides."""
    own = _spread(words_of(label, cell.entities))
    if AVERAGE.search(label) and not cell.average:
        return 0.0
    wanted = _spread(cell.words)
    shared = own & wanted
    return len(shared) - 0.75 * len(words_of(label, cell.entities) - wanted) if shared else 0.0


def _spread(words: Iterable[str]) -> frozenset[str]:
    """Words with those that they stand for."""
    return frozenset(w for word in words for w in (word, *SYNONYMS.get(word, ())))


def _column_fits(head: str, cell: Cell, columns: int) -> float:
    years = _YEAR.findall(head)
    if cell.change:
        return 1.0 if CHANGE.search(head) or columns == 2 else 0.0
    if cell.average:
        return 1.0 if AVERAGE.search(head) or not years else 0.0
    if cell.years:
        return 1.0 if any(y in years for y in cell.years) else 0.5 if not years and columns == 2 else 0.0
    return 0.6


def _figure(table: Table, text: str, start: int, label: str, ignore: frozenset[str]) -> Number | None:
    """The figure of a table's cell with the unit and scale of its row or head; negative in brackets."""
    own = numbers(text, ignore)
    if len(own) != 1:
        return None
    number = evolve(own[0], start=own[0].start + start, end=own[0].end + start)
    if number.bracketed and number.value > 0:
        number = evolve(number, value=-number.value)
    head = f"{label} {table.text_of_head}"
    if number.kind == "plain":
        if re.search(r"%|percent|\bpct\b", label, re.IGNORECASE):
            number = evolve(number, kind="percent")
        elif re.search(r"\bx\b|times|multiple", label, re.IGNORECASE):
            number = evolve(number, kind="times")
        elif number.scale is None and (scale := _head_scale(head)):
            number = evolve(number, kind="amount", scale=scale)
    return number


def _head_scale(head: str) -> Decimal | None:
    found = re.search(r"\b(?:usd|us\$|\$|in|eur|€)\s*(thousands?|millions?|billions?|mn|bn|m|b|k)\b", head, re.IGNORECASE)
    return Decimal(10) ** SCALES[found[1].lower()] if found else None


# -- sentences --------------------------------------------------------------------------------------------------------


def _from_prose(answer: Answer, cell: Cell) -> Given:
    """The sentence that speaks most of the cell; of equals the last. One that speaks of its topic goes by the sentence before."""
    best: tuple[float, Given] = (0.0, Given())
    alternatives: list[Number] = []
    topic: frozenset[str] = frozenset()
    wanted = _spread(cell.words)
    for one in answer.sentences:
        begin, sentence, figures = one.start, one.text, one.results[:MAX_FIGURES]
        said = one.about(cell.entities)
        own_share, topic_share = (len(words & wanted) / max(1, len(cell.words)) for words in (said, topic))
        here = max(own_share, 0.6 * topic_share, UNNAMED)
        topic = said if said & wanted else topic
        if not figures:
            continue
        chosen = _chosen(sentence, begin, figures, cell)
        if not chosen.figures:
            continue
        if _ALTERNATIVE.search(_before(sentence, chosen.figures[0].start - begin, 300)) and not cell.change:
            alternatives += chosen.figures
            continue
        weight = min(1.0, here) + (0.5 if chosen.how == "paired" else 0.0)
        if weight >= best[0]:
            best = (weight, evolve(chosen, quote=sentence.strip()[:400]))
    return evolve(best[1], alternatives=tuple(alternatives))


def _chosen(sentence: str, begin: int, figures: Sequence[Number], cell: Cell) -> Given:
    if cell.change:
        return _change_figure(sentence, begin, figures)
    if cell.average:
        return _average_figure(sentence, begin, figures)
    if cell.years:
        return _dated_figure(sentence, begin, figures, cell.years)
    plain = [n for n in figures if not _BY.search(_before(sentence, n.start - begin))]
    return Given(tuple(plain[:1]), how="sentence")


def _change_figure(sentence: str, begin: int, figures: Sequence[Number]) -> Given:
    change = CHANGE.search(sentence)
    if change is None:
        return Given()
    kinds = ("points", "basis points")
    after_by = [n for n in figures if _BY.search(_before(sentence, n.start - begin))]
    pointed = [n for n in figures if n.kind in kinds]
    chosen = after_by[:1] or pointed[:1] or [n for n in figures if n.start - begin > change.start()][:1]
    if not chosen:
        return Given()
    forms = [n for n in figures if n is not chosen[0] and n.kind in (*kinds, chosen[0].kind, "plain") and 0 < n.start - chosen[0].end < 25]
    return Given((*chosen, *forms), how="sentence")


def _average_figure(sentence: str, begin: int, figures: Sequence[Number]) -> Given:
    for word in AVERAGE.finditer(sentence):
        after = [n for n in figures if n.start - begin >= word.end() and not _YEAR.search(sentence[word.end() : n.start - begin])]
        if after:
            return Given((after[0],), how="paired")
    return Given()


def _dated_figure(sentence: str, begin: int, figures: Sequence[Number], years: tuple[str, ...]) -> Given:
    """The figure that goes with a year: lists of as many figures as years in order, else the nearest of each clause; `from a to b` in time."""
    marks = [(m.start(), m[1]) for m in _YEAR.finditer(sentence)]
    levels = [n for n in figures if not _BY.search(_before(sentence, n.start - begin)) and not _is_average(sentence, begin, n)]
    for number, mark in _pairs(sentence, begin, levels, marks):
        if mark in years:
            return Given((number,), how="paired")
    if not marks and len(levels) == 2 and _FROM_TO.search(_before(sentence, levels[0].start - begin)):
        return Given((), how="sentence")
    return Given()


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
    return bool(re.search(r"\b(?:average|mean)\b[^.;,]*$", _before(sentence, number.start - begin, 200), re.IGNORECASE))


def _pairs(sentence: str, begin: int, figures: Sequence[Number], marks: Sequence[tuple[int, str]]) -> list[tuple[Number, str]]:
    if not marks or not figures:
        return []
    places = [n.start - begin for n in figures]
    apart = max(places) < marks[0][0] or min(places) > marks[-1][0]
    if apart and len(figures) >= len(marks) > 1:
        return [(number, year) for number, (_, year) in zip(figures, marks, strict=False)]
    pairs, taken = [], set()
    for at, year in marks:
        following = next((i for i, p in enumerate(places) if p > at and i not in taken and not any(at < m < p for m, _ in marks)), None)
        preceding = next(
            (
                i
                for i in reversed(range(len(places)))
                if places[i] < at and i not in taken and not any(places[i] < m < at for m, _ in marks)
            ),
            None,
        )
        chosen = following if following is not None else preceding
        if chosen is not None:
            taken.add(chosen)
            pairs.append((figures[chosen], year))
    return pairs


def single(answer: str, cell: Cell, ignore: frozenset[str]) -> Located:
    """The one figure of an answer to a question with one cell."""
    return locate(answer, Target(cell.words, frozenset(), frozenset(cell.years), ignore))
