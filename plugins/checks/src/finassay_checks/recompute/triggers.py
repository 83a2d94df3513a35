"""When a control of the holdings is due: stops by holding, drawdowns by portfolio, switches of a state. Pure functions of matrices."""

import numpy as np
import pandas as pd
from attrs import frozen
from numpy.typing import NDArray

from finassay_checks.recompute.panel import Floats
from finassay_checks.recompute.portfolio import FLAT, Book

SLACK = 1e-9
PROMPT = 5
"""Sessions within which a sale counts as the first fill after a trigger; more is another decision."""


@frozen(eq=False)
class Spells:
    """Average entry price and highest close since entry of every holding at each close, NaN where flat; shape (dates, tickers)."""

    entry: Floats
    peak: Floats


def spells(book: Book, fills: pd.DataFrame) -> Spells:
    """Follow every holding from its entry; `fills` are the clean ones that made the book. A sale leaves the average entry price alone."""
    rows = np.asarray(book.dates.get_indexer(pd.DatetimeIndex(fills["date"])), dtype=np.int64)
    codes, names = pd.factorize(fills["ticker"])
    columns = np.asarray(book.tickers.get_indexer(pd.Index(names)), dtype=np.int64)[codes]
    shares, price = fills["shares"].to_numpy(dtype=float), fills["price"].to_numpy(dtype=float)
    size = book.shares.size
    cells = (rows * book.shares.shape[1] + columns)[shares > 0]
    bought = np.bincount(cells, weights=shares[shares > 0], minlength=size).reshape(book.shares.shape)
    paid = np.bincount(cells, weights=(shares * price)[shares > 0], minlength=size).reshape(book.shares.shape)
    entry, peak = np.full(book.shares.shape, np.nan), np.full(book.shares.shape, np.nan)
    average, highest, before = (np.full(book.shares.shape[1], np.nan) for _ in range(3))
    before[:] = 0.0
    for row in range(len(book.dates)):
        held = book.shares[row] > FLAT
        kept = np.where(before > FLAT, before, 0.0)
        cost = kept * np.nan_to_num(average) + paid[row]
        with np.errstate(all="ignore"):
            average = np.where(bought[row] > 0, cost / (kept + bought[row]), average)
        new = held & (before <= FLAT)
        highest = np.where(new, average, highest)
        highest = np.where(held, np.fmax(highest, book.marks[row]), np.nan)
        average = np.where(held, average, np.nan)
        entry[row], peak[row] = average, highest
        before = book.shares[row]
    return Spells(entry, peak)


def stop_triggers(book: Book, reference: Floats, threshold: float, probe: Floats | None = None) -> NDArray[np.bool_]:
    """Holdings whose close (or `probe`, such as the low) is at or past `threshold` below `reference`; shape (dates, tickers)."""
    level = reference * (1.0 - threshold) * (1.0 + SLACK)
    with np.errstate(all="ignore"):
        return np.asarray((book.shares > FLAT) & ((book.marks if probe is None else probe) <= level))


def drawdown_triggers(equity: Floats, invested: NDArray[np.bool_], threshold: float, *, restart: bool) -> NDArray[np.bool_]:
    """Closes at or past a portfolio drawdown while invested; with `restart` the reference high begins again at each re-entry. Shape
    (dates,)."""
    out = np.zeros(len(equity), dtype=bool)
    high = -np.inf
    for row, value in enumerate(equity):
        if restart and row and invested[row] and not invested[row - 1]:
            high = value
        high = max(high, value)
        out[row] = bool(invested[row]) and value <= high * (1.0 - threshold) * (1.0 + SLACK)
    return out


def sold_after(book: Book, fills: pd.DataFrame, hits: NDArray[np.bool_]) -> NDArray[np.int64]:
    """For each clean fill the row of the trigger that it follows: a sale of the ticker within five sessions after a trigger while it was held;
    -1 where there is none. Shape (fills,)."""
    rows = np.asarray(book.dates.get_indexer(pd.DatetimeIndex(fills["date"])), dtype=np.int64)
    columns = np.asarray(book.tickers.get_indexer(pd.Index(fills["ticker"])), dtype=np.int64)
    numbers = np.where(hits, np.arange(len(hits))[:, None], -PROMPT - 1)
    latest = np.maximum.accumulate(numbers, axis=0)
    # The trigger is seen on the row before the sale: after it the holding is gone and can trigger no more.
    seen = latest[np.maximum(rows - 1, 0), columns]
    return np.asarray(np.where((fills["shares"].to_numpy() < 0) & (rows - seen <= PROMPT) & (rows > seen), seen, -1), dtype=np.int64)


def sold_at(book: Book, fills: pd.DataFrame, reference: Floats, threshold: float) -> NDArray[np.int64]:
    """For each clean fill its own row, where it ends a holding at the very close that passed the threshold below the reference of the close
    before; -1 elsewhere. Shape (fills,)."""
    rows = np.asarray(book.dates.get_indexer(pd.DatetimeIndex(fills["date"])), dtype=np.int64)
    columns = np.asarray(book.tickers.get_indexer(pd.Index(fills["ticker"])), dtype=np.int64)
    before = np.maximum(rows - 1, 0)
    with np.errstate(all="ignore"):
        past = book.marks[rows, columns] <= reference[before, columns] * (1.0 - threshold) * (1.0 + SLACK)
    ended = (book.shares[before, columns] > FLAT) & (book.shares[rows, columns] <= FLAT)
    return np.asarray(np.where((fills["shares"].to_numpy() < 0) & past & ended, rows, -1), dtype=np.int64)
