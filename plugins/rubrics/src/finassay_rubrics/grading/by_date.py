"""Date criteria: the date of the sentence that speaks most of what is dated."""

from bisect import bisect_right
from collections.abc import Sequence
from itertools import islice
from typing import Final

from finassay_rubrics.grading.cells import cell_of
from finassay_rubrics.grading.dates import Day, dates, same
from finassay_rubrics.grading.locate import words_of
from finassay_rubrics.grading.reading import Read
from finassay_rubrics.grading.score import Found
from finassay_rubrics.grading.view import RubricView
from finassay_rubrics.grading.vocabulary import spread
from finassay_rubrics.grading.years import YEAR, years_in
from finassay_rubrics.record.rubric import Criterion

PROGRAM: Final = "program"
MAX_DATES: Final = 1_000
MAX_IN_SENTENCE: Final = 60


def grade_date(view: RubricView, criterion: Criterion, expected: Day, read: Read) -> Found:
    """Whether the answer gives the expected day, or the month where no more is expected; after the words that name it where there are several."""
    answer = read.answer
    cell = cell_of(criterion.text, "", view.entities)
    words = spread(cell.words - {"date", "day"})
    labels = frozenset(years_in(criterion.text))
    best: tuple[float, int, Day] | None = None
    looked = 0
    for one in (*answer.sentences, *answer.rows):
        if looked > MAX_DATES:
            break
        said = one.about(cell.entities)
        found = list(islice(dates(one.text), MAX_IN_SENTENCE))
        named = _labels(one.text, found) if found else frozenset()
        fits = bool(labels & named) - bool(labels and named and not labels & named)
        for previous, day in zip((None, *found), found, strict=False):
            looked += 1
            begins = max(0, day.start - 400, previous.end if previous else 0)
            before = spread(words_of(one.text[begins : day.start], cell.entities))
            share = (len(said & words) + len(before & words)) / max(1, len(words)) + fits
            if (share > 0 or not (words or labels)) and (best is None or share >= best[0]):
                best = (share, one.start, day)
    if best is None:
        return Found("unmet", "the answer gives no date for it", by=PROGRAM)
    _, begin, day = best
    right = same(day, expected)
    shown = answer.text[begin + day.start : begin + day.end]
    return read.placed(
        Found(
            "met" if right else "unmet",
            "" if right else "expected another date",
            (begin + day.start, begin + day.end),
            shown,
            shown,
            PROGRAM,
        )
    )


def _labels(text: str, found: Sequence[Day]) -> frozenset[str]:
    """The fiscal years that a sentence names besides its dates."""
    starts = [d.start for d in found]
    free = [m for m in YEAR.finditer(text) if not (at := bisect_right(starts, m.start())) or found[at - 1].end <= m.start()]
    return frozenset(m[1] or f"20{m[2] or m[3]}" for m in free)
