"""Trades in every unit that people count them in, and what each closed one earned. Vectorised over the whole log."""

import numpy as np
import pandas as pd
from attrs import frozen
from numpy.typing import NDArray

from finassay_checks.recompute.panel import Floats

RELATIVE_FLAT = 1e-9


@frozen
class TradeCounts:
    """One log counted in the units of the conventions, section 2."""

    fills: int
    buys: int
    sells: int
    entries: int
    """Fills that open or enlarge a position."""
    closing: int
    """Fills that reduce a position, and those of them that end it."""
    matched: int
    """FIFO pairs of an entry and an exit: one row an entry, split by partial exits."""
    round_trips: int
    """Flat to flat, closed."""
    open: int
    """Positions still held after the last fill."""
    orders: int
    """Distinct (date, ticker, side)."""
    order_days: int


@frozen(eq=False)
class RoundTrips:
    """Closed positions and closing fills with their profit in money; net of every fee of the position, and gross of all."""

    counts: TradeCounts
    spell_net: Floats
    spell_gross: Floats
    closing_net: Floats
    """FIFO, one a closing fill, its share of the entry fees included."""
    closing_gross: Floats
    spells: pd.DataFrame
    """entry_date, exit_date (NaT while open), ticker, net, gross."""


def round_trips(fills: pd.DataFrame) -> RoundTrips:
    """Count and match clean fills (columns date, ticker, shares, price, fee). A fill through zero closes one position and opens another,
    its fee shared by shares."""
    codes, _ = pd.factorize(fills["ticker"])
    order = np.lexsort((np.arange(len(fills)), fills["date"].to_numpy(), codes))
    log = _Log(
        codes[order], fills["date"].to_numpy()[order], *(fills[name].to_numpy(dtype=float)[order] for name in ("shares", "price", "fee"))
    ).split_through_zero()
    before, after = log.positions()
    spell = np.cumsum(before == 0) - 1
    closing = np.abs(after) < np.abs(before)
    counts_spells = spell[-1] + 1 if len(spell) else 0
    last = np.append(np.flatnonzero(before == 0)[1:] - 1, len(spell) - 1) if counts_spells else np.empty(0, dtype=np.int64)
    closed = after[last] == 0 if counts_spells else np.empty(0, dtype=bool)
    gross_flow = np.bincount(spell, weights=-log.shares * log.price, minlength=counts_spells)[:counts_spells]
    fee_flow = np.bincount(spell, weights=log.fee, minlength=counts_spells)[:counts_spells]
    gross, net, pairs = _match(log, before, closing)
    first = np.flatnonzero(before == 0)
    names = fills["ticker"].to_numpy()[order]
    table = pd.DataFrame(
        {
            "entry_date": log.dates[first],
            "exit_date": pd.Series(log.dates[last]).where(pd.Series(closed)),
            "ticker": names[log.origin[first]],
            "net": gross_flow - fee_flow,
            "gross": gross_flow,
        }
    )
    sides = fills["shares"].to_numpy() > 0
    counts = TradeCounts(
        fills=len(fills),
        buys=int(sides.sum()),
        sells=int((~sides).sum()),
        entries=int((~closing).sum()),
        closing=int(closing.sum()),
        matched=pairs,
        round_trips=int(closed.sum()),
        open=int((~closed).sum()),
        orders=len(pd.MultiIndex.from_arrays([fills["date"], codes, sides]).unique()),
        order_days=int(fills["date"].nunique()),
    )
    return RoundTrips(counts, (gross_flow - fee_flow)[closed], gross_flow[closed], net, gross, table)


def shares_after(fills: pd.DataFrame) -> Floats:
    """Shares of its ticker held after each clean fill, in the order of `fills`."""
    codes, _ = pd.factorize(fills["ticker"])
    order = np.lexsort((np.arange(len(fills)), fills["date"].to_numpy(), codes))
    log = _Log(
        codes[order], fills["date"].to_numpy()[order], *(fills[name].to_numpy(dtype=float)[order] for name in ("shares", "price", "fee"))
    )
    after = np.empty(len(fills))
    after[order] = log.positions()[1]
    return after


