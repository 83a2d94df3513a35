"""Agreement of a rubric's verdicts with people's, and of a rubric's values with an expert's."""

from collections.abc import Sequence
from decimal import Decimal
from typing import Any, Final

from attrs import frozen

from finassay_rubrics.grading.compare import SCALE_WORDS, accepts, expected_of
from finassay_rubrics.grading.locate import words_of
from finassay_rubrics.grading.numbers import Number
from finassay_rubrics.grading.score import BAD, GOOD
from finassay_rubrics.grading.years import years_in
from finassay_rubrics.measure.statistics import by_verdict, verdict_figures
from finassay_rubrics.record.rubric import Criterion, Route, Rubric

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


def verdict_of(word: str) -> bool | None:
    """met or unmet, in the usual words; None for everything that is no verdict (cannot assess, not scored)."""
    plain = word.strip().lower()
    return True if plain in GOOD_WORDS else False if plain in BAD_WORDS else None


def agreement_json(pairs: Sequence[Pair]) -> dict[str, Any]:
    """Counts, and figures with intervals over queries."""
    found = verdict_figures(pairs, lambda pair: pair.query, lambda pair: (pair.program, pair.person))
    shown = {name: None if figure is None else figure.json() for name, figure in found.items()}
    program, person = [p.program for p in pairs], [p.person for p in pairs]
    return {"queries": len({p.query for p in pairs}), "verdicts": len(pairs), **shown, "by_verdict": by_verdict(program, person)}


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


def numeric(rubric: Rubric) -> list[Criterion]:
    """Criteria that test a grounded figure."""
    return [
        c
        for c in rubric.criteria
        if c.kind == "numeric" and c.status == "grounded" and any(isinstance(r.value, Decimal) for r in c.expected)
    ]


def _against(wanted: Rubric, offered: Rubric) -> tuple[Matched, ...]:
    others = numeric(offered)
    out = []
    for criterion in numeric(wanted):
        routes = [r for r in criterion.expected if isinstance(r.value, Decimal)]
        found = [(other, rank) for other in others if (rank := _rank(routes, other, criterion)) is not None]
        best = min(found, key=lambda f: (-_alike(criterion, f[0]), f[1]), default=None)
        near = max(others, key=lambda o: _alike(criterion, o), default=None)
        shown = f"{routes[0].value} {routes[0].scale} {routes[0].unit}".replace("  ", " ").strip()
        nearest = f"{near.id}: {near.text[:80]} ({near.expected[0].value})" if near is not None and best is None else ""
        out.append(Matched(criterion.id, shown, best[0].id if best else "", best is not None and best[1] == 0, nearest))
    return tuple(out)


def same_value(criterion: Criterion, other: Criterion) -> bool:
    """Whether some route of each states the same value, for periods that do not exclude each other."""
    return _rank([r for r in criterion.expected if isinstance(r.value, Decimal)], other, criterion) is not None


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
