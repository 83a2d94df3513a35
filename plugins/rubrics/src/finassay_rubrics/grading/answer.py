"""An answer taken apart: tables, sentences, and the figures in them."""

from bisect import bisect_left
from collections.abc import Iterable
from typing import Any, Final

from attrs import field, frozen

from finassay_rubrics.grading.locate import results_of, sentences_of, words_of
from finassay_rubrics.grading.numbers import Number, numbers
from finassay_rubrics.grading.tables import Table, tables, without_tables
from finassay_rubrics.grading.vocabulary import spread

MAX_SENTENCES: Final = 3_000
MAX_SENTENCE: Final = 2_000
"""Characters of one sentence; a longer one goes on as another."""


@frozen
class Sentence:
    """A sentence of the prose, or a row of a table read as one."""

    start: int
    text: str
    numbers: tuple[Number, ...]
    results: tuple[Number, ...]
    """Those of them that are no operands."""
    words: frozenset[str]
    paragraph: int = 0
    _spread: dict[frozenset[str], frozenset[str]] = field(init=False, factory=dict, eq=False, repr=False)

    def about(self, entities: frozenset[str]) -> frozenset[str]:
        """Its words, and what they stand for, without the names of entities."""
        if entities not in self._spread:
            self._spread[entities] = spread(self.words - entities)
        return self._spread[entities]


@frozen
class Answer:
    """An answer taken apart. `lengths`: lengths of time (`25 months`) are figures, too."""

    text: str
    ignore: frozenset[str] = frozenset()
    lengths: bool = False
    tables: tuple[Table, ...] = field(init=False)
    prose: str = field(init=False)
    sentences: tuple[Sentence, ...] = field(init=False)
    rows: tuple[Sentence, ...] = field(init=False)
    """Rows of tables: `Trustee | Castellan`."""
    kept: dict[object, list[Any]] = field(init=False, factory=dict, eq=False, repr=False)
    """What was made of it once and is asked for again."""

    @tables.default
    def _find_tables(self) -> tuple[Table, ...]:
        return tuple(tables(self.text))

    @prose.default
    def _cut_prose(self) -> str:
        return without_tables(self.text, self.tables)

    @sentences.default
    def _split(self) -> tuple[Sentence, ...]:
        figures = numbers(self.prose, self.ignore, lengths=self.lengths)
        places = [n.start for n in figures]
        found: list[Sentence] = []
        start = paragraph = 0
        for line in self.prose.splitlines(keepends=True):
            paragraph += not line.strip()
            for offset, text in _bounded(sentences_of(line)):
                begin = start + offset
                own = figures[bisect_left(places, begin) : bisect_left(places, begin + len(text))]
                if text.strip() and len(found) < MAX_SENTENCES:
                    found.append(Sentence(begin, text, tuple(own), tuple(results_of(text, begin, own)), words_of(text), paragraph))
            start += len(line)
        return tuple(found)

    @rows.default
    def _read_rows(self) -> tuple[Sentence, ...]:
        found = []
        for table in self.tables:
            for row in table.rows[:MAX_SENTENCES]:
                text = self.text[row[0].start : row[-1].start + len(row[-1].text)][:MAX_SENTENCE]
                found.append(Sentence(row[0].start, text, (), (), words_of(text), -1))
        return tuple(found[:MAX_SENTENCES])


def _bounded(parts: Iterable[tuple[int, str]]) -> Iterable[tuple[int, str]]:
    for offset, text in parts:
        for at in range(0, len(text), MAX_SENTENCE):
            yield offset + at, text[at : at + MAX_SENTENCE]
