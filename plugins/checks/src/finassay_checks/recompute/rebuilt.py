"""Fact `rebuilt`: the portfolio rebuilt from the delivered log and prices (spec D.0.4)."""

import numpy as np
import pandas as pd
from attrs import evolve, frozen

from finassay.api.delivery import Package
from finassay_checks.delivered import read_delivery
from finassay_checks.model import Delivered, Rebuilt
from finassay_checks.recompute import stated
from finassay_checks.recompute.panel import ABSURD, CASH, Floats, Panel, panel_of, with_splits
from finassay_checks.recompute.portfolio import (
    Book,
    clean_fills,
    fills_of_round_trips,
    rebuild_from_fills,
    rebuild_from_weights,
    weight_matrix,
)
from finassay_checks.recompute.states import exposure_by_date

APART = 0.005
"""Relative difference beyond which a delivered equity leaves the rebuilt one."""
ABSURD_RETURN = 1e3
"""No daily return is this large."""
PRICED = 0.95
"""Share of daily holdings for which a price table must have a price."""


@frozen(eq=False)
class Rebuilding:
    """The rebuilt portfolio with everything it was made of, or why there is none."""

    rebuilt: Rebuilt | None
    reason: str
    """What was missing, in a sentence; empty if rebuilt."""
    panel: Panel | None = None
    book: Book | None = None
    fills: pd.DataFrame | None = None
    """Clean fills, also where prices are missing."""
    delivered_equity: pd.Series | None = None
    """The delivered curve in the rebuilt one's money, as far as it is delivered."""
    weight_lag: int | None = None
    """Sessions between a weights row's date and its effect, where weights were the source."""


def rebuilt(package: Package) -> Rebuilt | None:
    """The rebuilt portfolio, None where the log or the prices are missing; `why_not` has the reason."""
    return package.fact(rebuilding).rebuilt


def why_not(package: Package) -> str:
    """Why nothing could be rebuilt; empty if it could."""
    return package.fact(rebuilding).reason


def price_panel(package: Package) -> Panel | None:
    """The delivered price table as matrices, adjusted for delivered splits where it is raw; None if there is none."""
    delivered = package.fact(read_delivery)
    frame = delivered.frame("prices")
    panel = panel_of(frame) if frame is not None else None
    return with_splits(panel, delivered.frame("actions")) if panel is not None else None


def delivered_curve(delivered: Delivered) -> pd.Series | None:
    """The delivered equity by date; from returns, compounded from 1.0 a day before the first, where no equity is delivered."""
    frame = delivered.frame("equity")
    if frame is None:
        return None
    rows = frame[frame["date"].notna()].drop_duplicates("date", keep="last").sort_values("date")
    equity = pd.Series(rows["equity"].to_numpy(dtype=float), index=pd.DatetimeIndex(rows["date"]))
    equity = equity[equity.abs() < ABSURD]
    if equity.notna().sum() >= 2:
        return equity.dropna()
    returns = pd.Series(rows["ret"].to_numpy(dtype=float), index=pd.DatetimeIndex(rows["date"]))
    returns = returns[returns.abs() < ABSURD_RETURN]
    if len(returns) < 2:
        return None
    start = pd.Series([1.0], index=pd.DatetimeIndex([returns.index[0] - pd.offsets.BDay(1)]))
    compounded: pd.Series = pd.concat([start, (1.0 + returns).cumprod()])
    return compounded


def rebuilding(package: Package) -> Rebuilding:
    """Rebuild from fills, else from round trips, else from weights × states; never from the equity file."""
    delivered = package.fact(read_delivery)
    curve = delivered_curve(delivered)
    panel = package.fact(price_panel)
    fills, source = _fills(delivered)
    if fills is None:
        weights = delivered.frame("weights")
        if weights is None:
            return Rebuilding(None, _missing(delivered, "trades") + "; " + _missing(delivered, "weights"), panel, delivered_equity=curve)
        if panel is None:
            return Rebuilding(None, _missing(delivered, "prices"), delivered_equity=curve)
        return _from_weights(delivered, weights, panel, curve)
    if panel is None:
        return Rebuilding(None, _missing(delivered, "prices"), fills=fills, delivered_equity=curve)
    return _from_fills(delivered, fills, source, marking_panel(fills, panel), curve)


def _missing(delivered: Delivered, role: str) -> str:
    choice = delivered.choices.get(role)  # type: ignore[call-overload]  # a role by its name
    if choice is not None and choice.status == "ambiguous":
        return f"{role}: several tables fit equally well ({', '.join(c.table.where for c in choice.candidates)})"
    return f"no {role} table was delivered"


