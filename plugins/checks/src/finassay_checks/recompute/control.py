"""Fact `control`: which fills belong to a risk or timing control, and not to a rebalance (spec D.0.4)."""

import re

import numpy as np
import pandas as pd
from attrs import frozen
from numpy.typing import NDArray

from finassay.api.delivery import Package
from finassay_checks.delivered import read_delivery
from finassay_checks.recompute import stated
from finassay_checks.recompute.portfolio import FLAT, Book
from finassay_checks.recompute.rebuilt import fill_log, rebuilding
from finassay_checks.recompute.states import state_series
from finassay_checks.recompute.triggers import PROMPT, drawdown_triggers, sold_after, sold_at, spells, stop_triggers
from finassay_checks.shared import factorized

_REASON = re.compile(
    r"stop|trail|draw[- ]?down|take[- _]?profit|risk[- _]?off|risk[- _]?on|timing|regime"
    r"|(?:market|index|breadth|trend|vol(?:atility)?)[- _](?:off|on|exit|filter|gate)"
    r"|\bto[- _]cash|all[- _]cash|delist|acquir|merger|halt|end[- _]of[- _](?:data|back|sample|test|period)"
    r"|liquidat|close[- _]?out|final[- _](?:exit|sale|close)"
    r"|inception|initial|first[- _]purchase|re-?ent(?:ry|er)|circuit",
    re.IGNORECASE,
)
IN_USE = 0.5
"""Share of the breaches of a level that must be followed by a sale."""
FIRST_PURCHASE = "first purchase"
_NO_CONTROL = re.compile(r"no (?:stop|control)|stop[- _]?list", re.IGNORECASE)


@frozen(eq=False)
class Control:
    """One entry a row of the canonical `trades` frame (`fill_log`), in its order. A cause is empty for a rebalance fill; `decided` is the date of a
    recomputed trigger, NaT where none was."""

    mask: NDArray[np.bool_]
    causes: NDArray[np.object_]
    decided: NDArray[np.datetime64]

    @property
    def count(self) -> int:
        return int(self.mask.sum())


def control_fills(package: Package) -> NDArray[np.bool_]:
    """True for control fills, one a row of the `trades` frame; empty without a trade log."""
    return package.fact(control).mask


def control(package: Package) -> Control:
    """Control fills by recomputed triggers of the delivered rules, whatever their tag; by the reason column; and first and last fills."""
    delivered = package.fact(read_delivery)
    trades = fill_log(delivered)
    if trades is None:
        return Control(np.zeros(0, dtype=bool), np.zeros(0, dtype=object), np.zeros(0, dtype="datetime64[ns]"))
    causes = np.empty(len(trades), dtype=object)
    causes.fill("")  # one text for all: `np.full` makes one for each
    decided = np.full(len(trades), np.datetime64("NaT"), dtype="datetime64[ns]")
    _by_reason(trades, causes)
    dates = trades["fill_date"]
    _mark(causes, (dates == dates.min()).to_numpy(), FIRST_PURCHASE)
    made = package.fact(rebuilding)
    if made.book is not None and made.fills is not None and made.rebuilt is not None and made.rebuilt.source != "weights":
        aligned = trades.index.get_indexer(made.fills.index)
        reasons = tuple(dict.fromkeys(str(r) for r in trades["reason"].dropna().unique()[:200]))
        days = made.book.dates.to_numpy().astype("datetime64[ns]")
        found = [(f"{t.control} at {t.value:.4g}", _triggered(made.book, made.fills, t)) for t in stated.thresholds(delivered, reasons)]
        found += [(f"state {n}", _at_switch(made.book, made.fills, s)) for n, s in state_series(delivered.frame("states")).items()]
        for name, trigger in found:
            hit = trigger >= 0
            _mark(causes, _on(len(trades), aligned, hit), name)
            # A state dated on the day of the fill may be dated by its effect: it tells nothing about when it was known.
            known = hit if not name.startswith("state ") else hit & (trigger < _rows(made.book, made.fills))
            new = known & np.isnat(decided[aligned])
            decided[aligned[new]] = days[trigger[new]]
        _mark(causes, _on(len(trades), aligned, _at_the_end(made.book, made.fills)), "closed at the end of the data")
    return Control(causes != "", causes, decided)


def _on(length: int, rows: NDArray[np.int64], hit: NDArray[np.bool_]) -> NDArray[np.bool_]:
    mask = np.zeros(length, dtype=bool)
    mask[rows[hit]] = True
    return mask


def _mark(causes: NDArray[np.object_], mask: NDArray[np.bool_], cause: str) -> None:
    causes[mask & (causes == "")] = cause


