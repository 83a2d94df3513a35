"""Figures of agreement with intervals: what was said of one query hangs together, so whole queries are drawn again.

Figures come from scikit-learn and SciPy, the bootstrap from SciPy through `finassay_agree.intervals`.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeVar

from attrs import frozen

from finassay_agree.intervals import over_clusters

RESAMPLES: Final = 2_000
SEED: Final = 20_26
T = TypeVar("T")
Figure = Callable[[Sequence[T]], float | None]


@frozen
class Interval:
    """A figure with its 95 % bootstrap interval over queries; bounds None with fewer than two queries, or where most draws leave it undefined."""

    value: float
    low: float | None = None
    high: float | None = None

    def json(self) -> dict[str, float | None]:
        return {"value": self.value, "low": self.low, "high": self.high}


def by_query(rows: Sequence[T], query: Callable[[T], str]) -> list[list[T]]:
    """Rows in groups, in the order in which queries first come."""
    groups: dict[str, list[T]] = {}
    for row in rows:
        groups.setdefault(query(row), []).append(row)
    return list(groups.values())


def with_interval(
    rows: Sequence[T], figure: Figure[T], query: Callable[[T], str], *, draws: int = RESAMPLES, seed: int = SEED
) -> Interval | None:
    """A figure of rows with its interval; None where the figure is undefined."""
    value = figure(rows)
    if value is None:
        return None
    groups = by_query(rows, query)

    def drawn(chosen: Any) -> float:
        found = figure([row for number in chosen for row in groups[number]])
        return math.nan if found is None else found

    interval = over_clusters(len(groups), drawn, draws=draws, seed=seed)
    return Interval(value, *(interval or (None, None)))


def kappa(program: Sequence[bool], person: Sequence[bool]) -> float | None:
    """Cohen's kappa; None where one side uses a single verdict, so that chance explains everything."""
    from sklearn.metrics import cohen_kappa_score

    if len(set(program)) < 2 or len(set(person)) < 2:
        return None
    return float(cohen_kappa_score(list(person), list(program)))


def macro_f1(program: Sequence[bool], person: Sequence[bool]) -> float | None:
    """Mean F1 of both verdicts; None without any."""
    from sklearn.metrics import f1_score

    if not len(program):
        return None
    return float(f1_score(list(person), list(program), average="macro", labels=[True, False], zero_division=0.0))


def by_verdict(program: Sequence[bool], person: Sequence[bool]) -> dict[str, dict[str, float | int]]:
    """Precision, recall, F1 and count of either verdict, the person's being the truth."""
    from sklearn.metrics import precision_recall_fscore_support

    if not len(program):
        return {}
    found = precision_recall_fscore_support(list(person), list(program), labels=[True, False], zero_division=0.0)
    return {
        name: {"precision": float(found[0][i]), "recall": float(found[1][i]), "f1": float(found[2][i]), "people": int(found[3][i])}
        for i, name in enumerate(("met", "unmet"))
    }


def correlation(how: str, first: Sequence[float], second: Sequence[float]) -> float | None:
    """`pearson`, `spearman` or `kendall` (tau-b); None with fewer than two pairs, and where one side is constant."""
    from scipy import stats

    if len(first) < 2 or len(set(first)) < 2 or len(set(second)) < 2:
        return None
    measured: Mapping[str, Callable[..., Any]] = {"pearson": stats.pearsonr, "spearman": stats.spearmanr, "kendall": stats.kendalltau}
    value = float(measured[how](first, second).statistic)
    return None if math.isnan(value) else value


def verdict_figures(rows: Sequence[T], query: Callable[[T], str], said: Callable[[T], tuple[bool, bool]]) -> dict[str, Interval | None]:
    """Accuracy, kappa and macro F1 of verdicts, `said` giving (program, person), each with its interval over queries.

    The figures are scikit-learn's; for the draws they are computed from tables of counts, which a test holds against it.
    """
    import numpy as np

    groups = by_query(rows, query)
    tables = np.zeros((len(groups), 2, 2))
    for number, own in enumerate(groups):
        for row in own:
            by_program, by_person = said(row)
            tables[number, int(by_program), int(by_person)] += 1
    program, person = [said(row)[0] for row in rows], [said(row)[1] for row in rows]
    equal = sum(a == b for a, b in zip(program, person, strict=True))
    values = {
        "accuracy": equal / len(rows) if rows else None,
        "kappa": kappa(program, person),
        "macro_f1": macro_f1(program, person),
    }
    found: dict[str, Interval | None] = {}
    for name, value in values.items():

        def drawn(chosen: Any, axis: int, of: Callable[[Any], Any] = _OF_TABLES[name]) -> Any:
            return of(tables[chosen].sum(axis=-3))

        interval = over_clusters(len(groups), drawn, draws=RESAMPLES, seed=SEED, vectorized=True) if value is not None else None
        found[name] = None if value is None else Interval(value, *(interval or (None, None)))
    return found


def _accuracy_of(table: Any) -> Any:
    return (table[..., 0, 0] + table[..., 1, 1]) / table.sum(axis=(-2, -1))


def _kappa_of(table: Any) -> Any:
    """nan where a side uses a single verdict."""
    import numpy as np

    total = table.sum(axis=(-2, -1))
    program, person = table.sum(axis=-1) / total[..., None], table.sum(axis=-2) / total[..., None]
    chance = (program * person).sum(axis=-1)
    defined = (program.min(axis=-1) > 0) & (person.min(axis=-1) > 0)
    return np.where(defined, (_accuracy_of(table) - chance) / np.where(chance < 1, 1 - chance, 1), np.nan)


def _macro_f1_of(table: Any) -> Any:
    """A verdict that neither side uses counts as 0, as in scikit-learn with `zero_division=0`."""
    import numpy as np

    scores = []
    for verdict in (0, 1):
        both = 2 * table[..., verdict, verdict]
        used = table[..., verdict, :].sum(axis=-1) + table[..., :, verdict].sum(axis=-1)
        scores.append(np.where(used > 0, both / np.where(used > 0, used, 1), 0.0))
    return (scores[0] + scores[1]) / 2


_OF_TABLES: Final[Mapping[str, Callable[[Any], Any]]] = {"accuracy": _accuracy_of, "kappa": _kappa_of, "macro_f1": _macro_f1_of}
