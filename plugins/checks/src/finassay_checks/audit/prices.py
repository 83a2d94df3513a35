"""Prices alone as a portfolio: bought at the first close and held, with dividends and splits where they are delivered."""

from collections.abc import Mapping

import numpy as np
import pandas as pd
from attrs import frozen

from finassay.api.delivery import Package
from finassay_checks.audit.price_faults import price_faults
from finassay_checks.delivered import read_delivery
from finassay_checks.recompute.conventions import Alternative, Curve, own_value

CURVE = ("total_return", "annual_return", "annual_vol", "sharpe", "sortino", "max_drawdown")


@frozen(eq=False)
class Held:
    """Equal money in each ticker at the first close, held; corrected for faults of the data. `others` by metric."""

    curve: pd.Series
    others: Mapping[str, tuple[Alternative, ...]]
    notes: tuple[str, ...]
    dividends: bool


def held_prices(package: Package) -> Held | None:
    """None without prices of at least two dates."""
    delivered = package.fact(read_delivery)
    faults = package.fact(price_faults)
    if faults is None or faults.corrected.empty:
        return None
    close = _wide(faults.corrected, "close")
    if close is None or len(close) < 2:
        return None
    adjusted, raw = _wide(faults.corrected, "adj_close"), _wide(faults.delivered, "close")
    paid = _dividends(delivered.frame("actions"), close)
    money = _held(close)
    readings: list[tuple[str, pd.Series, str]] = []
    own, notes, dividends = money, ("bought at the first close and held",), False
    if adjusted is not None and not np.allclose(adjusted.fillna(0), close.reindex_like(adjusted).fillna(0)):
        own, dividends = _held(adjusted), True
        notes = ("the adjusted close, bought at the first and held",)
        readings.append(("price_return_without_dividends", money, "convention"))
    if paid is not None:
        dividends = True
        cash, reinvested = _held(close + paid.cumsum()), _held(close, paid)
        if adjusted is None:
            own, notes = reinvested, ("close with dividends reinvested on their ex-date",)
            readings.append(("price_return_without_dividends", money, "convention"))
        readings += [("dividends_reinvested", reinvested, "same"), ("dividends_kept_as_cash", cash, "same")]
        if adjusted is not None:
            readings += [
                ("dividend_double_count", _held(adjusted + paid.cumsum()), "fault"),
                ("dividend_double_count", own + (cash - money), "fault"),
            ]
            readings.append(("dividend_double_count", _held(adjusted, paid), "fault"))
    if raw is not None and faults.changed:
        readings.append(("faulty_prices", _held(raw), "fault"))
    others: dict[str, list[Alternative]] = {name: [] for name in CURVE}
    for name, curve, kind in readings:
        for metric in CURVE:
            others[metric].append(Alternative(name, own_value(metric, Curve.of(curve).path), kind))  # type: ignore[arg-type]  # one of the three
    return Held(own, {k: tuple(v) for k, v in others.items()}, notes, dividends)


def _wide(prices: pd.DataFrame, name: str) -> pd.DataFrame | None:
    """Dates × tickers of one field, gaps carried; tickers without a price on the first date are left out."""
    rows = prices[prices[name].notna() & prices["date"].notna() & (prices[name] > 0)]
    if rows.empty:
        return None
    table = rows.drop_duplicates(["date", "ticker"], keep="first").pivot(index="date", columns="ticker", values=name).sort_index().ffill()
    kept = table.loc[:, table.iloc[0].notna()]
    return kept if kept.shape[1] else None


def _held(close: pd.DataFrame, paid: pd.DataFrame | None = None) -> pd.Series:
    """Wealth of equal money in each ticker; dividends reinvested at the close of their date."""
    relative = close / close.iloc[0]
    if paid is not None:
        relative = relative * (1.0 + paid / close).cumprod()
    curve: pd.Series = relative.mean(axis=1)
    return curve


def _dividends(actions: pd.DataFrame | None, close: pd.DataFrame) -> pd.DataFrame | None:
    """Money a share by date and ticker; a list without tickers belongs to the only one. The first date's close is already without its own."""
    if actions is None:
        return None
    rows = actions[actions["kind"] == "dividend"]
    if rows.empty:
        return None
    paid = pd.DataFrame(0.0, index=close.index, columns=close.columns)
    for day, ticker, value in zip(rows["date"], rows["ticker"], rows["value"], strict=True):
        names = [ticker] if ticker in close.columns else list(close.columns) if close.shape[1] == 1 else []
        at = int(close.index.searchsorted(day))
        if names and 0 < at < len(close):
            paid.loc[close.index[at], names] += value
    return paid if (paid.to_numpy() > 0).any() else None
