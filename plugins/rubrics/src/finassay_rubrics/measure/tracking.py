"""Score tracking: do two rubrics, or a rubric and people, put the same answers into the same order and at the same height?

Correlations are given twice. `pooled` is over all answers, so that queries which are easy for everybody help; `within` is the mean over queries of
the correlation among the answers to one query, which is what a ranking of systems needs. Intervals draw whole queries again.
"""

from collections.abc import Callable, Sequence
from itertools import combinations
from typing import Any, Final

from attrs import frozen

from finassay_rubrics.measure.statistics import RESAMPLES, SEED, Interval, by_query, correlation, with_interval

CORRELATIONS: Final = ("pearson", "spearman", "kendall")
SAME: Final = 1e-9
"""Points by which two scores may differ and still count as a tie."""


@frozen
class Scores:
    """One answer's points by two measures."""

    query: str
    answer: str
    first: float
    """By the rubric that is measured."""
    second: float
    """By the expert's rubric, or by people."""


@frozen
class Order:
    """Pairs of answers to one query that the second measure tells apart."""

    pairs: int
    right: int
    """Of these, put into the same order by the first."""
    tied: int
    """Of these, not told apart by the first: half right."""
    left_out: int
    """Pairs that the second measure does not tell apart."""

    @property
    def accuracy(self) -> float | None:
        return (self.right + self.tied / 2) / self.pairs if self.pairs else None


@frozen
class Tracking:
    """What is measured; a figure that is undefined is None."""

    answers: int
    queries: int
    pooled: dict[str, Interval | None]
    within: dict[str, Interval | None]
    defined_within: dict[str, int]
    """Queries on which the correlation among answers is defined."""
    order: Order
    order_accuracy: Interval | None
    rmse: Interval | None
    bias: Interval | None
    """Mean of the first minus the second."""

    def json(self) -> dict[str, Any]:
        def shown(one: Interval | None) -> Any:
            return None if one is None else one.json()

        order = {name: getattr(self.order, name) for name in ("pairs", "right", "tied", "left_out")}
        return {
            "answers": self.answers,
            "queries": self.queries,
            **{name: shown(self.pooled[name]) for name in CORRELATIONS},
            **{f"{name}_within_query": shown(self.within[name]) for name in CORRELATIONS},
            "queries_with_correlation": self.defined_within,
            "order_accuracy": shown(self.order_accuracy),
            "order": order,
            "rmse": shown(self.rmse),
            "bias": shown(self.bias),
        }


def track(rows: Sequence[Scores], *, draws: int = RESAMPLES, seed: int = SEED) -> Tracking:
    """Every figure over these answers."""

    def figure(of: Callable[[Sequence[Scores]], float | None]) -> Interval | None:
        return with_interval(rows, of, lambda row: row.query, draws=draws, seed=seed)

    groups = by_query(rows, lambda row: row.query)
    return Tracking(
        len(rows),
        len(groups),
        {name: figure(lambda own, how=name: _pooled(how, own)) for name in CORRELATIONS},  # type: ignore[misc]
        {name: _within(name, groups, draws, seed) for name in CORRELATIONS},
        {name: sum(_pooled(name, own) is not None for own in groups) for name in CORRELATIONS},
        order_of(groups),
        _order_interval(groups, draws, seed),
        figure(_rmse),
        figure(lambda own: sum(r.first - r.second for r in own) / len(own) if own else None),
    )


def _pooled(how: str, rows: Sequence[Scores]) -> float | None:
    return correlation(how, [r.first for r in rows], [r.second for r in rows])


def _rmse(rows: Sequence[Scores]) -> float | None:
    return (sum((r.first - r.second) ** 2 for r in rows) / len(rows)) ** 0.5 if rows else None


def _within(how: str, groups: Sequence[Sequence[Scores]], draws: int, seed: int) -> Interval | None:
    """The mean over queries on which it is defined."""
    known = [(number, value) for number, own in enumerate(groups) if (value := _pooled(how, own)) is not None]
    return with_interval(known, _mean, lambda row: str(row[0]), draws=draws, seed=seed)


def _mean(rows: Sequence[tuple[int, float]]) -> float | None:
    return sum(value for _, value in rows) / len(rows) if rows else None


def order_of(groups: Sequence[Sequence[Scores]]) -> Order:
    """Pairs of answers to one query; answers to different queries are never compared."""
    pairs = right = tied = left_out = 0
    for own in groups:
        for one, two in combinations(own, 2):
            expected, found = one.second - two.second, one.first - two.first
            if abs(expected) <= SAME:
                left_out += 1
                continue
            pairs += 1
            if abs(found) <= SAME:
                tied += 1
            elif (found > 0) == (expected > 0):
                right += 1
    return Order(pairs, right, tied, left_out)


def _order_interval(groups: Sequence[Sequence[Scores]], draws: int, seed: int) -> Interval | None:
    counted = [(str(number), order_of([own])) for number, own in enumerate(groups)]

    def accuracy(rows: Sequence[tuple[str, Order]]) -> float | None:
        pairs = sum(order.pairs for _, order in rows)
        return sum(order.right + order.tied / 2 for _, order in rows) / pairs if pairs else None

    return with_interval(counted, accuracy, lambda row: row[0], draws=draws, seed=seed)
