"""Intervals over tasks."""

from collections.abc import Sequence


def bootstrap_interval(values: Sequence[float], resamples: int, level: float = 0.95) -> tuple[float, float] | None:
    """Percentile bootstrap interval of the mean over tasks (paper, table 3); None for fewer than two tasks.

    The draws are seeded: the same values give the same interval.
    """
    import numpy as np

    if len(values) < 2:
        return None
    sample = np.asarray(values, dtype=float)
    draws = np.random.default_rng(0).integers(0, len(sample), size=(resamples, len(sample)))
    tail = 50.0 * (1.0 - level)
    low, high = np.percentile(sample[draws].mean(axis=1), [tail, 100.0 - tail])
    return float(low), float(high)
