"""An answer as the parts of the grader read it: once, and in other ways only where figures are of another kind."""

from attrs import define, evolve, field

from finassay_rubrics.grading.answer import MAX_SENTENCES, Answer
from finassay_rubrics.grading.numbers import UnitKind
from finassay_rubrics.grading.score import Found
from finassay_rubrics.grading.text import MAX_ANSWER, Plain, plain
from finassay_rubrics.grading.years import Calendar, ends_named, years_in


@define
class Read:
    """One way of reading: the plain text and its parts."""

    plain: Plain
    answer: Answer

    def placed(self, found: Found) -> Found:
        """What was found, with its place in the answer as it was given."""
        return evolve(found, span=self.plain.span(found.span))


@define
class Reading:
    """An answer, read."""

    given: str
    ignore: frozenset[str] = frozenset()
    main: Read = field(init=False)
    _others: dict[tuple[bool, bool], Read] = field(init=False, factory=dict)

    def __attrs_post_init__(self) -> None:
        self.main = self._read(spelled=False, lengths=False)

    @property
    def cut(self) -> bool:
        """Whether the answer is longer than what is read of it."""
        return len(self.given) > MAX_ANSWER or len(self.main.answer.sentences) >= MAX_SENTENCES

    def _read(self, *, spelled: bool, lengths: bool) -> Read:
        text = plain(self.given, spelled=spelled)
        return Read(text, Answer(text.text, self.ignore, lengths))

    def ways(self, kind: UnitKind | None) -> list[tuple[bool, bool]]:
        """(spelled, lengths) of the readings to try for a kind of figure, in order."""
        return {"months": [(True, True)], "plain": [(True, False)], "days": [(False, False), (True, False)]}.get(
            kind or "", [(False, False)]
        )

    def way(self, way: tuple[bool, bool]) -> Read:
        if way == (False, False):
            return self.main
        if way not in self._others:
            self._others[way] = self._read(spelled=way[0], lengths=way[1])
        return self._others[way]

    def calendar(self, asked: list[str]) -> Calendar | None:
        """How the answer itself names fiscal years by their ends, where it tells; else by which rule its columns hold the years that are asked about."""
        named = ends_named(self.main.answer.text[:20_000])
        if named:
            return Calendar(*named[0])
        heads = [cell for table in self.main.answer.tables[:20] for cell in (*table.head, *(row[0].text for row in table.rows[:40]))]
        held = {shift: {y for head in heads for y in years_in(head, Calendar(shift=shift))} & set(asked) for shift in (0, -1)}
        return Calendar(shift=-1) if len(held[-1]) > len(held[0]) else None
