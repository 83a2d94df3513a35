"""Schedules, drift bands, event entries and fees (spec D.2)."""

import re

import numpy as np
import pandas as pd
from attrs import frozen

from finassay.api.strategy import Stance
from finassay_checks.fidelity.ledger import Ledger
from finassay_checks.fidelity.shown import ENOUGH, HALF, Shown, cannot_tell
from finassay_checks.recompute.calendar import (
    FREQUENCIES,
    Frequency,
    empty_spells,
    flat_spells,
    period_numbers,
    schedule_share,
    unchanged_targets,
)
from finassay_checks.shared import factorized

_BAND = re.compile(
    r"(?:drift|band|off target|away from (?:its )?target|deviat\w*)\D{0,40}?(\d+(?:\.\d+)?)\s*(%|percentage points?|points?|pp)"
    r"|(\d+(?:\.\d+)?)\s*(%|percentage points?|points?|pp)\W{0,3}(?:drift|band|off|away|deviat)",
    re.IGNORECASE,
)
_RISK_CAUSE = re.compile(r"stop|trail|draw ?-?_?down|cap|vol", re.IGNORECASE)
TOLERANCE = 0.10
MOSTLY = 0.8
"""Share of fills beyond the band from which on a calendar of them no longer speaks against it: others only pay for these."""
CHANCE = 0.01
"""How likely mere chance may be that puts the fills on days after announcements."""
BY_CHANCE = 0.001
"""The same of fills on the edges of periods: a few dates that a band or an event chose may lie there."""
AFTER = 3


def _dates(ledger: Ledger) -> tuple[pd.DatetimeIndex, np.ndarray] | None:
    """Decision dates of rebalance fills with the number of fills on each; target rows count once each where there are no fills."""
    fills = ledger.rebalance_fills
    if fills is not None and len(fills):
        counts = fills.groupby("decision").size().sort_index()
        return pd.DatetimeIndex(counts.index), counts.to_numpy()
    if ledger.targets is not None and len(ledger.targets):
        return pd.DatetimeIndex(ledger.targets.index), np.ones(len(ledger.targets), dtype=np.int64)
    return None


def schedule_test(ledger: Ledger, period: str) -> Shown:
    """`schedule` kept: by decision dates, else by fill dates."""
    if period not in FREQUENCIES:
        return cannot_tell(f"unknown period '{period}'")
    found = _dates(ledger)
    if found is None:
        return cannot_tell("no rebalance dates")
    choices = [found]
    fills = ledger.rebalance_fills
    if fills is not None and len(fills):
        by_fill = fills.groupby("fill_date").size().sort_index()
        choices.append((pd.DatetimeIndex(by_fill.index), by_fill.to_numpy()))
    spells = _idle(ledger)
    share = max(schedule_share(dates, counts, period, spells) for dates, counts in choices)
    note = f"rebalance fills that lie alone in their {period.removesuffix('ly')} period"
    if share >= ENOUGH:
        return Shown(Stance.SUPPORTS, share, int(found[1].sum()), note)
    for other in FREQUENCIES:
        if other != period and max(schedule_share(dates, counts, other, spells) for dates, counts in choices) >= ENOUGH:
            return Shown(Stance.CONTRADICTS, share, int(found[1].sum()), f"the fills are {other}")
    return Shown(Stance.CANNOT_TELL, share, int(found[1].sum()), note)


def _idle(ledger: Ledger) -> tuple[tuple[pd.Timestamp, pd.Timestamp], ...]:
    """Spans without a holding, and days on which the plan stayed: nothing need be traded in them."""
    logged = flat_spells(ledger.fills) if ledger.fills is not None else ()
    return logged + empty_spells(ledger.weights) + unchanged_targets(ledger.targets)


def band(ledger: Ledger) -> float | None:
    """The delivered drift band as a fraction."""
    match = _BAND.search(ledger.rules[:400_000])
    return float(match[1] or match[3]) / 100 if match else None


def calendar_kept(ledger: Ledger) -> Frequency | None:
    """The calendar that the fills keep with at least 95 % of dates on the period's first or last session, more often than chance gives.

    Of chance the first date says nothing: it is where the sample, or a warm-up, begins.
    """
    found = _dates(ledger)
    if found is None or ledger.closes is None:
        return None
    dates, counts = found
    sessions = pd.DatetimeIndex(ledger.closes.index)
    for period in FREQUENCIES:
        if schedule_share(dates, counts, period) >= ENOUGH:
            numbers = period_numbers(sessions, period)
            edge = np.r_[True, numbers[1:] != numbers[:-1]] | np.r_[numbers[1:] != numbers[:-1], True]
            row = sessions.searchsorted(dates, side="right") - 1
            on_edge = edge[np.maximum(row, 0)]
            if float(on_edge.mean()) >= ENOUGH and float(edge.mean()) ** int(on_edge[1:].sum()) < BY_CHANCE:
                return period
    return None


