"""The figure that an answer gives for one cell: a metric, a period, a level, a change or an average."""

import re
from collections.abc import Iterable, Mapping
from datetime import date
from typing import TYPE_CHECKING, Final

from attrs import evolve, field, frozen

from finassay_rubrics.grading.dates import dates
from finassay_rubrics.grading.locate import words_of
from finassay_rubrics.grading.numbers import Number, UnitKind
from finassay_rubrics.grading.vocabulary import AVERAGE, CHANGE, initials_of, spread, stem
from finassay_rubrics.grading.whose import metrics_in
from finassay_rubrics.grading.years import PLAIN, Calendar, part_in, years_in

if TYPE_CHECKING:
    from finassay_rubrics.grading.answer import Answer

SURE: Final = 0.6
"""How much of the metric a sentence must name for its figure to stand against a table's."""
BETTER: Final = 0.25
"""How much more of the metric a sentence must name than a table's labels to be believed before them."""
_VERBS: Final = frozenset(
    ["state", "state's", "name", "size", "show", "compute", "report", "add", "mention", "provide", "list", "quantify", "disclose"]
)


@frozen
class Cell:
    """What a numeric criterion asks for."""

    words: frozenset[str]
    years: tuple[str, ...] = ()
    change: bool = False
    average: bool | None = False
    """Whether it is an average over periods; None where `average` belongs to the metric's name and says nothing."""
    entities: frozenset[str] = frozenset()
    """Words of the names of all entities: they name no metric."""
    kind: UnitKind | None = None
    """What kind of quantity it is; None where that is open."""
    own: frozenset[str] = frozenset()
    """Words of the name of the entity that is asked about; empty where there is only one."""
    weights: Mapping[str, float] = field(factory=dict, eq=False)
    """What a word tells: less, the more cells of the rubric have it. A word that is not here counts 1."""
    calendar: Calendar = PLAIN
    of_year: str = ""
    """The year that a change is of, where its text names one year alone: `2022 organic growth`."""
    growth: bool = False
    """Whether a growth is what is asked for: the word then tells no direction."""
    at: str = ""
    """`end` or `beginning` of the period, where one of them is asked for."""
    part: str = ""
    """`Q2` or `H1` where it is no whole year."""
    metrics: frozenset[str] = frozenset()
    """Ids of the metrics of the table that it names; empty where it is none of them."""
    known: frozenset[str] = field(factory=frozenset, eq=False)
    """All words of a rubric that tells whose figures it asks for; a company of other words is another one."""
    issuers: frozenset[str] = field(factory=frozenset, eq=False)
    """Words of the names of those that are asked about, where the rubric tells them."""
    reported: bool = False
    """Whether it is known to be of the past, so that a plan is no answer."""

    acronyms: Mapping[str, frozenset[str]] = field(factory=dict, eq=False)
    """What its words can be shortened to."""

    def heard(self, words: Iterable[str]) -> frozenset[str]:
        """Words with what they stand for, acronyms of this cell's own words among it."""
        own = frozenset(words)
        return spread(own | {w for short in self.acronyms.keys() & own for w in self.acronyms[short]})

    @property
    def asked(self) -> frozenset[str]:
        """Words of the name of the company whose figure it is; empty where nothing tells."""
        return self.own or self.issuers

    def share(self, found: Mapping[str, float]) -> float:
        """Share of the metric's words that are found, each as near as `found` says (from 0 to 1)."""
        total = sum(self.weights.get(w, 1.0) for w in self.words)
        said = sum(self.weights.get(w, 1.0) * max(found.get(w, 0.0), found.get(stem(w), 0.0)) for w in self.words)
        return said / total if total else 0.0


@frozen
class Given:
    """What an answer gives for a cell."""

    figures: tuple[Number, ...] = ()
    """The main figure and other forms of the same value."""
    alternatives: tuple[Number, ...] = ()
    """Figures that the answer labels as those of another convention or assumption."""
    rivals: tuple[Number, ...] = ()
    """Other final figures for the same cell."""
    hedges: tuple[Number, ...] = ()
    """Figures that stand beside the main one as if either would do: `3.1% or 3.4%`, `between 16.9% and 17.8%`."""
    quote: str = ""
    how: str = ""
    named: float = 0.0
    """How much of the metric the surroundings name, from 0 to 1."""
    label: str = ""
    """What leads to the figure: the row and the column, or the text before it."""


def cell_of(text: str, period: str, entities: Iterable[str] = (), *, change: bool | None = None, end: date | None = None) -> Cell:
    """The cell of a criterion's text, `States fiscal 2022 net revenue`, and its route's period, which may tell where it ends."""
    names = {w.lower() for entity in entities for w in re.findall(r"\w+", entity)}
    words = frozenset(w for w in words_of(text, names) if w not in _VERBS and not CHANGE.fullmatch(w) and not AVERAGE.fullmatch(w))
    moves = bool(CHANGE.search(text)) if change is None else change
    own = years_in(text)
    years = tuple(dict.fromkeys(own or years_in(period)))
    several = ".." in period or len(years) != 1 or bool(re.search(r"\byear average|average over|mean of", text, re.IGNORECASE))
    average = (True if several else None) if AVERAGE.search(text) else False
    ending = end or next((d.as_date for d in dates(period) if d.day), None) or next((d.as_date for d in dates(text) if d.day), None)
    calendar = Calendar(years[0] if years else "", ending) if ending else PLAIN
    return Cell(
        words,
        () if average or moves or ".." in period else years,
        moves,
        average,
        frozenset(names),
        calendar=calendar,
        at=at_in(text),
        of_year=years[0] if moves and len(years) == 1 and ".." not in period else "",
        growth=bool(re.search(r"\bgrowth\b", text, re.IGNORECASE)),
        part=part_in(text) or part_in(period),
        metrics=metrics_in(text),
        acronyms=initials_of(text),
    )


_AT: Final = re.compile(
    r"\b(?:(?P<end>year[- ]end|end of|at the end|ending|closing balance|period[- ]end)|(?P<beginning>beginning|start of|opening balance))\b",
    re.IGNORECASE,
)


def at_in(text: str) -> str:
    """`end` or `beginning` of a period, by the first that a text names; empty for neither."""
    found = _AT.search(text)
    return (found.lastgroup or "") if found else ""


def given(answer: "Answer", cell: Cell) -> Given:
    """The figure for a cell: a table's cell, then sentences. Nothing where there is none."""
    from finassay_rubrics.grading.in_prose import from_prose
    from finassay_rubrics.grading.in_tables import from_tables

    from_table = from_tables(answer, cell)
    prose = from_prose(answer, cell)
    if prose.figures and prose.named > from_table.named + BETTER:
        return prose
    if from_table.figures:
        rivals = (
            tuple(n for n in prose.figures if n.units != from_table.figures[0].units)
            if prose.how == "paired" and prose.named >= SURE
            else ()
        )
        return evolve(from_table, rivals=(*from_table.rivals, *rivals))
    return prose if prose.figures else Given()