def _by_reason(trades: pd.DataFrame, causes: NDArray[np.object_]) -> None:
    if trades["reason"].isna().all():
        return
    codes, reasons = factorized(trades["reason"])
    names = np.array(
        [f"reason: {r}" if _REASON.search(str(r)) and not _NO_CONTROL.search(str(r)) else "" for r in reasons] + [""], dtype=object
    )
    causes[:] = names[codes]


def _triggered(book: Book, fills: pd.DataFrame, threshold: stated.Threshold) -> NDArray[np.int64]:
    """Row of the trigger that each clean fill follows, -1 where there is none; of a re-entry the row before it."""
    if threshold.control == "drawdown_to_cash":
        invested = _invested(book)
        hit = np.full(len(fills), -1, dtype=np.int64)
        for restart in (False, True):
            due = drawdown_triggers(book.equity, invested, threshold.value, restart=restart)
            found = sold_after(book, fills, np.repeat(due[:, None], book.shares.shape[1], axis=1))
            hit = np.where((hit < 0) & _flat_after(book, fills), found, hit)
        back = _re_entry(book, fills) & (hit >= 0).any()
        return np.where(back, np.maximum(_rows(book, fills) - 1, 0), hit)
    return _stopped(book, fills, threshold)


def _stopped(book: Book, fills: pd.DataFrame, threshold: stated.Threshold) -> NDArray[np.int64]:
    """Row of the stop that each clean fill follows. A level that most breaches leave alone is not in use: variants and history name levels too.
    Sales at the very close of the breach count only if hardly any breach is left for the next session, and on days without a purchase."""
    own = spells(book, fills)
    reference = own.peak if threshold.control == "trailing_stop" else own.entry
    breaches = stop_triggers(book, reference, threshold.value)
    episodes = int((breaches & ~np.vstack([np.zeros((1, breaches.shape[1]), dtype=bool), breaches[:-1]])).sum())
    later = sold_after(book, fills, breaches)
    if episodes and int((later >= 0).sum()) >= IN_USE * episodes:
        return later
    at_once = sold_at(book, fills, reference, threshold.value)
    rows = _rows(book, fills)
    at_once[np.isin(rows, rows[fills["shares"].to_numpy() > 0])] = -1
    return at_once if int((at_once >= 0).sum()) > episodes else np.full(len(fills), -1, dtype=np.int64)


def _rows(book: Book, fills: pd.DataFrame) -> NDArray[np.int64]:
    return np.asarray(book.dates.get_indexer(pd.DatetimeIndex(fills["date"])), dtype=np.int64)


def _invested(book: Book) -> NDArray[np.bool_]:
    """Whether anything is held after each close; shape (dates,)."""
    return np.asarray((book.shares > FLAT).any(axis=1))


def _flat_after(book: Book, fills: pd.DataFrame) -> NDArray[np.bool_]:
    return np.asarray(~_invested(book)[_rows(book, fills)])


def _re_entry(book: Book, fills: pd.DataFrame) -> NDArray[np.bool_]:
    """Purchases at the close that ends a spell in cash."""
    invested = _invested(book)
    back = invested & ~np.append(True, invested[:-1])
    back[np.argmax(invested)] = False
    return np.asarray(back[_rows(book, fills)])


def _at_switch(book: Book, fills: pd.DataFrame, state: pd.Series) -> NDArray[np.int64]:
    """Row of the switch of a state that each clean fill follows, -1 where there is none: sales at the first fills after it went down, purchases
    at the first ones after it went up; within five sessions. Of the first two days with such fills the one counts that empties the
    portfolio, or fills the empty one: a state may be dated at the close that it follows from, on a day with fills of its own."""
    rows = _rows(book, fills)
    fill_rows = np.unique(rows)
    invested = _invested(book)
    turned = {-1: invested & False, 1: invested & ~np.append(False, invested[:-1])}
    turned[-1][1:] = ~invested[1:] & invested[:-1]
    change = state.diff()
    hit = np.full(len(fills), -1, dtype=np.int64)
    selling = fills["shares"].to_numpy() < 0
    for sign, wanted in ((-1, selling), (1, ~selling)):
        days = np.searchsorted(book.dates.to_numpy(), change.index[np.sign(change) == sign].to_numpy())
        days = days[days <= fill_rows[-1]]
        own = fill_rows[np.isin(fill_rows, rows[wanted])]
        for day in days:
            due = own[np.searchsorted(own, day) :][:2]
            due = due[due - day <= PROMPT]
            if len(due):
                row = next((r for r in due if turned[sign][r]), due[0])
                hit[wanted & (rows == row)] = day
    return hit


def _at_the_end(book: Book, fills: pd.DataFrame) -> NDArray[np.bool_]:
    rows = _rows(book, fills)
    closing = rows >= len(book.dates) - 1
    flat = not (book.shares[-1] > FLAT).any()
    return np.asarray(closing & flat & (fills["shares"].to_numpy() < 0))