def drift_band_test(ledger: Ledger) -> Shown:
    """Rebalance fills happen beyond the band, and a holding farther off its last target is followed by a fill.

    A plan that is set anew by a calendar lets a band trade by that calendar too: what parts the two is whether the names that were traded
    were beyond the band, and whether a holding beyond it was ever left alone.
    """
    kept = calendar_kept(ledger)
    width = band(ledger)
    found = None if width is None else _against_band(ledger, width)
    if kept is not None:
        resized, beyond = _resized(ledger), None if width is None else _beyond(ledger, width)
        note = f"the fills keep a {kept} calendar on period edges"
        if beyond is not None and beyond >= MOSTLY and found is not None and found.silent <= (1 - ENOUGH) * found.sessions:
            note = f"{note}, and {beyond:.1%} of them are of names that were beyond the band of {width:.1%} off their plan"
            return Shown(Stance.SUPPORTS if beyond >= ENOUGH else Stance.CANNOT_TELL, beyond, found.acted, note)
        if resized is None or resized > HALF:
            return Shown(Stance.CONTRADICTS, resized, 0, note)
        return Shown(Stance.CANNOT_TELL, resized, 0, f"{note}, but leave most holdings alone, as a band does")
    if width is None or found is None:
        return cannot_tell("a drift band needs the band in words, trades and prices")
    count = found.acted + found.silent
    if count == 0:
        return cannot_tell("no rebalance after the first")
    share = found.reasoned / count
    note = (
        f"{found.reasoned} of {found.acted} rebalances follow a weight beyond the band of {width:.1%},"
        f" {found.silent} sessions beyond it without one"
    )
    if share >= ENOUGH or (count >= 5 and count - found.reasoned <= 1):
        return Shown(Stance.SUPPORTS, max(share, ENOUGH), count, note)
    return Shown(Stance.CONTRADICTS if share < HALF and ledger.targets is not None else Stance.CANNOT_TELL, share, count, note)


@frozen
class Banded:
    """`reasoned` of the `acted` rebalances after the first follow a weight beyond the band; `silent` of the `sessions` beyond it saw no fill."""

    reasoned: int
    acted: int
    silent: int
    sessions: int


def _against_band(ledger: Ledger, width: float) -> Banded | None:
    """Sessions on which a holding was beyond the band off its last target, and the rebalances; None without trades and prices."""
    if ledger.weights is None or ledger.fills is None:
        return None
    weights = ledger.weights.to_numpy()
    sessions = ledger.weights.index
    traded = sessions.isin(ledger.fills.loc[~ledger.fills["control"], "fill_date"])
    moved = sessions.isin(ledger.fills["fill_date"])
    target = pd.DataFrame(np.where(traded[:, None], weights, np.nan)).ffill().to_numpy()
    if ledger.targets is not None and len(ledger.targets):
        stated = ledger.targets.reindex(columns=ledger.weights.columns).reindex(ledger.weights.index, method="ffill").fillna(0.0).to_numpy()
        target = np.where(np.isfinite(target), stated, target)
    gap = np.max(np.where((weights > 1e-6) & np.isfinite(target), np.abs(weights - target), 0.0), axis=1)
    gap[~np.isfinite(target).any(axis=1)] = np.nan
    slack = 0.1 * width + 1e-6
    over = np.r_[False, (gap > width + slack)[:-1]] & np.isfinite(gap)
    acted = traded[1:] & np.isfinite(gap[:-1])
    return Banded(int((acted & (gap[:-1] > width - slack)).sum()), int(acted.sum()), int((over & ~moved).sum()), int(over.sum()))


def _beyond(ledger: Ledger, width: float) -> float | None:
    """Share of rebalance fills whose name was beyond the band off its delivered target just before; None with fewer than ten of them."""
    fills = ledger.rebalance_fills
    if fills is None or ledger.weights is None or ledger.targets is None or not len(ledger.targets):
        return None
    targets = ledger.targets.reindex(columns=ledger.weights.columns).fillna(0.0).to_numpy()
    column = ledger.weights.columns.get_indexer(pd.Index(fills["ticker"]))
    before = ledger.weights.index.searchsorted(pd.DatetimeIndex(fills["fill_date"]), side="left") - 1
    planned = ledger.targets.index.searchsorted(pd.DatetimeIndex(fills["decision"]), side="right") - 1
    known = (column >= 0) & (before >= 0) & (planned >= 0)
    if known.sum() < 10:
        return None
    off = np.abs(ledger.weights.to_numpy()[before[known], column[known]] - targets[planned[known], column[known]])
    return float((off > 0.9 * width).mean())


