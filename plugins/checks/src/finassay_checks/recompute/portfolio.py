"""Rebuilding a portfolio from fills or from weights (conventions, section 11). Pure: canonical frames in, matrices out.

Order within a session: splits effective that day, dividends on the shares held at the last close, fills at their logged price and fee,
value at the close. A missing close carries the last traded value. Cash earns nothing.
"""

from typing import Literal

import numpy as np
import pandas as pd
from attrs import frozen
from numpy.typing import NDArray

from finassay_checks.recompute.panel import ABSURD, CASH, Floats, Panel, carried
from finassay_checks.shared import day_codes, factorized, positions

FLAT = 1e-7
"""A position below this many shares is flat."""


@frozen(eq=False)
class Book:
    """A rebuilt portfolio. Matrices have shape (dates, tickers), vectors (dates,); row 0 is the starting capital before the first fill."""

    dates: pd.DatetimeIndex
    tickers: pd.Index
    shares: Floats
    marks: Floats
    """Value of one share at each close; the last traded value where the close is missing."""
    cash: Floats
    fees: Floats
    unpriced: NDArray[np.bool_]
    """Held at a close for which the price table has no value."""

    @property
    def holdings(self) -> Floats:
        """Money in each ticker at each close."""
        return np.where(self.shares == 0.0, 0.0, self.shares * np.nan_to_num(self.marks))

    @property
    def equity(self) -> Floats:
        return np.asarray(self.holdings.sum(axis=1) + self.cash)

    @property
    def coverage(self) -> float:
        """Share of daily holdings that have a price of their own; 1 if nothing is ever held."""
        held = int((np.abs(self.shares) > FLAT).sum())
        return 1.0 - float(self.unpriced.sum()) / held if held else 1.0


def clean_fills(fills: pd.DataFrame) -> pd.DataFrame:
    """The usable fills of a canonical `trades` frame, in date order: shares from value and price where they are not delivered; fees 0
    where they are not. Fills without date, ticker, size or price are left out. The index is the delivered one's."""
    shares = fills["shares"].to_numpy(dtype=float)
    price = fills["price"].to_numpy(dtype=float)
    value = fills["value"].to_numpy(dtype=float)
    with np.errstate(all="ignore"):
        size = np.where(np.isfinite(shares), shares, value / price)
    fee = fills["fee"].to_numpy(dtype=float)
    fee = np.where(np.abs(fee) < ABSURD, fee, 0.0)
    named = (day_codes(fills, "fill_date")[0] >= 0) & (factorized(fills["ticker"])[0] >= 0)
    keep = (np.abs(size) < ABSURD) & (np.abs(price) < ABSURD) & (size != 0) & named
    frame = pd.DataFrame(
        {
            "date": fills["fill_date"],
            "ticker": fills["ticker"],
            "shares": size,
            "price": price,
            "fee": fee,
        },
        index=fills.index,
        copy=False,
    )
    if not keep.all():
        frame = frame[keep]
    return frame if frame["date"].is_monotonic_increasing else frame.sort_values("date", kind="stable")


def grid(panel: Panel, first: pd.Timestamp, last: pd.Timestamp, extra: pd.DatetimeIndex) -> pd.DatetimeIndex:
    """Sessions of a rebuilt book: from the session before `first` to `last`, dates of fills that are no session of the prices included."""
    dates = panel.dates.union(extra)
    before = dates[dates < first]
    start = before[-1] if len(before) else first - pd.offsets.BDay(1)
    inside = dates[(dates >= first) & (dates <= last)]
    return pd.DatetimeIndex(pd.DatetimeIndex([start]).append(inside))


def rebuild_from_fills(
    fills: pd.DataFrame, panel: Panel, start_capital: float, last: pd.Timestamp | None = None, dividends: bool = False
) -> Book:
    """The book that clean fills make; `last` is the last session wanted (default: the last one with prices, or the last fill).

    With `dividends`, the income that the step of the adjusted close implies is paid into cash. Raises `ValueError` without fills.
    """
    if fills.empty:
        raise ValueError("no fills")
    days = pd.DatetimeIndex(fills["date"].unique())
    end = max(last if last is not None else panel.dates[-1], days[-1])
    dates = grid(panel, days[0], end, days)
    tickers = panel.tickers.union(pd.Index(fills["ticker"].unique())) if not _known(fills, panel) else panel.tickers
    shape = (len(dates), len(tickers))
    rows = np.asarray(dates.get_indexer(pd.DatetimeIndex(fills["date"])), dtype=np.int64)
    columns = positions(tickers, fills["ticker"])
    cells = rows * shape[1] + columns
    size, price, fee = (fills[name].to_numpy(dtype=float) for name in ("shares", "price", "fee"))

    close = _aligned(panel.close, panel, dates, tickers)
    marks = close.copy()
    missing = ~np.isfinite(marks.reshape(-1)[cells])
    marks.reshape(-1)[cells[missing]] = price[missing]
    marks = carried(marks)

    factor = _split_factors(panel, dates, tickers)
    scaled = size if factor is None else size * factor[rows, columns]
    shares: Floats = np.cumsum(_summed(cells, scaled, shape[0] * shape[1]).reshape(shape), axis=0)
    if factor is not None:
        shares = shares / factor
    shares[np.abs(shares) < FLAT] = 0.0
    flows = _summed(rows, -(size * price) - fee, shape[0])
    if dividends:
        flows[1:] += (shares[:-1] * _implied_income(panel, dates, tickers)[1:]).sum(axis=1)
    return Book(
        dates,
        tickers,
        shares,
        marks,
        np.asarray(start_capital + np.cumsum(flows), dtype=float),
        _summed(rows, fee, shape[0]),
        np.asarray((np.abs(shares) > FLAT) & ~np.isfinite(close)),
    )


