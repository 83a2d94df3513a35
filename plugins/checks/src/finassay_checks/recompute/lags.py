"""Fact `lags`: sessions from what decided a fill to the fill (spec D.0.4, 3.1)."""

from functools import cached_property
from typing import Literal

import numpy as np
import pandas as pd
from attrs import frozen
from numpy.typing import NDArray

from finassay.api.delivery import Package
from finassay_checks.delivered import read_delivery
from finassay_checks.model import Delivered
from finassay_checks.recompute import stated
from finassay_checks.recompute.calendar import session_number
from finassay_checks.recompute.control import FIRST_PURCHASE, control
from finassay_checks.recompute.information import Information, information_of_log
from finassay_checks.recompute.panel import Floats, Ints
from finassay_checks.recompute.reaching import price_information, reaching
from finassay_checks.recompute.rebuilt import price_panel, rebuilding
from finassay_checks.sessions import sessions_between

How = Literal["row", "join", "same-date", "recomputed", "schedule", "rule", "none"]
REACH = 800
"""Calendar days before the first decision in which a score may still have its last price."""
EXPLICIT: frozenset[str] = frozenset({"row", "join"})


@frozen(eq=False)
class Lags:
    """One entry a row of the canonical `trades` frame, in its order. `decision` is the signal date found (NaT where none), `sessions` the
    lag of the decision in sessions (NaN unknown), `how` where the date comes from."""

    decision: pd.DatetimeIndex
    sessions: Floats
    how: NDArray[np.object_]
    information: tuple[Information, ...] = ()
    """Scores whose last price was found by computing them again."""
    rule: str = ""
    """The disclosed rule of timing, verbatim, where one was read."""

    def share(self, *hows: How) -> float:
        """Share of fills whose decision date was found in one of these ways."""
        return float(self.found(*hows).mean()) if len(self.how) else 0.0

    def found(self, *hows: How) -> NDArray[np.bool_]:
        """Fills whose decision date was found in one of these ways."""
        codes, names = self._ways
        return np.asarray(np.isin(names, hows)[codes])

    @cached_property
    def _ways(self) -> tuple[NDArray[np.int64], NDArray[np.object_]]:
        return pd.factorize(self.how)

    @property
    def late(self) -> NDArray[np.int64]:
        """Positions of fills that are not after what decided them."""
        with np.errstate(all="ignore"):
            return np.flatnonzero(self.sessions <= 0)


def lags(package: Package) -> Lags | None:
    """Lags of all fills; None without a trade log.

    The decision date is the fill's own; else the one of the row that explains it, joined by fill date and ticker; else a signal or weight
    row of the fill's own date; else the last decision date before the fill; else nothing, and a disclosed rule ('known at the close,
    traded at the next') says at least that it was earlier. A score that can be computed again counts from the last price it needs,
    whatever its label.
    """
    delivered = package.fact(read_delivery)
    trades = delivered.frame("trades")
    if trades is None:
        return None
    how = np.empty(len(trades), dtype=object)
    how.fill("none")  # one text for all: `np.full` makes one for each
    decision = trades["signal_date"].to_numpy().astype("datetime64[ns]").copy()
    how[~np.isnat(decision)] = "row"
    fill = trades["fill_date"].to_numpy().astype("datetime64[ns]")
    caused, driven = package.fact(control).decided, _other_inputs(package)
    new = np.isnat(decision) & ~np.isnat(caused)
    decision[new], how[new] = caused[new], "recomputed"
    for way, look in (("join", _joined), ("same-date", _same_date), ("schedule", _scheduled)):
        unknown = np.isnat(decision) & ~driven
        if unknown.any():
            found = look(delivered, trades)
            new = unknown & ~np.isnat(found)
            decision[new], how[new] = found[new], way
    sessions = _sessions(package, fill, decision)
    numbers = session_number(sessions, pd.DatetimeIndex(fill)), session_number(sessions, pd.DatetimeIndex(decision))
    lag = np.where((numbers[0] >= 0) & (numbers[1] >= 0), (numbers[0] - numbers[1]).astype(float), np.nan)
    # Calendar dates decide where a decision falls on a day without a session: Saturday's signal, Monday's fill.
    lag = np.where((lag <= 0) & (fill > decision), 1.0, lag)
    lag = np.where((lag > 0) & (fill <= decision), 0.0, lag)
    found_information = package.fact(information)
    lag = _by_information(lag, how, decision, fill, sessions, found_information, driven)
    rule = stated.next_session(delivered)
    if rule is not None:
        how[how == "none"] = "rule"
    return Lags(pd.DatetimeIndex(decision), lag, how, found_information, rule.text if rule is not None else "")


def _other_inputs(package: Package) -> NDArray[np.bool_]:
    """Fills that a control caused: their input is the control's, not the ranking's. First purchases follow the ranking."""
    found = package.fact(control)
    return np.asarray(found.mask & (found.causes != FIRST_PURCHASE))


