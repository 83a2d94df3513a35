"""Agreement of a rubric's verdicts with people's, and of a rubric's values with an expert's."""

import random
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Final

from attrs import frozen

from finassay_rubrics.grading.compare import SCALE_WORDS, accepts, expected_of
from finassay_rubrics.grading.locate import words_of
from finassay_rubrics.grading.numbers import Number
from finassay_rubrics.grading.score import BAD, GOOD
from finassay_rubrics.grading.years import years_in
from finassay_rubrics.record.rubric import Criterion, Route, Rubric

RESAMPLES: Final = 1_000
SEED: Final = 20_26
GOOD_WORDS: Final = (*GOOD, "pass", "correct", "yes", "true")
BAD_WORDS: Final = (*BAD, "fail", "incorrect", "no", "false")


@frozen
class Pair:
    """A verdict by program beside one by a person."""

    query: str
    answer: str
    criterion: str
    program: bool
    person: bool


@frozen
class Interval:
    """A figure with its 95 % bootstrap interval over queries; bounds None with fewer than two queries."""

    value: float
    low: float | None = None
    high: float | None = None


def verdict_of(word: str) -> bool | None:
    """met or unmet, in the usual words; None for everything that is no verdict (cannot assess, not scored)."""
    plain = word.strip().lower()
    return True if plain in GOOD_WORDS else False if plain in BAD_WORDS else None


def kappa(pairs: Sequence[Pair]) -> float | None:
    """Cohen's kappa; None where one side uses a single verdict."""
    from sklearn.metrics import cohen_kappa_score

    if len({p.program for p in pairs}) < 2 or len({p.person for p in pairs}) < 2:
        return None
    return float(cohen_kappa_score([p.person for p in pairs], [p.program for p in pairs]))


def macro_f1(pairs: Sequence[Pair]) -> float | None:
    """Mean F1 of met and unmet; None without pairs."""
    from sklearn.metrics import f1_score

    if not pairs:
        return None
    return float(f1_score([p.person for p in pairs], [p.program for p in pairs], average="macro", labels=[True, False], zero_division=0.0))


def with_interval(pairs: Sequence[Pair], figure: Callable[[Sequence[Pair]], float | None]) -> Interval | None:
    """A figure with an interval from whole queries drawn again: verdicts on one query are not independent."""
    value = figure(pairs)
    if value is None:
        return None
    groups: dict[str, list[Pair]] = {}
    for pair in pairs:
        groups.setdefault(pair.query, []).append(pair)
    if len(groups) < 2:
        return Interval(value)
    draw, names = random.Random(SEED), sorted(groups)
    drawn = [figure([p for name in draw.choices(names, k=len(names)) for p in groups[name]]) for _ in range(RESAMPLES)]
    known = sorted(v for v in drawn if v is not None)
    if len(known) < RESAMPLES // 2:
        return Interval(value)
    return Interval(value, known[int(0.025 * len(known))], known[min(len(known) - 1, int(0.975 * len(known)))])


# -- values -----------------------------------------------------------------------------------------------------------


@frozen
class Matched:
    """An expert's value and what matches it."""

    criterion: str
    value: str
    by: str = ""
    """The criterion that states it; empty for none."""
    first_route: bool = False
    nearest: str = ""
    """Of an unmatched one: the criterion whose words are nearest, with its value."""


@frozen
class Values:
    """Value recall and precision."""

    recalled: tuple[Matched, ...]
    """Of every expert value."""
    precise: tuple[Matched, ...]
    """Of every generated value."""

    @staticmethod
    def share(rows: Sequence[Matched], *, first: bool = False) -> float | None:
        """Share that is matched by any route, or by the first; None without values."""
        return sum(bool(r.by) and (r.first_route or not first) for r in rows) / len(rows) if rows else None


def values(generated: Rubric, expert: Rubric) -> Values:
    """Each expert value looked for among the generated ones, and the other way round: by value and unit, then by period."""
    return Values(_against(expert, generated), _against(generated, expert))


def _numeric(rubric: Rubric) -> list[Criterion]:
    return [
        c
        for c in rubric.criteria
        if c.kind == "numeric" and c.status == "grounded" and any(isinstance(r.value, Decimal) for r in c.expected)
    ]


def _against(wanted: Rubric, offered: Rubric) -> tuple[Matched, ...]:
    others = _numeric(offered)
    out = []
    for criterion in _numeric(wanted):
        routes = [r for r in criterion.expected if isinstance(r.value, Decimal)]
        found = [(other, rank) for other in others if (rank := _rank(routes, other, criterion)) is not None]
        best = min(found, key=lambda f: (-_alike(criterion, f[0]), f[1]), default=None)
        near = max(others, key=lambda o: _alike(criterion, o), default=None)
        shown = f"{routes[0].value} {routes[0].scale} {routes[0].unit}".replace("  ", " ").strip()
        nearest = f"{near.id}: {near.text[:80]} ({near.expected[0].value})" if near is not None and best is None else ""
        out.append(Matched(criterion.id, shown, best[0].id if best else "", best is not None and best[1] == 0, nearest))
    return tuple(out)


def _rank(routes: Sequence[Route], other: Criterion, criterion: Criterion) -> int | None:
    """The place of the first route pair that agrees; None where none does or the periods differ."""
    own_years, other_years = _years(criterion), _years(other)
    if own_years and other_years and not own_years & other_years:
        return None
    for first, route in enumerate(routes):
        for second, candidate in enumerate(r for r in other.expected if isinstance(r.value, Decimal)):
            if _same(route, candidate):
                return first + second
    return None


def _same(route: Route, candidate: Route) -> bool:
    """Whether one is stated within the tolerance of the other, the coarser deciding."""
    one, two = (_number(r) for r in (route, candidate))
    return accepts(one, expected_of(candidate), "lenient") or accepts(two, expected_of(route), "lenient")


def _number(route: Route) -> Number:
    value = route.value if isinstance(route.value, Decimal) else Decimal(0)
    kind = expected_of(route).kind
    decimals = max(0, -int(value.as_tuple().exponent))
    scale = Decimal(SCALE_WORDS.get(route.scale, 1)) if kind == "amount" else None
    return Number(0, 0, f"{value}", value, decimals, scale, kind)


def _years(criterion: Criterion) -> set[str]:
    return set(years_in(f"{criterion.text} {criterion.period} {criterion.expected[0].period}"))


def _alike(one: Criterion, two: Criterion) -> float:
    first, second = words_of(one.text), words_of(two.text)
    same_year = bool(_years(one) & _years(two))
    return len(first & second) / max(1, len(first | second)) + 0.25 * same_year
