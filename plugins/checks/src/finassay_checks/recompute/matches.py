"""Fact `metrics`/`match`: every reported headline figure beside the program's own value (spec D.0.4)."""

import re
from collections.abc import Iterable, Iterator

import numpy as np
import pandas as pd
from attrs import evolve

from finassay.api.delivery import Package
from finassay_checks.delivered import read_delivery
from finassay_checks.model import Delivered, Figure, MetricMatch
from finassay_checks.recompute import metrics, stated
from finassay_checks.recompute.book_figures import book_candidates
from finassay_checks.recompute.conventions import PREFIX, Alternative, Curve, alternatives, closeness, own_value
from finassay_checks.recompute.rebuilt import Rebuilding, rebuilding

CURVE = ("total_return", "annual_return", "annual_vol", "sharpe", "sortino", "max_drawdown")
NEEDS_LENGTH = frozenset({"annual_return", "annual_vol", "sharpe", "sortino", "alpha", "beta"})


def tolerance(metric: str, own: float) -> float:
    """The fixed tolerance of a metric around its own value (spec D.0.4, `match(x)`)."""
    if metric == "total_return":
        return max(0.02, 0.005 * abs(1.0 + own))
    if metric in ("sharpe", "sortino"):
        return 0.5
    if metric == "turnover":
        return 0.10 * abs(own)
    if metric == "fees":
        return 0.02 * abs(own)
    if metric == "beta":
        return 0.1
    return 0.0 if metric == "trades" else 0.02


def metric_matches(package: Package) -> tuple[MetricMatch, ...]:
    """One match a reported metric, the headline's first figure of each; `recomputed` is None where it cannot be recomputed or is not
    compared."""
    delivered = package.fact(read_delivery)
    made = package.fact(rebuilding)
    curves = _rebuilt_curves(made)
    return tuple(_match(figure, curves, made, delivered) for figure in first_figures(delivered.figures))


def equity_matches(package: Package) -> tuple[MetricMatch, ...]:
    """The figures that follow from a curve, compared with the delivered equity alone."""
    delivered = package.fact(read_delivery)
    made = package.fact(rebuilding)
    if made.delivered_equity is None or len(made.delivered_equity) < 2:
        return ()
    own = Curve.of(made.delivered_equity)
    curves = [own]
    if made.rebuilt is not None and made.rebuilt.start_capital > 0:
        curves.append(Curve.of(_anchored(made.delivered_equity, made.rebuilt.start_capital)))
    return tuple(_match(f, tuple(curves), made, delivered) for f in first_figures(delivered.figures) if f.metric in CURVE)


def first_figures(figures: Iterable[Figure]) -> tuple[Figure, ...]:
    """The first figure of each metric, in order: the one that counts."""
    seen: dict[str, Figure] = {}
    for figure in figures:
        seen.setdefault(figure.metric, figure)
    return tuple(seen.values())


def _rebuilt_curves(made: Rebuilding) -> tuple[Curve, ...]:
    """The rebuilt curve; and the same from the first delivered date, where the delivered file begins in cash before the first fill."""
    if made.rebuilt is None:
        return ()
    equity = made.rebuilt.equity
    curves = [Curve.of(equity)]
    delivered = made.delivered_equity
    if delivered is not None and len(delivered) and delivered.index[0] < equity.index[0]:
        flat = pd.Series(made.rebuilt.start_capital, index=delivered.index[delivered.index < equity.index[0]])
        curves.append(Curve.of(pd.concat([flat, equity])))
    return tuple(curves)


def _anchored(equity: pd.Series, capital: float) -> pd.Series:
    if abs(float(equity.iloc[0]) / capital - 1.0) < 1e-9:
        return equity
    start = pd.Series([capital], index=pd.DatetimeIndex([equity.index[0] - pd.offsets.BDay(1)]))
    anchored: pd.Series = pd.concat([start, equity])
    return anchored


@np.errstate(all="ignore")
def _match(figure: Figure, curves: tuple[Curve, ...], made: Rebuilding, delivered: Delivered) -> MetricMatch:
    blank = MetricMatch(figure.metric, figure.value, None, 0.0, False, "", figure.where)
    if figure.metric in CURVE:
        if not curves:
            return evolve(blank, convention=made.reason)
        if figure.metric in NEEDS_LENGTH and len(curves[0].path.returns) < metrics.MIN_RETURNS:
            return evolve(blank, convention=f"fewer than {metrics.MIN_RETURNS} returns: not compared")
        return _curve_match(figure, [_gross(c, made) for c in curves] if _is_gross(figure) else list(curves), delivered, blank)
    candidates = book_candidates(figure, made, delivered)
    if not candidates:
        return evolve(blank, convention="what it is computed from is not delivered")
    return _candidate_match(figure, candidates, blank)


def _is_gross(figure: Figure) -> bool:
    return figure.basis.get("costs", "").startswith("gross") and "net" not in figure.text.lower()


def _gross(curve: Curve, made: Rebuilding) -> Curve:
    """The curve with each day's fees given back before its return."""
    if made.rebuilt is None:
        return curve
    fees = made.rebuilt.fees.reindex(curve.equity.index).fillna(0.0).to_numpy(dtype=float)
    values = curve.equity.to_numpy(dtype=float)
    returns = (values[1:] + fees[1:]) / values[:-1] - 1.0
    return Curve.of(pd.Series(values[0] * metrics.wealth(returns), index=curve.equity.index))


