"""Fact behind 2.12: can each fill be explained by date, reason and the value that decided it?"""

import re

import numpy as np
import pandas as pd
from attrs import frozen
from numpy.typing import NDArray

from finassay.api.delivery import Package
from finassay_checks.delivered import read_delivery
from finassay_checks.model import Delivered
from finassay_checks.recompute.control import FIRST_PURCHASE, control
from finassay_checks.recompute.lags import lags
from finassay_checks.recompute.panel import Floats
from finassay_checks.recompute.rebuilt import price_panel
from finassay_checks.shared import factorized

ALIKE = 1e-3


@frozen(eq=False)
class Explained:
    """`credits` is one number a fill (1 with date, reason and value; 0.5 with date and reason). `agree` is the share of comparable deciding
    values that agree with the joined table or with prices, None if none could be compared."""

    credits: Floats
    dated: NDArray[np.bool_]
    reasoned: NDArray[np.bool_]
    valued: NDArray[np.bool_]
    agree: float | None
    compared: int
    wrong: tuple[str, ...] = ()

    @property
    def share(self) -> float:
        return float(self.credits.mean()) if len(self.credits) else 0.0


def explained(package: Package) -> Explained | None:
    """None without a trade log."""
    delivered = package.fact(read_delivery)
    trades, lag = delivered.frame("trades"), package.fact(lags)
    if trades is None or lag is None or trades.empty:
        return None
    dated = lag.found("row", "join", "same-date", "recomputed")
    told = _reasons(trades["reason"], r"\S")
    follows = (trades["weight_before"].notna() & trades["target_weight"].notna()).to_numpy()
    reasoned = told | follows
    own = trades["decided_by"].notna().to_numpy()
    joined = _joined(delivered, trades, lag.decision)
    found = package.fact(control)
    driven = found.mask & (found.causes != FIRST_PURCHASE)
    numbered = _reasons(trades["reason"], r"\d+\.\d+")
    states = _has_state(delivered, lag.decision)
    valued = own | (joined & ~driven) | (driven & (numbered | states | _spell_tells(delivered, trades)))
    credits = np.where(dated & reasoned & valued, 1.0, np.where(dated & reasoned, 0.5, 0.0))
    agree, compared, wrong = _agreement(package, delivered, trades, lag.decision, driven)
    return Explained(credits, dated, reasoned, valued, agree, compared, wrong)


def _reasons(reasons: pd.Series, pattern: str) -> NDArray[np.bool_]:
    """Reasons in which a pattern is found; each distinct text is looked at once."""
    if reasons.isna().all():
        return np.zeros(len(reasons), dtype=bool)
    codes, texts = factorized(reasons)
    found = np.array([bool(re.search(pattern, str(text))) for text in texts] + [False])
    return found[codes]


def _keys(dates: pd.DatetimeIndex, tickers: pd.Series) -> pd.MultiIndex:
    return pd.MultiIndex.from_arrays([dates, tickers])


def _joined(delivered: Delivered, trades: pd.DataFrame, decision: pd.DatetimeIndex) -> NDArray[np.bool_]:
    """Fills whose ticker has a score or rank at the decision."""
    signals = delivered.frame("signals")
    if signals is None or signals.empty:
        return np.zeros(len(trades), dtype=bool)
    rows = signals[(signals["score"].notna() | signals["rank"].notna()) & signals["date"].notna()]
    table = pd.MultiIndex.from_frame(rows[["date", "ticker"]].drop_duplicates())
    return np.asarray(_keys(decision, trades["ticker"]).isin(table))


_TRIGGER = re.compile(r"trigger|peak|stop (?:level|price|close)|level", re.I)


def _spell_tells(delivered: Delivered, trades: pd.DataFrame) -> NDArray[np.bool_]:
    """Exits whose row of the round-trip table, joined by ticker and date, holds a trigger or a peak."""
    choice = delivered.choices.get("round_trips")
    if choice is None or choice.chosen is None:
        return np.zeros(len(trades), dtype=bool)
    raw, trips = choice.chosen.table.frame, choice.chosen.frame
    telling = [c for c in raw.columns if _TRIGGER.search(str(c))]
    if not telling or len(raw) != len(trips):
        return np.zeros(len(trades), dtype=bool)
    told = trips[raw[telling].notna().any(axis=1).to_numpy()]
    keys = pd.MultiIndex.from_frame(told[["exit_date", "ticker"]])
    return np.asarray(pd.MultiIndex.from_arrays([trades["fill_date"], trades["ticker"]]).isin(keys))


def _has_state(delivered: Delivered, decision: pd.DatetimeIndex) -> NDArray[np.bool_]:
    states = delivered.frame("states")
    if states is None or states.empty:
        return np.zeros(len(decision), dtype=bool)
    return np.asarray(decision.isin(pd.DatetimeIndex(states["date"].dropna().unique())))


def _agreement(
    package: Package, delivered: Delivered, trades: pd.DataFrame, decision: pd.DatetimeIndex, driven: NDArray[np.bool_]
) -> tuple[float | None, int, tuple[str, ...]]:
    """Deciding values of the log against the scores or ranks of the decision; those of controls against the close of the decision."""
    values = pd.to_numeric(trades["decided_by"], errors="coerce").to_numpy(dtype=float)
    signals, panel = delivered.frame("signals"), package.fact(price_panel)
    choices: list[Floats] = []
    if signals is not None and not signals.empty:
        keys = _keys(decision, trades["ticker"])
        for column in ("score", "rank"):
            known = signals[signals[column].notna() & signals["date"].notna()]
            for _, rows in list(known.groupby(known["name"].fillna(""), sort=False))[:10]:
                scores = rows.drop_duplicates(["date", "ticker"], keep="last").set_index(["date", "ticker"])[column]
                choices.append(np.where(driven, np.nan, scores.reindex(keys).to_numpy(dtype=float)))
    if panel is not None:
        rows_ = np.asarray(panel.dates.searchsorted(decision, side="right"), dtype=np.int64) - 1
        close = panel.at(panel.close, np.where(decision.isna(), -1, rows_), panel.ticker_codes(trades["ticker"]))
        choices.append(np.where(driven, close, np.nan))
    if not choices:
        return None, 0, ()
    table = np.stack(choices)
    with np.errstate(all="ignore"):
        near = np.abs(table - values) <= np.maximum(ALIKE * np.abs(table), 1e-9)
    comparable = np.isfinite(values) & np.isfinite(table).any(axis=0)
    if not comparable.any():
        joined = np.isfinite(table).any(axis=0) & ~np.isfinite(values)
        return (1.0, int(joined.sum()), ()) if joined.any() else (None, 0, ())
    agrees = near.any(axis=0)
    lost = trades[comparable & ~agrees].head(8)
    named = tuple(f"row {r.row}: {r.ticker} decided by {r.decided_by}" for r in lost.itertuples())
    return float(agrees[comparable].mean()), int(comparable.sum()), named