def information(package: Package) -> tuple[Information, ...]:
    """Information dates of the delivered scores that usual price formulas reproduce."""
    signals = package.fact(read_delivery).frame("signals")
    if signals is None or signals.empty:
        return ()
    panel, fills = package.fact(price_panel), package.fact(rebuilding).fills
    if panel is not None:
        known = package.fact(price_information)
        names = {one.name for one in known}
        ahead = [one for one in package.fact(reaching) if one.role == "signals" and one.name not in names]
        return (*known, *(Information(a.name, a.formula, a.dates, a.last_price, a.share, a.compared) for a in ahead))
    return information_of_log(signals, fills) if fills is not None and len(fills) else ()


def _sessions(package: Package, *dates: "NDArray[np.datetime64]") -> pd.DatetimeIndex:
    known = np.concatenate([d[~np.isnat(d)] for d in dates])
    if not len(known):
        return pd.DatetimeIndex([])
    first, last = pd.Timestamp(known.min()), pd.Timestamp(known.max())
    return sessions_between(package.task.conditions.exchange, first - pd.Timedelta(days=REACH), last + pd.Timedelta(days=10))


def _empty(trades: pd.DataFrame) -> "NDArray[np.datetime64]":
    return np.full(len(trades), np.datetime64("NaT"), dtype="datetime64[ns]")


def _joined(delivered: Delivered, trades: pd.DataFrame) -> "NDArray[np.datetime64]":
    """Decision dates by (fill date, ticker), and by fill date alone, from signals that name when they are filled, and events."""
    found = _empty(trades)
    for role in ("signals", "weights", "events"):
        frame = delivered.frame(role)
        if frame is None or "fill_date" not in frame or not frame["fill_date"].notna().any():
            continue
        rows = frame[frame["fill_date"].notna() & frame["date"].notna()]
        for keys in (["fill_date", "ticker"], ["fill_date"]):
            latest = rows.groupby(keys)["date"].max()
            wanted = pd.MultiIndex.from_frame(trades[keys]) if len(keys) > 1 else pd.Index(trades[keys[0]])
            dates = latest.reindex(wanted).to_numpy().astype("datetime64[ns]")
            found = np.where(np.isnat(found), dates, found)
    return found


def _same_date(delivered: Delivered, trades: pd.DataFrame) -> "NDArray[np.datetime64]":
    """The fill's own date where a signal of that date and ticker is delivered: the score is labelled with the day it was filled."""
    found = _empty(trades)
    signals = delivered.frame("signals")
    if signals is None or signals.empty:
        return found
    keys = pd.MultiIndex.from_frame(signals[["date", "ticker"]].dropna().drop_duplicates())
    own = pd.MultiIndex.from_arrays([trades["fill_date"], trades["ticker"]])
    hit = own.isin(keys)
    found[hit] = trades["fill_date"].to_numpy().astype("datetime64[ns]")[hit]
    return found


def _scheduled(delivered: Delivered, trades: pd.DataFrame) -> "NDArray[np.datetime64]":
    """The last decision date up to the fill: of signals, else of target weights. Weights that are dated when they are filled tell nothing."""
    for role in ("signals", "weights"):
        frame = delivered.frame(role)
        if frame is None or frame.empty:
            continue
        rows = frame if role == "signals" else frame[frame["kind"] == "target"]
        dates = np.unique(rows["date"].dropna().to_numpy().astype("datetime64[ns]"))
        if len(dates):
            fill = trades["fill_date"].to_numpy().astype("datetime64[ns]")
            if role == "weights" and float(np.isin(fill, dates).mean()) >= 0.5:
                continue
            at = np.searchsorted(dates, fill, side="right") - 1
            return np.where((at >= 0) & ~np.isnat(fill), dates[np.maximum(at, 0)], np.datetime64("NaT"))
    return _empty(trades)


def _by_information(
    lag: Floats,
    how: NDArray[np.object_],
    decision: "NDArray[np.datetime64]",
    fill: "NDArray[np.datetime64]",
    sessions: pd.DatetimeIndex,
    found: tuple[Information, ...],
    controls: NDArray[np.bool_],
) -> Floats:
    """Lags from the last price that the recomputed scores of the decision need; the latest of several. Control fills follow other
    inputs."""
    if not found:
        return lag
    last: NDArray[np.datetime64] = np.full(len(lag), np.datetime64("NaT"), dtype="datetime64[ns]")
    for one in found:
        order = one.dates.get_indexer(pd.DatetimeIndex(decision))
        dates = one.last_price.to_numpy().astype("datetime64[ns]")[np.maximum(order, 0)]
        known = order >= 0
        last = np.where(known & (np.isnat(last) | (dates > last)), dates, last)
    usable = ~np.isnat(last) & ~controls
    numbers: Ints = session_number(sessions, pd.DatetimeIndex(fill)) - session_number(
        sessions, pd.DatetimeIndex(np.where(usable, last, fill))
    )
    out: Floats = np.where(usable, numbers.astype(float), lag)
    how[usable & (how == "same-date")] = "recomputed"
    return np.asarray(out)