def _curve_match(figure: Figure, curves: list[Curve], delivered: Delivered, blank: MetricMatch) -> MetricMatch:
    reported = -abs(figure.value) if figure.metric == "max_drawdown" else figure.value
    own = own_value(figure.metric, curves[0].path)
    if not np.isfinite(own):
        return evolve(blank, convention="no such figure exists for this curve")
    others = [a for curve in curves for a in alternatives(figure.metric, curve)]
    others += [Alternative("flat days before the first fill counted", own_value(figure.metric, c.path), "same") for c in curves[1:]]
    others = [_as_labelled(a, figure) for a in others]
    if figure.metric == "sharpe":
        others += _less_risk_free(own, curves[0], delivered)
    return decide(figure, reported, own, others, blank)


def decide(figure: Figure, reported: float, own: float, others: list[Alternative], blank: MetricMatch) -> MetricMatch:
    """A match inside the tolerance, else under a named convention; a fault's fingerprint is named inside the tolerance too."""
    limit = tolerance(figure.metric, own)
    base = evolve(blank, reported=reported, recomputed=own, tolerance=limit)

    def explains(alternative: Alternative) -> bool:
        return abs(reported - alternative.value) <= closeness(alternative.value, figure.precision)

    near = sorted((a for a in others if explains(a)), key=lambda a: (_ORDER[a.kind], abs(reported - a.value)))
    if abs(reported - own) <= max(limit, figure.precision):
        accepted = min([own, *(a.value for a in near if a.kind == "same")], key=lambda value: abs(reported - value))
        if abs(reported - own) <= closeness(own, figure.precision) or not near or near[0].kind == "same":
            return evolve(base, recomputed=accepted, matches=True)
        return evolve(base, matches=True, convention=_named(near[0]))
    same = next(
        (a for a in others if a.kind == "same" and abs(reported - a.value) <= max(tolerance(figure.metric, a.value), figure.precision)),
        None,
    )
    if same is not None:
        return evolve(base, recomputed=same.value, matches=True, convention=same.name)
    if near:
        return evolve(base, matches=near[0].kind == "convention", convention=_named(near[0]))
    return base


_ORDER = {"same": 0, "convention": 1, "fault": 2}


def _named(alternative: Alternative) -> str:
    return PREFIX + alternative.name if alternative.kind == "fault" else alternative.name


def _as_labelled(alternative: Alternative, figure: Figure) -> Alternative:
    """A fingerprint that the figure's own label states is no fault: a *daily* Sharpe, a month-end drawdown, returns on a constant stake."""
    label = f"{figure.text} {' '.join(figure.basis.values())}".lower()
    said = {
        "not annualised": r"\bdaily\b(?!.*annuali)|not annuali|per (?:day|period)",
        "month-end values only": r"month[- ]end|monthly",
        "week-end values only": r"week[- ]end|weekly",
        "sum of returns, not compounded": r"constant stake|not compounded|uncompounded|sum of returns",
        "not compounded": r"constant stake|not compounded|uncompounded",
    }.get(alternative.name)
    if alternative.kind == "fault" and said and re.search(said, label):
        return evolve(alternative, kind="convention")
    return alternative


def _less_risk_free(own: float, curve: Curve, delivered: Delivered) -> list[Alternative]:
    """Sharpe less a risk-free rate that the text states; without its number any plausible rate is tried in quarters of a percent."""
    said = stated.risk_free(delivered)
    vol = metrics.volatility(curve.path.returns, curve.path.periods)
    if said is None or not vol > 0:
        return []
    rates = [said.value] if np.isfinite(said.value) else [0.0025 * step for step in range(1, 25)]
    return [Alternative(f"risk-free rate of {rate:.2%}", own - rate / vol, "convention") for rate in rates if rate > 0]


def _candidate_match(figure: Figure, candidates: list[Alternative], blank: MetricMatch) -> MetricMatch:
    """The first reading is our own; the others count as right under their name."""
    own = candidates[0]

    def fits(candidate: Alternative) -> bool:
        return abs(figure.value - candidate.value) <= max(tolerance(figure.metric, candidate.value), figure.precision, 1e-9)

    fitting = [c for c in candidates if c.kind != "fault" and fits(c)]
    best = min(fitting, key=lambda c: abs(figure.value - c.value)) if fitting else None
    if best is None:
        wrong = next((c for c in candidates if c.kind == "fault" and fits(c)), None)
        return evolve(blank, recomputed=own.value, tolerance=tolerance(figure.metric, own.value), convention=_named(wrong) if wrong else "")
    if fits(own) and abs(own.value - best.value) <= 1e-12 + 1e-6 * abs(own.value):
        best = own
    return evolve(
        blank,
        recomputed=best.value,
        tolerance=tolerance(figure.metric, best.value),
        matches=True,
        convention="" if best is own and figure.metric != "trades" else best.name,
    )


def conflicts(figures: Iterable[Figure]) -> Iterator[tuple[Figure, Figure]]:
    """Figures of one metric that differ beyond the printed precision of both: (the one that counts, the other)."""
    first: dict[str, Figure] = {}
    for figure in figures:
        lead = first.setdefault(figure.metric, figure)
        if abs(figure.value - lead.value) > 1.0001 * (figure.precision + lead.precision) + 1e-9:
            yield lead, figure
