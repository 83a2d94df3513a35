"""Position stops, trailing stops and sector caps (spec D.2): trigger, not loss."""

import numpy as np
import pandas as pd
from attrs import frozen

from finassay.api.strategy import Stance
from finassay_checks.fidelity.execution import band
from finassay_checks.fidelity.ledger import Ledger
from finassay_checks.fidelity.shown import ENOUGH, HALF, Shown, cannot_tell
from finassay_checks.recompute.panel import Floats
from finassay_checks.recompute.portfolio import FLAT, Book
from finassay_checks.recompute.triggers import SLACK, Spells, spells

MAX_SECTOR_ROWS = 1_000_000


@frozen(eq=False)
class Holdings:
    """The rebuilt holdings with their entry prices and peaks, and the sales of each session; matrices are date × ticker."""

    book: Book
    spells: Spells
    sold: Floats
    """Shares sold on the session."""
    quiet: np.ndarray
    """Sessions without a purchase of anything, shape (dates,)."""


@frozen
class Triggers:
    """`hits` of `count` triggers are followed by a sale; `explained` of `exits` full exits between rebalances follow a trigger."""

    hits: int
    count: int
    exits: int
    explained: int

    @property
    def share(self) -> float:
        return self.hits / self.count if self.count else 0.0

    @property
    def fits(self) -> bool:
        """At least 95 % of the triggers were acted on, and at least 95 % of the exits between rebalances have a trigger."""
        return self.count > 0 and self.share >= ENOUGH and (self.exits == 0 or self.explained / self.exits >= ENOUGH)


def holdings(ledger: Ledger) -> Holdings | None:
    """None without trades and prices."""
    made = ledger.rebuilding
    if made.book is None or made.fills is None or made.rebuilt is None or made.rebuilt.source == "weights":
        return None
    book, fills = made.book, made.fills
    row = book.dates.get_indexer(pd.DatetimeIndex(fills["date"]))
    column = book.tickers.get_indexer(pd.Index(fills["ticker"]))
    shares = fills["shares"].to_numpy(dtype=float)
    known = (row >= 0) & (column >= 0)
    sold = np.zeros_like(book.shares)
    np.add.at(sold, (row[known & (shares < 0)], column[known & (shares < 0)]), -shares[known & (shares < 0)])
    quiet = np.ones(len(book.dates), dtype=bool)
    quiet[row[known & (shares > 0)]] = False
    return Holdings(book, spells(book, fills), sold, quiet)


def _earlier(matrix: np.ndarray, fill: float) -> np.ndarray:
    return np.vstack([np.full((1, matrix.shape[1]), fill), matrix[:-1]])


def _later(matrix: np.ndarray, fill: float) -> np.ndarray:
    return np.vstack([matrix[1:], np.full((1, matrix.shape[1]), fill)])


def triggers(own: Holdings, reference: Floats, threshold: float, probe: Floats | None = None) -> Triggers:
    """Holdings whose close (or `probe`, such as the low) is at or past the threshold below `reference`, and the sales that follow.

    A sale counts at the trigger's own close, at the next fill of the ticker's next session, and where a holding is sold whole and bought
    again the same day. Days after an unheeded trigger do not count again.
    """
    book = own.book
    level = reference * (1 - threshold) * (1 + SLACK)
    price = book.marks if probe is None else probe
    held = book.shares > FLAT
    before = _earlier(book.shares, 0.0)
    with np.errstate(all="ignore"):
        breach = held & (price <= level)
        same = (before > FLAT) & ~held & (price <= _earlier(level, np.nan))
    started = breach & ~(_earlier(breach, 0.0).astype(bool) & (before > FLAT))
    started[-1] = False
    emptied = ~_later(held, 0.0).astype(bool) | (_later(own.sold, 0.0) >= book.shares - 1e-6)
    at_close = same & ~_earlier(breach, 0.0).astype(bool)
    exits = (before > FLAT) & ~held & own.quiet[:, None]
    exits[-1] = False
    explained = exits & (_earlier(breach, 0.0).astype(bool) | same)
    return Triggers(
        int((started & emptied).sum() + at_close.sum()), int(started.sum() + at_close.sum()), int(exits.sum()), int(explained.sum())
    )


def _best(ledger: Ledger, own: Holdings, kind: str, threshold: float) -> Triggers:
    reference = own.spells.entry if kind == "position-stop" else own.spells.peak
    found = triggers(own, reference, threshold)
    if ledger.lows is not None and not found.fits:
        low = ledger.lows.reindex(index=own.book.dates, columns=own.book.tickers).to_numpy(dtype=float)
        by_low = triggers(own, reference, threshold, low)
        found = by_low if by_low.share > found.share else found
    return found


