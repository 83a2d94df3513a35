"""Small portfolio problems solved again: long only, fully invested, at most a cap a name.

Everything works on the names that are held: weights that are optimal over a larger set are optimal on their support too.
"""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def sample_covariance(returns: Array) -> Array:
    """Sample covariance (n - 1) of T × N returns."""
    return np.atleast_2d(np.cov(returns, rowvar=False))


def ewma_covariance(returns: Array, decay: float = 0.94) -> Array:
    """Exponentially weighted second moments with `decay` a day, newest row last (RiskMetrics)."""
    weights = decay ** np.arange(len(returns) - 1, -1, -1)
    weights /= weights.sum()
    return (returns * weights[:, None]).T @ returns


def ledoit_wolf_covariance(returns: Array) -> Array:
    """Shrinkage towards the scaled identity with the intensity of Ledoit and Wolf (2004, 'A well-conditioned estimator')."""
    count, width = returns.shape
    centred = returns - returns.mean(axis=0)
    sample = centred.T @ centred / count
    mean = np.trace(sample) / width
    distance = ((sample - mean * np.eye(width)) ** 2).sum() / width
    squares = centred**2
    spread = ((squares.T @ squares).sum() / count - (sample**2).sum()) / count / width
    intensity = 1.0 if distance <= 0 else min(1.0, max(0.0, spread / distance))
    return (1 - intensity) * sample + intensity * mean * np.eye(width)  # type: ignore[no-any-return]


def oas_covariance(returns: Array) -> Array:
    """Oracle approximating shrinkage towards the scaled identity (Chen, Wiesel, Eldar and Hero 2010)."""
    count, width = returns.shape
    centred = returns - returns.mean(axis=0)
    sample = centred.T @ centred / count
    mean = np.trace(sample) / width
    alpha = (sample**2).mean()
    numerator = alpha + mean**2
    denominator = (count + 1) * (alpha - mean**2 / width)
    intensity = 1.0 if denominator == 0 else min(numerator / denominator, 1.0)
    return (1 - intensity) * sample + intensity * mean * np.eye(width)  # type: ignore[no-any-return]


def risk_parity(covariance: Array) -> Array:
    """Weights with equal risk contributions, by cyclical coordinate descent (Griveau-Billion, Richard and Roncalli 2013)."""
    width = len(covariance)
    variance = np.diag(covariance)
    if not (np.all(np.isfinite(covariance)) and np.all(variance > 0)):
        return np.full(width, np.nan)
    scaled = covariance / variance.mean()
    diagonal = np.diag(scaled)
    weights = 1 / np.sqrt(diagonal)
    for _ in range(200):
        before = weights.copy()
        for i in range(width):
            cross = scaled[i] @ weights - diagonal[i] * weights[i]
            weights[i] = (-cross + np.sqrt(cross * cross + 4 * diagonal[i] / width)) / (2 * diagonal[i])
        if np.abs(weights - before).max() < 1e-9:
            break
    return weights / weights.sum()  # type: ignore[no-any-return]


def project(point: Array, cap: float) -> Array:
    """The nearest point with entries in [0, cap] that sum to 1; `cap` is raised to 1/N where it is smaller.

    The sum of clipped entries falls piecewise linearly in the shift: the piece that crosses 1 is found among its breakpoints.
    """
    cap = max(cap, 1 / len(point))
    breaks = np.sort(np.concatenate((point, point - cap)))
    sums = np.clip(point[None, :] - breaks[:, None], 0, cap).sum(axis=1)
    at = max(1, len(sums) - int(np.searchsorted(sums[::-1], 1.0)))
    if at >= len(breaks):
        return np.full(len(point), 1 / len(point))
    high, low = float(sums[at - 1]), float(sums[at])
    fraction = (high - 1.0) / (high - low) if high > low else 0.0
    projected: Array = np.clip(point - (breaks[at - 1] + fraction * (breaks[at] - breaks[at - 1])), 0, cap)
    return projected


def maximise_utility(mean: Array, covariance: Array, aversion: float, cap: float = 1.0) -> Array:
    """argmax mean·w - aversion/2 · w'Σw over the capped simplex, by accelerated projected gradient with restarts."""
    width = len(mean)
    matrix = aversion * covariance
    step = 1 / max(float(np.linalg.eigvalsh(matrix)[-1]), 1e-12)
    weights = momentum = np.full(width, 1 / width)
    inertia = 1.0
    for _ in range(600):
        after = project(momentum - step * (matrix @ momentum - mean), cap)
        if float((momentum - after) @ (after - weights)) > 0:
            inertia = 1.0
        inertia_after = (1 + np.sqrt(1 + 4 * inertia * inertia)) / 2
        moved = after - weights
        momentum = after + (inertia - 1) / inertia_after * moved
        weights, inertia = after, float(inertia_after)
        if float(np.abs(moved).max()) < 1e-7:
            break
    return weights


def minimise_variance(covariance: Array, cap: float = 1.0) -> Array:
    """The long-only portfolio of least variance."""
    scale = float(np.trace(covariance)) / len(covariance)
    return maximise_utility(np.zeros(len(covariance)), covariance / max(scale, 1e-18), 1.0, cap)


def maximise_sharpe(mean: Array, covariance: Array, cap: float = 1.0) -> Array:
    """The portfolio of the highest mean/deviation: the best point of the efficient frontier, by golden section over the risk aversion."""
    scale = float(np.trace(covariance)) / len(covariance)
    if float(mean.max()) <= 0:
        return minimise_variance(covariance, cap)

    def at(log_aversion: float) -> tuple[float, Array]:
        weights = maximise_utility(mean, covariance, float(np.exp(log_aversion)), cap)
        variance = float(weights @ covariance @ weights)
        return float(mean @ weights) / float(np.sqrt(max(variance, 1e-18))), weights

    middle = float(np.log(np.abs(mean).max() / scale))
    low, high = middle - 4, middle + 6
    ratio = float((np.sqrt(5) - 1) / 2)
    for _ in range(24):
        left, right = high - ratio * (high - low), low + ratio * (high - low)
        if at(left)[0] < at(right)[0]:
            low = left
        else:
            high = right
    return at((low + high) / 2)[1]
