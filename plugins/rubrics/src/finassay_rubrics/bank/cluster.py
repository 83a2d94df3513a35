"""Signatures that ask for the same kind of thing, put together: one cluster becomes one task.

What is asked, whatever it is about, weighs as much as all other words: a figure and the causes of its movement need different criteria, however
alike their words are, and are put together only where there may not be more tasks.
"""

import hashlib
from collections.abc import Sequence
from functools import cache
from typing import Any, Final

from attrs import frozen

DIRECT: Final = 2_000
"""Different signatures up to which every pair is compared; above, they are first gathered into as many small groups."""
NEAR: Final = 0.1
"""Cosine distance, averaged over pairs, up to which clusters are merged even where more tasks would be allowed."""

SIDES: Final = 256
"""Dimensions of a mode's direction: two of them meet at a product below a quarter."""


@frozen
class Cluster:
    """Places of its members among the texts that were given; `center` is the one that is nearest to all of them."""

    center: int
    members: tuple[int, ...]


def clusters(
    vectors: Any, weights: Sequence[int], texts: Sequence[str], most: int, near: float = NEAR, modes: Sequence[str] = ()
) -> list[Cluster]:
    """At most `most` clusters of different texts, the largest first; `weights` says how often each text was asked.

    `modes` names for each text what kind of thing it asks: texts of different modes are far from each other.
    The same input gives the same clusters. Time grows with the square of the number of texts up to `DIRECT`, then in proportion to it.
    """
    import numpy as np

    matrix = np.asarray(vectors, dtype=np.float32)
    if len(texts) == 0:
        return []
    if len(texts) == 1:
        return [Cluster(0, (0,))]
    if modes:
        # Half of the product is the words', half the mode's: a distance within a mode is half of what it was.
        matrix = np.hstack((matrix, np.stack([_direction(mode) for mode in modes])))
        matrix /= np.float32(2**0.5)
        near = near / 2
    labels = _labels(matrix, most, near)
    found: list[Cluster] = []
    for label in sorted(set(labels.tolist())):
        members = np.flatnonzero(labels == label)
        mass = np.asarray([weights[int(m)] for m in members], dtype=np.float64)
        scores = matrix[members].astype(np.float64) @ (mass @ matrix[members].astype(np.float64))
        center = min(range(len(members)), key=lambda i: (-round(float(scores[i]), 9), texts[int(members[i])]))
        found.append(Cluster(int(members[center]), tuple(int(m) for m in members)))
    return sorted(found, key=lambda c: (-sum(weights[m] for m in c.members), texts[c.center]))


@cache
def _direction(mode: str) -> Any:
    """A unit vector for a mode, nearly orthogonal to that of every other."""
    import numpy as np

    bits = np.unpackbits(np.frombuffer(hashlib.shake_256(mode.encode()).digest(SIDES // 8), dtype=np.uint8))
    return ((bits.astype(np.float32) * 2 - 1) / SIDES**0.5).astype(np.float32)


def _labels(matrix: Any, most: int, near: float) -> Any:
    if len(matrix) <= DIRECT:
        return _merged(matrix, most, near)
    from sklearn.cluster import MiniBatchKMeans

    groups = MiniBatchKMeans(n_clusters=DIRECT, random_state=0, batch_size=4096, init="random", n_init=1, max_iter=10).fit(matrix)
    import numpy as np

    used, place = np.unique(groups.labels_, return_inverse=True)
    centers = groups.cluster_centers_[used]
    lengths = np.linalg.norm(centers, axis=1, keepdims=True)
    return _merged(centers / np.where(lengths == 0, 1, lengths), most, near)[place]


def _merged(matrix: Any, most: int, near: float) -> Any:
    from sklearn.cluster import AgglomerativeClustering

    distances = (1 - matrix @ matrix.T).clip(0, 2)
    by_distance = AgglomerativeClustering(n_clusters=None, distance_threshold=near, metric="precomputed", linkage="average").fit(distances)
    if by_distance.n_clusters_ <= most:
        return by_distance.labels_
    return AgglomerativeClustering(n_clusters=most, metric="precomputed", linkage="average").fit(distances).labels_