def stop_test(ledger: Ledger, kind: str, threshold: float) -> Shown:
    """`position-stop` or `trailing-stop`: every trigger is followed by a sale, and exits between rebalances have a trigger.

    A loss from entry is always a fall from the peak, so the sales of a trailing stop heed a position stop too: what parts them is that the
    other's exits have no trigger here.
    """
    own = holdings(ledger)
    if own is None:
        return cannot_tell("a stop needs the trade log and prices")
    sibling = "trailing-stop" if kind == "position-stop" else "position-stop"
    found, other = (_best(ledger, own, name, threshold) for name in (kind, sibling))
    note = (
        f"{found.hits} of {found.count} triggers sold at the next fill; {found.explained} of {found.exits} exits between rebalances"
        f" follow a trigger"
    )
    if other.fits and other.exits and not found.fits:
        note = f"{note}; {sibling}: {other.hits} of {other.count}, {other.explained} of {other.exits}"
        return Shown(Stance.CONTRADICTS, found.share, found.count, note)
    if found.count and found.share >= ENOUGH:
        return Shown(Stance.SUPPORTS, found.share, found.count, note)
    if found.count == 0:
        return cannot_tell("no holding ever reached the threshold")
    return Shown(Stance.CONTRADICTS if found.share < HALF else Stance.CANNOT_TELL, found.share, found.count, note)


def stop_moved(ledger: Ledger, kind: str, threshold: float) -> bool | None:
    """Whether at least one sale followed a trigger; True too if a program verifies that none ever came; None if it cannot be seen."""
    own = holdings(ledger)
    if own is None:
        return None
    found = _best(ledger, own, kind, threshold)
    return found.hits > 0 or found.count == 0


def sectors(ledger: Ledger) -> dict[str, str]:
    """Ticker to sector from any current delivered table that has both columns."""
    for table in ledger.delivered.tables:
        names = {str(column).strip().lower(): column for column in table.frame.columns}
        sector = next((names[n] for n in names if "sector" in n or n in ("industry", "gics")), None)
        ticker = next((names[n] for n in names if n in ("ticker", "symbol", "asset", "security", "name")), None)
        if table.current and sector is not None and ticker is not None and sector != ticker and len(table.frame) <= MAX_SECTOR_ROWS:
            pairs = table.frame[[ticker, sector]].dropna().drop_duplicates(ticker).head(20_000)
            return {str(t).upper(): str(s) for t, s in pairs.itertuples(index=False)}
    return {}


FAR = 0.05
"""Points above the cap, beyond every allowance, which no rounding, drift or band explains."""


def sector_cap_test(ledger: Ledger, cap: float) -> Shown:
    """Sector weights of the plan where holdings follow one, else right after rebalances, are at most the cap and half a point.

    Without a plan the weights at the fill and those at the prices of the decision are both read, for prices move between them; under a
    drift band the names of a sector may each be off by the band.
    """
    plan, known = ledger.planned(), sectors(ledger)
    found = plan or ledger.invested()
    if found is None or not known:
        return cannot_tell("a sector cap needs weights and a delivered table of sectors")
    largest = _largest(found[0], known, 0.0 if plan else band(ledger) or 0.0)
    decided = None if plan else _as_decided(ledger, *found)
    if decided is not None:
        other = _largest(decided, known, band(ledger) or 0.0).to_numpy()
        largest = pd.Series(np.fmin(largest.to_numpy(), other), index=largest.index)
    share = float((largest <= cap + 0.005).mean())
    far = int((largest > cap + FAR).sum())
    note = f"largest sector weight {largest.max():.1%}"
    if share >= ENOUGH:
        return Shown(Stance.SUPPORTS, share, len(largest), note)
    contradicts = share < HALF or (far >= 3 and far > 0.1 * len(largest))
    return Shown(Stance.CONTRADICTS if contradicts else Stance.CANNOT_TELL, share, len(largest), note)


def _largest(weights: pd.DataFrame, known: dict[str, str], width: float) -> "pd.Series[float]":
    """The largest sector weight of each row, less `width` for each name that the sector holds."""
    names = [known.get(str(ticker).upper(), f"unknown {ticker}") for ticker in weights.columns]
    allowed = weights - width * weights.gt(1e-6)
    return allowed.T.groupby(names).sum().T.max(axis=1)


def _as_decided(ledger: Ledger, weights: pd.DataFrame, decisions: pd.DatetimeIndex) -> pd.DataFrame | None:
    """The shares held after each rebalance at the closes of its decision, over the equity of that day."""
    if ledger.held is None or ledger.closes is None or ledger.equity is None or not weights.index.isin(ledger.held.index).all():
        return None
    row = ledger.rows_at(decisions)
    prices = ledger.closes.reindex(columns=ledger.held.columns).to_numpy()[np.maximum(row, 0)]
    worth = ledger.equity.reindex(ledger.equity.index.union(decisions)).ffill().reindex(decisions).bfill().to_numpy()
    values = ledger.held.loc[weights.index].to_numpy() * np.where((row >= 0)[:, None], prices, np.nan) / worth[:, None]
    return pd.DataFrame(np.nan_to_num(values), index=weights.index, columns=ledger.held.columns)