def fill_log(delivered: Delivered) -> pd.DataFrame | None:
    """The trade log as a canonical `trades` frame: the delivered one, else the entries and exits of delivered round trips."""
    trades = delivered.frame("trades")
    if trades is not None:
        return trades
    trips = delivered.frame("round_trips")
    return fills_of_round_trips(trips) if trips is not None and trips["shares"].notna().any() else None


def _fills(delivered: Delivered) -> "tuple[pd.DataFrame | None, str]":
    trades = delivered.frame("trades")
    if trades is not None:
        fills = clean_fills(trades)
        if not fills.empty:
            return fills, "trades"
    trips = delivered.frame("round_trips")
    if trips is not None and trips["shares"].notna().any():
        fills = clean_fills(fills_of_round_trips(trips))
        if not fills.empty:
            return fills, "round_trips"
    return None, ""


def marking_panel(fills: pd.DataFrame, panel: Panel) -> Panel:
    """The panel whose close is the one that the fills were made at: the adjusted close, where it fits the fill prices clearly better. A price
    table of one series that names no ticker belongs to the one ticker of the log."""
    traded = pd.Index(fills["ticker"].unique())
    if len(traded) == 1 and len(panel.tickers) == 1 and traded[0] != panel.tickers[0]:
        panel = evolve(panel, tickers=traded)
    if panel.adjusted is None:
        return panel
    rows, columns = panel.date_codes(fills["date"]), panel.ticker_codes(fills["ticker"])
    price = fills["price"].to_numpy(dtype=float)

    def apart(matrix: Floats) -> float:
        with np.errstate(all="ignore"):
            values = np.abs(price / panel.at(matrix, rows, columns) - 1.0)
        return float(np.nanmedian(values)) if np.isfinite(values).any() else np.inf

    if apart(panel.adjusted) < 0.2 * apart(panel.close):
        return evolve(panel, close=panel.adjusted, adjusted=None, open=None, high=None, low=None)
    return panel


def _from_fills(delivered: Delivered, fills: pd.DataFrame, source: str, panel: Panel, curve: pd.Series | None) -> Rebuilding:
    last = max(curve.index[-1], fills["date"].iloc[-1]) if curve is not None and len(curve) else None
    bare = rebuild_from_fills(fills, panel, 0.0, last)
    if bare.coverage < PRICED:
        reason = f"the price table has a price for {bare.coverage:.1%} of daily holdings only"
        return Rebuilding(None, reason, panel, bare, fills, curve)
    capital, notes = start_capital(delivered, bare, fills, curve)
    book = evolve(bare, cash=bare.cash + capital)
    money = in_money(curve, book, capital)
    if panel.adjusted is not None and divergence(money, book) is not None:
        paid = rebuild_from_fills(fills, panel, capital, last, dividends=True)
        if divergence(money, paid) is None:
            book, notes = paid, (*notes, "dividends implied by the adjusted close are paid into cash")
    if book.unpriced.any():
        notes = (*notes, unpriced_note(book))
    return Rebuilding(_as_rebuilt(book, source, capital, notes, money), "", panel, book, fills, money)


def unpriced_note(book: Book) -> str:
    """Which holdings had no price of their own, and when first."""
    row, column = np.argwhere(book.unpriced)[0]
    return (
        f"{int(book.unpriced.sum())} holdings carried at their last traded value, first {book.tickers[column]} on {book.dates[row].date()}"
    )


def start_capital(delivered: Delivered, bare: Book, fills: pd.DataFrame, curve: pd.Series | None) -> tuple[float, tuple[str, ...]]:
    """Start capital and how it was found: what the text states if it fits the curve, else what the curve implies, else the money needed.

    `bare` is the book with a start capital of zero.
    """
    said = [s.value for s in stated.start_capitals(delivered)]
    traded = float((fills["shares"] * fills["price"]).abs().groupby(fills["date"]).sum().iloc[0])
    implied = _implied_capital(bare, curve)
    if implied is not None and implied > 0.2 * traded:
        near = [s for s in said if abs(s / implied - 1.0) < 0.05]
        if near:
            return min(near, key=lambda s: abs(s / implied - 1.0)), ("start capital as stated",)
        return implied, ("start capital from the first delivered equity",)
    fitting = [s for s in said if s > 0.5 * traded]
    if fitting:
        return fitting[0], ("start capital as stated; the delivered equity is an index",)
    if traded < 1.5:
        return 1.0, ("start capital 1.0",)
    return max(float(-bare.cash.min()), traded), ("start capital not delivered: the money that the fills need",)


def _implied_capital(bare: Book, curve: pd.Series | None) -> float | None:
    if curve is None or curve.empty:
        return None
    common = bare.dates.intersection(pd.DatetimeIndex(curve.index))
    if curve.index[0] < bare.dates[0]:
        return float(curve.iloc[0])
    if not len(common):
        return None
    return float(curve.loc[common[0]] - bare.equity[bare.dates.get_loc(common[0])])


