"""Intervals over clusters: as the normal approximation says for a mean, none where there is nothing to draw."""

import math

import numpy as np
import pytest

from finassay_agree.intervals import over_clusters

VALUES = np.random.default_rng(4).normal(10, 2, 60)


def test_the_mean_of_clusters():
    low, high = over_clusters(len(VALUES), lambda chosen: float(VALUES[chosen].mean()), draws=4_000)
    half = 1.96 * VALUES.std() / math.sqrt(len(VALUES))
    assert (low, high) == pytest.approx((VALUES.mean() - half, VALUES.mean() + half), abs=0.05)
    assert over_clusters(len(VALUES), lambda chosen, axis: VALUES[chosen].mean(axis=axis), draws=4_000, vectorized=True) == pytest.approx(
        (low, high)
    )


@pytest.mark.parametrize(("clusters", "draws"), [(0, 100), (1, 100), (5, 0)])
def test_nothing_to_draw(clusters, draws):
    assert over_clusters(clusters, lambda chosen: 1.0, draws=draws) is None


def test_a_figure_that_is_mostly_undefined_has_none():
    assert over_clusters(4, lambda chosen: math.nan, draws=100) is None
    assert over_clusters(4, lambda chosen: math.nan if set(chosen) == {0} else 1.0, draws=100) == (1.0, 1.0)