def _summed(cells: NDArray[np.int64], values: Floats, length: int) -> Floats:
    """Sum of the values in each cell; shape (length,)."""
    return np.asarray(np.bincount(cells, weights=values, minlength=length), dtype=float)


def _known(fills: pd.DataFrame, panel: Panel) -> bool:
    return bool(pd.Index(fills["ticker"].unique()).isin(panel.tickers).all())


def _aligned(matrix: Floats, panel: Panel, dates: pd.DatetimeIndex, tickers: pd.Index) -> Floats:
    """A panel's matrix on other dates and tickers, with the last known value from before the first date in row 0."""
    rows, columns = panel.dates.get_indexer(dates), panel.tickers.get_indexer(tickers)
    out = np.asarray(matrix[np.ix_(rows, columns)], dtype=float)
    out[rows < 0] = np.nan
    out[:, columns < 0] = np.nan
    return out


def _factor_steps(panel: Panel, dates: pd.DatetimeIndex, tickers: pd.Index) -> tuple[Floats, Floats, Floats]:
    """Step of adjusted over raw close from row to row, raw close, and raw close of the row before; row 0 is neutral."""
    assert panel.adjusted is not None
    raw = carried(_aligned(panel.close, panel, dates, tickers))
    factor = carried(_aligned(panel.adjusted, panel, dates, tickers)) / raw
    step, before = np.ones_like(raw), np.full_like(raw, np.nan)
    step[1:] = factor[1:] / factor[:-1]
    before[1:] = raw[:-1]
    return np.where(np.isfinite(step), step, 1.0), raw, before


def _split_factors(panel: Panel, dates: pd.DatetimeIndex, tickers: pd.Index) -> Floats | None:
    """Shares at the end that one share of each date becomes, by splits that the raw and the adjusted close show together. None without any.

    A split moves the raw price against the factor; a crash moves raw and adjusted together and leaves the factor alone.
    """
    if panel.adjusted is None:
        return None
    step, raw, before = _factor_steps(panel, dates, tickers)
    with np.errstate(all="ignore"):
        offset = np.abs(raw / before * step - 1.0) < 0.25
    split = (np.abs(np.log(step)) > np.log(1.15)) & offset
    if not split.any():
        return None
    ratio = np.where(split, _rational(step), 1.0)
    after = np.cumprod(ratio[::-1], axis=0)[::-1]  # product over splits on or after each date
    return np.asarray(after / ratio)  # strictly after: a fill on the day of a split is in new shares


def _rational(step: Floats) -> Floats:
    """The simple ratio nearest to each step (2, 3/2, 1/10 …), the step itself where none is within 3 %."""
    best, error = step.copy(), np.full_like(step, 0.03)
    for low in range(1, 6):
        for high in (1, 2, 3, 4, 5, 6, 7, 8, 10, 15, 20, 25, 50, 100):
            for value in (high / low, low / high):
                distance = np.abs(step / value - 1.0)
                nearer = distance < error
                best, error = np.where(nearer, value, best), np.where(nearer, distance, error)
    return best


def _implied_income(panel: Panel, dates: pd.DatetimeIndex, tickers: pd.Index) -> Floats:
    """Dividend a share on each date: 1 - D/previous close is the inverse of the factor's step. Zero without adjusted closes."""
    if panel.adjusted is None:
        return np.zeros((len(dates), len(tickers)))
    step, _, before = _factor_steps(panel, dates, tickers)
    paid = (step > 1.0005) & (step < 1.15)
    return np.where(paid, np.nan_to_num(before) * (1.0 - 1.0 / step), 0.0)


def weight_matrix(weights: pd.DataFrame, tickers: pd.Index) -> tuple[pd.DatetimeIndex, Floats]:
    """Dates on which they take effect and (dates, tickers) weights of a canonical `weights` frame; NaN where a row has no entry. Cash is
    left out. The fill date counts where it is delivered, else the row's own date."""
    day = "fill_date" if "fill_date" in weights and weights["fill_date"].notna().mean() > 0.95 else "date"
    frame = weights[(weights["ticker"] != CASH) & weights[day].notna() & weights["ticker"].notna()]
    rows, dates = pd.factorize(frame[day], sort=True)
    columns = tickers.get_indexer(pd.Index(frame["ticker"]))
    matrix = np.full((len(dates), len(tickers)), np.nan)
    matrix[rows, columns] = frame["weight"].to_numpy(dtype=float)
    return pd.DatetimeIndex(dates), matrix


