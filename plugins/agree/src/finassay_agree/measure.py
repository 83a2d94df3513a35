"""Agreement of two raters: exact, adjacent, quadratic kappa, bias, abstentions, with intervals over sessions.

Kappa comes from scikit-learn, resampling from SciPy. Sessions are what is resampled: levels of one session hang together.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from attrs import asdict, frozen

from finassay_agree.intervals import DRAWS, Interval, over_clusters
from finassay_agree.ratings import Cell, Ratings

LEVELS: Final = (0, 1, 2, 3, 4)
OVERALL: Final = "overall"


@frozen
class Agreement:
    """Two raters on one dimension, or on all.

    `bias` is the mean of the second's level minus the first's. `kappa` is None where it is undefined: both say one and the same level
    everywhere. Intervals are percentile bootstraps over sessions, None with fewer than two of them.
    """

    dimension: str
    pairs: int
    sessions: int
    exact: float | None
    adjacent: float | None
    kappa: float | None
    bias: float | None
    exact_interval: Interval | None
    kappa_interval: Interval | None
    bias_interval: Interval | None
    first_abstained: int
    """The first gave no verdict where the second did."""
    second_abstained: int
    both_abstained: int

    def json(self) -> dict[str, Any]:
        return asdict(self)


@frozen
class Comparison:
    """Two raters on everything that both were asked about."""

    first: str
    second: str
    by_dimension: tuple[Agreement, ...]
    overall: Agreement
    uncommon: int
    """Cells that only one of them knows: not applicable to the other, or never asked."""

    @property
    def rows(self) -> tuple[Agreement, ...]:
        """Each dimension, then all together."""
        return (*self.by_dimension, self.overall)

    def json(self) -> dict[str, Any]:
        return {
            "first": self.first,
            "second": self.second,
            "overall": self.overall.json(),
            "by_dimension": [a.json() for a in self.by_dimension],
            "uncommon": self.uncommon,
        }


def compare(first: Ratings, second: Ratings, dimensions: Sequence[str], *, draws: int = DRAWS, seed: int = 0) -> Comparison:
    """Agreement on each of the dimensions that both rated somewhere, and on all of them."""
    chosen = set(dimensions)
    cells = [cell for cell in first.levels if cell in second.levels and cell[1] in chosen]
    uncommon = sum(cell[1] in chosen for cell in first.levels.keys() ^ second.levels.keys())
    by_dimension = {name: [cell for cell in cells if cell[1] == name] for name in dimensions}
    made = [_agreement(name, own, first, second, draws, seed) for name, own in by_dimension.items() if own]
    return Comparison(first.name, second.name, tuple(made), _agreement(OVERALL, cells, first, second, draws, seed), uncommon)


def _agreement(name: str, cells: Sequence[Cell], first: Ratings, second: Ratings, draws: int, seed: int) -> Agreement:
    pairs = {cell: (a, b) for cell in cells if (a := first.levels[cell]) is not None and (b := second.levels[cell]) is not None}
    tables = _tables(pairs)
    absent = [(first.levels[cell] is None, second.levels[cell] is None) for cell in cells]
    figures: dict[str, Any] = dict.fromkeys(("exact", "adjacent", "bias"))
    if pairs:
        total = tables.sum(axis=0)
        figures = {figure: float(of(total)) for figure, of in FIGURES.items() if figure != "kappa"}
    intervals = _intervals(tables, draws, seed)
    return Agreement(
        dimension=name,
        pairs=len(pairs),
        sessions=len(tables),
        exact=figures["exact"],
        adjacent=figures["adjacent"],
        kappa=kappa(pairs.values()),
        bias=figures["bias"],
        exact_interval=intervals.get("exact"),
        kappa_interval=intervals.get("kappa"),
        bias_interval=intervals.get("bias"),
        first_abstained=absent.count((True, False)),
        second_abstained=absent.count((False, True)),
        both_abstained=absent.count((True, True)),
    )


def kappa(pairs: Iterable[tuple[int, int]]) -> float | None:
    """Cohen's kappa with quadratic weights; None where it is undefined."""
    from sklearn.metrics import cohen_kappa_score

    both = list(pairs)
    if len({level for pair in both for level in pair}) < 2:
        return None
    return float(cohen_kappa_score(*zip(*both, strict=True), labels=list(LEVELS), weights="quadratic"))


def _tables(pairs: Mapping[Cell, tuple[int, int]]) -> Any:
    """Counts of (first, second) by session: an array of shape (sessions, 5, 5)."""
    import numpy as np

    sessions = {session: number for number, session in enumerate(dict.fromkeys(cell[0] for cell in pairs))}
    tables = np.zeros((len(sessions), 5, 5))
    for (session, _), (a, b) in pairs.items():
        tables[sessions[session], a, b] += 1
    return tables


def _distance() -> Any:
    import numpy as np

    return np.subtract.outer(np.arange(5), np.arange(5))


def _share(table: Any, mask: Any) -> Any:
    return (table * mask).sum(axis=(-2, -1)) / table.sum(axis=(-2, -1))


def _kappa_of(table: Any) -> Any:
    """Quadratic kappa of tables of counts, for the resamples; nan where it is undefined."""
    import numpy as np

    weights = _distance() ** 2
    expected = table.sum(axis=-1)[..., :, None] * table.sum(axis=-2)[..., None, :] / table.sum(axis=(-2, -1))[..., None, None]
    by_chance = (weights * expected).sum(axis=(-2, -1))
    seen = (weights * table).sum(axis=(-2, -1))
    return np.where(by_chance > 0, 1 - seen / np.where(by_chance > 0, by_chance, 1), np.nan)


FIGURES: Final[Mapping[str, Callable[[Any], Any]]] = {
    "exact": lambda table: _share(table, _distance() == 0),
    "adjacent": lambda table: _share(table, abs(_distance()) <= 1),
    "bias": lambda table: _share(table, -_distance()),
    "kappa": _kappa_of,
}


def _intervals(tables: Any, draws: int, seed: int) -> dict[str, Interval]:
    """Percentile intervals over resampled sessions; a figure that is undefined in more than half of the resamples has none."""
    found = {}
    for name in ("exact", "kappa", "bias"):

        def statistic(chosen: Any, axis: int, of: Callable[[Any], Any] = FIGURES[name]) -> Any:
            return of(tables[chosen].sum(axis=-3))

        interval = over_clusters(len(tables), statistic, draws=draws, seed=seed, vectorized=True)
        if interval is not None:
            found[name] = interval
    return found
