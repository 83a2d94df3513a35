"""Fact `exact`: how closely the delivered curve and figures follow the trades, for the judges of 4.1 and 5.4. It never moves 3.2."""

import numpy as np
import pandas as pd
from attrs import frozen

from finassay.api.delivery import Package
from finassay_checks.delivered import read_delivery
from finassay_checks.recompute.audit import longest_run
from finassay_checks.recompute.matches import first_figures, metric_matches
from finassay_checks.recompute.rebuilt import Rebuilding, rebuilding

WITHIN = 1e-4
MOST_DAYS = 0.99
RUN = 5


@frozen
class Exact:
    """`share` of common days on which the delivered curve lies within 1e-4 of the rebuilt one; `findings` what is not exact, in sentences."""

    share: float | None
    findings: tuple[str, ...]


def exact(package: Package) -> Exact | None:
    """None unless a full trade log and prices rebuild the portfolio."""
    made = package.fact(rebuilding)
    if made.rebuilt is None or made.rebuilt.source != "trades":
        return None
    findings: list[str] = []
    share = _days(made, findings)
    precision = {str(figure.metric): figure.precision for figure in first_figures(package.fact(read_delivery).figures)}
    for match in package.fact(metric_matches):
        if match.recomputed is None:
            continue
        if match.metric == "sharpe" and match.reported * match.recomputed < 0:
            findings.append(f"the Sharpe ratio has the wrong sign: {match.reported:.4g} reported, {match.recomputed:.4g} recomputed")
        if match.convention.startswith("fault: "):
            findings.append(f"{match.metric} {match.reported:.6g} follows from a fault: {match.convention.removeprefix('fault: ')}")
        elif (
            abs(match.reported - match.recomputed) > max(precision.get(match.metric, 0.0), 1e-9) * 1.001
            and match.matches
            and not match.convention
        ):
            findings.append(f"{match.metric} {match.reported:.6g} is not exact: {match.recomputed:.6g} recomputed")
    return Exact(share, tuple(findings))


def _days(made: Rebuilding, findings: list[str]) -> float | None:
    assert made.rebuilt is not None
    if made.delivered_equity is None:
        return None
    common = made.rebuilt.equity.index.intersection(pd.DatetimeIndex(made.delivered_equity.index))
    if not len(common):
        return None
    apart = (made.delivered_equity.loc[common] / made.rebuilt.equity.loc[common] - 1.0).to_numpy(dtype=float)
    outside = ~(np.abs(apart) <= WITHIN)
    share, run = 1.0 - float(outside.mean()), longest_run(outside)
    if share < MOST_DAYS or run > RUN:
        first = common[int(np.argmax(outside))].date()
        findings.append(
            f"the delivered equity is exact on {share:.1%} of days only; it first differs on {first} by {apart[np.argmax(outside)]:+.2%}"
        )
    return share