def rebuild_from_weights(
    dates: pd.DatetimeIndex,
    targets: Floats,
    panel: Panel,
    start_capital: float,
    *,
    lag: int = 0,
    rate: float = 0.0,
    prices: Floats | None = None,
    absent: Literal["zero", "keep"] = "zero",
    last: pd.Timestamp | None = None,
) -> Book:
    """The book of weights that take effect `lag` sessions after their row's date, at that close, shares held in between.

    `targets` has shape (len(dates), panel tickers); a weight that is NaN sells out (`zero`) or leaves the holding alone (`keep`). `rate` is
    the cost per traded value; `prices`, of the shape of `targets`, replaces the close as price of the trade. Raises `ValueError` without
    rows.
    """
    if not len(dates):
        raise ValueError("no weights")
    sessions = grid(panel, dates[0], last if last is not None else panel.dates[-1], dates)
    close = _aligned(panel.close, panel, sessions, panel.tickers)
    marks = carried(close)
    effective = sessions.get_indexer(dates) + lag
    goal = np.nan_to_num(targets) if absent == "zero" else targets
    shares, cash, fees = np.zeros_like(marks), np.empty(len(sessions)), np.zeros(len(sessions))
    held, money, row = np.zeros(marks.shape[1]), start_capital, 0
    order = {int(session): index for index, session in enumerate(effective) if session < len(sessions)}
    for row in range(len(sessions)):
        if row in order:
            index = order[row]
            at = marks[row] if prices is None else np.where(np.isfinite(prices[index]), prices[index], marks[row])
            at = np.where(np.isfinite(at) & (at > 0), at, np.nan)
            value = money + float(np.nansum(held * at))
            with np.errstate(all="ignore"):
                wanted = np.where(np.isfinite(goal[index]) & np.isfinite(at), goal[index] * value / at, held)
            traded = np.nan_to_num((wanted - held) * at)
            fees[row] = rate * float(np.abs(traded).sum())
            money -= float(traded.sum()) + fees[row]
            held = wanted
        shares[row], cash[row] = held, money
    shares[np.abs(shares) < FLAT * 1e-3] = 0.0
    return Book(sessions, panel.tickers, shares, marks, cash, fees, (shares != 0) & ~np.isfinite(close))


def fills_of_round_trips(trips: pd.DataFrame) -> pd.DataFrame:
    """Entry and exit fills of a canonical `round_trips` frame, as a canonical `trades` frame without dates of decisions.

    A row that is open, or has no exit, gives its entry alone. Each side has its own fee where it is delivered; else a row's fee is shared by
    traded value, and an open row's is all the entry's. On one date, exits of earlier entries come first, then entries, then exits of the
    same day. The index tells entries from exits: the row number for an entry, that plus the number of rows for an exit.
    """
    closed = ~trips["open"].fillna(False).astype(bool) & trips["exit_date"].notna() & trips["exit_price"].notna()
    fee = trips["fee"].fillna(0.0)
    part = (trips["entry_price"] / (trips["entry_price"] + trips["exit_price"])).fillna(0.5)
    bought, sold = fee.where(~closed, fee * part), fee * (1.0 - part)
    if "entry_fee" in trips:
        parted = trips["entry_fee"].notna() & trips["exit_fee"].notna()
        bought, sold = bought.where(~parted, trips["entry_fee"]), sold.where(~parted, trips["exit_fee"])
    entry = _side(trips, "entry_date", trips["shares"], "entry_price", bought)
    leave = trips[closed]
    exit_ = _side(leave, "exit_date", -leave["shares"], "exit_price", sold[closed])
    rows = np.arange(len(trips))
    entry.index, exit_.index = pd.Index(rows), pd.Index(rows[closed.to_numpy()] + len(trips))
    fills = pd.concat([entry, exit_])
    same_day = (leave["exit_date"] == leave["entry_date"]).to_numpy()
    order = np.concatenate([np.ones(len(entry)), np.where(same_day, 2, 0)])
    return fills.iloc[np.lexsort((order, fills["fill_date"].to_numpy()))]


def _side(trips: pd.DataFrame, day: str, shares: "pd.Series", price: str, fee: "pd.Series") -> pd.DataFrame:
    return pd.DataFrame(
        {
            "fill_date": trips[day],
            "signal_date": pd.NaT,
            "ticker": trips["ticker"],
            "shares": shares,
            "price": trips[price],
            "fee": fee,
            "value": shares.abs() * trips[price],
            "reason": None,
            "id": None,
            "weight_before": np.nan,
            "target_weight": np.nan,
            "decided_by": None,
            "row": trips["row"],
        }
    )