def _resized(ledger: Ledger) -> float | None:
    """Share of the holdings kept over a rebalance that were traded at it: a calendar brings nearly all to their targets, a band only those
    that are off. None where holdings or enough of such cases lack."""
    fills, weights = ledger.rebalance_fills, ledger.weights
    if fills is None or weights is None:
        return None
    row = np.unique(weights.index.get_indexer(pd.DatetimeIndex(fills["fill_date"])))
    row = row[row > 0]
    values = weights.to_numpy()
    kept = (values[row] > 1e-6) & (values[row - 1] > 1e-6)
    at = weights.index.get_indexer(pd.DatetimeIndex(fills["fill_date"]))
    column = weights.columns.get_indexer(pd.Index(fills["ticker"]))
    traded = np.zeros(values.shape, dtype=bool)
    known = (at >= 0) & (column >= 0)
    traded[at[known], column[known]] = True
    return float(traded[row][kept].mean()) if kept.sum() >= 10 else None


def on_event_test(ledger: Ledger) -> Shown:
    """Entries lie on the first to third session after a delivered announcement of the ticker."""
    fills, closes = ledger.rebalance_fills, ledger.closes
    announced = _announcements(ledger)
    if fills is None or closes is None or announced is None:
        return cannot_tell("event entries need trades, prices and delivered announcements")
    entries = fills[(fills["shares"] > 0)]
    sessions = closes.index
    rows = {
        ticker: np.unique(np.searchsorted(sessions.to_numpy(), part.to_numpy(), side="right") - 1)
        for ticker, part in announced.groupby(level=0)
    }
    agree = []
    for ticker, day in zip(entries["ticker"], entries["fill_date"], strict=True):
        if ticker in rows:
            at = sessions.searchsorted(day, side="right") - 1
            gap = at - rows[ticker]
            agree.append(bool(((gap >= 1) & (gap <= AFTER)).any()))
        else:
            agree.append(False)
    if not agree:
        return cannot_tell("no entry")
    share = float(np.mean(agree))
    if share >= ENOUGH:
        return Shown(Stance.SUPPORTS, share, len(agree), "entries within three sessions after an announcement")
    kept = calendar_kept(ledger)
    whole = _days_after(fills, sessions, list(rows.values()))
    if kept is None and whole is not None:
        return whole
    return Shown(
        Stance.CONTRADICTS if kept else Stance.CANNOT_TELL,
        share,
        len(agree),
        f"the fills keep a {kept} calendar" if kept else "entries after an announcement",
    )


def after_announcements(ledger: Ledger, sessions: pd.Index) -> np.ndarray:
    """Sessions one to three after a delivered announcement of any name."""
    announced = _announcements(ledger)
    if announced is None:
        return np.zeros(len(sessions), dtype=bool)
    return _after(sessions, [np.unique(np.searchsorted(sessions.to_numpy(), announced.to_numpy(), side="right") - 1)])


def _after(sessions: pd.Index, announced: list[np.ndarray]) -> np.ndarray:
    after = np.zeros(len(sessions) + AFTER, dtype=bool)
    for row in announced:
        for later in range(1, AFTER + 1):
            after[row[row >= 0] + later] = True
    return after[: len(sessions)]


def _days_after(fills: pd.DataFrame, sessions: pd.Index, announced: list[np.ndarray]) -> Shown | None:
    """The other reading: an announcement of any name has the whole portfolio traded. Days with fills lie on the first to third session
    after one, more often than chance gives; None otherwise."""
    days = np.unique(sessions.searchsorted(pd.DatetimeIndex(fills["fill_date"]), side="right") - 1)
    after = _after(sessions, announced)
    share, usual = float(after[days].mean()), float(after[days[0] : days[-1] + 1].mean())
    if share < ENOUGH or usual ** (share * len(days)) > CHANCE:
        return None
    return Shown(
        Stance.SUPPORTS, share, len(days), f"days with fills within three sessions after an announcement, {usual:.0%} of all days are"
    )


