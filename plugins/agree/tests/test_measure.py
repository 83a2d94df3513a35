"""The figures, against cases worked out by hand and against the libraries."""

import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score

from finassay_agree.measure import FIGURES, _tables, compare, kappa
from finassay_agree.ratings import Cell, Ratings

DIMENSIONS = ("2.7", "4.4")


def ratings(name: str, *levels: int | None, dimension: str = "2.7") -> Ratings:
    return Ratings(name, {(f"s{number}", dimension): level for number, level in enumerate(levels)})


def both(first: tuple[int | None, ...], second: tuple[int | None, ...], **options: int) -> object:
    return compare(ratings("a", *first), ratings("b", *second), DIMENSIONS, **options).overall


def test_by_hand() -> None:
    """Two of four agree, three are within one, the second is a quarter of a level higher on average."""
    found = both((0, 2, 3, 4), (0, 2, 4, 2), draws=0)
    assert (found.pairs, found.sessions, found.exact, found.adjacent, found.bias) == (4, 4, 0.5, 0.75, -0.25)
    # Quadratic weights: seen (3-4)^2 + (4-2)^2 = 5; by chance the mean over all 16 pairs of levels, times 4:
    by_chance = sum((a - b) ** 2 for a in (0, 2, 3, 4) for b in (0, 2, 4, 2)) / 4
    assert found.kappa == pytest.approx(1 - 5 / by_chance)
    assert found.exact_interval is found.kappa_interval is found.bias_interval is None


def test_the_resampled_kappa_is_the_librarys() -> None:
    drawn = np.random.default_rng(1)
    for _ in range(50):
        a, b = drawn.integers(0, 5, 30), drawn.integers(0, 5, 30)
        pairs: dict[Cell, tuple[int, int]] = {(f"s{i % 7}", str(i)): (int(x), int(y)) for i, (x, y) in enumerate(zip(a, b, strict=True))}
        mine = float(FIGURES["kappa"](_tables(pairs).sum(axis=0)))
        assert mine == pytest.approx(cohen_kappa_score(a, b, weights="quadratic", labels=range(5)))
        assert mine == pytest.approx(kappa(pairs.values()))


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [((2, 2, 2), (2, 2, 2), None), ((2, 2), (3, 3), 0.0), ((0, 4), (4, 0), -1.0), ((0, 1, 4), (0, 1, 4), 1.0), ((), (), None)],
)
def test_kappa_at_its_ends(first: tuple[int, ...], second: tuple[int, ...], expected: float | None) -> None:
    assert both(first, second, draws=0).kappa == expected


def test_abstentions_are_counted_on_both_sides_and_enter_no_share() -> None:
    found = both((None, 2, None, 3, 4), (1, None, None, 3, 4), draws=0)
    assert (found.first_abstained, found.second_abstained, found.both_abstained) == (1, 1, 1)
    assert (found.pairs, found.exact) == (2, 1.0)


def test_nothing_to_compare() -> None:
    found = both((None,), (2,))
    assert (found.pairs, found.exact, found.kappa, found.bias, found.exact_interval) == (0, None, None, None, None)


def test_cells_of_one_side_are_told() -> None:
    first = Ratings("a", {("s1", "2.7"): 1, ("s2", "2.7"): 1, ("s1", "9.9"): 1})
    second = Ratings("b", {("s1", "2.7"): 1, ("s3", "4.4"): 0})
    found = compare(first, second, DIMENSIONS)
    assert (found.overall.pairs, found.uncommon) == (1, 2)
    assert [a.dimension for a in found.by_dimension] == ["2.7"]


def test_dimensions_apart_and_together() -> None:
    first = Ratings("a", {**ratings("", 0, 1, 2).levels, **ratings("", 4, 4, 4, dimension="4.4").levels})
    second = Ratings("b", {**ratings("", 0, 1, 2).levels, **ratings("", 3, 3, 3, dimension="4.4").levels})
    found = compare(first, second, DIMENSIONS)
    assert [(a.dimension, a.exact, a.bias) for a in found.by_dimension] == [("2.7", 1.0, 0.0), ("4.4", 0.0, -1.0)]
    assert (found.overall.exact, found.overall.sessions) == (0.5, 3)


def test_intervals_are_drawn_over_sessions() -> None:
    """Ten pairs that agree in one session and ten that do not in another: as uncertain as two sessions are."""

    def rated(name: str, apart: int) -> Ratings:
        return Ratings(name, {(f"s{s}", f"d{d}"): (d % 4) + (apart if s else 0) for s in range(2) for d in range(10)})

    found = compare(rated("a", 0), rated("b", 1), [f"d{d}" for d in range(10)], draws=400, seed=3).overall
    assert found.exact == 0.5
    assert found.exact_interval == (0.0, 1.0)
    assert found.bias_interval == (0.0, 1.0)


def test_intervals_hold_the_figure_and_repeat_with_the_seed() -> None:
    drawn = np.random.default_rng(5)
    a = [int(x) for x in drawn.integers(0, 5, 60)]
    b = [min(4, x + int(y)) for x, y in zip(a, drawn.integers(0, 2, 60), strict=True)]
    one, other = both(tuple(a), tuple(b), draws=500, seed=1), both(tuple(a), tuple(b), draws=500, seed=1)
    assert one == other
    for figure in ("exact", "kappa", "bias"):
        low, high = getattr(one, f"{figure}_interval")
        assert low < getattr(one, figure) < high
    wide = both(tuple(a[:12]), tuple(b[:12]), draws=500, seed=1)
    assert wide.exact_interval[1] - wide.exact_interval[0] > one.exact_interval[1] - one.exact_interval[0]


def test_an_interval_that_is_mostly_undefined_is_none() -> None:
    assert both((2, 2, 2, 2), (2, 2, 2, 2), draws=200).kappa_interval is None
