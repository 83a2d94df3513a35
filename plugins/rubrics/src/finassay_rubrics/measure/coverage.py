"""What a rubric covers of an expert's, and what it says twice: by values, by words, and by verdicts over answers."""

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Final

from attrs import frozen

from finassay_rubrics.grading.locate import words_of
from finassay_rubrics.grading.score import BAD, GOOD
from finassay_rubrics.grading.years import years_in
from finassay_rubrics.measure.agreeing import numeric, same_value
from finassay_rubrics.measure.statistics import correlation
from finassay_rubrics.record.rubric import Criterion, Rubric

COVERED: Final = 0.5
"""Share of an expert criterion's content words that a generated one must have to cover it by words."""
TWICE: Final = 0.8
"""Share of content words in common from which two criteria say the same."""
TOGETHER: Final = 0.95
"""Correlation of verdicts over answers from which two criteria tell the same."""
FEWEST: Final = 4
"""Answers from which verdicts are correlated."""


@frozen
class Covered:
    """An expert's criterion, and what covers it."""

    criterion: str
    text: str
    how: str
    """`value`, `words`, or empty where nothing covers it."""
    by: str = ""
    share: float = 0.0
    """Of its content words, in the criterion that is nearest by words."""
    nearest: str = ""


def coverage(generated: Rubric, expert: Rubric) -> list[Covered]:
    """Every expert criterion that earns points: covered by a value within tolerance, else by words, else not.

    Words are a floor: the same demand in other words is missed, and is listed with its nearest criterion.
    """
    offered = [c for c in generated.criteria if c.kind != "prohibited" and c.status != "unresolved"]
    out = []
    for criterion in expert.criteria:
        if criterion.kind == "prohibited" or criterion.optional:
            continue
        by_value = next((o for o in numeric(generated) if same_value(criterion, o)), None) if criterion.kind == "numeric" else None
        shares = [(_share(criterion, other), other) for other in offered if _times_fit(criterion, other)]
        share, near = max(shares, key=lambda s: s[0], default=(0.0, None))
        by_words = near if share >= COVERED and criterion.kind != "numeric" else None
        by = by_value or by_words
        nearest = "" if by is not None or near is None else f"{near.id}: {near.text[:80]}"
        how = "value" if by_value else "words" if by_words else ""
        out.append(Covered(criterion.id, criterion.text, how, by.id if by else "", share, nearest))
    return out


def _share(wanted: Criterion, offered: Criterion) -> float:
    words = _words(wanted)
    return len(words & _words(offered)) / len(words) if words else 0.0


def _words(criterion: Criterion) -> frozenset[str]:
    values = " ".join(str(r.value) for r in criterion.expected if isinstance(r.value, str))
    return words_of(f"{criterion.text} {values}")


def _times_fit(one: Criterion, two: Criterion) -> bool:
    first, second = (set(years_in(f"{c.text} {c.period}")) for c in (one, two))
    return not first or not second or bool(first & second)


# -- said twice -------------------------------------------------------------------------------------------------------


@frozen
class Twice:
    """Two criteria that may be one."""

    first: str
    second: str
    why: str


@frozen
class Redundancy:
    """What a rubric says twice or in vain."""

    criteria: int
    by_text: tuple[Twice, ...]
    """Near-duplicates: the same value of the same time, or nearly the same words."""
    answers: int
    by_verdict: tuple[Twice, ...]
    """Verdicts that nearly always fall together over the answers; empty below `FEWEST`."""
    always_met: tuple[str, ...]
    """No answer ever fails them: they tell answers apart as little as those that nobody meets."""
    never_met: tuple[str, ...]

    @property
    def share(self) -> float | None:
        """Criteria that repeat an earlier one, of all."""
        return len({twice.second for twice in self.by_text}) / self.criteria if self.criteria else None


def redundancy(rubric: Rubric, verdicts: Sequence[Mapping[str, str]] = ()) -> Redundancy:
    """`verdicts`: criterion to outcome, for each answer that was graded."""
    earning = [c for c in rubric.criteria if c.kind != "prohibited"]
    twice = [Twice(one.id, two.id, why) for one, two in combinations(earning, 2) if (why := _twice(one, two))]
    known = {c.id: [_sign(answer.get(c.id, "")) for answer in verdicts] for c in earning}
    together = _together(known) if len(verdicts) >= FEWEST else []
    settled = {name: [v for v in row if v is not None] for name, row in known.items()}
    return Redundancy(
        len(earning),
        tuple(twice),
        len(verdicts),
        tuple(together),
        tuple(name for name, row in settled.items() if row and all(row)),
        tuple(name for name, row in settled.items() if row and not any(row)),
    )


def _twice(one: Criterion, two: Criterion) -> str:
    if one.status == two.status == "grounded" and one.kind == two.kind == "numeric" and one.metric == two.metric and same_value(one, two):
        same_time = set(years_in(f"{one.text} {one.period}")) == set(years_in(f"{two.text} {two.period}"))
        if same_time and one.entity == two.entity and (one.metric or _alike(one, two) >= COVERED):
            return "the same value of the same time"
    digits = ["".join(ch if ch.isdigit() else " " for ch in c.text).split() for c in (one, two)]
    if digits[0] == digits[1] and one.metric == two.metric and (share := _alike(one, two)) >= TWICE:
        return f"{share:.0%} of the words in common"
    return ""


def _alike(one: Criterion, two: Criterion) -> float:
    first, second = words_of(one.text), words_of(two.text)
    return len(first & second) / len(first | second) if first | second else 0.0


def _sign(outcome: str) -> bool | None:
    return True if outcome in GOOD else False if outcome in BAD else None


def _together(known: Mapping[str, Sequence[bool | None]]) -> list[Twice]:
    found = []
    for (one, first), (two, second) in combinations(known.items(), 2):
        both = [(a, b) for a, b in zip(first, second, strict=True) if a is not None and b is not None]
        value = correlation("pearson", [float(a) for a, _ in both], [float(b) for _, b in both]) if len(both) >= FEWEST else None
        if value is not None and value >= TOGETHER:
            found.append(Twice(one, two, f"verdicts correlate at {value:.2f} over {len(both)} answers"))
    return found
