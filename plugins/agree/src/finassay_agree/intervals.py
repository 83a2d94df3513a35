"""Bootstrap intervals over clusters: what hangs together, such as the levels of a session or the answers to a query, is drawn together.

Other distributions may use it too: it knows nothing of sessions or queries, only how many clusters there are.
"""

import warnings
from collections.abc import Callable
from typing import Any, Final

CONFIDENCE: Final = 0.95
DRAWS: Final = 2_000
BATCH: Final = 200

Interval = tuple[float, float]


def over_clusters(
    clusters: int,
    statistic: Callable[..., Any],
    *,
    draws: int = DRAWS,
    seed: int = 0,
    vectorized: bool = False,
    confidence: float = CONFIDENCE,
) -> Interval | None:
    """Percentile bootstrap (SciPy) of a figure of clusters drawn with replacement; the same input gives the same interval.

    `statistic` takes an array of cluster numbers (`vectorized`: of shape (..., n), and an axis) and gives the figure, nan where it is
    undefined. None with fewer than two clusters, and where the figure is undefined in half of the draws or more.
    """
    import numpy as np
    from scipy.stats import DegenerateDataWarning, bootstrap

    if clusters < 2 or draws < 1:
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DegenerateDataWarning)  # draws in which the figure is undefined; they are left out below
        made = bootstrap(
            (np.arange(clusters),),
            statistic,
            n_resamples=draws,
            batch=BATCH,
            vectorized=vectorized,
            method="percentile",
            rng=np.random.default_rng(seed),
        )
    values = made.bootstrap_distribution[~np.isnan(made.bootstrap_distribution)]
    if len(values) <= draws / 2:
        return None
    low, high = np.quantile(values, [(1 - confidence) / 2, (1 + confidence) / 2])
    return float(low), float(high)