def in_money(curve: pd.Series | None, book: Book, capital: float) -> pd.Series | None:
    """The delivered curve in the book's money: as delivered, or an index scaled by its base (1, 100, 1000 …)."""
    if curve is None or curve.empty or capital <= 0:
        return curve
    first = float(curve.iloc[0])
    if 0.5 < first / capital < 2.0:
        return curve
    base = next((b for b in (1.0, 100.0, 1000.0, 10_000.0) if 0.75 < first / b < 1.33), None)
    return curve * (capital / base) if base is not None else curve


def divergence(curve: pd.Series | None, book: Book) -> "tuple[pd.Timestamp, float] | None":
    """First date on which a curve leaves the book by more than 0.5 %, with the relative difference (curve over book, minus one)."""
    if curve is None:
        return None
    own = pd.Series(book.equity, index=book.dates)
    common = own.index.intersection(pd.DatetimeIndex(curve.index))
    with np.errstate(all="ignore"):
        apart = (curve.loc[common] / own.loc[common] - 1.0).to_numpy(dtype=float)
    beyond = np.flatnonzero(~(np.abs(apart) <= APART))
    return (common[beyond[0]], float(apart[beyond[0]])) if len(beyond) else None


def _as_rebuilt(book: Book, source: str, capital: float, notes: tuple[str, ...], money: pd.Series | None) -> Rebuilt:
    equity = book.equity
    with np.errstate(all="ignore"):
        weights = book.holdings / equity[:, None]
    left = divergence(money, book)
    return Rebuilt(
        source=source,  # type: ignore[arg-type]  # one of the three by construction
        start_capital=capital,
        equity=pd.Series(equity, index=book.dates),
        cash=pd.Series(book.cash, index=book.dates),
        shares=pd.DataFrame(book.shares, index=book.dates, columns=book.tickers, copy=False),
        weights=pd.DataFrame(weights, index=book.dates, columns=book.tickers, copy=False),
        fees=pd.Series(book.fees, index=book.dates),
        notes=notes,
        first_divergence=(left[0].date(), left[1]) if left is not None else None,
    )


def _from_weights(delivered: Delivered, weights: pd.DataFrame, panel: Panel, curve: pd.Series | None) -> Rebuilding:
    traded = pd.Index(weights["ticker"].unique())
    if not traded[traded != CASH].isin(panel.tickers).all():
        lost = sorted(set(traded) - set(panel.tickers) - {CASH})
        return Rebuilding(None, f"the price table lacks {', '.join(map(str, lost[:5]))}", panel, delivered_equity=curve)
    dates, matrix = weight_matrix(weights, panel.tickers)
    exposure = exposure_by_date(delivered.frame("states"), dates, np.nansum(matrix, axis=1))
    if exposure is not None:
        matrix = matrix * exposure[:, None]
    said = [s.value for s in stated.start_capitals(delivered)]
    capital = float(curve.iloc[0]) if curve is not None and len(curve) else (said[0] if said else 1.0)
    rates = [s.value for s in stated.cost_rates(delivered)]
    last = curve.index[-1] if curve is not None and len(curve) else None
    best: tuple[float, int, Book] | None = None
    for lag in (0, 1):
        for rate in dict.fromkeys((rates[0] if rates else 0.0, 0.0)):
            book = rebuild_from_weights(dates, matrix, panel, capital, lag=lag, rate=rate, last=last)
            distance = _distance(curve, book)
            if best is None or distance < best[0] * 0.98:
                best = (distance, lag, book)
    assert best is not None
    _, lag, book = best
    if book.coverage < PRICED:
        return Rebuilding(None, f"the price table has a price for {book.coverage:.1%} of daily holdings only", panel, book, None, curve)
    notes = (f"rebuilt from weights that take effect {'at the close of' if lag == 0 else 'one session after'} their date",)
    return Rebuilding(_as_rebuilt(book, "weights", capital, notes, curve), "", panel, book, None, curve, lag)


def _distance(curve: pd.Series | None, book: Book) -> float:
    """Mean absolute log distance of a curve from a book on common dates; 0 without a curve, so that the first reading stays."""
    if curve is None:
        return 0.0
    own = pd.Series(book.equity, index=book.dates)
    common = own.index.intersection(pd.DatetimeIndex(curve.index))
    with np.errstate(all="ignore"):
        apart = np.abs(np.log((curve.loc[common] / own.loc[common]).to_numpy(dtype=float)))
    return float(np.mean(apart)) if len(apart) and np.isfinite(apart).all() else np.inf