class _Log:
    """Fills sorted by ticker and time, as arrays."""

    def __init__(
        self,
        codes: NDArray[np.int64],
        dates: "NDArray[np.datetime64]",
        shares: Floats,
        price: Floats,
        fee: Floats,
        origin: NDArray[np.int64] | None = None,
    ) -> None:
        self.codes, self.dates, self.shares, self.price, self.fee = codes, dates, shares, price, fee
        self.origin = np.arange(len(codes)) if origin is None else origin

    def positions(self) -> tuple[Floats, Floats]:
        """Shares held before and after each fill; dust is zero."""
        running = np.cumsum(self.shares)
        starts = np.flatnonzero(np.append(True, self.codes[1:] != self.codes[:-1])) if len(self.codes) else np.empty(0, dtype=np.int64)
        lengths = np.diff(np.append(starts, len(self.codes)))
        offsets = np.repeat(running[starts] - self.shares[starts], lengths)
        after = running - offsets
        largest = np.repeat(np.maximum.reduceat(np.abs(self.shares), starts), lengths) if len(starts) else np.empty(0)
        after[np.abs(after) < np.maximum(RELATIVE_FLAT * largest * 1e3, 1e-7)] = 0.0
        before = np.append(0.0, after[:-1])
        before[starts] = 0.0
        return before, after

    def split_through_zero(self) -> "_Log":
        """Every fill that turns a long into a short position, or the other way round, in two."""
        before, after = self.positions()
        through = np.flatnonzero(before * after < 0)
        if not len(through):
            return self
        share = np.abs(before[through] / self.shares[through])
        repeat = np.ones(len(self.codes), dtype=np.int64)
        repeat[through] = 2
        index = np.repeat(np.arange(len(self.codes)), repeat)
        shares, fee = self.shares[index].copy(), self.fee[index].copy()
        at = np.cumsum(repeat)[through] - 2
        shares[at], shares[at + 1] = -before[through], after[through]
        fee[at], fee[at + 1] = self.fee[through] * share, self.fee[through] * (1 - share)
        return _Log(self.codes[index], self.dates[index], shares, self.price[index], fee, self.origin[index])


def _match(log: _Log, before: Floats, closing: NDArray[np.bool_]) -> tuple[Floats, Floats, int]:
    """FIFO profit of each closing fill, gross and net, and the number of matched pairs.

    What a span of closed shares once cost is a difference of the cumulative cost of opened shares, which is linear between entries.
    """
    if not len(log.codes):
        return np.empty(0), np.empty(0), 0
    long = np.where(before != 0, before > 0, log.shares > 0)
    key = log.codes * 2 + long
    by_key = np.argsort(key, kind="stable")
    gross, net, pairs = np.zeros(len(key)), np.zeros(len(key)), 0
    for rows in np.split(by_key, np.flatnonzero(np.diff(key[by_key])) + 1):
        opening, leaving = rows[~closing[rows]], rows[closing[rows]]
        opened = np.append(0.0, np.cumsum(np.abs(log.shares[opening])))
        cost = np.append(0.0, np.cumsum(-log.shares[opening] * log.price[opening]))
        fees = np.append(0.0, np.cumsum(log.fee[opening]))
        closed = np.append(0.0, np.cumsum(np.abs(log.shares[leaving])))
        gross[leaving] = -log.shares[leaving] * log.price[leaving] + np.diff(np.interp(closed, opened, cost))
        net[leaving] = gross[leaving] - log.fee[leaving] - np.diff(np.interp(closed, opened, fees))
        inner = opened[(opened > 0) & (opened < closed[-1] * (1 - 1e-9))]
        pairs += len(np.unique(np.round(np.concatenate([inner, closed[1:]]) / max(closed[-1], 1.0), 9)))
    return gross[closing], net[closing], pairs


def win_rates(trips: RoundTrips) -> dict[str, float]:
    """Share of winners by unit; only closed positions count."""
    rates: dict[str, float] = {}
    for unit, values in (
        ("closed positions, net", trips.spell_net),
        ("closed positions, gross", trips.spell_gross),
        ("closing fills, net", trips.closing_net),
        ("closing fills, gross", trips.closing_gross),
    ):
        if len(values):
            rates[unit] = float(np.mean(values > 0))
    return rates
