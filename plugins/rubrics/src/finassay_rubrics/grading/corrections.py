"""What an answer takes back: `Correction: …`, `the table above should read …`. What stood before it is no longer given."""

import re
from typing import TYPE_CHECKING, Final

from attrs import frozen

from finassay_rubrics.grading.compare import can_be
from finassay_rubrics.grading.vocabulary import AVERAGE
from finassay_rubrics.grading.years import years_in

if TYPE_CHECKING:
    from finassay_rubrics.grading.answer import Answer, Sentence
    from finassay_rubrics.grading.cells import Cell

MAX_GOES_ON: Final = 2
"""Sentences after one that takes back which can say what it is about."""
OWN: Final = 0.5
"""How much of a metric a correction must name to be about it, where it names any."""
_WRONG: Final = r"(?:wrong|incorrect|mistaken|erroneous|false|inaccurate|misstated|an? (?:\w+ )?(?:error|mistake|typo|slip))"
_CORRECTS: Final = re.compile(
    r"^\W*(?:correction|erratum|corrigendum|scratch that|on (?:second thought|re-?checking|review))\b"
    rf"|\b(?:figures?|numbers?|amounts?|values?|answers?|statements?|table|row|column|calculation|above)\b[^.;,]{{0,60}}\b(?:is|was|are|were|contains?|has)\s+{_WRONG}"
    r"|\bI (?:made|must correct|need to correct|should correct|have to correct|misread|misstated|mis-?typed|mixed up)\b"
    r"|\b(?:above|earlier|table|row|first|previous(?:ly)?|initial(?:ly)?|stated|given)\b[^.;]{0,60}\b(?:should|must|ought to)\s+(?:instead\s+)?(?:read|be|say|have (?:read|been|said))\b"
    r"|\b(?:should|must)\s+(?:instead\s+)?(?:read|have (?:read|been|said))\b",
    re.IGNORECASE,
)
_ABOVE: Final = re.compile(
    r"\b(?:above|earlier|previous(?:ly)?|first|initial(?:ly)?|correction|erratum|corrigendum|scratch|table|row|on re-?checking|should (?:instead )?(?:read|have)|I)\b",
    re.IGNORECASE,
)


@frozen
class Correction:
    """A passage that takes something back."""

    start: int
    sentences: tuple["Sentence", ...]
    """The sentence that says so, and those that say what it is about."""

    def concerns(self, cell: "Cell") -> bool:
        """Whether it is about the figure of a cell: the one that it names; all where it names none."""
        years = {year for one in self.sentences for year in years_in(one.text, cell.calendar)}
        if cell.years and years and not years & set(cell.years):
            return False
        averages = any(AVERAGE.search(one.text) for one in self.sentences)
        if averages and cell.average is False:
            return False
        said = frozenset(w for one in self.sentences for w in cell.heard(one.words - cell.entities))
        metrics = {w for w, weight in cell.weights.items() if weight >= OWN}
        if said & (metrics | cell.words):
            return cell.share(dict.fromkeys(said, 1.0)) >= OWN
        figures = [n for one in self.sentences for n in one.results]
        return not figures or cell.kind is None or any(can_be(n, cell.kind) for n in figures)


def corrections(answer: "Answer") -> list[Correction]:
    """The passages of an answer that take something back, in order."""
    if "corrections" not in answer.kept:
        found = []
        for place, one in enumerate(answer.sentences):
            if _CORRECTS.search(one.text) and _ABOVE.search(one.text):
                parts = [one]
                for later in answer.sentences[place + 1 : place + 1 + MAX_GOES_ON]:
                    if parts[-1].results or later.paragraph != one.paragraph:
                        break
                    parts.append(later)
                found.append(Correction(one.start, tuple(parts)))
        answer.kept["corrections"] = found
    return answer.kept["corrections"]


def taken_back(answer: "Answer", cell: "Cell") -> int:
    """Up to which place of the answer figures of a cell are taken back; 0 where none are."""
    return max((c.start for c in corrections(answer) if c.concerns(cell)), default=0)
