"""Sizing inputs: whether the estimate behind target weights uses the close of the fill itself, and what that is worth (spec D.0.4,
`lags`)."""

import numpy as np
import pandas as pd
from attrs import frozen

from finassay.api.delivery import Package
from finassay_checks.delivered import read_delivery
from finassay_checks.recompute import metrics
from finassay_checks.recompute.lags import lags
from finassay_checks.recompute.panel import CASH, Floats, Panel, carried
from finassay_checks.recompute.portfolio import rebuild_from_weights
from finassay_checks.recompute.rebuilt import price_panel

WINDOWS = (20, 21, 40, 42, 60, 63, 90, 120, 126, 250, 252)
NEAR = 0.02


@frozen
class Sizing:
    """`at_fill`: weights need the fill day's close. `effect`: largest change of annual return or drawdown if estimated a session earlier,
    None where the estimate could not be computed again."""

    at_fill: bool
    effect: float | None
    text: str


def sizing(package: Package) -> Sizing | None:
    """None where nothing is sized by an estimate, or without a trade log or target weights.

    Inverse volatility is computed again with the usual windows; for any other unequal weighting a decision dated on the fill's own day
    counts as an estimate of that day.
    """
    found = package.fact(lags)
    trades = package.fact(read_delivery).frame("trades")
    panel = package.fact(price_panel)
    if found is None or trades is None or panel is None:
        return None
    targets = _targets(package, trades, panel)
    if targets is None or not _unequal(targets[1]):
        return None
    dates, matrix = targets
    for window in WINDOWS:
        at_fill, earlier = (_inverse_volatility(panel, dates, matrix, window, end) for end in (0, -1))
        fits = [_fits(matrix, weights) for weights in (at_fill, earlier)]
        if fits[1] >= 0.95:
            return Sizing(False, 0.0, f"inverse volatility of {window} sessions up to the session before the fill")
        if fits[0] >= 0.95:
            return Sizing(
                True, _effect(panel, dates, at_fill, earlier), f"inverse volatility of {window} sessions with the fill day's close"
            )
    own_day = (found.decision == pd.DatetimeIndex(trades["fill_date"])) & np.isin(found.how, ("row", "same-date", "recomputed", "join"))
    if float(np.mean(own_day)) > 0.05:
        return Sizing(True, None, "unequal target weights dated on the day of the fill")
    return Sizing(False, None, "")


def _targets(package: Package, trades: pd.DataFrame, panel: Panel) -> tuple[pd.DatetimeIndex, Floats] | None:
    """Target weights by fill date: of the log itself, else of the weights table on its own dates."""
    logged = trades[trades["target_weight"].notna() & trades["fill_date"].notna()]
    if len(logged) >= 0.5 * len(trades):
        frame = logged.rename(columns={"fill_date": "date", "target_weight": "weight"})
    else:
        weights = package.fact(read_delivery).frame("weights")
        if weights is None:
            return None
        frame = weights[(weights["kind"] == "target") & (weights["ticker"] != CASH)]
        frame = frame[frame["date"].isin(trades["fill_date"].unique())]
    if frame.empty:
        return None
    codes, dates = pd.factorize(frame["date"], sort=True)
    columns = panel.ticker_codes(frame["ticker"])
    matrix = np.full((len(dates), len(panel.tickers)), np.nan)
    known = columns >= 0
    matrix[codes[known], columns[known]] = frame["weight"].to_numpy(dtype=float)[known]
    return pd.DatetimeIndex(dates), np.nan_to_num(matrix)


def _unequal(matrix: Floats) -> bool:
    """Whether more than a twentieth of the dates give different weights to the names they hold."""
    held = np.where(matrix > 1e-6, matrix, np.nan)
    rows = np.isfinite(held).sum(axis=1) > 1
    if not rows.any():
        return False
    spread = np.nanmax(held[rows], axis=1) - np.nanmin(held[rows], axis=1)
    return bool(np.mean(spread > NEAR) > 0.05)


def _inverse_volatility(panel: Panel, dates: pd.DatetimeIndex, matrix: Floats, window: int, end: int) -> Floats:
    closes = carried(panel.close)
    rows = np.asarray(panel.dates.searchsorted(dates, side="right"), dtype=np.int64) - 1 + end
    out = np.full(matrix.shape, np.nan)
    for index, row in enumerate(rows):
        if row >= window:
            span = closes[row - window : row + 1]
            held = matrix[index] > 1e-6
            with np.errstate(all="ignore"):
                inverse = np.where(held, 1.0 / np.std(span[1:] / span[:-1] - 1.0, axis=0, ddof=1), 0.0)
                out[index] = inverse / inverse.sum() * matrix[index].sum()
    return out


def _fits(matrix: Floats, weights: Floats) -> float:
    known = np.isfinite(weights).all(axis=1) & (matrix > 1e-6).any(axis=1)
    if known.sum() < 3:
        return 0.0
    return float(np.mean(np.abs(matrix[known] - weights[known]).max(axis=1) <= 0.002))


def _effect(panel: Panel, dates: pd.DatetimeIndex, at_fill: Floats, earlier: Floats) -> float:
    known = np.asarray(np.isfinite(at_fill).all(axis=1) & np.isfinite(earlier).all(axis=1))
    paths = [
        metrics.path_of(pd.Series(book.equity, index=book.dates))
        for book in (rebuild_from_weights(dates[known], weights[known], panel, 1.0) for weights in (at_fill, earlier))
    ]
    yearly = [metrics.annual_return(p.returns, p.periods) for p in paths]
    deepest = [metrics.max_drawdown(p.returns) for p in paths]
    return float(max(abs(yearly[0] - yearly[1]), abs(deepest[0] - deepest[1])))