def _announcements(ledger: Ledger) -> "pd.Series | None":
    """Announcement dates indexed by ticker."""
    frame = ledger.delivered.frame("fundamentals")
    if frame is not None and not frame.empty and frame["announced"].notna().any():
        known = frame.dropna(subset=["announced"])
        return pd.Series(known["announced"].to_numpy(), index=known["ticker"].to_numpy())
    frame = ledger.delivered.frame("events")
    if frame is not None and not frame.empty and frame["ticker"].notna().any():
        known = frame.dropna(subset=["date", "ticker"])
        return pd.Series(known["date"].to_numpy(), index=known["ticker"].to_numpy())
    return None


def fee_test(ledger: Ledger, rate: float) -> Shown:
    """Fee over traded value within 10 % of the rate (a fraction); where costs lie in prices, fill against close."""
    fills = ledger.fills
    if fills is None or fills.empty:
        return cannot_tell("no trade log")
    value = fills["value"].where(fills["value"].notna(), (fills["shares"] * fills["price"]).abs()).to_numpy(dtype=float)
    fee = fills["fee"].to_numpy(dtype=float)
    known = np.isfinite(fee) & np.isfinite(value) & (value > 0)
    if known.any() and np.nansum(np.abs(fee[known])) > 0:
        share = float((np.abs(fee[known] / value[known] - rate) <= TOLERANCE * rate + 1e-9).mean())
        typical = float(np.median(fee[known] / value[known]))
        note = f"fee over traded value is {typical * 1e4:.2f} bp in the median"
        if share >= ENOUGH:
            return Shown(Stance.SUPPORTS, share, int(known.sum()), note)
        return Shown(Stance.CONTRADICTS if share < HALF else Stance.CANNOT_TELL, share, int(known.sum()), note)
    slipped = _in_prices(ledger, rate)
    if slipped is not None:
        return slipped
    if known.any() and rate > 0:
        return Shown(Stance.CONTRADICTS, 0.0, int(known.sum()), "every delivered fee is zero")
    return cannot_tell("no fees are delivered")


def _in_prices(ledger: Ledger, rate: float) -> Shown | None:
    """Costs inside fill prices: buys above and sales below the day's close by the rate."""
    fills, closes = ledger.fills, ledger.closes
    if fills is None or closes is None:
        return None
    row, column = closes.index.get_indexer(pd.Index(fills["fill_date"])), closes.columns.get_indexer(pd.Index(fills["ticker"]))
    close = np.where((row >= 0) & (column >= 0), closes.to_numpy()[np.maximum(row, 0), np.maximum(column, 0)], np.nan)
    slip = (fills["price"].to_numpy(dtype=float) / close - 1) * np.sign(fills["shares"].to_numpy(dtype=float))
    known = np.isfinite(slip)
    if not known.any() or float((np.abs(slip[known]) < 1e-9).mean()) > 0.5:
        return None
    share = float((np.abs(slip[known] - rate) <= TOLERANCE * rate + 1e-6).mean())
    return Shown(Stance.SUPPORTS, share, int(known.sum()), "costs lie in the fill prices") if share >= ENOUGH else None


def no_cost_test(ledger: Ledger) -> Shown:
    """The session item `cost.option:none`: no fee, and fills at the close or without a fee column."""
    fills = ledger.fills
    if fills is None or fills.empty:
        return cannot_tell("no trade log")
    fee = fills["fee"].to_numpy(dtype=float)
    known = np.isfinite(fee)
    if not known.any():
        return cannot_tell("no fees are delivered")
    share = float((np.abs(fee[known]) < 1e-9).mean())
    if share >= ENOUGH:
        return Shown(Stance.SUPPORTS, share, int(known.sum()), "no fill carries a fee")
    return Shown(Stance.CONTRADICTS if share < HALF else Stance.CANNOT_TELL, share, int(known.sum()), "fills without a fee")


def risk_fills(fills: pd.DataFrame) -> "pd.Series[bool]":
    """Control fills whose cause is a stop or a drawdown rule, not a timing state, a first purchase or the end of the data."""
    codes, causes = factorized(fills["cause"])
    risky = np.array([bool(_RISK_CAUSE.search(str(cause))) for cause in causes] + [False])
    return fills["control"] & risky[codes]


def no_control_test(ledger: Ledger) -> Shown:
    """The session item `risk.option:none`: no control fill."""
    if ledger.fills is None or ledger.fills.empty:
        return cannot_tell("no trade log")
    share = float((~risk_fills(ledger.fills)).mean())
    if share >= 1.0:
        return Shown(Stance.SUPPORTS, share, len(ledger.fills), "no control fill")
    return Shown(Stance.CONTRADICTS if share < ENOUGH else Stance.CANNOT_TELL, share, len(ledger.fills), "fills that no risk rule caused")
